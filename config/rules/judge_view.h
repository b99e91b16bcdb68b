// Judge of judge.h over a view that is there already, for whoever needs both.
#ifndef CONFIG_RULES_JUDGE_VIEW_H_
#define CONFIG_RULES_JUDGE_VIEW_H_

#include <vector>

#include "config/rules/cluster_view.h"
#include "config/rules/judge.h"
#include "proto/finding.pb.h"

namespace clusterd {

// REQUIRES: ValidateSelection(options.selection).ok().
std::vector<RuleResult> JudgeView(const ClusterView& view,
                                  const JudgeOptions& options);

}  // namespace clusterd

#endif  // CONFIG_RULES_JUDGE_VIEW_H_
