// Each device's own addresses: device IP, gateway, detect address.
// subnet_rules.h compares devices with each other.
#ifndef CONFIG_RULES_ADDRESS_RULES_H_
#define CONFIG_RULES_ADDRESS_RULES_H_

#include <string>

#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"
#include "config/spec/ipv4.h"
#include "config/spec/product_profile.h"

namespace clusterd {

// What is wrong with using the address at all on this product, e.g. "lies in
// 192.168.1.0/24: …"; empty if nothing is.
std::string WhyNotUsable(Ipv4Address address, const ProductProfile& profile);

void CheckDeviceIpSet(const ClusterView& view, RuleReport& report);
// Devices that the spec plans no address for are not judged.
void CheckDeviceIpPlanned(const ClusterView& view, RuleReport& report);
void CheckDeviceIpAllowed(const ClusterView& view, RuleReport& report);

// | gateway is                               | state |
// |------------------------------------------|-------|
// | own, network or broadcast address        | fail  |
// | outside the device's subnet              | fail  |
// | not set, and the spec names one          | warn  |
// | in the subnet, and the spec names another| warn  |
void CheckGateway(const ClusterView& view, RuleReport& report);

// | detect address is                              | state |
// |------------------------------------------------|-------|
// | not set, own, in an unusable range             | fail  |
// | the subnet's network or broadcast address      | fail  |
// | outside the subnet, no gateway is set          | fail  |
// | outside the subnet, a gateway is set           | warn  |
// | in the subnet, and the spec names another      | warn  |
// Outside the subnet and the planned one is what the spec wants: it passes with
// a gateway.
void CheckDetectAddress(const ClusterView& view, RuleReport& report);

}  // namespace clusterd

#endif  // CONFIG_RULES_ADDRESS_RULES_H_
