#include "daemon/controller/service/change_calls.h"

#include <memory>
#include <utility>

#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/history/history_store.h"

namespace clusterd {
namespace {

using ApplyStream = EventStream<ApplyEvent>;

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

// "operator, ipv4:10.0.0.9:5123", for the log.
std::string FromOf(const SpiffeId& user, const AuditEntry& caller) {
  return absl::StrCat(RoleName(user.role), ", ", caller.peer());
}

}  // namespace

void ChangeCalls::LogRefused(const char* call, const std::string& who,
                             const std::string& from,
                             const absl::Status& why) const {
  parts_.log->Warning("refused ", call, " to ", ActorName(who), " (", from,
                      "): ", why.message());
}

StreamCall<ApplyEvent>* ChangeCalls::RunChange(
    const UserCall& call,
    std::function<absl::Status(ChangeRequest* change)> complete) {
  return calls_.Stream<ApplyEvent>(
      call, [&](const auto& stream, const SpiffeId& user) {
        EventStreamOptions options;
        options.budget = &budget_;
        options.who = user.name;
        stream->Begin(std::move(options));
        ChangeRequest change;
        change.caller = AuditCaller(*call.context, call.name);
        change.from = FromOf(user, change.caller);
        // Beginning a change waits for the history's disk.
        const bool taken = parts_.pool->TryRun(
            [this, weak = std::weak_ptr<ApplyStream>(stream), name = call.name,
             change, complete = std::move(complete),
             watcher = WatchFor(stream)]() mutable {
              absl::Status status = complete(&change);
              if (status.ok()) {
                status = changes_->Start(change, watcher).status();
              }
              if (status.ok()) return;
              LogRefused(name, change.caller.who(), change.from, status);
              parts_.audit->Refuse(change.caller, status);
              if (const auto to = weak.lock()) to->End(status);
            },
            WorkerPool::Place::kFirst);
        return taken ? absl::OkStatus() : calls_.Refused(call, TooMuchToDo());
      });
}

StreamCall<ApplyEvent>* ChangeCalls::ApplyPlan(
    CallContext* context, const ApplyPlanRequest* request) {
  return RunChange(
      {context, "ApplyPlan", *request},
      [this, asked = *request](ChangeRequest* change) -> absl::Status {
        change->options = asked;
        ASSIGN_OR_RETURN(
            change->plan,
            ReadKeptPlan(*parts_.history, asked.plan_id(), asked.digest()));
        return absl::OkStatus();
      });
}

StreamCall<ApplyEvent>* ChangeCalls::RollBack(CallContext* context,
                                              const RollBackRequest* request) {
  return RunChange({context, "RollBack", *request},
                   [asked = *request](ChangeRequest* change) {
                     change->rollback_of = asked.apply_id();
                     change->options.set_wave_size(asked.wave_size());
                     change->options.set_force(asked.force());
                     return absl::OkStatus();
                   });
}

template <typename Response>
UnaryCall* ChangeCalls::EndRun(const UserCall& call, const std::string& id,
                               Response* response, EndOfRun<Response> end) {
  return calls_.Answer(call, response,
                       [this, name = call.name,
                        entry = AuditCaller(*call.context, call.name, id),
                        end](const SpiffeId& user) {
                         const std::string from = FromOf(user, entry);
                         const absl::StatusOr<Response> ended =
                             RunAudited(parts_.audit, entry, [&] {
                               return (changes_->*end)(entry.subject(),
                                                       entry.who(), from);
                             });
                         if (!ended.ok())
                           LogRefused(name, entry.who(), from, ended.status());
                         return ended;
                       });
}

UnaryCall* ChangeCalls::Cancel(CallContext* context,
                               const CancelRequest* request,
                               CancelResponse* response) {
  return EndRun({context, "Cancel", *request, CallClass::kEnds}, request->id(),
                response, &ClusterChanges::Cancel);
}

UnaryCall* ChangeCalls::AbortApply(CallContext* context,
                                   const AbortApplyRequest* request,
                                   AbortApplyResponse* response) {
  return EndRun({context, "AbortApply", *request, CallClass::kEnds},
                request->id(), response, &ClusterChanges::Abort);
}

UnaryCall* ChangeCalls::AnswerConfirm(const UserCall& call,
                                      const std::string& id,
                                      std::optional<absl::Duration> by,
                                      ConfirmResponse* response) {
  return calls_.AnswerLater(
      call, response, [&](const SpiffeId& user, const auto& answered) {
        const AuditEntry entry = AuditCaller(*call.context, call.name, id);
        const auto ended = [this, name = call.name, entry, answered,
                            from = FromOf(user, entry)](
                               const absl::StatusOr<ConfirmResponse>& answer) {
          parts_.audit->End(entry,
                            answer.ok() ? "done" : answer.status().message());
          if (!answer.ok()) {
            LogRefused(name, entry.who(), from, answer.status());
          }
          answered(answer);
        };
        // The history and the audit file wait for the disk.
        const bool queued = parts_.pool->TryRun(
            [this, entry, by, answered, ended] {
              const absl::Status begun = parts_.audit->Begin(entry);
              if (!begun.ok()) return answered(begun);
              if (by.has_value()) {
                changes_->Extend(entry.subject(), entry, *by, ended);
              } else {
                changes_->Confirm(entry.subject(), entry, ended);
              }
            },
            WorkerPool::Place::kFirst);
        if (!queued) answered(calls_.Refused(call, TooMuchToDo()));
      });
}

UnaryCall* ChangeCalls::Confirm(CallContext* context,
                                const ConfirmRequest* request,
                                ConfirmResponse* response) {
  return AnswerConfirm({context, "Confirm", *request, CallClass::kEnds},
                       request->id(), std::nullopt, response);
}

UnaryCall* ChangeCalls::Extend(CallContext* context,
                               const ExtendRequest* request,
                               ConfirmResponse* response) {
  return AnswerConfirm({context, "Extend", *request, CallClass::kEnds},
                       request->id(), absl::Milliseconds(request->by_ms()),
                       response);
}

UnaryCall* ChangeCalls::ListHistory(CallContext* context,
                                    const ListHistoryRequest* request,
                                    ListHistoryResponse* response) {
  return calls_.Answer({context, "ListHistory", *request, CallClass::kLists},
                       response, [this, request](const SpiffeId&) {
                         return parts_.history->List(*request);
                       });
}

UnaryCall* ChangeCalls::GetHistory(CallContext* context,
                                   const GetHistoryRequest* request,
                                   HistoryRecord* response) {
  return calls_.Answer({context, "GetHistory", *request, CallClass::kRecords},
                       response, [this, request](const SpiffeId&) {
                         return changes_->Show(request->id());
                       });
}

}  // namespace clusterd
