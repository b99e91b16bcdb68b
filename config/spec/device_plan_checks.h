// What makes a planned address wrong, whatever it was read from. Only what is
// certain: which subnets a product wants is for the rules of config/rules.
#ifndef CONFIG_SPEC_DEVICE_PLAN_CHECKS_H_
#define CONFIG_SPEC_DEVICE_PLAN_CHECKS_H_

#include "absl/status/status.h"
#include "config/spec/device_plan.h"
#include "config/spec/mistakes.h"
#include "config/spec/product_profile.h"
#include "config/spec/server_groups.h"

namespace clusterd {

// Records device addresses that no device can have or that the product's tool
// refuses, and every address that stands twice among servers, devices and (once
// per device that has it) gateways, with both places. `product` may be nullptr.
void CheckAddresses(const DevicePlan& plan, const ProductProfile* product,
                    const ServerGroups& groups, Mistakes* mistakes);

// OK if the device can reach `gateway`: a host of its subnet and not itself.
// hccn_tool refuses only what lies outside the subnet (hccn_tool source,
// hicann/driver ef377e95, tool_ops.c).
absl::Status CheckGateway(Ipv4Address gateway, const PlannedDevice& device);

// OK if asking `detect_address` says something about the device's network: it
// is not the device's own, no range that the product's tool refuses, and in the
// subnet or behind a gateway. `product` may be nullptr.
absl::Status CheckDetectAddress(Ipv4Address detect_address,
                                const PlannedDevice& device,
                                const ProductProfile* product);

}  // namespace clusterd

#endif  // CONFIG_SPEC_DEVICE_PLAN_CHECKS_H_
