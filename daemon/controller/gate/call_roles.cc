#include "daemon/controller/gate/call_roles.h"

#include <iterator>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/identity/tls_credentials.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

constexpr CallRole kCallRoles[] = {
    // A scheduler calls it before a job. It is the only call of role hook,
    // which gets only the failures (ReportForHook).
    {"Controller", "Check", Caller::kUser, Role::kViewer, "job", Role::kHook},
    {"Controller", "CheckSoFar", Caller::kUser, Role::kViewer},
    {"Controller", "ListHosts", Caller::kUser, Role::kViewer},
    {"Controller", "ForgetHost", Caller::kUser, Role::kOperator},
    {"Controller", "DescribeHost", Caller::kUser, Role::kViewer},
    {"Controller", "GetSpec", Caller::kUser, Role::kViewer},
    {"Controller", "Plan", Caller::kUser, Role::kOperator},
    {"Controller", "ApplyPlan", Caller::kUser, Role::kOperator, "force",
     Role::kAdmin},
    {"Controller", "RollBack", Caller::kUser, Role::kOperator, "force",
     Role::kAdmin},
    // Also for a run that an admin forced: cancelling only makes it do less.
    {"Controller", "Cancel", Caller::kUser, Role::kOperator},
    {"Controller", "AbortApply", Caller::kUser, Role::kAdmin},
    {"Controller", "ListHistory", Caller::kUser, Role::kViewer},
    {"Controller", "GetHistory", Caller::kUser, Role::kViewer},
    {"Controller", "Watch", Caller::kUser, Role::kViewer},
    // Also for a run that an admin forced: it reverts unless confirmed.
    {"Controller", "Confirm", Caller::kUser, Role::kOperator},
    {"Controller", "Extend", Caller::kUser, Role::kOperator},
    {"Controller", "Learn", Caller::kUser, Role::kViewer},
    {"Controller", "PrepareLaunch", Caller::kUser, Role::kViewer},
    // Users wrote these logs.
    {"Controller", "ReadLogs", Caller::kUser, Role::kOperator},
    {"Controller", "Lock", Caller::kUser, Role::kAdmin},
    {"Controller", "Unlock", Caller::kUser, Role::kAdmin},
    {"Controller", "ListLocks", Caller::kUser, Role::kAdmin},
    {"Controller", "Waive", Caller::kUser, Role::kOperator},
    {"Controller", "EndWaiver", Caller::kUser, Role::kOperator},
    {"Controller", "ListWaivers", Caller::kUser, Role::kViewer},
    {"Controller", "GetAuditHeads", Caller::kUser, Role::kOperator},

    {"Trust", "CreateToken", Caller::kUser, Role::kAdmin},
    {"Trust", "ListTokens", Caller::kUser, Role::kAdmin},
    {"Trust", "RevokeToken", Caller::kUser, Role::kAdmin},
    {"Trust", "ListCertificates", Caller::kUser, Role::kViewer},
    {"Trust", "ApproveHost", Caller::kUser, Role::kAdmin},
    {"Trust", "RefuseHost", Caller::kUser, Role::kAdmin},
    {"Trust", "ResetHost", Caller::kUser, Role::kAdmin},
    {"Trust", "RenewLate", Caller::kEndedHost},

    {"AgentHub", "Attach", Caller::kHost},

    // These use a separate port, where a token proves the identity.
    {"Enrolment", "Roots", Caller::kAnybody},
    {"Enrolment", "Join", Caller::kAnybody},

    {"LocalAgent", "GetStatus", Caller::kSocket},
    {"LocalAgent", "CheckSelf", Caller::kSocket},
    {"LocalAgent", "RunHook", Caller::kSocket},
};

bool IsSet(const google::protobuf::Message& request, absl::string_view field) {
  const auto* const found =
      request.GetDescriptor()->FindFieldByName(std::string(field));
  return found != nullptr && request.GetReflection()->HasField(request, found);
}

}  // namespace

absl::Span<const CallRole> AllCallRoles() { return kCallRoles; }

absl::Status CheckCallRole(absl::string_view service, absl::string_view method,
                           const google::protobuf::Message& request,
                           const SpiffeId& user) {
  const auto* const row = absl::c_find_if(kCallRoles, [&](const auto& each) {
    return each.service == service && each.method == method;
  });
  if (row == std::end(kCallRoles) || row->caller != Caller::kUser) {
    return InternalWords("msg-hub-no-role", service, method);
  }
  std::string call(method);
  Role needed = row->role;
  if (!row->field.empty()) {
    const bool set = IsSet(request, row->field);
    if (set) needed = row->role_if_set;
    // Name the field if its value makes the call need the higher role.
    if (set == (row->role_if_set > row->role)) {
      absl::StrAppend(&call, set ? " with " : " without ", row->field);
    }
  }
  return RequireRole(user, needed, call);
}

}  // namespace clusterd
