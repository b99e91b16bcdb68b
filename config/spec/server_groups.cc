#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "config/spec/device_plan.h"
#include "config/spec/yaml_keys.inc"
#include "config/values/hostlist.h"
#include "config/values/nearest_word.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

// No netmask of server addresses is known: only the address itself is checked.
constexpr int kNoSubnet = 32;

// Candidates for "did you mean"; more would take too long.
constexpr size_t kMaxCandidates = 1000;

// The names of one `hosts`, which is a hostlist or a list of them.
std::optional<std::vector<std::string>> ReadHosts(const YamlValue& value,
                                                  size_t names_left) {
  std::vector<std::string> hosts;
  for (const YamlValue& text : value.Items()) {
    const auto names = text.Parsed([&](const std::string& list) {
      return ExpandHostlist(list, names_left - hosts.size());
    });
    if (!names.has_value()) return std::nullopt;
    hosts.insert(hosts.end(), names->begin(), names->end());
  }
  if (hosts.empty()) {
    value.WrongKind("spec-host-names");
    return std::nullopt;
  }
  return hosts;
}

absl::StatusOr<std::string> ParseRack(const std::string& text) {
  static const LazyRE2 kForm = {R"([A-Za-z0-9][A-Za-z0-9._/-]{0,63})"};
  if (HasForm(text, *kForm)) return text;
  return InvalidWords("msg-spec-rack", QuoteValue(text));
}

// Removes an unknown name's likely meaning from `missing`, to report one
// mistake.
void AddStrangers(const std::vector<const YamlEntry*>& strangers,
                  const YamlValue& value, std::vector<std::string>* missing) {
  for (size_t i = 0; i < strangers.size(); ++i) {
    const YamlEntry& entry = *strangers[i];
    const size_t candidates = std::min(missing->size(), kMaxCandidates);
    std::string meant;
    if (i < Mistakes::kMaxShown) {
      meant = NearestWord(entry.key,
                          std::vector<absl::string_view>(
                              missing->begin(), missing->begin() + candidates));
    }
    value.mistakes()->Add(
        entry.position, "msg-spec-unknown-host", value.subject(),
        QuoteValue(entry.key),
        meant.empty() ? FindingValue() : Worded("did-you-mean", meant));
    if (meant.empty()) continue;
    missing->erase(std::find(missing->begin(), missing->end(), meant));
  }
}

std::string Shortened(std::string hostlist) {
  constexpr size_t kMaxBytes = 200;
  if (hostlist.size() <= kMaxBytes) return hostlist;
  return absl::StrCat(hostlist.substr(0, kMaxBytes), "…");
}

// One item of `servers` whose hosts could be read.
struct Group {
  size_t first = 0;  // Index of its first server.
  size_t count = 0;
  YamlValue address;
};

// Reads groups one after the other; addresses wait until all hosts are known,
// because formulas may use their number.
class GroupReader {
 public:
  explicit GroupReader(Mistakes* mistakes) : mistakes_(mistakes) {}

  ServerGroups Read(const YamlNode& node) {
    for (size_t g = 0; g < node.items.size(); ++g) ReadGroup(node.items[g], g);
    for (PlannedServer& server : groups_.servers) {
      server.inputs.servers = static_cast<int64_t>(groups_.servers.size());
    }
    for (const Group& group : read_) ReadAddresses(group);
    return std::move(groups_);
  }

 private:
  void ReadGroup(const YamlNode& node, size_t g) {
    const size_t first = groups_.servers.size();
    const YamlMap map(&node, absl::StrCat("servers[", g, "]"), kClusterKeys,
                      mistakes_);
    const YamlValue hosts = map.Require("hosts");
    const YamlValue address = map.Require("address");
    const std::string rack = map["rack"].Parsed(ParseRack).value_or("");
    const auto names = ReadHosts(hosts, kMaxServers - first);
    if (!names.has_value()) {
      groups_.complete = false;
      return;
    }
    const bool is_new = AddServers(*names, rack, hosts.position(), g);
    // With a host dropped, the addresses no longer line up.
    if (is_new && address.node() != nullptr) {
      read_.push_back({first, groups_.servers.size() - first, address});
    }
  }

  // False if a host was there before.
  bool AddServers(const std::vector<std::string>& names,
                  const std::string& rack, TextPosition position, size_t g) {
    bool is_new = true;
    for (size_t i = 0; i < names.size(); ++i) {
      const auto [first, inserted] = seen_.try_emplace(names[i], position);
      if (!inserted) {
        mistakes_->Add(position, "msg-spec-host-twice", QuoteValue(names[i]),
                       ToString(first->second));
        is_new = false;
        continue;
      }
      PlannedServer server;
      server.host = names[i];
      server.rack = rack;
      server.inputs.n = static_cast<int64_t>(groups_.servers.size());
      server.inputs.i = static_cast<int64_t>(i);
      server.inputs.g = static_cast<int64_t>(g);
      server.inputs.name = NumberInName(names[i]);
      server.position = position;
      groups_.servers.push_back(std::move(server));
    }
    return is_new;
  }

  void ReadAddresses(const Group& group) {
    const bool is_list = group.address.Is(YamlNode::Kind::kList);
    const std::vector<YamlValue> items = group.address.Items();
    if (is_list && items.size() != group.count) {
      AddWrongCount(group.address, items.size(), group.count,
                    Worded("spec-one-per-host"));
      return;
    }
    for (size_t k = 0; k < items.size(); ++k) {
      SetAddresses(items[k], group.first + k, is_list ? 1 : group.count);
    }
  }

  // Sets the addresses of `count` servers from `first` on.
  void SetAddresses(const YamlValue& value, size_t first, size_t count) {
    const auto owners =
        absl::MakeConstSpan(groups_.servers).subspan(first, count);
    PlannedServer* server = &groups_.servers[first];
    for (const Ipv4Address address :
         ReadAddressPattern(value, owners, Worded("spec-one-per-host"))) {
      const absl::Status usable = CheckUsableAddress(address, kNoSubnet);
      if (usable.ok()) {
        server->address = address;
        server->position = value.position();
      } else {
        mistakes_->Add(value.position(), "spec-of", server->host,
                       MessageWords(usable));
      }
      ++server;
    }
  }

  Mistakes* const mistakes_;
  ServerGroups groups_;
  std::vector<Group> read_;
  absl::flat_hash_map<std::string, TextPosition> seen_;
};

}  // namespace

ServerGroups ReadServerGroups(const YamlNode* node, Mistakes* mistakes) {
  const YamlValue value(node, "servers", mistakes);
  if (value.Is(YamlNode::Kind::kList) && !node->items.empty()) {
    return GroupReader(mistakes).Read(*node);
  }
  value.WrongKind("spec-groups");
  return {{}, /*complete=*/false};
}

std::vector<const YamlNode*> ValuesByServer(const YamlValue& value,
                                            const ServerGroups& groups) {
  absl::flat_hash_map<absl::string_view, size_t> by_name;
  for (size_t s = 0; s < groups.servers.size(); ++s) {
    by_name[groups.servers[s].host] = s;
  }
  std::vector<const YamlNode*> values(groups.servers.size());
  std::vector<const YamlEntry*> strangers;
  for (const YamlEntry& entry : value.node()->entries) {
    const auto found = by_name.find(entry.key);
    if (found != by_name.end()) {
      values[found->second] = &entry.value;
    } else {
      strangers.push_back(&entry);
    }
  }
  // An unreadable group has its own mistake, and would cause false ones here.
  if (!groups.complete) return values;
  std::vector<std::string> missing;
  for (size_t s = 0; s < values.size(); ++s) {
    if (values[s] == nullptr) missing.push_back(groups.servers[s].host);
  }
  AddStrangers(strangers, value, &missing);
  if (!missing.empty()) {
    value.Wrong("msg-spec-nothing-for", Shortened(FoldHostlist(missing)));
  }
  return values;
}

std::vector<Ipv4Address> ReadAddressPattern(
    const YamlValue& value, absl::Span<const PlannedServer> owners,
    const FindingValue& each) {
  std::vector<Ipv4Address> addresses;
  const auto pattern = value.Parsed(AddressPattern::Parse);
  if (!pattern.has_value()) return addresses;
  const bool one_for_all = pattern->size() == 1 && pattern->has_formula();
  if (pattern->size() != owners.size() && !one_for_all) {
    AddWrongCount(value, pattern->size(), owners.size(), each);
    return addresses;
  }
  for (size_t k = 0; k < owners.size(); ++k) {
    const auto address = pattern->At(k, owners[k].inputs);
    if (!address.ok()) {
      value.mistakes()->Add(value.position(), "spec-of", owners[k].host,
                            MessageWords(address.status()));
      break;
    }
    addresses.push_back(*address);
  }
  return addresses;
}

void AddWrongCount(const YamlValue& value, size_t addresses, size_t owners,
                   const FindingValue& each) {
  value.Wrong("msg-spec-address-count", Worded("spec-addresses", addresses),
              owners, each);
}

}  // namespace clusterd
