// The catalogue's text, one list per category. catalogue.h puts them together
// and is what everybody else reads.
#ifndef CONFIG_RULES_CATALOGUE_PARTS_H_
#define CONFIG_RULES_CATALOGUE_PARTS_H_

#include <vector>

#include "config/rules/catalogue.h"

namespace clusterd {

std::vector<RuleInfo> HostRules();
std::vector<RuleInfo> DeviceRules();
std::vector<RuleInfo> AddressRules();
std::vector<RuleInfo> ClusterRules();

// Public papers that several rules rest on.
inline constexpr char kTrainingGuide[] =
    "Ascend PyTorch training migration guide, preparing several servers: "
    "https://www.hiascend.com/document/detail/zh/Pytorch/700/ptmoddevg/"
    "trainingmigrguide/PT_LMTMOG_0022.html";
inline constexpr char kToolSource[] =
    "hccn_tool source, hicann/driver ef377e95, tool_ops.c and cfg.c";
inline constexpr char kSysctlManual[] =
    "sysctl.d(5): "
    "https://www.freedesktop.org/software/systemd/man/256/sysctl.d.html";

}  // namespace clusterd

#endif  // CONFIG_RULES_CATALOGUE_PARTS_H_
