// Where the gateway or the detect address of every device comes from:
//   none                             no device has one
//   1                                host part in the device's own subnet
//   10.20.63.254                     the same for all; also patterns
//   [10.1.0.1, none, …]              one of these per device
//   {server0: [10.1.0.1, …], …}      one of these per host
// and for detect addresses also
//   gateway                          the device's own gateway
//   peer((n+1) % servers, d)         the address of another server's device
#ifndef CONFIG_SPEC_ADDRESS_SOURCE_H_
#define CONFIG_SPEC_ADDRESS_SOURCE_H_

#include "config/spec/device_plan.h"
#include "config/spec/mistakes.h"
#include "config/spec/product_profile.h"
#include "config/spec/server_groups.h"
#include "config/spec/yaml_values.h"

namespace clusterd {

// Sets gateways and detect addresses by `map`, which is `devices`, in a plan
// that has its ids and addresses, and records what makes an address wrong,
// whatever it was read from. Only what is certain: which subnets a product
// wants is for the rules of config/rules. `product` may be nullptr.
//   device address  no device can have it, the product's tool refuses it, or it
//                   stands twice among servers, devices and gateways
//   gateway         outside of the device's subnet, or the device's own
//   detect address  the device's own, one that the tool refuses, or neither in
//                   the subnet nor behind a gateway
// hccn_tool refuses only gateways that lie outside the subnet (hccn_tool
// source, hicann/driver ef377e95, tool_ops.c).
void ReadAddressSources(const YamlMap& map, const ProductProfile* product,
                        const ServerGroups& groups, Mistakes* mistakes,
                        DevicePlan* plan);

}  // namespace clusterd

#endif  // CONFIG_SPEC_ADDRESS_SOURCE_H_
