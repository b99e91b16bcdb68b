// Steps of plans for tests, each with one setting of one target and the
// setting's own kind, without number and texts.
#ifndef TESTS_SUPPORT_CONFIG_PLAN_STEPS_H_
#define TESTS_SUPPORT_CONFIG_PLAN_STEPS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/facts.pb.h"
#include "proto/finding.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// The value of a text: "none", "10.0.0.1/255.255.255.0", "on", "33:1,46:2",
// "60000-60015"; a text that is not of the setting stays one.
SettingValue ValueOf(SettingId setting, const std::string& text);
SettingValue ValueOf(const std::string& kernel_parameter,
                     const std::string& text);

// The values are texts as above.
PlanStep DeviceStep(uint32_t device, SettingId setting, const std::string& from,
                    const std::string& to);
// The device has `to`, hccn.conf has `from`.
PlanStep RewriteStep(uint32_t device, SettingId setting,
                     const std::string& from, const std::string& to);
// A new address that drops this gateway of the device.
PlanStep AddressStep(uint32_t device, const std::string& from,
                     const std::string& to, const std::string& gateway);

PlanStep RunningStep(const std::string& key, const std::string& from,
                     const std::string& to);
PlanStep AtBootStep(const std::string& key, const std::string& from,
                    const std::string& to);

// For an active firewall that starts at boot.
PlanStep StopStep(FirewallProgram program);
AllowedPort TcpPorts(uint32_t first, uint32_t last, const std::string& source);
PlanStep OpenStep(FirewallProgram program, const AllowedPort& port);

// `repairs` e.g. "lines 1-4,7: remove carriage returns".
PlanStep FormStep(const std::string& repairs, const std::string& sha256);

// The texts of the keys of a plan's facts.
std::vector<std::string> FactNames(const HostPlan& plan);

// The facts by the texts of their keys, each as its text.
std::map<std::string, std::string> FactTexts(const HostFacts& facts);

// The texts of the steps, to compare a plan's with those from above.
std::vector<std::string> StepTexts(const HostPlan& plan);
std::vector<std::string> StepTexts(const std::vector<PlanStep>& steps);

// The reason, or the whole text, of each blocked change. A plan with steps
// gives its steps instead.
std::vector<std::string> BlockedReasons(const HostPlan& plan);
std::vector<std::string> BlockedTexts(const HostPlan& plan);

// BlockedText of a change that is blocked with `reason`; `change` e.g. "device
// 1: gateway 10.0.0.254".
std::string BlockedAs(const std::string& change, const FindingValue& reason,
                      const FindingValue& fix);

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CONFIG_PLAN_STEPS_H_
