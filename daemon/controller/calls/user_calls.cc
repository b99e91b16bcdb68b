#include "daemon/controller/calls/user_calls.h"

#include "daemon/controller/gate/call_roles.h"
#include "daemon/controller/gate/identity_gate.h"

namespace clusterd {

absl::Status CallSlots::Take(CallClass of, const std::string& who) {
  const CallLimits& limits = limits_[static_cast<size_t>(of)];
  absl::MutexLock lock(&mutex_);
  Shares& taken = taken_[static_cast<size_t>(of)];
  if (taken.Has(who, 1, limits.at_once, limits.at_once_of_one)) {
    taken.Take(who);
    return absl::OkStatus();
  }
  return taken.Of(who) >= limits.at_once_of_one
             ? ExhaustedWords("msg-hub-too-many-calls-of-user",
                              limits.at_once_of_one, Worded(limits.what), who)
             : ExhaustedWords("msg-hub-too-many-calls", limits.at_once,
                              Worded(limits.what));
}

absl::StatusOr<SpiffeId> UserCalls::Admit(const UserCall& call) const {
  absl::StatusOr<SpiffeId> user =
      parts_.gate->Admit(*call.context->auth_context(), IdentityKind::kUser);
  absl::Status may = user.status();
  if (may.ok()) may = CheckCallRole(service_, call.name, call.request, *user);
  if (may.ok() && also_ != nullptr) may = also_(call.name);
  if (may.ok()) return user;
  parts_.log->Warning("refused ", call.name, " to ", call.context->peer(), ": ",
                      may.message());
  return Refused(call, may);
}

absl::Status UserCalls::Refused(const UserCall& call,
                                const absl::Status& why) const {
  parts_.audit->Refuse(AuditCaller(*call.context, call.name), why);
  return why;
}

absl::Status UserCalls::TakeSlot(const UserCall& call,
                                 const SpiffeId& user) const {
  const absl::Status taken = slots_.Take(call.of, user.name);
  return taken.ok() ? taken : Refused(call, taken);
}

void UserCalls::WatchUser(
    const UserCall& call, const std::shared_ptr<void>& stream,
    std::function<void(const absl::Status& why)> end) const {
  parts_.gate->Watch(*call.context->auth_context(), IdentityKind::kUser, stream,
                     [weak = std::weak_ptr<void>(stream), audit = parts_.audit,
                      caller = AuditCaller(*call.context, call.name),
                      end = std::move(end)](const absl::Status& why) {
                       const std::shared_ptr<void> open = weak.lock();
                       if (open == nullptr) return;
                       end(why);
                       audit->Refuse(caller, why);
                     });
}

}  // namespace clusterd
