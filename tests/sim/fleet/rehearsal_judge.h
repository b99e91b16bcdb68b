// Judges a rehearsal of a cluster: servers without any setting of its spec,
// then their faults, a plan, its apply, a check that passes, a rollback, and a
// check with the findings of before the apply. Pure.
//   a server without faults  is applied, passes, and is rolled back
//   a server with faults     is named by the check, or fixed by the apply, or
//                            stops it: then it is undone, and later waves are
//                            not begun; an unnoticed fault is wrong
#ifndef TESTS_SIM_FLEET_REHEARSAL_JUDGE_H_
#define TESTS_SIM_FLEET_REHEARSAL_JUDGE_H_

#include <set>
#include <string>
#include <vector>

#include "proto/finding.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// The output of clusterctl at each step; empty if a step was not reached.
struct Rehearsal {
  std::set<std::string> faulted;  // Hosts.
  Report fresh;
  Report faulty;  // With the faults; without any, the same as `fresh`.
  ClusterPlan plan;
  ApplyReport apply;
  Report after;
  ApplyReport rollback;
  Report back;
};

// Lines for people.
struct RehearsalVerdict {
  // The steps that the plan leaves out, and the result of each fault.
  std::vector<std::string> notes;
  std::vector<std::string> wrong;  // Empty: all went as it should.
};

RehearsalVerdict JudgeRehearsal(const Rehearsal& rehearsal);

// The result of a step, in a few words: "fail: 6 rules fail on 1152 hosts",
// "1152 of 1152 hosts applied in 19 waves".
std::string StepText(const Report& report);
std::string StepText(const ApplyReport& report);

}  // namespace clusterd

#endif  // TESTS_SIM_FLEET_REHEARSAL_JUDGE_H_
