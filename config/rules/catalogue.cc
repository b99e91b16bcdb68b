#include "config/rules/catalogue.h"

#include <iterator>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "config/rules/catalogue_parts.h"
#include "config/spec/nearest_word.h"

namespace clusterd {
namespace {

std::vector<RuleInfo> AllRules() {
  std::vector<RuleInfo> all;
  for (std::vector<RuleInfo> part :
       {HostRules(), DeviceRules(), AddressRules(), ClusterRules()}) {
    std::move(part.begin(), part.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

const std::vector<RuleInfo>& RuleCatalogue() {
  static const auto* const rules = new std::vector<RuleInfo>(AllRules());
  return *rules;
}

const RuleInfo* FindRule(absl::string_view name) {
  static const auto* const by_name = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, const RuleInfo*>();
    for (const RuleInfo& rule : RuleCatalogue()) map->emplace(rule.name, &rule);
    return map;
  }();
  const auto found = by_name->find(name);
  return found == by_name->end() ? nullptr : found->second;
}

std::string NearestRule(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const RuleInfo& rule : RuleCatalogue()) names.push_back(rule.name);
  return NearestWord(name, names);
}

}  // namespace clusterd
