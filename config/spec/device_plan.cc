#include "config/spec/device_plan.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "config/spec/yaml_keys.inc"
#include "config/values/hostlist.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// hccn_tool maps an id to a logic id below 16 (hccn_tool source, hicann/driver
// ef377e95, cmd.c).
constexpr size_t kMaxDevices = 16;

constexpr int kMinPrefixLength = 1;
constexpr int kMaxPrefixLength = 30;

struct Netmask {
  int prefix_length = 0;  // 0: not given, or wrong.
  TextPosition position;
};

// One item of `rails`.
struct Rail {
  std::string subject;  // "devices.rails[0]".
  TextPosition position;
  std::vector<uint32_t> ids;
  std::optional<AddressPattern> subnet;
  std::optional<Formula> host;
};

absl::StatusOr<std::vector<uint32_t>> ParseIds(const std::string& text) {
  return ParseIdList(text, kMaxDeviceId);
}

absl::StatusOr<int> ParseDeviceNetmask(const std::string& text) {
  ASSIGN_OR_RETURN(const int prefix_length, ParseNetmask(text));
  if (prefix_length >= kMinPrefixLength && prefix_length <= kMaxPrefixLength) {
    return prefix_length;
  }
  return InvalidWords("msg-spec-netmask", QuoteValue(text));
}

// The switch as LLDP reports it: system name, chassis id or management address.
absl::StatusOr<std::string> ParseSwitch(const std::string& text) {
  static const LazyRE2 kForm = {R"([A-Za-z0-9][A-Za-z0-9._:/-]{0,254})"};
  if (text == "none") return std::string();
  if (HasForm(text, *kForm)) return text;
  return InvalidWords("msg-spec-switch", QuoteValue(text));
}

Netmask ReadNetmask(const YamlValue& value) {
  return {value.Parsed(ParseDeviceNetmask).value_or(0), value.position()};
}

class Reader {
 public:
  Reader(const YamlMap& map, const ProductProfile* product,
         const ServerGroups& groups, Mistakes* mistakes)
      : map_(map), product_(product), groups_(groups), mistakes_(mistakes) {}

  DevicePlan Read() {
    const YamlValue addresses = map_["addresses"];
    const YamlValue rails = map_["rails"];
    const bool has_addresses = addresses.node() != nullptr;
    ReadIds();
    if (has_addresses == (rails.node() != nullptr)) {
      mistakes_->Add(has_addresses ? rails.position() : map_.position(),
                     has_addresses ? "msg-spec-addresses-and-rails"
                                   : "msg-spec-no-addresses");
      // Netmasks are not used then, but a wrong one is still reported.
      for (const YamlValue& mask : map_["netmask"].Items()) ReadNetmask(mask);
    } else if (has_addresses) {
      ReadAddresses(addresses);
    } else {
      ReadRails(rails);
    }
    // Without ids there are no devices, and the length of a list is unknown.
    if (!plan_.ids.empty()) {
      MakeDevices();
      ReadAddressSources(map_, product_, groups_, mistakes_, &plan_);
      ReadSwitches(map_["switch"]);
    }
    return std::move(plan_);
  }

  DevicePlan ReadWithoutAddresses() {
    ReadIds();
    MakeDevices();
    return std::move(plan_);
  }

 private:
  // Ids by key, otherwise by product; empty if neither gives them.
  void ReadIds() {
    if (product_ != nullptr) plan_.ids = product_->device_ids;
    const YamlValue value = map_["ids"];
    if (value.Is(YamlNode::Kind::kMap)) return ReadIdsByHost(value);
    auto ids = ReadIdList(value);
    if (!ids.empty()) plan_.ids = std::move(ids);
  }

  // Empty if it is absent or wrong.
  std::vector<uint32_t> ReadIdList(const YamlValue& value) {
    auto ids = value.Parsed(ParseIds);
    if (!ids.has_value() || !ProductHas(*ids, value)) return {};
    if (ids->size() <= kMaxDevices) return *std::move(ids);
    AddTooMany(value, ids->size());
    return {};
  }

  // Ids by hostlist; hosts without an entry have the product's.
  void ReadIdsByHost(const YamlValue& value) {
    absl::flat_hash_map<std::string, size_t> by_name;
    for (size_t s = 0; s < groups_.servers.size(); ++s) {
      by_name[groups_.servers[s].host] = s;
    }
    ids_by_server_.resize(groups_.servers.size());
    size_t names_left = kMaxServers;
    for (const YamlEntry& entry : value.node()->entries) {
      const auto hosts = ExpandHostlist(entry.key, names_left);
      const std::vector<uint32_t> ids = ReadIdList(value.Inner(
          entry.value, Worded("spec-of", value.subject(), entry.key)));
      if (!hosts.ok()) {
        mistakes_->Add(entry.position, "spec-of", value.subject(),
                       MessageWords(hosts.status()));
        continue;
      }
      names_left -= hosts->size();
      for (const std::string& host : *hosts) {
        const auto found = by_name.find(host);
        if (found == by_name.end()) {
          if (!groups_.complete) continue;
          mistakes_->AddOnce(entry.position, "strangers",
                             "msg-spec-unknown-host", value.subject(),
                             QuoteValue(host), "");
        } else if (!ids_by_server_[found->second].empty()) {
          mistakes_->AddOnce(entry.position, "twice", "msg-spec-ids-twice",
                             value.subject(), QuoteValue(host));
        } else {
          ids_by_server_[found->second] = ids;
        }
      }
    }
    UniteIds(value);
  }

  void UniteIds(const YamlValue& value) {
    std::set<uint32_t> all;
    std::vector<std::string> without;
    for (size_t s = 0; s < ids_by_server_.size(); ++s) {
      if (ids_by_server_[s].empty()) ids_by_server_[s] = plan_.ids;
      all.insert(ids_by_server_[s].begin(), ids_by_server_[s].end());
      if (ids_by_server_[s].empty()) without.push_back(groups_.servers[s].host);
    }
    plan_.ids.assign(all.begin(), all.end());
    if (without.empty() || !mistakes_->empty()) return;
    value.Wrong("msg-spec-no-ids-for", without.front());
  }

  static void AddTooMany(const YamlValue& value, size_t devices) {
    value.Wrong("msg-spec-too-many-devices", devices, kMaxDevices);
  }

  // True if the product's servers have these devices.
  bool ProductHas(const std::vector<uint32_t>& ids, const YamlValue& value) {
    if (product_ == nullptr || product_->device_ids.empty()) return true;
    const std::vector<uint32_t>& known = product_->device_ids;
    bool has_all = true;
    for (uint32_t id : ids) {
      if (absl::c_linear_search(known, id)) continue;
      value.Wrong("msg-spec-no-such-device", product_->name, id, known.front(),
                  known.back());
      has_all = false;
    }
    return has_all;
  }

  void MakeDevices() {
    if (!plan_.devices.empty()) return;
    plan_.devices.reserve(groups_.servers.size() * plan_.ids.size());
    for (size_t s = 0; s < groups_.servers.size(); ++s) {
      const PlannedServer& server = groups_.servers[s];
      plan_.begins.push_back(plan_.devices.size());
      for (size_t k = 0; k < plan_.ids.size(); ++k) {
        if (!ids_by_server_.empty() &&
            !absl::c_linear_search(ids_by_server_[s], plan_.ids[k])) {
          continue;
        }
        PlannedDevice& device = plan_.devices.emplace_back();
        device.server = &server;
        device.id = plan_.ids[k];
        device.index = k;
      }
    }
    plan_.begins.push_back(plan_.devices.size());
  }

  // One per device, or one for all; nothing after a mistake.
  void ReadNetmasks() {
    const YamlValue value = map_["netmask"];
    if (value.Is(YamlNode::Kind::kList)) {
      for (const YamlValue& item : PerDevice(value, plan_.ids)) {
        masks_.push_back(ReadNetmask(item));
      }
      masks_.resize(plan_.ids.size());
    } else {
      masks_.assign(plan_.ids.size(), ReadNetmask(value));
    }
  }

  void ReadAddresses(const YamlValue& value) {
    if (map_["netmask"].node() == nullptr) {
      map_["netmask"].Wrong("msg-spec-netmask-missing");
    }
    if (!value.Is(YamlNode::Kind::kMap)) {
      value.WrongKind("spec-mapping-of-hosts");
      return;
    }
    const std::vector<const YamlNode*> hosts = ValuesByServer(value, groups_);
    if (plan_.ids.empty()) GuessIds(hosts);
    MakeDevices();
    ReadNetmasks();
    for (size_t s = 0; s < hosts.size(); ++s) {
      if (hosts[s] == nullptr) continue;
      ReadHost(value.Inner(*hosts[s], groups_.servers[s].host),
               plan_.OfServer(s));
    }
  }

  // Products without fixed ids must name them. After a mistake about the
  // product, the first list's length stands in, so that lists are checked.
  void GuessIds(const std::vector<const YamlNode*>& hosts) {
    const YamlValue ids = map_["ids"];
    if (product_ != nullptr && ids.node() == nullptr) {
      ids.Wrong("msg-spec-ids-missing", product_->name);
    }
    for (const YamlNode* host : hosts) {
      if (host == nullptr || host->kind != YamlNode::Kind::kList) continue;
      plan_.ids.resize(std::min(host->items.size(), kMaxDevices));
      return std::iota(plan_.ids.begin(), plan_.ids.end(), 0);
    }
  }

  void ReadHost(const YamlValue& value, absl::Span<PlannedDevice> devices) {
    const auto ids = Each<uint32_t>(devices, &PlannedDevice::id);
    const FindingValue each =
        Worded("spec-one-per-device", absl::StrJoin(ids, ","));
    if (!value.Is(YamlNode::Kind::kList)) {
      std::vector<PlannedServer> owners;
      for (const PlannedDevice& device : devices) {
        owners.push_back(*device.server);
        owners.back().inputs = device.Inputs();
      }
      auto device = devices.begin();
      for (Ipv4Address address : ReadAddressPattern(value, owners, each)) {
        SetAddress(address, value.position(), &*device);
        ++device;
      }
      return;
    }
    const std::vector<YamlNode>& items = value.node()->items;
    if (items.size() != devices.size()) {
      AddWrongCount(value, items.size(), devices.size(), each);
    }
    for (size_t k = 0; k < std::min(items.size(), devices.size()); ++k) {
      const auto address = Ipv4Address::Parse(items[k].text);
      if (address.ok()) {
        SetAddress(*address, items[k].position, &devices[k]);
      } else {
        value.Inner(items[k], devices[k].Name()).Parsed(Ipv4Address::Parse);
      }
    }
  }

  void SetAddress(Ipv4Address address, TextPosition position,
                  PlannedDevice* device) {
    const int prefix_length = masks_[device->index].prefix_length;
    device->position = position;
    // Without a mask there is a mistake already. The address itself is still
    // checked: a /32 is in no network.
    device->address =
        Ipv4Interface(address, prefix_length == 0 ? 32 : prefix_length);
  }

  void ReadRails(const YamlValue& value) {
    if (!value.Is(YamlNode::Kind::kList) || value.node()->items.empty()) {
      value.WrongKind("spec-rails");
      return;
    }
    std::vector<Rail> rails;
    for (const YamlNode& item : value.node()->items) {
      rails.push_back(ReadRail(
          item, absl::StrCat(value.subject().text(), "[", rails.size(), "]")));
    }
    if (!CoverIds(value, rails)) return;
    MakeDevices();
    ReadNetmasks();
    for (const Rail& rail : rails) ExpandRail(rail);
  }

  Rail ReadRail(const YamlNode& node, const std::string& subject) {
    const YamlMap map(&node, subject, kClusterKeys, mistakes_);
    const YamlValue device = map.Require("device");
    const YamlValue subnet = map.Require("subnet");
    const YamlValue host = map.Require("host");
    Rail rail;
    rail.subject = subject;
    rail.position = host.position();
    rail.ids = device.Parsed(ParseIds).value_or(rail.ids);
    if (!ProductHas(rail.ids, device)) rail.ids.clear();
    rail.subnet = subnet.Parsed(AddressPattern::ParseSubnets);
    rail.host = host.Parsed(Formula::Parse);
    if (rail.subnet.has_value() && !rail.ids.empty() &&
        rail.subnet->size() != 1 && rail.subnet->size() != rail.ids.size()) {
      subnet.Wrong("msg-spec-subnet-count", rail.subnet->size(),
                   rail.ids.size());
      rail.subnet.reset();
    }
    return rail;
  }

  // Sets the ids unless another key did. False if reading on makes no sense.
  bool CoverIds(const YamlValue& value, const std::vector<Rail>& rails) {
    std::vector<uint32_t> covered;
    bool all_known = true;
    for (const Rail& rail : rails) {
      covered.insert(covered.end(), rail.ids.begin(), rail.ids.end());
      if (rail.ids.empty()) all_known = false;
    }
    absl::c_sort(covered);
    const auto twice = std::adjacent_find(covered.begin(), covered.end());
    if (twice != covered.end()) {
      value.Wrong("msg-spec-device-in-two-rails", *twice);
      return false;
    }
    if (plan_.ids.empty()) plan_.ids = covered;
    if (plan_.ids.size() > kMaxDevices) {
      AddTooMany(value, plan_.ids.size());
      return false;
    }
    if (!all_known) return false;
    if (covered == plan_.ids) return true;
    std::vector<uint32_t> left;
    absl::c_set_difference(plan_.ids, covered, std::back_inserter(left));
    if (left.empty()) {
      value.Wrong("msg-spec-rail-without-ids");
    } else {
      value.Wrong("msg-spec-no-rail", absl::StrJoin(left, ","));
    }
    return false;
  }

  void ExpandRail(const Rail& rail) {
    if (!rail.subnet.has_value() || !rail.host.has_value()) return;
    for (size_t k = 0; k < plan_.ids.size(); ++k) {
      if (absl::c_linear_search(rail.ids, plan_.ids[k])) {
        CompareNetmask(rail, masks_[k]);
      }
    }
    for (PlannedDevice& device : plan_.devices) {
      const auto id = absl::c_find(rail.ids, device.id);
      if (id == rail.ids.end()) continue;
      device.position = rail.position;
      device.by_index =
          rail.subnet->CountsByIndex() || rail.host->CountsByIndex();
      const auto address = AddressOnRail(
          rail, static_cast<size_t>(id - rail.ids.begin()), device.Inputs());
      if (address.ok()) {
        device.address = *address;
      } else {
        mistakes_->AddOnce(
            rail.position, "expand", "spec-of", rail.subject,
            Worded("spec-of", device.Name(), MessageWords(address.status())));
      }
    }
  }

  void ReadSwitches(const YamlValue& value) {
    if (value.node() == nullptr) return;
    ForEachPlace(value, groups_, &plan_,
                 [](const YamlValue& one, absl::Span<PlannedDevice> devices,
                    std::optional<uint32_t> id) {
                   const std::string name =
                       one.Parsed(ParseSwitch).value_or("");
                   for (PlannedDevice& device : devices) {
                     if (id.value_or(device.id) == device.id) {
                       device.switch_name = name;
                     }
                   }
                 });
  }

  void CompareNetmask(const Rail& rail, const Netmask& mask) {
    const int prefix_length = rail.subnet->prefix_length();
    if (mask.prefix_length == 0 || mask.prefix_length == prefix_length) return;
    const Ipv4Subnet subnet(Ipv4Address(), prefix_length);
    mistakes_->AddOnce(mask.position, rail.subject, "msg-spec-rail-netmask",
                       rail.subject, subnet.netmask().ToString());
  }

  static absl::StatusOr<Ipv4Interface> AddressOnRail(
      const Rail& rail, size_t index_in_rail, const FormulaInputs& inputs) {
    ASSIGN_OR_RETURN(const Ipv4Address network,
                     rail.subnet->At(index_in_rail, inputs));
    const Ipv4Subnet subnet(network, rail.subnet->prefix_length());
    ASSIGN_OR_RETURN(const int64_t host, rail.host->Evaluate(inputs));
    ASSIGN_OR_RETURN(const Ipv4Address address, HostAddress(subnet, host));
    return Ipv4Interface(address, subnet.prefix_length());
  }

  const YamlMap& map_;
  const ProductProfile* const product_;
  const ServerGroups& groups_;
  Mistakes* const mistakes_;
  DevicePlan plan_;
  std::vector<Netmask> masks_;
  // Empty: all have those of the plan.
  std::vector<std::vector<uint32_t>> ids_by_server_;
};

}  // namespace

FindingValue PlannedDevice::Name() const {
  return Worded("spec-device", server->host, id);
}

FormulaInputs PlannedDevice::Inputs() const {
  FormulaInputs inputs = server->inputs;
  inputs.d = id;
  return inputs;
}

DevicePlan ReadDevicePlan(const YamlNode* node, const ProductProfile* product,
                          const ServerGroups& groups, Mistakes* mistakes) {
  if (node == nullptr) return {};
  const YamlMap map(node, "devices", kClusterKeys, mistakes);
  if (node->kind == YamlNode::Kind::kMap) {
    return Reader(map, product, groups, mistakes).Read();
  }
  if (node->kind == YamlNode::Kind::kNothing) {
    mistakes->Add(node->position, "msg-spec-wrong-value", "devices",
                  Worded("spec-empty"), Worded("spec-addresses-or-rails"));
  }
  return {};
}

DevicePlan ReadDeviceIds(const YamlNode* node, const ProductProfile* product,
                         const ServerGroups& groups, Mistakes* mistakes) {
  const YamlMap map(node, "devices", kClusterKeys, mistakes);
  for (const absl::string_view key : {"netmask", "addresses", "rails",
                                      "gateway", "detect_address", "switch"}) {
    if (map[key].node() == nullptr) continue;
    map[key].Wrong("msg-spec-beside-roce-unused");
  }
  return Reader(map, product, groups, mistakes).ReadWithoutAddresses();
}

}  // namespace clusterd
