#include "daemon/controller/service/check_calls.h"

#include <cstdint>
#include <memory>
#include <set>

#include "absl/functional/function_ref.h"
#include "config/report/job_verdict.h"
#include "config/rules/catalogue.h"
#include "config/rules/judge.h"
#include "config/values/network_namespace.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/history/newest_report.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/queue/fact_queue.h"

namespace clusterd {
namespace {

template <typename Event>
using StreamPtr = std::shared_ptr<EventStream<Event>>;

// A call that asks hosts for their facts.
struct Asking {
  const ControllerParts& parts;
  const UserCalls& calls;
  SendBudget* budget;
  UserCall call;
};

// The stream's place in the queue, which it leaves at its end.
template <typename Event>
FactQueue::Ticket JoinQueue(const Asking& asking, const SpiffeId& user,
                            const StreamPtr<Event>& stream) {
  FactQueue* const queue = asking.parts.queue;
  const FactQueue::Ticket ticket = queue->NewTicket();
  EventStreamOptions options;
  options.on_end = [queue, ticket] { queue->Leave(ticket); };
  options.budget = asking.budget;
  options.who = user.ToString();
  stream->Begin(std::move(options));
  stream->Show([queue, ticket](Event* event) {
    *event->mutable_progress() = queue->ProgressOf(ticket);
  });
  return ticket;
}

// Ends the stream with end(stream, result), or the run's error.
template <typename Result, typename Event, typename End>
FactQueue::Caller<Result> CallerFor(const Asking& asking,
                                    const StreamPtr<Event>& stream, End end) {
  const std::weak_ptr<EventStream<Event>> weak = stream;
  FactQueue::Caller<Result> caller;
  caller.on_progress = [weak] {
    if (const auto to = weak.lock()) to->NoteProgress();
  };
  caller.on_end =
      [weak, audit = asking.parts.audit,
       entry = AuditCaller(*asking.call.context, asking.call.name),
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

// Streams the progress of the facts, and then the result of `conclude`.
// `choose` sets the order's hosts, or returns why not.
template <typename Event>
StreamCall<Event>* AskHosts(
    const Asking& asking,
    absl::FunctionRef<absl::Status(FactOrder* order)> choose,
    std::function<Event(const Gathered& gathered)> conclude) {
  return asking.calls.Stream<Event>(
      asking.call, [&](const auto& stream, const SpiffeId& user) {
        const auto order = std::make_shared<FactOrder>();
        order->actor = user.ToString();
        order->spec = asking.parts.spec->spec();
        // Other callers' selections may be long and wrong, so do not read them.
        RETURN_IF_ERROR(choose(order.get()));
        FactQueue::Question question;
        question.of = asking.call.of;
        // Equal keys mean equal requests about one spec, which the order keeps
        // alive.
        question.key =
            Sha256(absl::StrCat(reinterpret_cast<uintptr_t>(order->spec.get()),
                                " ", asking.call.request.SerializeAsString()));
        question.who = order->actor;
        FactQueue::Work<Event> work;
        work.prepare = [order] { return order; };
        work.conclude = [conclude](const Gathered& gathered) {
          return std::make_shared<const Event>(conclude(gathered));
        };
        asking.parts.queue->Ask(
            JoinQueue(asking, user, stream), question, std::move(work),
            CallerFor<Event>(asking, stream,
                             [](EventStream<Event>* to,
                                const std::shared_ptr<const Event>& last) {
                               to->End(last);
                             }));
        return absl::OkStatus();
      });
}

// The hosts of a check or plan.
template <typename Request>
absl::Status ChooseHosts(const Request& request, FactOrder* order) {
  order->network_namespace = request.network_namespace();
  ASSIGN_OR_RETURN(order->hosts, SelectHosts(*order->spec, request.hosts()));
  return CheckNetworkNamespace(order->network_namespace);
}

// Hosts of the spec or others, by default all attached ones.
absl::Status ChooseToLearn(const ControllerParts& parts,
                           const LearnRequest& request, FactOrder* order) {
  std::set<std::string> wanted(request.hosts().begin(), request.hosts().end());
  for (const HostEntry& entry : parts.hosts->Entries(*order->spec)) {
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

// Keeps a check or plan, or logs why that failed.
absl::Status Keep(const ControllerParts& parts, const HistoryRecord& record) {
  if (record.has_report()) {
    parts.newest->Offer(record.report(), *parts.spec->spec(),
                        parts.scheduler->Now());
  }
  return parts.history->AddOrLog(record, parts.log);
}

// Judges the facts and keeps the report, with these notes.
Report KeptCheck(const ControllerParts& parts, const Gathered& gathered,
                 const std::vector<std::string>& notes = {}) {
  const FactOrder& order = gathered.order;
  HistoryRecord record =
      RecordOfCheck(MakeCheckReport(order, *order.judged, gathered.facts,
                                    parts.scheduler->Now()),
                    order.actor);
  record.mutable_report()->mutable_notes()->Add(notes.begin(), notes.end());
  Keep(parts, record).IgnoreError();
  return std::move(*record.mutable_report());
}

}  // namespace

// Reports and plans are moved, since those of 10,000 hosts are large.
StreamCall<CheckEvent>* CheckCalls::Check(CallContext* context,
                                          const CheckRequest* request) {
  if (request->has_job()) return CheckJob(context, *request);
  return AskHosts<CheckEvent>(
      {parts_,
       calls_,
       &budget_,
       {context, "Check", *request, CallClass::kCheck}},
      [request](FactOrder* order) -> absl::Status {
        order->judged = order->selection = request->selection();
        RETURN_IF_ERROR(ChooseHosts(*request, order));
        return ValidateSelection(request->selection());
      },
      [this](const Gathered& gathered) {
        CheckEvent last;
        *last.mutable_report() = KeptCheck(parts_, gathered, notes_());
        return last;
      });
}

StreamCall<CheckEvent>* CheckCalls::CheckJob(CallContext* context,
                                             const CheckRequest& request) {
  const Asking asking = {
      parts_, calls_, &budget_, {context, "Check", request, CallClass::kJob}};
  return calls_.Stream<CheckEvent>(
      asking.call, [&](const auto& stream, const SpiffeId& user) {
        if (!request.hosts().empty()) {
          return InvalidWords("msg-hub-hosts-and-job");
        }
        JobAsk ask;
        ask.job = request.job();
        ask.selection = request.selection();
        ask.network_namespace = request.network_namespace();
        ask.max_age = absl::Milliseconds(request.max_age_ms());
        ask.actor = user.ToString();
        const auto end = [is_hook = user.role == Role::kHook](
                             EventStream<CheckEvent>* to,
                             const JobChecks::Result& result) {
          if (!is_hook) {
            // All callers share one report.
            return to->End(
                std::shared_ptr<const CheckEvent>(result, &result->event));
          }
          CheckEvent cut;
          *cut.mutable_report() = ReportForHook(result->event.report());
          to->End(std::move(cut));
        };
        jobs_->Ask(JoinQueue(asking, user, stream), std::move(ask),
                   CallerFor<JudgedJob>(asking, stream, end));
        return absl::OkStatus();
      });
}

UnaryCall* CheckCalls::CheckSoFar(CallContext* context,
                                  const CheckSoFarRequest* request,
                                  Report* response) {
  return calls_.Answer(
      {context, "CheckSoFar", *request, CallClass::kSoFar}, response,
      [this, request](const SpiffeId&) -> absl::StatusOr<Report> {
        ASSIGN_OR_RETURN(const RunningCheck check,
                         parts_.queue->Find(request->run_id()));
        std::vector<std::string> awaited;
        ASSIGN_OR_RETURN(const std::vector<HostFacts> facts,
                         check.run->FactsSoFar(&awaited));
        Report report = MakeCheckReport(*check.order, *check.order->judged,
                                        facts, parts_.scheduler->Now());
        // A check under way is not in the history.
        report.clear_run_id();
        report.set_partial(true);
        report.mutable_awaited()->Assign(awaited.begin(), awaited.end());
        return report;
      });
}

StreamCall<LaunchEvent>* CheckCalls::PrepareLaunch(
    CallContext* context, const LaunchRequest* request) {
  return AskHosts<LaunchEvent>(
      {parts_,
       calls_,
       &budget_,
       {context, "PrepareLaunch", *request, CallClass::kLaunch}},
      [request](FactOrder* order) -> absl::Status {
        RETURN_IF_ERROR(ValidateSelection(request->selection()));
        order->judged = request->selection();
        return NarrowOrder(request->job(), order);
      },
      [this](const Gathered& gathered) {
        LaunchEvent last;
        LaunchFacts* const sent = last.mutable_facts();
        *sent->mutable_report() = KeptCheck(parts_, gathered);
        *sent->mutable_spec() = *gathered.order.spec;
        sent->mutable_facts()->Add(gathered.facts.begin(),
                                   gathered.facts.end());
        return last;
      });
}

StreamCall<LearnEvent>* CheckCalls::Learn(CallContext* context,
                                          const LearnRequest* request) {
  return AskHosts<LearnEvent>(
      {parts_,
       calls_,
       &budget_,
       {context, "Learn", *request, CallClass::kLearn}},
      [this, request](FactOrder* order) {
        return ChooseToLearn(parts_, *request, order);
      },
      [this](const Gathered& gathered) {
        LearnEvent last;
        LearnedHosts* const learned = last.mutable_learned();
        learned->set_cluster(parts_.spec->cluster());
        for (const HostFacts& host : gathered.facts) {
          LearnedHosts::Host* const added = learned->add_hosts();
          *added->mutable_facts() = host;
          const HostEntry entry =
              parts_.hosts->Entry(*gathered.order.spec, host.host());
          if (entry.attached()) added->set_peer(entry.peer());
        }
        return last;
      });
}

StreamCall<PlanEvent>* CheckCalls::Plan(CallContext* context,
                                        const PlanRequest* request) {
  return AskHosts<PlanEvent>(
      {parts_, calls_, &budget_, {context, "Plan", *request, CallClass::kPlan}},
      [request](FactOrder* order) -> absl::Status {
        ASSIGN_OR_RETURN(order->steps, SelectSteps({request->only().begin(),
                                                    request->only().end()}));
        return ChooseHosts(*request, order);
      },
      [this](const Gathered& gathered) {
        const FactOrder& order = gathered.order;
        const absl::Time now = parts_.scheduler->Now();
        HistoryRecord record =
            RecordOfPlan(MakeHostsPlan(order, gathered.facts, now),
                         ToMs<uint64_t>(now - order.started_at));
        const absl::Status kept = Keep(parts_, record);
        PlanEvent last;
        *last.mutable_plan() = std::move(*record.mutable_plan());
        if (!kept.ok()) {
          *last.mutable_plan()->mutable_not_kept_words() = MessageWords(kept);
        }
        return last;
      });
}

}  // namespace clusterd
