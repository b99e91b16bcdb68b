// The facts that a plan can rest on, by their keys, so that a message can name
// the facts that moved.
#ifndef CONFIG_PLAN_NAMED_FACTS_H_
#define CONFIG_PLAN_NAMED_FACTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/values/setting.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// The value of a form without problems that a program repairs.
inline constexpr char kGoodForm[] = "good";

using NamedFacts = std::map<FactKey, SettingValue>;

// Every fact of the host that has a key, known or not.
NamedFacts NameFacts(const HostFacts& facts);

// Unknown if there is no such fact.
SettingValue FactValue(const NamedFacts& named, const FactKey& key);

// True if two values of one fact mean the same. An older clusterd or kernel
// gives less about a network namespace; then the parts that both give decide.
bool IsSameFact(const SettingValue& a, const SettingValue& b);

struct MovedFact {
  FactKey key;
  SettingValue planned;
  SettingValue now;
};

// Facts of the plan that have changed since, in the order of their keys.
std::vector<MovedFact> FindMovedFacts(const HostPlan& plan,
                                      const HostFacts& now);

// `device 3: address was 10.0.0.1/24, now 10.0.0.2/24; …`: at most eight, then
// how many more there are.
FindingValue MovedFactsWords(const std::vector<MovedFact>& moved);

}  // namespace clusterd

#endif  // CONFIG_PLAN_NAMED_FACTS_H_
