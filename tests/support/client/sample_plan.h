// Plans and their results, for tests of the commands about them.
#ifndef TESTS_SUPPORT_CLIENT_SAMPLE_PLAN_H_
#define TESTS_SUPPORT_CLIENT_SAMPLE_PLAN_H_

#include <string>
#include <vector>

#include "proto/plan.pb.h"

namespace clusterd {

// Every host gets net.core.somaxconn 4096 -> 65535 and its sysctl.d file.
// Cluster "demo", with id, author and correct digest.
ClusterPlan SysctlPlan(const std::vector<std::string>& hosts);

// One host, server0, with one step of every kind, blocked changes and notes.
// Every field is set, with texts that JSON must escape. A second host has the
// defaults of every field. The digest is correct.
ClusterPlan EveryStepPlan();

// Sets the digest of the plan's current content.
void Reseal(ClusterPlan& plan);

// One host with this outcome; its two steps are done if it was applied.
ApplyResult ResultOf(const std::string& host, ApplyResult::Outcome outcome,
                     const std::string& error = "");

// Run 3fa2c4d5e6f70812 over these results, by ann, in 12 s.
ApplyReport ReportOf(ApplyReport::Outcome outcome,
                     const std::vector<ApplyResult>& hosts);

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CLIENT_SAMPLE_PLAN_H_
