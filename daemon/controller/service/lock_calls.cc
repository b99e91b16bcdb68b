#include "daemon/controller/service/lock_calls.h"

#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "config/audit/audit_chain.h"
#include "config/spec/host_names.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {
namespace {

// Parses the identity in a request to lock or unlock, as LockName does.
absl::StatusOr<std::string> IdentityNamed(const ControllerParts& parts,
                                          const std::string& text) {
  if (!absl::StrContains(text, '/')) {
    const std::shared_ptr<const ClusterSpec> spec = parts.spec->spec();
    const std::string host = HostNamed(*spec, text);
    const HostEntry entry = parts.hosts->Entry(*spec, host);
    if (!entry.in_spec() && entry.last_seen_ms() == 0) {
      return NotFoundWords("msg-hub-host-not-known", QuotedText(text));
    }
    return absl::StrCat(KindName(IdentityKind::kHost), "/", host);
  }
  const std::string& cluster = parts.spec->cluster();
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

UnaryCall* LockCalls::Lock(CallContext* context, const LockRequest* request,
                           LockResponse* response) {
  // Lock without waiting for a thread of the pool: an attacker who makes the
  // disk and all those threads hang must not prevent it.
  return calls_.AnswerLater(
      {context, "Lock", *request, CallClass::kLocks}, response,
      [&](const SpiffeId& user, const auto& answered) {
        const AuditEntry entry =
            AuditCaller(*context, "Lock", request->identity());
        const absl::StatusOr<LockResponse> locked = HoldLock(
            parts_, user, IdentityNamed(parts_, request->identity()), *request);
        if (!locked.ok()) {
          parts_.audit->Refuse(entry, locked.status());
          return answered(locked.status());
        }
        const auto answer = [answered, locked = *locked,
                             is_done = std::make_shared<std::atomic<bool>>(
                                 false)](const FindingValue& not_on_disk) {
          if (is_done->exchange(true)) return;
          LockResponse told = locked;
          if (!not_on_disk.words().empty()) {
            *told.mutable_not_on_disk_words() = not_on_disk;
          }
          answered(std::move(told));
        };
        const Scheduler::TimerId timer =
            parts_.scheduler->RunAfter(kDiskWait, [answer] {
              answer(Worded(
                  kInMemoryAlone,
                  Worded("hub-disk-slow", absl::FormatDuration(kDiskWait))));
            });
        // The timer answers if the queue for the disk is full.
        lock_writer_.TryRun([parts = &parts_, answer, timer, entry,
                             identity = locked->lock().identity()] {
          const FindingValue not_on_disk = WriteLock(*parts, entry, identity);
          parts->scheduler->Cancel(timer);
          answer(not_on_disk);
        });
      });
}

UnaryCall* LockCalls::Unlock(CallContext* context, const UnlockRequest* request,
                             UnlockResponse* response) {
  const auto unlock =
      [this, request](const SpiffeId& user) -> absl::StatusOr<UnlockResponse> {
    UnlockResponse answer;
    ASSIGN_OR_RETURN(const std::string identity,
                     IdentityNamed(parts_, request->identity()));
    ASSIGN_OR_RETURN(*answer.mutable_lock(), parts_.gate->Unlock(identity));
    answer.set_schema_version(1);
    parts_.log->Notice(user.ToString(), " unlocked ", identity);
    return answer;
  };
  return calls_.AnswerAudited({context, "Unlock", *request, CallClass::kEnds},
                              request->identity(), response, unlock);
}

UnaryCall* LockCalls::ListLocks(CallContext* context,
                                const ListLocksRequest* request,
                                ListLocksResponse* response) {
  return calls_.Answer({context, "ListLocks", *request, CallClass::kLists},
                       response, [this](const SpiffeId&) {
                         ListLocksResponse answer;
                         for (LockEntry& lock : parts_.gate->Locks()) {
                           *answer.add_locks() = std::move(lock);
                         }
                         answer.set_schema_version(1);
                         return answer;
                       });
}

UnaryCall* LockCalls::GetAuditHeads(CallContext* context,
                                    const GetAuditHeadsRequest* request,
                                    GetAuditHeadsResponse* response) {
  const absl::Status admitted =
      calls_.Admit({context, "GetAuditHeads", *request}).status();
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
