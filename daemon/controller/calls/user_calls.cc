#include "daemon/controller/calls/user_calls.h"

#include "config/values/status_macros.h"
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

absl::StatusOr<SpiffeId> UserCalls::Admit(
    const Context& context, absl::string_view call,
    const google::protobuf::Message& request) const {
  absl::StatusOr<SpiffeId> user =
      parts_.gate->Admit(*context.auth_context(), IdentityKind::kUser);
  absl::Status may = user.status();
  if (may.ok()) may = CheckCallRole(service_, call, request, *user);
  if (may.ok() && also_ != nullptr) may = also_(call);
  if (may.ok()) return user;
  parts_.log->Warning("refused ", call, " to ", context.peer(), ": ",
                      may.message());
  return Refused(context, call, may);
}

absl::Status UserCalls::Refused(const Context& context, absl::string_view call,
                                const absl::Status& why) const {
  parts_.audit->Refuse(AuditCaller(context, call), why);
  return why;
}

absl::StatusOr<UserCalls::Begun> UserCalls::Begin(
    Context* context, absl::string_view call,
    const google::protobuf::Message& request, CallClass of) const {
  ASSIGN_OR_RETURN(SpiffeId user, Admit(*context, call, request));
  const absl::Status taken = slots_.Take(of, user.name);
  if (!taken.ok()) return Refused(*context, call, taken);
  auto* const answer =
      new UnaryAnswer(context, parts_.scheduler, &slots_, of, user.name);
  return Begun{std::move(user), answer};
}

}  // namespace clusterd
