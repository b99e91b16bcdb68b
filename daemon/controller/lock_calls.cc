// ControllerService::Lock, Unlock and ListLocks: admins refuse an identity, and
// let it in again.
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/identity/grpc_status.h"
#include "config/spec/host_names.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/answer_in_slot.h"
#include "daemon/controller/controller_service.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/audit_caller.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/hosts/unary_answer.h"

namespace clusterd {
namespace {

// How long the answer to a lock waits for the disk.
constexpr absl::Duration kDiskWait = absl::Seconds(3);
constexpr char kInMemoryAlone[] =
    "the lock is in memory alone, and a restart before it can be written "
    "forgets it: ";

grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context,
                                 const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// Holds the lock in memory, without waiting for the disk.
absl::StatusOr<LockResponse> HoldLock(
    const ControllerParts& parts, const SpiffeId& user,
    const absl::StatusOr<std::string>& identity, const LockRequest& request) {
  RETURN_IF_ERROR(identity.status());
  if (*identity == LockName(user)) {
    return absl::InvalidArgumentError(absl::StrCat(
        user.ToString(),
        ": is who asks, and nobody locks themselves: another admin can"));
  }
  if (request.reason().size() > kMaxLockReason) {
    return absl::InvalidArgumentError(
        absl::StrCat("reason: ", request.reason().size(),
                     " bytes, expected at most ", kMaxLockReason));
  }
  LockResponse answer;
  answer.set_schema_version(1);
  LockEntry& entry = *answer.mutable_lock();
  entry.set_identity(*identity);
  entry.set_reason(request.reason());
  entry.set_by(user.ToString());
  entry.set_since_ms(absl::ToUnixMillis(parts.scheduler->Now()));
  answer.set_ended(static_cast<uint32_t>(parts.gate->Hold(entry)));
  parts.log->Notice(absl::StrCat(entry.by(), " locked ", entry.identity(), ": ",
                                 QuotedText(entry.reason())));
  return answer;
}

// Waits for the disk. Returns what could not be written of a lock that holds,
// and why, as LockResponse.not_on_disk. A lock is the one change whose first
// audit line comes after it.
std::string WriteLock(const ControllerParts& parts, const AuditEntry& entry,
                      const std::string& identity) {
  const absl::Status saved = parts.gate->SaveLocks();
  const bool begun = parts.audit->Begin(entry).ok();
  std::string lacks;
  if (!saved.ok()) {
    lacks = absl::StrCat(kInMemoryAlone, saved.message());
  } else if (!begun) {
    lacks = "the lock is on disk, but no audit line is";
  }
  if (!lacks.empty()) {
    parts.log->Warning(absl::StrCat(identity, ": ", lacks));
  }
  parts.audit->End(entry, lacks.empty() ? "done" : lacks);
  return lacks;
}

}  // namespace

absl::StatusOr<std::string> ControllerService::IdentityNamed(
    const std::string& text) const {
  if (!absl::StrContains(text, '/')) {
    const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
    const std::string host = HostNamed(*spec, text);
    const HostEntry entry = parts_.hosts->Entry(*spec, host);
    if (!entry.in_spec() && entry.last_seen_ms() == 0) {
      return absl::NotFoundError(absl::StrCat(
          "host ", QuotedText(text),
          " is neither in the spec nor known, expected the name of a host, "
          "user/NAME, or host/NAME for one that has yet to come"));
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
    return absl::InvalidArgumentError(
        absl::StrCat(id.ToString(), ": expected a host or user of cluster \"",
                     cluster, "\""));
  }
  return LockName(id);
}

grpc::ServerUnaryReactor* ControllerService::Lock(
    grpc::CallbackServerContext* context, const LockRequest* request,
    LockResponse* response) {
  const absl::StatusOr<SpiffeId> user = Admit(*context, "Lock", *request);
  if (!user.ok()) return Refuse(context, user.status());
  const absl::Status taken = slots_.locks.Take(user->name);
  if (!taken.ok()) return Refuse(context, Refused(*context, "Lock", taken));
  auto* const reactor =
      new UnaryAnswer(context, parts_.scheduler, &slots_.locks, user->name);
  AuditEntry entry = AuditCaller(*context, "Lock");
  entry.set_subject(request->identity());
  // The lock holds before a thread of the pool is free: an attacker who makes
  // the disk hang, and all those threads with it, must not prevent the lock.
  const absl::StatusOr<LockResponse> locked =
      HoldLock(parts_, *user, IdentityNamed(request->identity()), *request);
  if (!locked.ok()) {
    parts_.audit->Refuse(entry, locked.status());
    reactor->Answer(locked.status(), *response);
    return reactor;
  }
  const auto answer = [reactor, response, locked = *locked,
                       answered = std::make_shared<std::atomic<bool>>(false)](
                          const std::string& not_on_disk) {
    if (answered->exchange(true)) return;
    *response = locked;
    response->set_not_on_disk(not_on_disk);
    reactor->Answer(absl::OkStatus(), *response);
  };
  const Scheduler::TimerId timer =
      parts_.scheduler->RunAfter(kDiskWait, [answer] {
        answer(absl::StrCat(kInMemoryAlone, "the disk has not taken it in ",
                            absl::FormatDuration(kDiskWait)));
      });
  // If too much waits for the disk already, the timer answers.
  lock_writer_.TryRun([parts = &parts_, answer, timer, entry,
                       identity = locked->lock().identity()] {
    const std::string not_on_disk = WriteLock(*parts, entry, identity);
    parts->scheduler->Cancel(timer);
    answer(not_on_disk);
  });
  return reactor;
}

grpc::ServerUnaryReactor* ControllerService::Unlock(
    grpc::CallbackServerContext* context, const UnlockRequest* request,
    UnlockResponse* response) {
  const absl::StatusOr<SpiffeId> user = Admit(*context, "Unlock", *request);
  if (!user.ok()) return Refuse(context, user.status());
  const auto unlock = [this, request,
                       user]() -> absl::StatusOr<UnlockResponse> {
    UnlockResponse answer;
    ASSIGN_OR_RETURN(const std::string identity,
                     IdentityNamed(request->identity()));
    ASSIGN_OR_RETURN(*answer.mutable_lock(), parts_.gate->Unlock(identity));
    answer.set_schema_version(1);
    parts_.log->Notice(absl::StrCat(user->ToString(), " unlocked ", identity));
    return answer;
  };
  AuditEntry entry = AuditCaller(*context, "Unlock");
  entry.set_subject(request->identity());
  return AnswerInSlot<UnlockResponse>(
      context, "Unlock", *user, &slots_.ends, response,
      [this, entry = std::move(entry), unlock] {
        return RunAudited(parts_.audit, entry, unlock);
      });
}

grpc::ServerUnaryReactor* ControllerService::ListLocks(
    grpc::CallbackServerContext* context, const ListLocksRequest* request,
    ListLocksResponse* response) {
  const absl::StatusOr<SpiffeId> user = Admit(*context, "ListLocks", *request);
  if (!user.ok()) return Refuse(context, user.status());
  const auto list = [this]() -> absl::StatusOr<ListLocksResponse> {
    ListLocksResponse answer;
    for (LockEntry& lock : parts_.gate->Locks()) {
      *answer.add_locks() = std::move(lock);
    }
    answer.set_schema_version(1);
    return answer;
  };
  return AnswerInSlot<ListLocksResponse>(context, "ListLocks", *user,
                                         &slots_.lists, response, list);
}

}  // namespace clusterd
