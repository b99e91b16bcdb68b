#include "config/spec/device_plan.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/spec/address_pattern.h"
#include "config/spec/address_source.h"
#include "config/spec/device_plan_checks.h"
#include "config/spec/number_list.h"
#include "config/spec/yaml_values.h"

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
  std::optional<SubnetPattern> subnet;
  std::optional<Formula> host;
};

class Reader {
 public:
  Reader(const YamlMap& map, const ProductProfile* product,
         const ServerGroups& groups, Mistakes* mistakes)
      : map_(map), product_(product), groups_(groups), mistakes_(mistakes) {}

  DevicePlan Read() {
    plan_.devices.resize(groups_.servers.size());
    const YamlNode* addresses = map_.Find("addresses");
    const YamlNode* rails = map_.Find("rails");
    ReadIds();
    if (addresses != nullptr && rails != nullptr) {
      mistakes_->Add(rails->position,
                     "devices has both addresses and rails, expected one");
      CheckNetmasks();
    } else if (addresses != nullptr) {
      ReadAddresses(*addresses);
    } else if (rails != nullptr) {
      ReadRails(*rails);
    } else {
      mistakes_->Add(map_.position(),
                     "devices has no addresses, expected addresses or rails");
      CheckNetmasks();
    }
    ReadSources();
    return std::move(plan_);
  }

 private:
  // Ids by key, else by product; empty if neither says.
  void ReadIds() {
    if (product_ != nullptr) plan_.ids = product_->device_ids;
    const std::optional<std::string> text = map_.Text("ids");
    if (!text.has_value()) return;
    absl::StatusOr<std::vector<uint32_t>> ids =
        ParseIdList(*text, kMaxDeviceId);
    if (!ids.ok()) {
      mistakes_->Add(map_.PositionOf("ids"),
                     absl::StrCat("devices.ids: ", ids.status().message()));
      return;
    }
    if (!ProductHas(*ids, "devices.ids", map_.PositionOf("ids"))) return;
    if (ids->size() > kMaxDevices) {
      mistakes_->Add(map_.PositionOf("ids"),
                     absl::StrCat("devices.ids has ", ids->size(),
                                  " devices, expected at most ", kMaxDevices));
      return;
    }
    plan_.ids = *std::move(ids);
  }

  // Whether the product's servers have these devices.
  bool ProductHas(const std::vector<uint32_t>& ids, absl::string_view subject,
                  TextPosition position) {
    if (product_ == nullptr || product_->device_ids.empty()) return true;
    const std::vector<uint32_t>& known = product_->device_ids;
    bool has_all = true;
    for (uint32_t id : ids) {
      if (std::find(known.begin(), known.end(), id) != known.end()) continue;
      mistakes_->Add(
          position,
          absl::StrCat(subject, ": ", product_->name, " has no device ", id,
                       ", expected ", known.front(), "-", known.back()));
      has_all = false;
    }
    return has_all;
  }

  void MakeDevices() {
    for (std::vector<PlannedDevice>& devices : plan_.devices) {
      devices.resize(plan_.ids.size());
    }
  }

  // Where there is nothing to use them for, so that a wrong one is still named.
  void CheckNetmasks() {
    const YamlNode* node = map_.Find("netmask");
    if (node == nullptr) return;
    if (node->kind != YamlNode::Kind::kList) {
      ReadNetmask(*node, "devices.netmask");
      return;
    }
    for (const YamlNode& item : node->items) {
      ReadNetmask(item, "devices.netmask");
    }
  }

  // One per device, or one for all; nothing where it is wrong.
  std::vector<Netmask> ReadNetmasks() {
    std::vector<Netmask> masks(plan_.ids.size());
    const YamlNode* node = map_.Find("netmask");
    if (node == nullptr) return masks;
    if (node->kind != YamlNode::Kind::kList) {
      std::fill(masks.begin(), masks.end(),
                ReadNetmask(*node, "devices.netmask"));
      return masks;
    }
    if (node->items.size() != masks.size()) {
      mistakes_->Add(node->position,
                     absl::StrCat("devices.netmask has ", node->items.size(),
                                  " entries, expected ", masks.size(),
                                  ", one per device"));
      return masks;
    }
    for (size_t k = 0; k < masks.size(); ++k) {
      masks[k] =
          ReadNetmask(node->items[k],
                      absl::StrCat("devices.netmask: device ", plan_.ids[k]));
    }
    return masks;
  }

  Netmask ReadNetmask(const YamlNode& node, absl::string_view subject) {
    Netmask mask;
    mask.position = node.position;
    const std::optional<std::string> text = ReadText(node, subject, mistakes_);
    if (!text.has_value()) return mask;
    const absl::StatusOr<int> prefix_length = ParseNetmask(*text);
    if (!prefix_length.ok()) {
      mistakes_->Add(
          node.position,
          absl::StrCat(subject, ": ", prefix_length.status().message()));
    } else if (*prefix_length < kMinPrefixLength ||
               *prefix_length > kMaxPrefixLength) {
      mistakes_->Add(node.position,
                     absl::StrCat(subject, ": netmask ", QuoteValue(*text),
                                  " leaves no subnet of hosts, expected "
                                  "128.0.0.0 to 255.255.255.252"));
    } else {
      mask.prefix_length = *prefix_length;
    }
    return mask;
  }

  void ReadAddresses(const YamlNode& node) {
    if (map_.Find("netmask") == nullptr) {
      mistakes_->Add(map_.position(),
                     "devices.netmask is missing, expected e.g. 255.255.255.0");
    }
    if (node.kind != YamlNode::Kind::kMap) {
      mistakes_->Add(node.position,
                     absl::StrCat("devices.addresses is ", KindName(node.kind),
                                  ", expected a mapping from host to a list"));
      return;
    }
    const std::vector<const YamlNode*> values =
        ValuesByServer(node, "devices.addresses", groups_, mistakes_);
    if (plan_.ids.empty()) GuessIds(values);
    MakeDevices();
    const std::vector<Netmask> masks = ReadNetmasks();
    for (size_t s = 0; s < values.size(); ++s) {
      if (values[s] != nullptr) ReadHost(*values[s], s, masks);
    }
  }

  // Products without fixed ids must name them. After a mistake about the
  // product, the first list's length stands in, so that the lists can still be
  // looked at.
  void GuessIds(const std::vector<const YamlNode*>& values) {
    if (product_ != nullptr && map_.Find("ids") == nullptr) {
      mistakes_->Add(map_.position(),
                     absl::StrCat("devices.ids is missing, ", product_->name,
                                  " has no fixed ids, expected e.g. 0-1"));
    }
    for (const YamlNode* value : values) {
      if (value == nullptr || value->kind != YamlNode::Kind::kList) continue;
      plan_.ids.resize(std::min(value->items.size(), kMaxDevices));
      std::iota(plan_.ids.begin(), plan_.ids.end(), 0);
      return;
    }
  }

  void ReadHost(const YamlNode& node, size_t server,
                const std::vector<Netmask>& masks) {
    const std::string& host = groups_.servers[server].host;
    if (node.kind != YamlNode::Kind::kList) {
      ReadHostPattern(node, server, masks);
      return;
    }
    if (node.items.size() != plan_.ids.size()) {
      AddWrongCount(node.position, host, node.items.size());
    }
    const size_t count = std::min(node.items.size(), plan_.ids.size());
    for (size_t k = 0; k < count; ++k) {
      const YamlNode& item = node.items[k];
      const std::string subject = absl::StrCat(host, " device ", plan_.ids[k]);
      const std::optional<std::string> text =
          ReadText(item, subject, mistakes_);
      if (!text.has_value()) continue;
      const absl::StatusOr<Ipv4Address> address = Ipv4Address::Parse(*text);
      if (!address.ok()) {
        mistakes_->Add(item.position,
                       absl::StrCat(subject, ": ", address.status().message()));
        continue;
      }
      SetAddress(*address, masks[k].prefix_length, item.position,
                 &plan_.devices[server][k]);
    }
  }

  void ReadHostPattern(const YamlNode& node, size_t server,
                       const std::vector<Netmask>& masks) {
    const std::string& host = groups_.servers[server].host;
    const std::optional<std::string> text = ReadText(node, host, mistakes_);
    if (!text.has_value()) return;
    const absl::StatusOr<AddressPattern> pattern = AddressPattern::Parse(*text);
    if (!pattern.ok()) {
      mistakes_->Add(node.position,
                     absl::StrCat(host, ": ", pattern.status().message()));
      return;
    }
    const bool one_for_all = pattern->size() == 1 && pattern->has_formula();
    if (pattern->size() != plan_.ids.size() && !one_for_all) {
      AddWrongCount(node.position, host, pattern->size());
      return;
    }
    for (size_t k = 0; k < plan_.ids.size(); ++k) {
      Place place = groups_.servers[server].place;
      place.d = plan_.ids[k];
      const absl::StatusOr<Ipv4Address> address = pattern->At(k, place);
      if (!address.ok()) {
        mistakes_->Add(node.position,
                       absl::StrCat(host, ": ", address.status().message()));
        return;
      }
      SetAddress(*address, masks[k].prefix_length, node.position,
                 &plan_.devices[server][k]);
    }
  }

  void AddWrongCount(TextPosition position, absl::string_view host,
                     size_t count) {
    mistakes_->Add(
        position,
        absl::StrCat(host, " has ", count,
                     count == 1 ? " address" : " addresses", ", expected ",
                     plan_.ids.size(), ", one per device ",
                     absl::StrJoin(plan_.ids, ",")));
  }

  void SetAddress(Ipv4Address address, int prefix_length, TextPosition position,
                  PlannedDevice* device) {
    device->position = position;
    // Without a mask there is a mistake already. The address itself is still
    // worth checking: a /32 is in no network.
    device->address =
        Ipv4Interface(address, prefix_length == 0 ? 32 : prefix_length);
  }

  void ReadRails(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::kList || node.items.empty()) {
      mistakes_->Add(node.position,
                     "devices.rails is no list with items, expected a list of "
                     "mappings with device, subnet and host");
      return;
    }
    std::vector<Rail> rails;
    for (size_t r = 0; r < node.items.size(); ++r) {
      rails.push_back(
          ReadRail(node.items[r], absl::StrCat("devices.rails[", r, "]")));
    }
    if (!CoverIds(node, rails)) return;
    MakeDevices();
    const std::vector<Netmask> masks = ReadNetmasks();
    for (const Rail& rail : rails) ExpandRail(rail, masks);
  }

  Rail ReadRail(const YamlNode& node, std::string subject) {
    Rail rail;
    rail.subject = std::move(subject);
    const YamlMap map(&node, rail.subject, {"device", "subnet", "host"},
                      mistakes_);
    const std::string ids = map.RequireText("device");
    const std::string subnet = map.RequireText("subnet");
    const std::string host = map.RequireText("host");
    rail.position = map.PositionOf("host");
    if (!ids.empty()) {
      Take(ParseIdList(ids, kMaxDeviceId), map, "device", &rail.ids);
      if (!ProductHas(rail.ids, map.Subject("device"),
                      map.PositionOf("device"))) {
        rail.ids.clear();
      }
    }
    if (!subnet.empty()) {
      Take(SubnetPattern::Parse(subnet), map, "subnet", &rail.subnet);
    }
    if (!host.empty()) Take(Formula::Parse(host), map, "host", &rail.host);
    if (rail.subnet.has_value() && !rail.ids.empty() &&
        rail.subnet->size() != 1 && rail.subnet->size() != rail.ids.size()) {
      mistakes_->Add(
          map.PositionOf("subnet"),
          absl::StrCat(map.Subject("subnet"), " has ", rail.subnet->size(),
                       " subnets, expected 1 or ", rail.ids.size(),
                       ", one per device"));
      rail.subnet.reset();
    }
    return rail;
  }

  template <typename Value, typename Target>
  void Take(absl::StatusOr<Value> value, const YamlMap& map,
            absl::string_view key, Target* target) {
    if (value.ok()) {
      *target = *std::move(value);
      return;
    }
    mistakes_->Add(map.PositionOf(key), absl::StrCat(map.Subject(key), ": ",
                                                     value.status().message()));
  }

  // Sets the ids if nothing else did. False if it makes no sense to go on.
  bool CoverIds(const YamlNode& node, const std::vector<Rail>& rails) {
    std::vector<uint32_t> covered;
    bool all_known = true;
    for (const Rail& rail : rails) {
      covered.insert(covered.end(), rail.ids.begin(), rail.ids.end());
      if (rail.ids.empty()) all_known = false;
    }
    std::sort(covered.begin(), covered.end());
    const auto twice = std::adjacent_find(covered.begin(), covered.end());
    if (twice != covered.end()) {
      mistakes_->Add(node.position, absl::StrCat("devices.rails: device ",
                                                 *twice, " is in two rails"));
      return false;
    }
    if (plan_.ids.empty()) plan_.ids = covered;
    if (plan_.ids.size() > kMaxDevices) {
      mistakes_->Add(node.position,
                     absl::StrCat("devices.rails has ", plan_.ids.size(),
                                  " devices, expected at most ", kMaxDevices));
      return false;
    }
    if (!all_known) return false;
    if (covered == plan_.ids) return true;
    std::vector<uint32_t> left;
    std::set_difference(plan_.ids.begin(), plan_.ids.end(), covered.begin(),
                        covered.end(), std::back_inserter(left));
    mistakes_->Add(node.position,
                   left.empty()
                       ? std::string("devices.rails has devices that "
                                     "devices.ids lacks")
                       : absl::StrCat("devices.rails has no rail for device ",
                                      absl::StrJoin(left, ",")));
    return false;
  }

  void ExpandRail(const Rail& rail, const std::vector<Netmask>& masks) {
    if (!rail.subnet.has_value() || !rail.host.has_value()) return;
    // Index among the server's devices, by index in the rail.
    std::vector<size_t> index;
    for (uint32_t id : rail.ids) {
      index.push_back(static_cast<size_t>(
          std::find(plan_.ids.begin(), plan_.ids.end(), id) -
          plan_.ids.begin()));
      CompareNetmask(rail, masks[index.back()]);
    }
    for (size_t s = 0; s < plan_.devices.size(); ++s) {
      for (size_t r = 0; r < index.size(); ++r) {
        ExpandDevice(rail, r, s, &plan_.devices[s][index[r]]);
      }
    }
  }

  void CompareNetmask(const Rail& rail, const Netmask& mask) {
    const int prefix_length = rail.subnet->prefix_length();
    if (mask.prefix_length == 0 || mask.prefix_length == prefix_length) return;
    const Ipv4Subnet subnet(Ipv4Address(), prefix_length);
    mistakes_->AddOnce(
        mask.position, rail.subject,
        absl::StrCat("devices.netmask is not that of ", rail.subject,
                     ".subnet, expected ", subnet.netmask().ToString()));
  }

  void ExpandDevice(const Rail& rail, size_t index_in_rail, size_t server,
                    PlannedDevice* device) {
    Place place = groups_.servers[server].place;
    place.d = rail.ids[index_in_rail];
    device->position = rail.position;
    absl::Status status;
    const absl::StatusOr<Ipv4Subnet> subnet =
        rail.subnet->At(index_in_rail, place);
    const absl::StatusOr<int64_t> host = rail.host->Evaluate(place);
    if (!subnet.ok()) {
      status = subnet.status();
    } else if (!host.ok()) {
      status = host.status();
    } else {
      const absl::StatusOr<Ipv4Address> address = HostAddress(*subnet, *host);
      if (address.ok()) {
        device->address = Ipv4Interface(*address, subnet->prefix_length());
      }
      status = address.status();
    }
    if (status.ok()) return;
    mistakes_->AddOnce(
        rail.position, "expand",
        absl::StrCat(rail.subject, ": ", groups_.servers[server].host,
                     " device ", place.d, ": ", status.message()));
  }

  void ReadSources() {
    const YamlNode* gateway = map_.Find("gateway");
    const YamlNode* detect = map_.Find("detect_address");
    // Without ids there are no devices; how many a list should have is unknown.
    if (plan_.ids.empty()) return;
    MakeDevices();
    if (gateway != nullptr) {
      const AddressSource source = AddressSource::Read(
          *gateway, "devices.gateway", AddressSource::Use::kGateway, plan_,
          groups_, mistakes_);
      Evaluate(source, "gateway", &PlannedDevice::gateway);
    }
    CheckAddresses(plan_, product_, groups_, mistakes_);
    if (detect == nullptr) return;
    const AddressSource source = AddressSource::Read(
        *detect, "devices.detect_address", AddressSource::Use::kDetectAddress,
        plan_, groups_, mistakes_);
    Evaluate(source, "detect_address", &PlannedDevice::detect_address);
  }

  // Sets one member of every device from `source`, where it passes.
  void Evaluate(const AddressSource& source, absl::string_view what,
                std::optional<Ipv4Address> PlannedDevice::*member) {
    for (size_t s = 0; s < plan_.devices.size(); ++s) {
      for (size_t k = 0; k < plan_.ids.size(); ++k) {
        PlannedDevice& device = plan_.devices[s][k];
        const AddressSource& part = source.For(s, k);
        absl::StatusOr<std::optional<Ipv4Address>> address =
            part.Evaluate(s, k, plan_, groups_);
        absl::Status status = address.status();
        if (address.ok() && address->has_value()) {
          status = member == &PlannedDevice::gateway
                       ? CheckGateway(**address, device)
                       : CheckDetectAddress(**address, device, product_);
        }
        const bool is_known = status.ok() && address->has_value();
        if (is_known) device.*member = *address;
        if (member == &PlannedDevice::gateway) {
          device.gateway_unknown =
              !is_known && (part.wrong() || part.has_address());
        }
        if (status.ok()) continue;
        mistakes_->AddOnce(
            part.position(), what,
            absl::StrCat(groups_.servers[s].host, " device ", plan_.ids[k],
                         ": ", what, ": ", status.message()));
      }
    }
  }

  const YamlMap& map_;
  const ProductProfile* const product_;
  const ServerGroups& groups_;
  Mistakes* const mistakes_;
  DevicePlan plan_;
};

}  // namespace

DevicePlan ReadDevicePlan(const YamlNode* section,
                          const ProductProfile* product,
                          const ServerGroups& groups, Mistakes* mistakes) {
  if (section == nullptr) return {};
  const YamlMap map(
      section, "devices",
      {"ids", "netmask", "addresses", "rails", "gateway", "detect_address"},
      mistakes);
  if (section->kind != YamlNode::Kind::kMap) {
    if (section->kind == YamlNode::Kind::kNothing) {
      mistakes->Add(section->position,
                    "devices is empty, expected addresses or rails");
    }
    return {};
  }
  return Reader(map, product, groups, mistakes).Read();
}

}  // namespace clusterd
