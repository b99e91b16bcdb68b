#include "config/plan/named_facts.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/plan/device_settings.h"
#include "config/plan/kernel_parameters.h"
#include "config/words/fact_text.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr size_t kShownFacts = 8;
constexpr size_t kShownBytes = 160;

SettingValue ValueOf(const BoolFact& fact) {
  return ReadingOf(fact, YesValue(fact.value())).value;
}

SettingValue ValueOf(const PersistentValueFact& fact) {
  return ReadingOf(fact, TextsValue(Each<std::string>(
                             fact.value().assignments(),
                             [](const PersistentValue::Assignment& each) {
                               return absl::StrCat(each.file(), ":",
                                                   each.line(), " sets \"",
                                                   each.value(), "\"");
                             })))
      .value;
}

SettingValue ValueOf(const AllowedFact& fact) {
  auto ports = Each<std::string>(fact.value().ports(), [](AllowedPort port) {
    if (port.protocol().empty()) port.set_protocol("any");
    if (port.source().empty()) port.set_source("anywhere");
    return PortRuleText(port);
  });
  std::sort(ports.begin(), ports.end());
  return ReadingOf(fact, TextsValue(std::move(ports))).value;
}

SettingValue NamespaceValue(const HostFacts& facts) {
  const KernelFacts& kernel = facts.kernel();
  SettingValue value;
  if (!IsKnown(kernel.network_namespace())) return value;
  NetworkNamespaceIdentity* const identity = value.mutable_network_namespace();
  identity->set_inode(kernel.network_namespace().value());
  const NumberFact& cookie = kernel.network_namespace_cookie();
  if (IsKnown(cookie)) identity->set_cookie(cookie.value());
  identity->set_boot_id(facts.identity().boot_id().value());
  return value;
}

void NameFirewall(FirewallProgram program, const FirewallFacts& facts,
                  NamedFacts* named) {
  const auto set = [&](auto what, const SettingValue& value) {
    (*named)[FirewallFact(program, what)] = value;
  };
  set(FactKey::INSTALLED, ValueOf(facts.installed()));
  set(SETTING_ACTIVE, ValueOf(facts.active()));
  set(FactKey::STARTS_AT_BOOT, ValueOf(facts.enabled_at_boot()));
  set(SETTING_ALLOWED, ValueOf(facts.allowed()));
  if (program == UFW) return;  // Stored and running are equal.
  set(FactKey::ALLOWED_PERMANENTLY, ValueOf(facts.allowed_permanently()));
}

std::string FormText(const HccnConf& conf) {
  if (conf.problems().empty()) return kGoodForm;
  // Omits their line numbers, which the tool's own writes change.
  std::map<std::string, int> kinds;
  for (const HccnConf::Problem& problem : conf.problems()) {
    ++kinds[ProblemWords(problem.kind())];
  }
  return CountsList(kinds);
}

// Names every key that stores a setting of a device, and the routes.
void NameHccnConf(const HostFacts& facts, uint32_t device, NamedFacts* named) {
  // The tool uses the first of a repeated key.
  std::map<absl::string_view, absl::string_view> stored;
  std::vector<std::string> routes;
  for (const HccnConf::Entry& entry : facts.hccn_conf().value().entries()) {
    if (!entry.has_device() || entry.device() != device) continue;
    if (absl::StartsWith(entry.key(), "route_") || entry.key() == "ip_route") {
      routes.push_back(absl::StrCat(entry.key(), "=", entry.value()));
    } else {
      stored.emplace(entry.key(), entry.value());
    }
  }
  const auto name = [&](const FactKey& key, SettingValue value) {
    (*named)[key] = ReadingOf(facts.hccn_conf(), std::move(value)).value;
  };
  name(RoutesFact(device), TextsValue(std::move(routes)));
  for (const DeviceSetting& setting : DeviceSettings()) {
    for (const char* const key : setting.conf_keys) {
      name(ConfLineFact(device, key),
           ConfLineValue(StoredText(setting, stored[key])));
    }
  }
}

}  // namespace

NamedFacts NameFacts(const HostFacts& facts) {
  NamedFacts named;
  for (const DeviceFacts& device : facts.devices()) {
    for (const DeviceSetting& setting : DeviceSettings()) {
      named[DeviceFact(device.id(), setting.id)] = setting.Live(device);
    }
    NameHccnConf(facts, device.id(), &named);
  }
  named[FormFact()] =
      ReadingOf(facts.hccn_conf(),
                TextsValue({FormText(facts.hccn_conf().value())}))
          .value;
  for (const KernelParameter& parameter : KernelParameters()) {
    SettingValue running = RunningValue(parameter, facts.kernel()).value;
    if (running.has_texts()) running.Clear();  // Not a value of it.
    named[KernelFact(parameter.key, SETTING_RUNNING)] = std::move(running);
    named[KernelFact(parameter.key, SETTING_AT_BOOT)] =
        ValueOf((facts.kernel().*parameter.at_boot)());
  }
  named[NamespaceFact()] = NamespaceValue(facts);
  NameFirewall(UFW, facts.ufw(), &named);
  NameFirewall(FIREWALLD, facts.firewalld(), &named);
  return named;
}

SettingValue FactValue(const NamedFacts& named, const FactKey& key) {
  const auto found = named.find(key);
  return found == named.end() ? SettingValue() : found->second;
}

bool IsSameFact(const SettingValue& a, const SettingValue& b) {
  if (!a.has_network_namespace() || !b.has_network_namespace()) return a == b;
  const NetworkNamespaceIdentity& of_a = a.network_namespace();
  const NetworkNamespaceIdentity& of_b = b.network_namespace();
  return of_a.inode() == of_b.inode() &&
         (!of_a.has_cookie() || !of_b.has_cookie() ||
          of_a.cookie() == of_b.cookie()) &&
         (of_a.boot_id().empty() || of_b.boot_id().empty() ||
          of_a.boot_id() == of_b.boot_id());
}

std::vector<MovedFact> FindMovedFacts(const HostPlan& plan,
                                      const HostFacts& now) {
  const NamedFacts current = NameFacts(now);
  std::vector<MovedFact> moved;
  for (const PlanFact& planned : plan.facts()) {
    const SettingValue value = FactValue(current, planned.key());
    if (!IsSameFact(planned.value(), value) || IsUnknown(value)) {
      moved.push_back({planned.key(), planned.value(), value});
    }
  }
  return moved;
}

FindingValue MovedFactsWords(const std::vector<MovedFact>& moved) {
  FindingValue all;
  for (const MovedFact& fact :
       absl::MakeConstSpan(moved).subspan(0, kShownFacts)) {
    const FindingValue one =
        Worded("plan-say-was-now", PrintableText(FactKeyText(fact.key)),
               PrintableText(SettingText(fact.planned), kShownBytes),
               PrintableText(SettingText(fact.now), kShownBytes));
    all = all.words().empty() ? one : Worded("plan-say-both", all, one);
  }
  return moved.size() <= kShownFacts
             ? all
             : Worded("plan-say-and-more", all, moved.size() - kShownFacts);
}

}  // namespace clusterd
