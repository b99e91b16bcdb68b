// ControllerService::Lock, Unlock and ListLocks: admins refuse an identity, and
// let it in again.
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

namespace clusterd {
namespace {

grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context,
                                 const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
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
  const auto hold = [this, request, user]() -> absl::StatusOr<LockResponse> {
    LockResponse answer;
    answer.set_schema_version(1);
    LockEntry& entry = *answer.mutable_lock();
    ASSIGN_OR_RETURN(*entry.mutable_identity(),
                     IdentityNamed(request->identity()));
    if (entry.identity() == LockName(*user)) {
      return absl::InvalidArgumentError(absl::StrCat(
          user->ToString(),
          ": is who asks, and nobody locks themselves: another admin can"));
    }
    if (request->reason().size() > kMaxLockReason) {
      return absl::InvalidArgumentError(
          absl::StrCat("reason: ", request->reason().size(),
                       " bytes, expected at most ", kMaxLockReason));
    }
    entry.set_reason(request->reason());
    entry.set_by(user->ToString());
    entry.set_since_ms(absl::ToUnixMillis(parts_.scheduler->Now()));
    answer.set_ended(static_cast<uint32_t>(parts_.gate->Hold(entry)));
    return answer;
  };
  const auto save = [this](LockResponse* answer) {
    const absl::Status saved = parts_.gate->SaveLocks();
    if (!saved.ok()) {
      answer->set_not_on_disk(absl::StrCat(
          "the lock is in memory alone, and a restart before it can be written "
          "forgets it: ",
          saved.message()));
    }
    const LockEntry& entry = answer->lock();
    parts_.log->Notice(absl::StrCat(entry.by(), " locked ", entry.identity(),
                                    ": ", QuotedText(entry.reason()),
                                    saved.ok() ? "" : "; ",
                                    answer->not_on_disk()));
  };
  AuditEntry entry = AuditCaller(*context, "Lock");
  entry.set_subject(request->identity());
  return AnswerInSlot<LockResponse>(
      context, "Lock", *user, &slots_.ends, response,
      [audit = parts_.audit, entry = std::move(entry), hold, save] {
        // The one change that does not wait for its first line, nor needs it:
        // whoever fills the disk, or has it hang, must not keep an identity
        // from being locked.
        absl::StatusOr<LockResponse> locked = hold();
        const bool begun = audit->Begin(entry).ok();
        if (locked.ok()) save(&*locked);
        if (locked.ok() && !begun && locked->not_on_disk().empty()) {
          locked->set_not_on_disk("the lock is on disk, but no audit line is");
        }
        const absl::string_view done =
            locked.ok() && !locked->not_on_disk().empty()
                ? absl::string_view(locked->not_on_disk())
                : "done";
        audit->End(entry, locked.ok() ? done : locked.status().message());
        return locked;
      });
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
