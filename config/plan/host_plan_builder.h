// Collects the plan of one host while the step families go over its facts:
// numbers steps, remembers which facts they rest on, and what is blocked.
#ifndef CONFIG_PLAN_HOST_PLAN_BUILDER_H_
#define CONFIG_PLAN_HOST_PLAN_BUILDER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/plan/named_facts.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

class HostPlanBuilder {
 public:
  // `facts` must outlive the builder.
  explicit HostPlanBuilder(const HostFacts& facts);

  const HostFacts& facts() const { return facts_; }
  // nullptr: the host sent nothing about this device.
  const DeviceFacts* FindDevice(uint32_t id) const;
  // The first hccn.conf line of a key, as the tool reads it; "": there is none.
  // REQUIRES: facts().hccn_conf() has a value.
  std::string ConfValue(absl::string_view key, uint32_t device) const;

  // A new step after all others. `rests_on` are names of named_facts.h; all are
  // known, or the step should have been blocked. Valid until the next call.
  PlanStep* AddStep(ChangeKind kind, const std::vector<std::string>& rests_on);

  // Something the spec asks for that cannot be planned, and what to do.
  void Block(ChangeKind kind, const std::vector<uint32_t>& devices,
             absl::string_view what, absl::string_view reason,
             absl::string_view fix);
  void Note(absl::string_view text);

  // The plan. Of a host that tells what it allows (facts().allows()), steps of
  // other kinds are blocked instead, each with its text and what to write into
  // which file there; and if one of them was the repair of /etc/hccn.conf, so
  // is every step in which the tool would write that file. A host that does not
  // tell keeps its steps, and refuses by itself.
  // REQUIRES: called once, last.
  HostPlan Finish();

 private:
  void BlockWhatIsNotAllowed();

  const HostFacts& facts_;
  const NamedFacts named_;
  std::map<uint32_t, const DeviceFacts*> devices_;
  std::map<std::string, std::string> conf_;         // First line of each key.
  std::vector<std::vector<std::string>> rests_on_;  // Of each step.
  HostPlan plan_;
};

}  // namespace clusterd

#endif  // CONFIG_PLAN_HOST_PLAN_BUILDER_H_
