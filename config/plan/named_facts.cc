#include "config/plan/named_facts.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/setting_rows.h"
#include "config/values/text_form.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr size_t kShownFacts = 8;
constexpr size_t kShownBytes = 160;

std::string TextOrNone(const std::string& text) {
  return text.empty() ? kNoneFact : text;
}

std::string Text(const BoolFact& fact) {
  return ReadingOf(fact, fact.value() ? kYesFact : kNoFact).value;
}

std::string Text(const PersistentValueFact& fact) {
  const auto texts = Each<std::string>(
      fact.value().assignments(), [](const PersistentValue::Assignment& each) {
        return absl::StrCat(each.file(), ":", each.line(), " sets \"",
                            each.value(), "\"");
      });
  return ReadingOf(fact, absl::StrJoin(texts, ", ")).value;
}

std::string Text(const AllowedFact& fact) {
  auto ports =
      Each<std::string>(fact.value().ports(), [](const AllowedPort& port) {
        return absl::StrCat(port.first_port(), "-", port.last_port(), "/",
                            port.protocol().empty() ? "any" : port.protocol(),
                            " from ",
                            port.source().empty() ? "anywhere" : port.source());
      });
  std::sort(ports.begin(), ports.end());
  return ReadingOf(fact, absl::StrJoin(ports, ", ")).value;
}

std::string NamespaceText(const HostFacts& facts) {
  const KernelFacts& kernel = facts.kernel();
  if (!IsKnown(kernel.network_namespace())) return kUnknownFact;
  std::string text = absl::StrCat(kernel.network_namespace().value());
  const NumberFact& cookie = kernel.network_namespace_cookie();
  if (IsKnown(cookie)) absl::StrAppend(&text, ", cookie ", cookie.value());
  const std::string& boot = facts.identity().boot_id().value();
  if (!boot.empty()) absl::StrAppend(&text, ", boot ", boot);
  return text;
}

// Two reads may spell the same set of ports differently.
std::string RunningText(const KernelParameter& parameter,
                        const KernelFacts& facts) {
  const std::string value = RunningValue(parameter, facts).value;
  if (value == kUnknownFact || !parameter.is_ports()) return value;
  const absl::StatusOr<std::string> ports = RaisedTo(parameter, value, "");
  return ports.ok() ? TextOrNone(*ports) : kUnknownFact;
}

void NameFirewall(FirewallProgram program, const FirewallFacts& facts,
                  NamedFacts* named) {
  const auto set = [&](absl::string_view what, std::string text) {
    (*named)[FirewallFactName(program, what)] = std::move(text);
  };
  set("installed", Text(facts.installed()));
  set(kActiveSetting, Text(facts.active()));
  set(kStartsAtBootFact, Text(facts.enabled_at_boot()));
  set(kAllowSetting, Text(facts.allowed()));
  if (program == UFW) return;  // Stored and running are equal.
  set(kAllowedPermanentlyFact, Text(facts.allowed_permanently()));
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
  const bool is_known = IsKnown(facts.hccn_conf());
  // The tool uses the first of a repeated key.
  std::map<std::string, absl::string_view> stored;
  std::vector<std::string> route_texts;
  for (const HccnConf::Entry& entry : facts.hccn_conf().value().entries()) {
    if (!entry.has_device() || entry.device() != device) continue;
    if (absl::StartsWith(entry.key(), "route_") || entry.key() == "ip_route") {
      route_texts.push_back(absl::StrCat(entry.key(), "=", entry.value()));
      continue;
    }
    stored.emplace(HccnConfKey(entry.key(), device), entry.value());
  }
  const auto name = [&](const std::string& fact, const std::string& text) {
    (*named)[fact] = is_known ? TextOrNone(text) : kUnknownFact;
  };
  name(HccnConfFactName("routes", device), absl::StrJoin(route_texts, ", "));
  for (const DeviceSetting& setting : DeviceSettings()) {
    for (const ConfLine& line : ConfLinesOf(setting, device, "")) {
      name(absl::StrCat("hccn.conf: ", line.key),
           StoredPart(setting, stored[line.key]));
    }
  }
}

}  // namespace

std::string DeviceFactName(uint32_t device, absl::string_view what) {
  return absl::StrCat("device ", device, ": ", what);
}

std::string HccnConfFactName(absl::string_view key, uint32_t device) {
  return absl::StrCat("hccn.conf: ", HccnConfKey(key, device));
}

std::string AtBootFactName(absl::string_view sysctl_key) {
  return absl::StrCat(sysctl_key, " at boot");
}

std::string FirewallFactName(FirewallProgram program, absl::string_view what) {
  return absl::StrCat(FirewallName(program), ": ", what);
}

std::string FirewallName(FirewallProgram program) {
  return program == UFW ? "ufw" : "firewalld";
}

NamedFacts NameFacts(const HostFacts& facts) {
  NamedFacts named;
  for (const DeviceFacts& device : facts.devices()) {
    for (const DeviceSetting& setting : DeviceSettings()) {
      named[DeviceFactName(device.id(), setting.name)] =
          setting.live(device).value;
    }
    NameHccnConf(facts, device.id(), &named);
  }
  named[kHccnConfFormFact] =
      ReadingOf(facts.hccn_conf(), FormText(facts.hccn_conf().value())).value;
  for (const KernelParameter& parameter : KernelParameters()) {
    named[parameter.key] = RunningText(parameter, facts.kernel());
    named[AtBootFactName(parameter.key)] =
        Text((facts.kernel().*parameter.at_boot)());
  }
  named[kNetworkNamespaceFact] = NamespaceText(facts);
  NameFirewall(UFW, facts.ufw(), &named);
  NameFirewall(FIREWALLD, facts.firewalld(), &named);
  return named;
}

std::string NamedFactText(const NamedFacts& named, const std::string& name) {
  const auto found = named.find(name);
  return found == named.end() ? kUnknownFact : found->second;
}

bool IsSameFact(absl::string_view name, absl::string_view a,
                absl::string_view b) {
  if (a == b || name != kNetworkNamespaceFact) return a == b;
  const auto of_a = ParseNamespaceFact(a);
  const auto of_b = ParseNamespaceFact(b);
  return of_a && of_b && of_a->inode == of_b->inode &&
         (!of_a->cookie || !of_b->cookie || of_a->cookie == of_b->cookie) &&
         (of_a->boot.empty() || of_b->boot.empty() || of_a->boot == of_b->boot);
}

std::optional<NamespaceIdentity> ParseNamespaceFact(absl::string_view text) {
  static const LazyRE2 kForm = {
      R"((\d+)(?:, cookie (\d+))?(?:, boot ([^,]*))?(?:, .*)?)"};
  NamespaceIdentity identity;
  const bool is_one =
      HasForm(text, *kForm, &identity.inode, &identity.cookie, &identity.boot);
  return is_one ? std::make_optional(identity) : std::nullopt;
}

std::vector<MovedFact> FindMovedFacts(const HostPlan& plan,
                                      const HostFacts& now) {
  const NamedFacts current = NameFacts(now);
  std::vector<MovedFact> moved;
  for (const PlanFact& planned : plan.facts()) {
    const std::string value = NamedFactText(current, planned.name());
    if (!IsSameFact(planned.name(), planned.value(), value) ||
        value == kUnknownFact) {
      moved.push_back({planned.name(), planned.value(), value});
    }
  }
  return moved;
}

FindingValue MovedFactsWords(const std::vector<MovedFact>& moved) {
  FindingValue all;
  for (const MovedFact& fact :
       absl::MakeConstSpan(moved).subspan(0, kShownFacts)) {
    const FindingValue one = Worded("plan-say-was-now", fact.name,
                                    PrintableText(fact.planned, kShownBytes),
                                    PrintableText(fact.now, kShownBytes));
    all = all.words().empty() ? one : Worded("plan-say-both", all, one);
  }
  return moved.size() <= kShownFacts
             ? all
             : Worded("plan-say-and-more", all, moved.size() - kShownFacts);
}

}  // namespace clusterd
