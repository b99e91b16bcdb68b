#include "daemon/controller/hosts/user_calls.h"

#include "config/values/status_macros.h"
#include "daemon/controller/gate/call_roles.h"
#include "daemon/controller/gate/identity_gate.h"

namespace clusterd {

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
    const google::protobuf::Message& request, Slots* slots) const {
  ASSIGN_OR_RETURN(SpiffeId user, Admit(*context, call, request));
  const absl::Status taken = slots->Take(user.name);
  if (!taken.ok()) return Refused(*context, call, taken);
  auto* const answer =
      new UnaryAnswer(context, parts_.scheduler, slots, user.name);
  return Begun{std::move(user), answer};
}

}  // namespace clusterd
