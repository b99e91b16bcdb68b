// What is wrong with a waiver that somebody asks for.
#ifndef CONFIG_RULES_WAIVER_RULES_H_
#define CONFIG_RULES_WAIVER_RULES_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/finding.pb.h"

namespace clusterd {

// Every mistake of its rule, reason and end; hosts are not looked at.
std::vector<std::string> WaiverMistakes(const Waiver& waiver, absl::Time now);

}  // namespace clusterd

#endif  // CONFIG_RULES_WAIVER_RULES_H_
