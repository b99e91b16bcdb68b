// The calls with one answer: hosts, spec, history, locks, and the end,
// confirmation or extension of a run. controller_runs.cc has the streaming
// calls.
#include "daemon/controller/service/controller_service.h"

#include <atomic>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "config/audit/audit_chain.h"
#include "config/spec/host_names.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {

ControllerService::ControllerService(
    const ControllerParts& parts, ClusterChanges* changes, JobChecks* jobs,
    ClusterWatch* watch, std::function<std::vector<std::string>()> notes)
    : parts_(parts),
      changes_(changes),
      jobs_(jobs),
      watch_(watch),
      notes_(std::move(notes)),
      calls_("Controller", parts_, [this](absl::string_view call) {
        static constexpr absl::string_view kNeedNoSpec[] = {
            "ListHosts", "ForgetHost", "DescribeHost", "Learn",
            "Lock",      "Unlock",     "ListLocks",    "GetAuditHeads"};
        return !parts_.spec->learns() ||
                       absl::c_linear_search(kNeedNoSpec, call)
                   ? absl::OkStatus()
                   : parts_.spec->WhyRefused();
      }) {}

ControllerService::Unary* ControllerService::ListHosts(
    Context* context, const ListHostsRequest* request,
    ListHostsResponse* response) {
  return calls_.Answer(
      context, "ListHosts", *request, CallClass::kLists, response,
      [this](const SpiffeId&) {
        ListHostsResponse list;
        list.set_cluster(parts_.spec->cluster());
        const GetSpecResponse spec = parts_.spec->Describe();
        if (spec.has_refused_words()) {
          *list.mutable_spec_refused_words() = spec.refused_words();
        }
        for (HostEntry& entry : parts_.hosts->Entries(*parts_.spec->spec())) {
          *list.add_hosts() = std::move(entry);
        }
        return list;
      });
}

ControllerService::Unary* ControllerService::ForgetHost(
    Context* context, const ForgetHostRequest* request,
    ForgetHostResponse* response) {
  return calls_.Answer(
      context, "ForgetHost", *request, CallClass::kEnds, response,
      [this, request, entry = AuditCaller(*context, "ForgetHost")](
          const SpiffeId&) -> absl::StatusOr<ForgetHostResponse> {
        const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
        ForgetHostResponse answer;
        answer.set_host(HostNamed(*spec, request->host()));
        answer.set_in_spec(NamesHost(*spec, answer.host()));
        AuditEntry audited = entry;
        audited.set_subject(answer.host());
        RETURN_IF_ERROR(parts_.audit->Begin(audited));
        absl::Status forgotten = parts_.hosts->Forget(answer.host());
        parts_.audit->End(audited,
                          forgotten.ok() ? "forgotten" : forgotten.message());
        if (forgotten.ok()) {
          parts_.log->Info("host ", answer.host(), ": forgotten by ",
                           ActorName(entry.who()));
        } else if (absl::IsNotFound(forgotten) && answer.in_spec()) {
          forgotten = absl::OkStatus();
        }
        RETURN_IF_ERROR(forgotten);
        return answer;
      });
}

ControllerService::Unary* ControllerService::DescribeHost(
    Context* context, const DescribeHostRequest* request,
    DescribeHostResponse* response) {
  const auto begun =
      calls_.Begin(context, "DescribeHost", *request, CallClass::kDescribes);
  if (!begun.ok()) return FinishWith(context, begun.status());
  UnaryAnswer* const reactor = begun->answer;
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
  const std::string host = HostNamed(*spec, request->host());
  *response->mutable_entry() = parts_.hosts->Entry(*spec, host);
  if (!response->entry().in_spec() && !response->entry().attached()) {
    reactor->Answer(
        NotFoundWords("msg-hub-host-not-in-spec-nor-attached", request->host()),
        *response);
    return reactor;
  }
  parts_.hosts->Observe(ObservationOf(*spec, host),
                        [reactor, response](HostFacts facts) {
                          facts.clear_clock();
                          *response->mutable_facts() = std::move(facts);
                          reactor->Answer(absl::OkStatus(), *response);
                        });
  return reactor;
}

ControllerService::Unary* ControllerService::GetSpec(
    Context* context, const GetSpecRequest* request,
    GetSpecResponse* response) {
  return calls_.Answer(context, "GetSpec", *request, CallClass::kLists,
                       response, [this](const SpiffeId&) {
                         GetSpecResponse spec = parts_.spec->Describe();
                         spec.set_controller_version(kClusterdVersion);
                         return spec;
                       });
}

ControllerService::Unary* ControllerService::ListHistory(
    Context* context, const ListHistoryRequest* request,
    ListHistoryResponse* response) {
  return calls_.Answer(context, "ListHistory", *request, CallClass::kLists,
                       response, [this, request](const SpiffeId&) {
                         return parts_.history->List(*request);
                       });
}

ControllerService::Unary* ControllerService::GetHistory(
    Context* context, const GetHistoryRequest* request,
    HistoryRecord* response) {
  return calls_.Answer(context, "GetHistory", *request, CallClass::kRecords,
                       response, [this, request](const SpiffeId&) {
                         return changes_->Show(request->id());
                       });
}

ControllerService::Unary* ControllerService::CheckSoFar(
    Context* context, const CheckSoFarRequest* request, Report* response) {
  return calls_.Answer(
      context, "CheckSoFar", *request, CallClass::kSoFar, response,
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

template <typename Request, typename Response>
ControllerService::Unary* ControllerService::EndRun(Context* context,
                                                    const char* call,
                                                    const Request& request,
                                                    Response* response,
                                                    EndOfRun<Response> end) {
  return calls_.Answer(
      context, call, request, CallClass::kEnds, response,
      [this, call, entry = AuditCaller(*context, call, request.id()),
       end](const SpiffeId& user) {
        const std::string from =
            absl::StrCat(RoleName(user.role), ", ", entry.peer());
        const absl::StatusOr<Response> ended =
            RunAudited(parts_.audit, entry, [&] {
              return (changes_->*end)(entry.subject(), entry.who(), from);
            });
        if (!ended.ok()) {
          parts_.log->Warning("refused ", call, " to ", ActorName(entry.who()),
                              " (", from, "): ", ended.status().message());
        }
        return ended;
      });
}

ControllerService::Unary* ControllerService::Cancel(
    Context* context, const CancelRequest* request, CancelResponse* response) {
  return EndRun(context, "Cancel", *request, response, &ClusterChanges::Cancel);
}

ControllerService::Unary* ControllerService::AbortApply(
    Context* context, const AbortApplyRequest* request,
    AbortApplyResponse* response) {
  return EndRun(context, "AbortApply", *request, response,
                &ClusterChanges::Abort);
}

ControllerService::Unary* ControllerService::AnswerConfirm(
    Context* context, const char* call,
    const google::protobuf::Message& request, const std::string& id,
    std::optional<absl::Duration> by, ConfirmResponse* response) {
  const auto begun = calls_.Begin(context, call, request, CallClass::kEnds);
  if (!begun.ok()) return FinishWith(context, begun.status());
  UnaryAnswer* const reactor = begun->answer;
  const AuditEntry entry = AuditCaller(*context, call, id);
  const auto answered = [this, call, entry, reactor, response](
                            const absl::StatusOr<ConfirmResponse>& answer) {
    parts_.audit->End(entry, answer.ok() ? "done" : answer.status().message());
    if (answer.ok()) {
      *response = *answer;
    } else {
      parts_.log->Warning("refused ", call, " to ", entry.who(), ": ",
                          answer.status().message());
    }
    reactor->Answer(answer.status(), *response);
  };
  // The history and the audit file wait for the disk.
  const bool queued = parts_.pool->TryRun(
      [this, entry, by, answered, reactor, response] {
        const absl::Status begun = parts_.audit->Begin(entry);
        if (!begun.ok()) return reactor->Answer(begun, *response);
        if (by.has_value()) {
          changes_->Extend(entry.subject(), entry, *by, answered);
        } else {
          changes_->Confirm(entry.subject(), entry, answered);
        }
      },
      WorkerPool::Place::kFirst);
  if (!queued) {
    reactor->Answer(calls_.Refused(*context, call, TooMuchToDo()), *response);
  }
  return reactor;
}

ControllerService::Unary* ControllerService::Confirm(
    Context* context, const ConfirmRequest* request,
    ConfirmResponse* response) {
  return AnswerConfirm(context, "Confirm", *request, request->id(),
                       std::nullopt, response);
}

ControllerService::Unary* ControllerService::Extend(
    Context* context, const ExtendRequest* request, ConfirmResponse* response) {
  return AnswerConfirm(context, "Extend", *request, request->id(),
                       absl::Milliseconds(request->by_ms()), response);
}

absl::StatusOr<std::string> ControllerService::IdentityNamed(
    const std::string& text) const {
  if (!absl::StrContains(text, '/')) {
    const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
    const std::string host = HostNamed(*spec, text);
    const HostEntry entry = parts_.hosts->Entry(*spec, host);
    if (!entry.in_spec() && entry.last_seen_ms() == 0) {
      return NotFoundWords("msg-hub-host-not-known", QuotedText(text));
    }
    return absl::StrCat(KindName(IdentityKind::kHost), "/", host);
  }
  const std::string& cluster = parts_.spec->cluster();
  ASSIGN_OR_RETURN(
      const SpiffeId id,
      ParseSpiffeId(absl::StartsWith(text, "spiffe://")
                        ? text
                        : absl::StrCat("spiffe://", cluster, "/", text)));
  if (id.cluster != cluster || id.kind == IdentityKind::kController) {
    return InvalidWords("msg-hub-identity-of-other-cluster", id.ToString(),
                        cluster);
  }
  return LockName(id);
}

namespace {

// How long the answer to a lock waits for the disk.
constexpr absl::Duration kDiskWait = absl::Seconds(3);
constexpr char kInMemoryAlone[] = "hub-lock-in-memory";

// Holds the lock in memory, without waiting for the disk.
absl::StatusOr<LockResponse> HoldLock(
    const ControllerParts& parts, const SpiffeId& user,
    const absl::StatusOr<std::string>& identity, const LockRequest& request) {
  RETURN_IF_ERROR(identity.status());
  if (*identity == LockName(user)) {
    return InvalidWords("msg-hub-lock-own", user.ToString());
  }
  if (request.reason().size() > kMaxLockReason) {
    return InvalidWords("msg-hub-lock-reason-too-long", request.reason().size(),
                        kMaxLockReason);
  }
  LockResponse answer;
  answer.set_schema_version(1);
  LockEntry& entry = *answer.mutable_lock();
  entry.set_identity(*identity);
  entry.set_reason(request.reason());
  entry.set_by(user.ToString());
  entry.set_since_ms(absl::ToUnixMillis(parts.scheduler->Now()));
  answer.set_ended(static_cast<uint32_t>(parts.gate->Hold(entry)));
  parts.log->Notice(entry.by(), " locked ", entry.identity(), ": ",
                    QuotedText(entry.reason()));
  return answer;
}

// Waits for the disk. Returns which part of an active lock could not be
// written, and why (LockResponse.not_on_disk). Only locks take effect before
// their first audit line.
FindingValue WriteLock(const ControllerParts& parts, const AuditEntry& entry,
                       const std::string& identity) {
  const absl::Status saved = parts.gate->SaveLocks();
  const bool begun = parts.audit->Begin(entry).ok();
  FindingValue lacks;
  if (!saved.ok()) {
    lacks = Worded(kInMemoryAlone, MessageWords(saved));
  } else if (!begun) {
    lacks = Worded("hub-lock-not-audited");
  }
  const std::string text = ValueText(lacks);
  if (!text.empty()) parts.log->Warning(identity, ": ", text);
  parts.audit->End(entry, text.empty() ? "done" : text);
  return lacks;
}

}  // namespace

ControllerService::Unary* ControllerService::Lock(Context* context,
                                                  const LockRequest* request,
                                                  LockResponse* response) {
  const auto begun = calls_.Begin(context, "Lock", *request, CallClass::kLocks);
  if (!begun.ok()) return FinishWith(context, begun.status());
  UnaryAnswer* const reactor = begun->answer;
  const AuditEntry entry = AuditCaller(*context, "Lock", request->identity());
  // Lock without waiting for a thread of the pool: an attacker who makes the
  // disk and all those threads hang must not prevent it.
  const absl::StatusOr<LockResponse> locked = HoldLock(
      parts_, begun->user, IdentityNamed(request->identity()), *request);
  if (!locked.ok()) {
    parts_.audit->Refuse(entry, locked.status());
    reactor->Answer(locked.status(), *response);
    return reactor;
  }
  const auto answer = [reactor, response, locked = *locked,
                       answered = std::make_shared<std::atomic<bool>>(false)](
                          const FindingValue& not_on_disk) {
    if (answered->exchange(true)) return;
    *response = locked;
    if (!not_on_disk.words().empty()) {
      *response->mutable_not_on_disk_words() = not_on_disk;
    }
    reactor->Answer(absl::OkStatus(), *response);
  };
  const Scheduler::TimerId timer =
      parts_.scheduler->RunAfter(kDiskWait, [answer] {
        answer(Worded(kInMemoryAlone, Worded("hub-disk-slow",
                                             absl::FormatDuration(kDiskWait))));
      });
  // The timer answers if the queue for the disk is full.
  lock_writer_.TryRun([parts = &parts_, answer, timer, entry,
                       identity = locked->lock().identity()] {
    const FindingValue not_on_disk = WriteLock(*parts, entry, identity);
    parts->scheduler->Cancel(timer);
    answer(not_on_disk);
  });
  return reactor;
}

ControllerService::Unary* ControllerService::Unlock(
    Context* context, const UnlockRequest* request, UnlockResponse* response) {
  const auto unlock =
      [this, request](const SpiffeId& user) -> absl::StatusOr<UnlockResponse> {
    UnlockResponse answer;
    ASSIGN_OR_RETURN(const std::string identity,
                     IdentityNamed(request->identity()));
    ASSIGN_OR_RETURN(*answer.mutable_lock(), parts_.gate->Unlock(identity));
    answer.set_schema_version(1);
    parts_.log->Notice(user.ToString(), " unlocked ", identity);
    return answer;
  };
  return calls_.AnswerAudited(context, "Unlock", *request, request->identity(),
                              CallClass::kEnds, response, unlock);
}

ControllerService::Unary* ControllerService::ListLocks(
    Context* context, const ListLocksRequest* request,
    ListLocksResponse* response) {
  return calls_.Answer(context, "ListLocks", *request, CallClass::kLists,
                       response, [this](const SpiffeId&) {
                         ListLocksResponse answer;
                         for (LockEntry& lock : parts_.gate->Locks()) {
                           *answer.add_locks() = std::move(lock);
                         }
                         answer.set_schema_version(1);
                         return answer;
                       });
}

ControllerService::Unary* ControllerService::GetAuditHeads(
    Context* context, const GetAuditHeadsRequest* request,
    GetAuditHeadsResponse* response) {
  const absl::Status admitted =
      calls_.Admit(*context, "GetAuditHeads", *request).status();
  if (admitted.ok()) {
    *response->add_heads() = parts_.audit->head();
    response->mutable_heads(0)->set_of(kControllerFile);
    for (AuditHead& head : parts_.audit->heads()) {
      *response->add_heads() = std::move(head);
    }
  }
  return FinishWith(context, admitted);
}

}  // namespace clusterd
