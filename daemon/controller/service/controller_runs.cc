// The calls of ControllerService that stream events: checks and plans, which
// ask hosts for their facts all at once; changes of hosts; the cluster as it is
// now; and logs that users wrote on hosts.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <type_traits>
#include <utility>

#include "absl/time/time.h"
#include "config/report/job_verdict.h"
#include "config/rules/catalogue.h"
#include "config/rules/judge.h"
#include "config/values/network_namespace.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/calls/user_calls.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/history/newest_report.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/service/controller_service.h"
#include "daemon/controller/service/logs_run.h"
#include "daemon/controller/stream/event_stream.h"

namespace clusterd {
namespace {

using ApplyStream = EventStream<ApplyEvent>;

// Reading 64 MiB from a slow file server takes longer than an observation.
constexpr absl::Duration kLeastLogsDeadline = absl::Minutes(1);

ApplyWatcher WatchFor(const std::shared_ptr<ApplyStream>& stream) {
  // The run holds its watcher; a strong reference would be a cycle.
  const std::weak_ptr<ApplyStream> weak = stream;
  ApplyWatcher watcher;
  watcher.on_progress = [weak](const std::shared_ptr<const ApplyRun>& run) {
    const auto to = weak.lock();
    if (to == nullptr) return;
    to->Show([run](ApplyEvent* event) {
      *event->mutable_progress() = run->progress();
    });
    to->NoteProgress();
  };
  watcher.on_event = [weak](ApplyEvent event) {
    if (const auto to = weak.lock()) to->Add(std::move(event));
  };
  watcher.on_end = [weak](absl::StatusOr<ApplyReport> report) {
    const auto to = weak.lock();
    if (to == nullptr) return;
    if (!report.ok()) return to->End(report.status());
    ApplyEvent last;
    *last.mutable_report() = *std::move(report);
    to->End(std::move(last));
  };
  return watcher;
}

// Ties a streaming call to its client's identity. When the gate no longer
// admits it, the stream ends with the reason and the audit file gets a line.
// Call this once the call is admitted, before its handler returns.
template <typename Event>
void EndWhenRefused(const ControllerParts& parts,
                    const grpc::CallbackServerContext& context,
                    absl::string_view call,
                    const std::shared_ptr<EventStream<Event>>& stream) {
  const auto end = [weak = std::weak_ptr(stream), audit = parts.audit,
                    caller =
                        AuditCaller(context, call)](const absl::Status& why) {
    const auto open = weak.lock();
    if (open == nullptr) return;
    open->EndForGood(why);
    audit->Refuse(caller, why);
  };
  parts.gate->Watch(*context.auth_context(), IdentityKind::kUser, stream, end);
}

}  // namespace

template <typename Request>
absl::Status ControllerService::ChooseHosts(const Request& request,
                                            const RuleSelection* selection,
                                            FactOrder* order) const {
  order->network_namespace = request.network_namespace();
  if (selection != nullptr) order->judged = order->selection = *selection;
  if constexpr (std::is_same_v<Request, PlanRequest>) {
    ASSIGN_OR_RETURN(order->steps, SelectSteps({request.only().begin(),
                                                request.only().end()}));
  }
  ASSIGN_OR_RETURN(order->hosts, SelectHosts(*order->spec, request.hosts()));
  RETURN_IF_ERROR(CheckNetworkNamespace(order->network_namespace));
  return selection == nullptr ? absl::OkStatus()
                              : ValidateSelection(*selection);
}

absl::Status ControllerService::ChooseHosts(const LearnRequest& request,
                                            const RuleSelection* /*selection*/,
                                            FactOrder* order) const {
  std::set<std::string> wanted(request.hosts().begin(), request.hosts().end());
  for (const HostEntry& entry : parts_.hosts->Entries(*order->spec)) {
    const bool named = wanted.erase(entry.host()) > 0;
    if (named || (request.hosts().empty() && entry.attached())) {
      order->hosts.push_back(entry.host());
    }
  }
  if (!wanted.empty()) {
    return InvalidWords("msg-hub-hosts-not-known",
                        NameList({wanted.begin(), wanted.end()}));
  }
  if (!order->hosts.empty()) return absl::OkStatus();
  return PreconditionWords("msg-hub-no-host-attached");
}

absl::Status ControllerService::ChooseHosts(const LaunchRequest& request,
                                            const RuleSelection* selection,
                                            FactOrder* order) const {
  RETURN_IF_ERROR(ValidateSelection(*selection));
  order->judged = *selection;
  return NarrowOrder(request.job(), order);
}

template <typename Event>
FactQueue::Ticket ControllerService::JoinQueue(
    const std::shared_ptr<EventStream<Event>>& stream, const SpiffeId& user) {
  const FactQueue::Ticket ticket = parts_.queue->NewTicket();
  EventStreamOptions options;
  options.on_end = [this, ticket] { parts_.queue->Leave(ticket); };
  options.budget = std::make_shared<CallBudget>(&run_budget_, user.ToString());
  stream->Begin(std::move(options));
  stream->Show([this, ticket](Event* event) {
    *event->mutable_progress() = parts_.queue->ProgressOf(ticket);
  });
  return ticket;
}

template <typename Event, typename Result, typename End>
FactQueue::Caller<Result> ControllerService::CallerFor(
    const std::shared_ptr<EventStream<Event>>& stream, AuditEntry entry,
    End end) {
  const std::weak_ptr<EventStream<Event>> weak = stream;
  FactQueue::Caller<Result> caller;
  caller.on_progress = [weak] {
    if (const auto to = weak.lock()) to->NoteProgress();
  };
  caller.on_end =
      [weak, audit = parts_.audit, entry = std::move(entry),
       end = std::move(end)](
          const absl::StatusOr<std::shared_ptr<const Result>>& result) {
        const auto to = weak.lock();
        if (to == nullptr) return;
        if (absl::IsResourceExhausted(result.status())) {
          audit->Refuse(entry, result.status());
        }
        if (!result.ok()) return to->End(result.status());
        end(to.get(), *result);
      };
  return caller;
}

template <typename Event, typename Request>
grpc::ServerWriteReactor<Event>* ControllerService::AskHosts(
    Context* context, const Request& request, const char* call, CallClass of,
    const RuleSelection* selection, Conclusion<Event> conclude) {
  using Stream = EventStream<Event>;
  const auto stream = Stream::Create(context, parts_.scheduler);
  const absl::StatusOr<SpiffeId> user = calls_.Admit(*context, call, request);
  absl::Status prepared = user.status();
  const auto order = std::make_shared<FactOrder>();
  if (user.ok()) {
    order->run_id = NewRunId();
    order->actor = user->ToString();
    order->spec = parts_.spec->spec();
    // Other callers' selections may be long and wrong, so do not read them.
    prepared = ChooseHosts(request, selection, order.get());
  }
  if (!prepared.ok()) {
    stream->End(prepared);
    return stream.get();
  }
  FactQueue::Question question;
  question.of = of;
  // Equal keys mean equal requests about one spec, which the order keeps alive.
  question.key =
      Sha256(absl::StrCat(reinterpret_cast<uintptr_t>(order->spec.get()), " ",
                          request.SerializeAsString()));
  question.who = order->actor;
  FactQueue::Work<Event> work;
  work.prepare = [order] { return order; };
  work.conclude = [conclude = std::move(conclude)](const Gathered& gathered) {
    return std::make_shared<const Event>(
        conclude(gathered.order, gathered.facts));
  };
  parts_.queue->Ask(
      JoinQueue(stream, *user), question, std::move(work),
      CallerFor<Event, Event>(
          stream, AuditCaller(*context, call),
          [](Stream* to, const std::shared_ptr<const Event>& last) {
            to->End(last);
          }));
  EndWhenRefused(parts_, *context, call, stream);
  return stream.get();
}

absl::Status ControllerService::Keep(const HistoryRecord& record) const {
  if (record.has_report()) {
    parts_.newest->Offer(record.report(), *parts_.spec->spec(),
                         parts_.scheduler->Now());
  }
  return parts_.history->AddOrLog(record, parts_.log);
}

// Reports and plans are moved, since those of 10,000 hosts are large.
grpc::ServerWriteReactor<CheckEvent>* ControllerService::Check(
    Context* context, const CheckRequest* request) {
  if (request->has_job()) return CheckJob(context, *request);
  return AskHosts<CheckEvent>(
      context, *request, "Check", CallClass::kCheck, &request->selection(),
      [this, selection = request->selection()](
          const FactOrder& order, const std::vector<HostFacts>& facts) {
        HistoryRecord record = RecordOfCheck(
            MakeCheckReport(order, selection, facts, parts_.scheduler->Now()),
            order.actor);
        for (std::string& note : notes_()) {
          record.mutable_report()->add_notes(std::move(note));
        }
        Keep(record).IgnoreError();
        CheckEvent last;
        *last.mutable_report() = std::move(*record.mutable_report());
        return last;
      });
}

grpc::ServerWriteReactor<CheckEvent>* ControllerService::CheckJob(
    Context* context, const CheckRequest& request) {
  const auto stream =
      EventStream<CheckEvent>::Create(context, parts_.scheduler);
  const absl::StatusOr<SpiffeId> user =
      calls_.Admit(*context, "Check", request);
  absl::Status refused = user.status();
  if (refused.ok() && !request.hosts().empty()) {
    refused = InvalidWords("msg-hub-hosts-and-job");
  }
  if (!refused.ok()) {
    stream->End(refused);
    return stream.get();
  }
  JobAsk ask;
  ask.job = request.job();
  ask.selection = request.selection();
  ask.network_namespace = request.network_namespace();
  ask.max_age = absl::Milliseconds(request.max_age_ms());
  ask.actor = user->ToString();
  jobs_->Ask(
      JoinQueue(stream, *user), std::move(ask),
      CallerFor<CheckEvent, JudgedJob>(
          stream, AuditCaller(*context, "Check"),
          [is_hook = user->role == Role::kHook](
              EventStream<CheckEvent>* to, const JobChecks::Result& result) {
            if (!is_hook) {
              // All callers share one report.
              return to->End(
                  std::shared_ptr<const CheckEvent>(result, &result->event));
            }
            CheckEvent cut;
            *cut.mutable_report() = ReportForHook(result->event.report());
            to->End(std::move(cut));
          }));
  EndWhenRefused(parts_, *context, "Check", stream);
  return stream.get();
}

grpc::ServerWriteReactor<LaunchEvent>* ControllerService::PrepareLaunch(
    Context* context, const LaunchRequest* request) {
  return AskHosts<LaunchEvent>(
      context, *request, "PrepareLaunch", CallClass::kLaunch,
      &request->selection(),
      [this, selection = request->selection()](
          const FactOrder& order, const std::vector<HostFacts>& facts) {
        HistoryRecord record = RecordOfCheck(
            MakeCheckReport(order, selection, facts, parts_.scheduler->Now()),
            order.actor);
        Keep(record).IgnoreError();
        LaunchEvent last;
        LaunchFacts* const sent = last.mutable_facts();
        *sent->mutable_report() = std::move(*record.mutable_report());
        *sent->mutable_spec() = *order.spec;
        sent->mutable_facts()->Add(facts.begin(), facts.end());
        return last;
      });
}

grpc::ServerWriteReactor<LearnEvent>* ControllerService::Learn(
    Context* context, const LearnRequest* request) {
  return AskHosts<LearnEvent>(
      context, *request, "Learn", CallClass::kLearn, nullptr,
      [this](const FactOrder& order, const std::vector<HostFacts>& facts) {
        LearnEvent last;
        LearnedHosts* const learned = last.mutable_learned();
        learned->set_cluster(parts_.spec->cluster());
        for (const HostFacts& host : facts) {
          LearnedHosts::Host* const added = learned->add_hosts();
          *added->mutable_facts() = host;
          const HostEntry entry = parts_.hosts->Entry(*order.spec, host.host());
          if (entry.attached()) added->set_peer(entry.peer());
        }
        return last;
      });
}

grpc::ServerWriteReactor<PlanEvent>* ControllerService::Plan(
    Context* context, const PlanRequest* request) {
  return AskHosts<PlanEvent>(
      context, *request, "Plan", CallClass::kPlan, nullptr,
      [this](const FactOrder& order, const std::vector<HostFacts>& facts) {
        const absl::Time now = parts_.scheduler->Now();
        HistoryRecord record =
            RecordOfPlan(MakeHostsPlan(order, facts, now),
                         ToMs<uint64_t>(now - order.started_at));
        const absl::Status kept = Keep(record);
        PlanEvent last;
        *last.mutable_plan() = std::move(*record.mutable_plan());
        if (!kept.ok()) {
          *last.mutable_plan()->mutable_not_kept_words() = MessageWords(kept);
        }
        return last;
      });
}

template <typename Request>
grpc::ServerWriteReactor<ApplyEvent>* ControllerService::RunChange(
    Context* context, const char* call, const Request& request,
    std::function<absl::Status(ChangeRequest* change)> complete) {
  const auto stream = ApplyStream::Create(context, parts_.scheduler);
  const absl::StatusOr<SpiffeId> user = calls_.Admit(*context, call, request);
  if (!user.ok()) {
    stream->End(user.status());
    return stream.get();
  }
  EventStreamOptions options;
  options.budget = std::make_shared<CallBudget>(&budget_, user->name);
  stream->Begin(std::move(options));
  ChangeRequest change;
  change.caller = AuditCaller(*context, call);
  change.from = absl::StrCat(RoleName(user->role), ", ", context->peer());
  change.options.set_wave_size(request.wave_size());
  change.options.set_force(request.force());
  // Beginning a change waits for the history's disk.
  const bool taken = parts_.pool->TryRun(
      [this, weak = std::weak_ptr<ApplyStream>(stream), call, change,
       complete = std::move(complete), watcher = WatchFor(stream)]() mutable {
        absl::Status status = complete(&change);
        if (status.ok()) status = changes_->Start(change, watcher).status();
        if (status.ok()) return;
        parts_.log->Warning("refused ", call, " to ",
                            ActorName(change.caller.who()), " (", change.from,
                            "): ", status.message());
        parts_.audit->Refuse(change.caller, status);
        if (const auto to = weak.lock()) to->End(status);
      },
      WorkerPool::Place::kFirst);
  if (!taken) stream->End(calls_.Refused(*context, call, TooMuchToDo()));
  EndWhenRefused(parts_, *context, call, stream);
  return stream.get();
}

grpc::ServerWriteReactor<ApplyEvent>* ControllerService::ApplyPlan(
    Context* context, const ApplyPlanRequest* request) {
  return RunChange(
      context, "ApplyPlan", *request,
      [this, asked = *request](ChangeRequest* change) -> absl::Status {
        change->options = asked;
        ASSIGN_OR_RETURN(
            change->plan,
            ReadKeptPlan(*parts_.history, asked.plan_id(), asked.digest()));
        return absl::OkStatus();
      });
}

grpc::ServerWriteReactor<ApplyEvent>* ControllerService::RollBack(
    Context* context, const RollBackRequest* request) {
  return RunChange(context, "RollBack", *request,
                   [id = request->apply_id()](ChangeRequest* change) {
                     change->rollback_of = id;
                     return absl::OkStatus();
                   });
}

grpc::ServerWriteReactor<ClusterNow>* ControllerService::Watch(
    Context* context, const WatchRequest* request) {
  const auto stream =
      EventStream<ClusterNow>::Create(context, parts_.scheduler);
  const absl::StatusOr<SpiffeId> user =
      calls_.Admit(*context, "Watch", *request);
  const absl::Status taken =
      user.ok() ? calls_.slots()->Take(CallClass::kWatches, user->name)
                : user.status();
  if (!taken.ok()) {
    stream->End(user.ok() ? calls_.Refused(*context, "Watch", taken) : taken);
    return stream.get();
  }
  const ClusterWatch::WatcherId id = watch_->NewWatcher();
  EventStreamOptions options;
  options.on_end = [this, id, who = user->name] {
    watch_->Leave(id);
    calls_.slots()->Give(CallClass::kWatches, who);
  };
  stream->Begin(std::move(options));
  // A slow reader gets only the newest state, which is read at each write.
  stream->Show([this](ClusterNow* event) {
    if (const auto now = watch_->now()) *event = *now;
  });
  ClusterWatch::Watcher watcher;
  watcher.on_change = [weak = std::weak_ptr(stream)] {
    if (const auto to = weak.lock()) to->NoteProgress();
  };
  watcher.on_stop = [weak = std::weak_ptr(stream)](const absl::Status& why) {
    if (const auto to = weak.lock()) to->EndForGood(why);
  };
  watch_->Join(id, std::move(watcher));
  EndWhenRefused(parts_, *context, "Watch", stream);
  return stream.get();
}

absl::StatusOr<LogsOrder> ControllerService::PrepareLogs(
    const Context& context, const SpiffeId& user,
    const LogsRequest& request) const {
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
  LogsOrder order;
  ASSIGN_OR_RETURN(order.hosts, SelectHosts(*spec, request.hosts()));
  order.query = request.query();
  order.record = request.record();
  order.host_deadline = std::max(
      kLeastLogsDeadline, absl::Milliseconds(spec->deadlines().host_ms()));
  const std::string what = absl::StrCat(
      NamesText(order.hosts), ", of user ", QuotedText(order.query.user()),
      ", job ", QuotedText(order.query.job_id()));
  order.caller =
      AuditCaller(context, "ReadLogs",
                  absl::StrCat(what, order.record ? ", with a recording" : ""));
  parts_.log->Info(user.name, " reads logs on ", what);
  return order;
}

grpc::ServerWriteReactor<LogsEvent>* ControllerService::ReadLogs(
    Context* context, const LogsRequest* request) {
  const auto stream = LogsRun::Stream::Create(context, parts_.scheduler);
  const absl::StatusOr<SpiffeId> user =
      calls_.Admit(*context, "ReadLogs", *request);
  absl::StatusOr<LogsOrder> order =
      user.ok() ? PrepareLogs(*context, *user, *request)
                : absl::StatusOr<LogsOrder>(user.status());
  if (order.ok()) {
    const absl::Status taken =
        calls_.slots()->Take(CallClass::kLogs, user->name);
    const absl::Status written =
        taken.ok() ? parts_.audit->Begin(order->caller) : taken;
    if (taken.ok() && !written.ok())
      calls_.slots()->Give(CallClass::kLogs, user->name);
    if (!written.ok()) {
      order = written;
    } else {
      order->audit_head = parts_.audit->head_to_tell();
    }
  }
  if (!order.ok()) {
    stream->End(user.ok() ? calls_.Refused(*context, "ReadLogs", order.status())
                          : user.status());
    return stream.get();
  }
  const AuditEntry caller = order->caller;
  const auto run =
      std::make_shared<LogsRun>(*std::move(order), parts_.hosts, stream);
  EventStreamOptions options;
  options.on_leave = [run] { run->Cancel(); };
  options.on_written = [run] { run->Advance(); };
  options.on_end = [this, run, caller, who = user->name] {
    run->Cancel();
    const CheckProgress progress = run->progress();
    parts_.audit->End(
        caller, absl::StrCat("ended: ", progress.answered(), " answered, ",
                             progress.failed(), " without, ",
                             progress.pending(), " not read"));
    calls_.slots()->Give(CallClass::kLogs, who);
  };
  stream->Begin(std::move(options));
  stream->Show([run](LogsEvent* event) {
    *event->mutable_progress() = run->progress();
  });
  stream->NoteProgress();
  run->Advance();
  EndWhenRefused(parts_, *context, "ReadLogs", stream);
  return stream.get();
}

}  // namespace clusterd
