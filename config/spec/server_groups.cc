#include "config/spec/server_groups.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "config/spec/address_pattern.h"
#include "config/spec/hostlist.h"
#include "config/spec/nearest_word.h"
#include "config/spec/yaml_values.h"

namespace clusterd {
namespace {

// Server addresses are dialled, and no netmask is known: only the address
// itself is looked at.
constexpr int kNoSubnet = 32;

struct Group {
  std::string subject;  // "servers[0]".
  size_t first = 0;     // Of its servers.
  size_t count = 0;
  const YamlNode* address = nullptr;
};

// The names of one `hosts`, which is a hostlist or a list of them.
std::optional<std::vector<std::string>> ReadHosts(const YamlNode& node,
                                                  absl::string_view subject,
                                                  size_t room,
                                                  Mistakes* mistakes) {
  std::vector<const YamlNode*> texts = {&node};
  if (node.kind == YamlNode::Kind::kList) {
    texts.clear();
    for (const YamlNode& item : node.items) texts.push_back(&item);
  }
  std::vector<std::string> hosts;
  for (const YamlNode* item : texts) {
    const std::optional<std::string> text = ReadText(*item, subject, mistakes);
    if (!text.has_value()) return std::nullopt;
    absl::StatusOr<std::vector<std::string>> names =
        ExpandHostlist(*text, room - hosts.size());
    if (!names.ok()) {
      mistakes->Add(item->position,
                    absl::StrCat(subject, ": ", names.status().message()));
      return std::nullopt;
    }
    hosts.insert(hosts.end(), names->begin(), names->end());
  }
  if (hosts.empty()) {
    mistakes->Add(node.position,
                  absl::StrCat(subject, " is empty, expected host names"));
    return std::nullopt;
  }
  return hosts;
}

void SetAddress(const YamlNode& node, Ipv4Address address,
                PlannedServer* server, Mistakes* mistakes) {
  const absl::Status usable = CheckUsableAddress(address, kNoSubnet);
  if (!usable.ok()) {
    mistakes->Add(node.position,
                  absl::StrCat(server->host, ": ", usable.message()));
    return;
  }
  server->address = address;
  server->position = node.position;
}

void AddWrongCount(const YamlNode& node, absl::string_view subject,
                   size_t addresses, size_t hosts, Mistakes* mistakes) {
  mistakes->Add(node.position,
                absl::StrCat(subject, " has ", addresses,
                             addresses == 1 ? " address" : " addresses",
                             ", expected ", hosts, ", one per host"));
}

void ReadAddressPattern(const YamlNode& node, absl::string_view subject,
                        size_t count, PlannedServer* servers,
                        Mistakes* mistakes) {
  const std::optional<std::string> text = ReadText(node, subject, mistakes);
  if (!text.has_value()) return;
  const absl::StatusOr<AddressPattern> pattern = AddressPattern::Parse(*text);
  if (!pattern.ok()) {
    mistakes->Add(node.position,
                  absl::StrCat(subject, ": ", pattern.status().message()));
    return;
  }
  const bool one_for_all = pattern->size() == 1 && pattern->has_formula();
  if (pattern->size() != count && !one_for_all) {
    AddWrongCount(node, subject, pattern->size(), count, mistakes);
    return;
  }
  for (size_t k = 0; k < count; ++k) {
    const absl::StatusOr<Ipv4Address> address =
        pattern->At(k, servers[k].place);
    if (!address.ok()) {
      mistakes->Add(node.position, absl::StrCat(servers[k].host, ": ",
                                                address.status().message()));
      return;
    }
    SetAddress(node, *address, &servers[k], mistakes);
  }
}

void ReadAddresses(const Group& group, ServerGroups* groups,
                   Mistakes* mistakes) {
  const YamlNode& node = *group.address;
  const std::string subject = absl::StrCat(group.subject, ".address");
  PlannedServer* servers = &groups->servers[group.first];
  if (node.kind != YamlNode::Kind::kList) {
    ReadAddressPattern(node, subject, group.count, servers, mistakes);
    return;
  }
  if (node.items.size() != group.count) {
    AddWrongCount(node, subject, node.items.size(), group.count, mistakes);
    return;
  }
  for (size_t k = 0; k < group.count; ++k) {
    ReadAddressPattern(node.items[k], subject, 1, &servers[k], mistakes);
  }
}

// Candidates for "did you mean"; more would take long and help nobody.
constexpr size_t kMaxCandidates = 1000;

// What a stranger was probably meant to be is taken out of `missing`: one slip
// is one mistake.
void AddStrangers(const std::vector<const YamlEntry*>& strangers,
                  absl::string_view subject, std::vector<std::string>* missing,
                  Mistakes* mistakes) {
  for (size_t i = 0; i < strangers.size(); ++i) {
    const YamlEntry& entry = *strangers[i];
    std::string meant;
    if (i < Mistakes::kMaxShown) {
      meant = NearestWord(
          entry.key,
          std::vector<absl::string_view>(
              missing->begin(),
              missing->begin() + std::min(missing->size(), kMaxCandidates)));
    }
    mistakes->Add(entry.position,
                  absl::StrCat(subject, ": host ", QuoteValue(entry.key),
                               " is in no group of servers",
                               meant.empty() ? ""
                                             : absl::StrCat(", did you mean \"",
                                                            meant, "\"?")));
    if (meant.empty()) continue;
    missing->erase(std::find(missing->begin(), missing->end(), meant));
  }
}

std::string Shortened(std::string hostlist) {
  constexpr size_t kMaxBytes = 200;
  if (hostlist.size() <= kMaxBytes) return hostlist;
  return absl::StrCat(hostlist.substr(0, kMaxBytes), "…");
}

// Reads groups one after the other; addresses wait until all hosts are known,
// because formulas may ask how many there are.
class Reader {
 public:
  explicit Reader(Mistakes* mistakes) : mistakes_(mistakes) {}

  ServerGroups Read(const YamlNode& section) {
    for (size_t g = 0; g < section.items.size(); ++g) {
      ReadGroup(section.items[g], g);
    }
    for (PlannedServer& server : groups_.servers) {
      server.place.servers = static_cast<int64_t>(groups_.servers.size());
    }
    for (const Group& group : read_) {
      ReadAddresses(group, &groups_, mistakes_);
    }
    return std::move(groups_);
  }

 private:
  void ReadGroup(const YamlNode& node, size_t g) {
    Group group;
    group.subject = absl::StrCat("servers[", g, "]");
    group.first = groups_.servers.size();
    const YamlMap map(&node, group.subject, {"hosts", "address"}, mistakes_);
    const YamlNode* hosts = map.Require("hosts");
    group.address = map.Require("address");
    std::optional<std::vector<std::string>> names;
    if (hosts != nullptr) {
      names = ReadHosts(*hosts, map.Subject("hosts"),
                        kMaxServers - groups_.servers.size(), mistakes_);
    }
    if (!names.has_value()) {
      groups_.complete = false;
      return;
    }
    const bool is_new = AddServers(*names, *hosts, g);
    group.count = groups_.servers.size() - group.first;
    // With a host dropped, the addresses no longer line up.
    if (is_new && group.address != nullptr) read_.push_back(group);
  }

  // False if a host was there before.
  bool AddServers(const std::vector<std::string>& names, const YamlNode& node,
                  size_t g) {
    bool is_new = true;
    for (size_t i = 0; i < names.size(); ++i) {
      const auto [first, inserted] = seen_.try_emplace(names[i], node.position);
      if (!inserted) {
        mistakes_->Add(
            node.position,
            absl::StrCat("host ", QuoteValue(names[i]),
                         " stands twice, first at ", ToString(first->second)));
        is_new = false;
        continue;
      }
      PlannedServer server;
      server.host = names[i];
      server.place.n = static_cast<int64_t>(groups_.servers.size());
      server.place.i = static_cast<int64_t>(i);
      server.place.g = static_cast<int64_t>(g);
      server.position = node.position;
      groups_.servers.push_back(std::move(server));
    }
    return is_new;
  }

  Mistakes* const mistakes_;
  ServerGroups groups_;
  std::vector<Group> read_;
  absl::flat_hash_map<std::string, TextPosition> seen_;
};

}  // namespace

ServerGroups ReadServerGroups(const YamlNode* section, Mistakes* mistakes) {
  if (section != nullptr && section->kind == YamlNode::Kind::kList &&
      !section->items.empty()) {
    return Reader(mistakes).Read(*section);
  }
  ServerGroups nothing;
  nothing.complete = false;
  if (section != nullptr) {
    const bool is_list = section->kind == YamlNode::Kind::kList;
    mistakes->Add(
        section->position,
        absl::StrCat("servers is ", is_list ? "empty" : KindName(section->kind),
                     ", expected a list of groups with hosts and "
                     "address"));
  }
  return nothing;
}

std::vector<const YamlNode*> ValuesByServer(const YamlNode& node,
                                            absl::string_view subject,
                                            const ServerGroups& groups,
                                            Mistakes* mistakes) {
  absl::flat_hash_map<absl::string_view, size_t> by_name;
  for (size_t s = 0; s < groups.servers.size(); ++s) {
    by_name[groups.servers[s].host] = s;
  }
  std::vector<const YamlNode*> values(groups.servers.size());
  std::vector<const YamlEntry*> strangers;
  for (const YamlEntry& entry : node.entries) {
    const auto found = by_name.find(entry.key);
    if (found != by_name.end()) {
      values[found->second] = &entry.value;
    } else {
      strangers.push_back(&entry);
    }
  }
  // A group that could not be read has its own mistake, and would make many
  // false ones here.
  if (!groups.complete) return values;
  std::vector<std::string> missing;
  for (size_t s = 0; s < values.size(); ++s) {
    if (values[s] == nullptr) missing.push_back(groups.servers[s].host);
  }
  AddStrangers(strangers, subject, &missing, mistakes);
  if (!missing.empty()) {
    mistakes->Add(node.position,
                  absl::StrCat(subject, " has nothing for ",
                               Shortened(FoldHostlist(missing))));
  }
  return values;
}

}  // namespace clusterd
