#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/values/port_set.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/firewall/firewall_observer.h"

namespace clusterd {
namespace {

// The effect of a rule on a packet that it matches.
enum class Verdict { kHarmless, kMayDrop, kJump };

struct FilterRule {
  Verdict verdict = Verdict::kHarmless;
  std::string jump;  // The chain that a kJump leads to.
  // Destination ports that the rule matches; unset: any.
  std::optional<PortSet> ports;
  // The rule drops all new TCP connections to these ports, from any source.
  bool drops_all = false;
  // A packet that opens a connection to these ports may skip the later rules.
  bool may_pass = false;
  std::string text;
};

struct Chain {
  bool hooked = false;
  // All incoming packets pass it, from any device.
  bool takes_all = false;
  std::vector<FilterRule> rules;
  // Applies to packets that no rule decides.
  std::optional<FilterRule> policy;
};

// The chains of one table.
using Chains = std::map<std::string, Chain>;

absl::Status MalformedRule(absl::string_view program, absl::string_view line) {
  return InvalidWords("fact-line-not-understood", program, QuotedText(line));
}

constexpr uint32_t kMaxPort = 65535;

PortSet PortsOf(const FilterRule& rule) {
  if (rule.ports.has_value()) return *rule.ports;
  PortSet all;
  all.Add(0, kMaxPort);
  return all;
}

// Adds the rules that a packet may meet from this chain on; the kernel refuses
// cycles. `ports`: those of the rules that led here; unset for a hooked chain.
void AddDrops(const Chains& chains, const std::string& name,
              const std::optional<PortSet>& ports, std::set<std::string>* seen,
              std::vector<DropRule>* drops) {
  const auto found = chains.find(name);
  if (found == chains.end()) return;
  std::vector<FilterRule> rules = found->second.rules;
  if (found->second.policy) rules.push_back(*found->second.policy);
  PortSet passed;  // Ports that an earlier rule may let out.
  for (const FilterRule& rule : rules) {
    if (rule.may_pass) passed.Add(PortsOf(rule));
    const std::optional<PortSet>& own =
        rule.ports.has_value() ? rule.ports : ports;
    if (rule.verdict == Verdict::kJump) {
      if (absl::StartsWith(rule.jump, "ufw-")) continue;
      const std::string ports_text = own.has_value() ? own->ToString() : "any";
      if (seen->insert(absl::StrCat(rule.jump, " ", ports_text)).second) {
        AddDrops(chains, rule.jump, own, seen, drops);
      }
    } else if (rule.verdict == Verdict::kMayDrop) {
      DropRule drop;
      drop.set_text(rule.text);
      if (own.has_value()) drop.set_ports(own->ToString());
      if (found->second.takes_all && rule.drops_all) {
        drop.set_surely_ports(PortsOf(rule).Minus(passed).ToString());
      }
      drops->push_back(std::move(drop));
    }
  }
}

// Returns the value after an option such as "--dport", unless it is negated.
std::optional<std::string> After(const std::vector<std::string>& words,
                                 absl::string_view word) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == word && (i == 0 || words[i - 1] != "!")) {
      return words[i + 1];
    }
  }
  return std::nullopt;
}

std::optional<PortSet> IptablesPorts(const std::vector<std::string>& words) {
  for (const char* option : {"--dport", "--dports"}) {
    const std::optional<std::string> list = After(words, option);
    if (!list.has_value()) continue;
    const auto ports = PortSet::Parse(absl::StrReplaceAll(*list, {{":", "-"}}));
    if (ports.ok()) return *ports;
  }
  return std::nullopt;
}

// True if the target passes a packet on or in (iptables-extensions(8)).
bool LetsPass(absl::string_view target) {
  static const auto* const kTargets = new std::set<absl::string_view>{
      "",      "ACCEPT", "RETURN",   "LOG",      "NFLOG",   "ULOG", "MARK",
      "CT",    "TRACE",  "CONNMARK", "TOS",      "DSCP",    "SET",  "NOTRACK",
      "AUDIT", "TCPMSS", "CHECKSUM", "CLASSIFY", "RATEEST", "TEE"};
  return kTargets->count(target) > 0;
}

// Returns whether the next rule is tried after this target.
bool GoesOn(absl::string_view target) {
  return LetsPass(target) && target != "ACCEPT" && target != "RETURN";
}

// Returns whether none of `own` is in the listed addresses and subnets; false
// for a range, or if the host's own are not known.
bool IsElsewhere(absl::string_view destinations, const OwnAddresses& own) {
  for (const absl::string_view text : absl::StrSplit(destinations, ", ")) {
    const auto subnet = Ipv4Subnet::Parse(
        absl::StrContains(text, '/') ? text : absl::StrCat(text, "/32"));
    if (!subnet.ok()) return false;
    for (const Ipv4Address address : own) {
      if (subnet->Contains(address)) return false;
    }
  }
  return !own.empty();
}

// Returns whether the rule matches only packets other than new TCP ones from
// other hosts: another protocol, loopback, a container's address, or a state in
// which no connection begins. The kubelet's chain drops packets that kube-proxy
// has marked (kubernetes, pkg/kubelet/kubelet_network_linux.go).
bool IsForOthers(const std::vector<std::string>& words,
                 absl::string_view states, const OwnAddresses& own) {
  const std::string protocol = After(words, "-p").value_or("tcp");
  const std::optional<std::string> destination = After(words, "-d");
  return (protocol != "tcp" && protocol != "all" && protocol != "6") ||
         After(words, "-i") == "lo" || states == "INVALID" ||
         destination == "127.0.0.0/8" ||
         (destination.has_value() && IsElsewhere(*destination, own)) ||
         (words[1] == "KUBE-FIREWALL" && After(words, "--mark").has_value());
}

FilterRule IptablesRule(const std::string& line, const Chains& chains,
                        const OwnAddresses& own) {
  // A comment may hold any words.
  static const LazyRE2 kComment = {R"(--comment (?:"(?:[^"\\]|\\.)*"|[^ ]+))"};
  std::string bare = line;
  RE2::GlobalReplace(&bare, *kComment, "");
  const std::vector<std::string> words =
      absl::StrSplit(bare, ' ', absl::SkipEmpty());
  FilterRule rule;
  rule.text = line;
  std::optional<std::string> target = After(words, "-j");
  if (!target.has_value()) target = After(words, "-g");
  std::optional<std::string> states = After(words, "--ctstate");
  if (!states.has_value()) states = After(words, "--state");
  if (IsForOthers(words, states.value_or(""), own)) return rule;
  // Matches only packets of open connections.
  static const LazyRE2 kOpen = {"(?:RELATED|ESTABLISHED|,)+"};
  static const LazyRE2 kDropsAll = {
      R"(-A [^ ]+(?: -p (?:tcp|all)| -m (?:tcp|multiport|state|conntrack)|)"
      R"( -m comment| --(?:ct)?state NEW| --dports? [0-9:,]+)* -j )"
      R"((?:DROP|REJECT)(?: --reject-with [^ ]+)?)"};
  rule.ports = IptablesPorts(words);
  rule.drops_all = HasForm(absl::StrJoin(words, " "), *kDropsAll);
  rule.may_pass = !rule.drops_all && !GoesOn(target.value_or("")) &&
                  !HasForm(states.value_or(""), *kOpen);
  if (LetsPass(target.value_or(""))) return rule;
  rule.verdict = chains.count(*target) > 0 ? Verdict::kJump : Verdict::kMayDrop;
  rule.jump = *target;
  return rule;
}

// A chain that jumps to a firewall's own chains is that firewall's, with its
// policy and its last REJECT.
bool BelongsToFirewall(const Chain& chain) {
  for (const FilterRule& rule : chain.rules) {
    if (absl::StartsWith(rule.jump, "ufw-before-") ||
        absl::EndsWith(rule.jump, "_ZONES")) {
      return true;
    }
  }
  return false;
}

void AddTable(Chains* chains, std::vector<DropRule>* drops) {
  for (auto& [name, chain] : *chains) {
    if (!chain.hooked || !BelongsToFirewall(chain)) continue;
    std::vector<FilterRule> others;
    bool theirs = false;
    for (FilterRule& rule : chain.rules) {
      theirs |= absl::EndsWith(rule.jump, "_ZONES");
      if (!theirs) others.push_back(std::move(rule));
    }
    chain.rules = std::move(others);
    chain.policy.reset();
  }
  std::set<std::string> seen;
  for (const auto& [name, chain] : *chains) {
    if (chain.hooked) AddDrops(*chains, name, std::nullopt, &seen, drops);
  }
  chains->clear();
}

bool SkipsTable(absl::string_view family, absl::string_view name,
                const std::set<std::string>& saved) {
  if (family != "ip" && family != "inet" && family != "netdev") return true;
  if (absl::StartsWith(name, "firewalld")) return true;
  return family == "ip" && saved.count(std::string(name)) > 0;
}

std::optional<PortSet> NftPorts(absl::string_view line) {
  static const LazyRE2 kPorts = {
      R"((?:.* )?(?:tcp|th) dport (?:\{ ([0-9, -]+) \}|([0-9-]+)) .*)"};
  std::string many;
  std::string one;
  if (!HasForm(line, *kPorts, &many, &one)) return std::nullopt;
  const auto ports = PortSet::Parse(
      absl::StrReplaceAll(many.empty() ? one : many, {{" ", ""}}));
  return ports.ok() ? std::optional<PortSet>(*ports) : std::nullopt;
}

FilterRule NftRule(absl::string_view full, const OwnAddresses& own) {
  const absl::string_view line = full.substr(0, full.find(" comment \""));
  static const LazyRE2 kOthers = {
      R"((?:.* )?(?:udp |icmp|icmpv6 |ip6 |ip protocol (?:udp|icmp|17|1) )"
      R"(|meta l4proto (?:udp|icmp|ipv6-icmp|17|1|58) |iif(?:name)? "?lo"? )"
      R"(|ct state (?:invalid|0x1) ).*)"};
  static const LazyRE2 kJump = {R"((?:.* )?(?:jump|goto) ([^ ,}]+)(?: .*)?)"};
  static const LazyRE2 kDrop = {
      R"((?:.*[ :])?(?:drop|reject|queue|vmap|tproxy|synproxy)(?:[ ,].*)?)"};
  FilterRule rule;
  rule.text = std::string(full);
  static const LazyRE2 kDestination = {
      R"((?:.* )?ip daddr (?:\{ ([0-9./, ]+) \}|([0-9./]+)) .*)"};
  std::string many;
  std::string one;
  if (HasForm(line, *kOthers) ||
      (HasForm(line, *kDestination, &many, &one) &&
       IsElsewhere(many.empty() ? one : many, own))) {
    return rule;
  }
  // May end the chain for a packet that opens a connection. States 0x1, 0x2 and
  // 0x4 are invalid, established and related. Such a packet has none of them
  // (linux/netfilter/nf_conntrack_common.h), unless it is broken.
  static const LazyRE2 kEnds = {
      R"((?:.*[ :])?(?:accept|return|jump|goto|queue|vmap|tproxy|synproxy))"
      R"((?:[ ,].*)?)"};
  static const LazyRE2 kOpen = {
      R"(ct state (?:vmap )?[{ ]*(?:(?:(?:0x[24]|established|related))"
      R"((?: : accept)?|(?:0x1|invalid) : drop)[, ]*)+[} ]*)"
      R"((?:counter packets \d+ bytes \d+ ?)?(?:accept)?)"};
  static const LazyRE2 kDropsAll = {
      R"((?:(?:meta l4proto (?:tcp|6)|ip protocol (?:tcp|6)|)"
      R"(ct state (?:new|0x8)|tcp dport (?:\{ [0-9, -]+ \}|[0-9-]+)|)"
      R"(counter packets \d+ bytes \d+|log(?: prefix "[^"]*")?) )*)"
      R"((?:drop|reject(?: with .*)?))"};
  if (HasForm(line, *kOpen)) return rule;
  rule.ports = NftPorts(line);
  rule.drops_all = HasForm(line, *kDropsAll);
  rule.may_pass = !rule.drops_all && HasForm(line, *kEnds);
  if (HasForm(line, *kDrop)) {
    rule.verdict = Verdict::kMayDrop;
  } else if (HasForm(line, *kJump, &rule.jump)) {
    rule.verdict = Verdict::kJump;
  }
  return rule;
}

FilterRule DropPolicy(absl::string_view text) {
  FilterRule policy;
  policy.verdict = Verdict::kMayDrop;
  policy.drops_all = true;
  policy.text = std::string(text);
  return policy;
}

// Reads the line that hooks a chain.
void ReadHook(absl::string_view line, Chain* chain) {
  static const LazyRE2 kInward = {
      R"(type filter hook (?:input|prerouting|ingress) .*)"};
  chain->hooked = HasForm(line, *kInward);
  chain->takes_all =
      chain->hooked && !absl::StrContains(line, " hook ingress ");
  if (chain->hooked && absl::StrContains(line, "policy drop")) {
    chain->policy = DropPolicy(line);
  }
}

}  // namespace

absl::StatusOr<std::vector<DropRule>> FindIptablesDrops(
    absl::string_view text, const OwnAddresses& own) {
  static const LazyRE2 kChain = {R"(:([^ ]+) ([A-Z-]+)(?: .*)?)"};
  std::vector<DropRule> drops;
  Chains chains;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    std::string name;
    std::string policy;
    // A rule may begin with its counters, "[0:0] ".
    const absl::string_view rule =
        line.substr(absl::StartsWith(line, "[") ? line.find("] ") + 2 : 0);
    const std::vector<std::string> words = absl::StrSplit(rule, ' ');
    if (line.empty() || line[0] == '#' || line[0] == '*') {
      continue;
    } else if (HasForm(line, *kChain, &name, &policy)) {
      Chain& chain = chains[name];
      chain.hooked = name == "INPUT" || name == "PREROUTING";
      chain.takes_all = chain.hooked;
      if (policy == "DROP") {
        chain.policy = DropPolicy(absl::StrCat("-P ", name, " DROP"));
      }
    } else if (words.size() > 2 && words[0] == "-A" &&
               chains.count(words[1]) > 0) {
      chains[words[1]].rules.push_back(
          IptablesRule(std::string(rule), chains, own));
    } else if (line == "COMMIT") {
      AddTable(&chains, &drops);
    } else {
      return MalformedRule("iptables-save", line);
    }
  }
  if (!chains.empty()) return MalformedRule("iptables-save", "(no COMMIT)");
  return drops;
}

SavedTables FindSavedTables(absl::string_view text) {
  static const LazyRE2 kLeftOut = {"# Table `([a-z]+)' .*, use 'nft' tool.*"};
  SavedTables tables;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    std::string name;
    if (HasForm(line, *kLeftOut, &name)) {
      tables.in_part.insert(name);
    } else if (absl::StartsWith(line, "*")) {
      tables.whole.emplace(line.substr(1));
    }
  }
  for (const std::string& name : tables.in_part) tables.whole.erase(name);
  return tables;
}

absl::StatusOr<std::vector<DropRule>> FindNftDrops(
    absl::string_view text, const std::set<std::string>& saved,
    const OwnAddresses& own) {
  static const LazyRE2 kTable = {R"(table ([a-z0-9]+) ([^ ]+) \{.*)"};
  static const LazyRE2 kChain = {R"(chain ([^ ]+) \{.*)"};
  std::vector<DropRule> drops;
  bool skip = false;
  Chains chains;
  // Names of the open blocks and chain, without blocks of one line.
  std::vector<std::string> open;
  for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
    const absl::string_view line = absl::StripAsciiWhitespace(raw);
    std::string family;
    std::string name;
    if (line.empty() || line[0] == '#') continue;
    if (open.empty()) {
      if (!HasForm(line, *kTable, &family, &name)) {
        return MalformedRule("nft", line);
      }
      skip = SkipsTable(family, name, saved);
      open.emplace_back();
    } else if (line == "}") {
      open.pop_back();
      if (!open.empty()) continue;
      if (!skip) AddTable(&chains, &drops);
      chains.clear();
    } else if (absl::EndsWith(line, "{")) {
      open.push_back(HasForm(line, *kChain, &name) ? name : "");
    } else if (!open.back().empty() && absl::StartsWith(line, "type ")) {
      ReadHook(line, &chains[open.back()]);
    } else if (!open.back().empty()) {
      chains[open.back()].rules.push_back(NftRule(line, own));
    }
  }
  if (!open.empty()) return MalformedRule("nft", "(a block does not end)");
  return drops;
}

}  // namespace clusterd
