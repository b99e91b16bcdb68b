#include "config/plan/hccn_conf_steps.h"

#include "absl/strings/str_cat.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/named_facts.h"

namespace clusterd {

void PlanHccnConfSteps(HostPlanBuilder* plan) {
  if (plan->facts().hccn_conf().state_case() != HccnConfFact::kValue) return;
  const HccnConf& conf = plan->facts().hccn_conf().value();
  HccnConfRepairChange repair;
  for (const HccnConf::Problem& problem : conf.problems()) {
    if (IsRepairable(problem)) {
      *repair.add_problems() = problem;
      continue;
    }
    plan->Block(CHANGE_HCCN_CONF, {},
                absl::StrCat("/etc/hccn.conf line ", problem.line()),
                absl::StrCat(HccnConf::Problem::Kind_Name(problem.kind()),
                             ": what was meant cannot be told from \"",
                             problem.text().substr(0, 80), "\""),
                "correct the line by hand, keeping the file's inode");
  }
  if (repair.problems().empty()) return;
  repair.set_from_sha256(conf.sha256());
  PlanStep* step = plan->AddStep(CHANGE_HCCN_CONF, {kHccnConfFormFact});
  *step->mutable_hccn_conf_repair() = repair;
  step->set_precondition(absl::StrCat("/etc/hccn.conf has SHA-256 ",
                                      conf.sha256().substr(0, 12), "…"));
  step->set_undo("hccn.conf byte for byte");
}

}  // namespace clusterd
