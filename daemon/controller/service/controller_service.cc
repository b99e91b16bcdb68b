#include "daemon/controller/service/controller_service.h"

#include "absl/algorithm/container.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {

ControllerCalls::ControllerCalls(const ControllerParts& parts)
    : parts_(parts),
      calls_("Controller", parts_, [this](absl::string_view call) {
        static constexpr absl::string_view kNeedNoSpec[] = {
            "ListHosts", "ForgetHost", "DescribeHost", "Learn",
            "Lock",      "Unlock",     "ListLocks",    "GetAuditHeads"};
        return !parts_.spec->learns() ||
                       absl::c_linear_search(kNeedNoSpec, call)
                   ? absl::OkStatus()
                   : parts_.spec->WhyRefused();
      }) {}

}  // namespace clusterd
