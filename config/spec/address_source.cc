// Gateways and detect addresses, and what is wrong with any address of a plan.
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/spec/device_plan.h"
#include "config/values/address_pattern.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

using PlannedAddress = std::optional<Ipv4Address> PlannedDevice::*;

template <typename... Parts>
absl::Status Wrong(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

template <typename... Parts>
absl::Status WrongAddress(Ipv4Address address, const Parts&... parts) {
  return Wrong("address \"", address.ToString(), "\" ", parts...);
}

// Without an address, or without its mask, there is a mistake already.
bool HasSubnet(const PlannedDevice& device) {
  return device.address.has_value() && device.address->prefix_length() <= 30;
}

// Calls `each(server, index)` for every device.
template <typename Each>
void ForEachDevice(const DevicePlan& plan, Each each) {
  for (size_t s = 0; s < plan.devices.size(); ++s) {
    for (size_t k = 0; k < plan.devices[s].size(); ++k) each(s, k);
  }
}

std::string DeviceName(const DevicePlan& plan, const ServerGroups& groups,
                       size_t server, size_t index) {
  return absl::StrCat(groups.servers[server].host, " device ", plan.ids[index]);
}

absl::Status CheckReserved(Ipv4Address address, const ProductProfile* product) {
  if (product == nullptr) return absl::OkStatus();
  for (const ReservedSubnet& reserved : product->reserved) {
    if (!reserved.subnet.Contains(address)) continue;
    return WrongAddress(address, "is in ", reserved.subnet.ToString(),
                        ", which hccn_tool refuses on ", product->name,
                        product->mode.empty() ? "" : " ", product->mode, ": ",
                        reserved.why);
  }
  return absl::OkStatus();
}

absl::Status CheckGateway(Ipv4Address gateway, const PlannedDevice& device) {
  if (!HasSubnet(device)) return absl::OkStatus();
  const Ipv4Subnet subnet = device.address->subnet();
  if (!subnet.Contains(gateway)) {
    return WrongAddress(gateway, "is outside of the device's subnet ",
                        subnet.ToString());
  }
  if (gateway == device.address->address()) {
    return WrongAddress(gateway, "is the device's own");
  }
  return CheckUsableAddress(gateway, subnet.prefix_length());
}

absl::Status CheckDetectAddress(Ipv4Address detect_address,
                                const PlannedDevice& device,
                                const ProductProfile* product) {
  const bool judged = HasSubnet(device);
  const bool inside =
      judged && device.address->subnet().Contains(detect_address);
  RETURN_IF_ERROR(CheckUsableAddress(
      detect_address, inside ? device.address->prefix_length() : 32));
  if (judged && detect_address == device.address->address()) {
    return WrongAddress(detect_address,
                        "is the device's own, which detects nothing");
  }
  if (judged && !inside && !device.gateway.has_value() &&
      !device.gateway_unknown) {
    return WrongAddress(detect_address, "is outside of the device's subnet ",
                        device.address->subnet().ToString(),
                        " and the device has no gateway");
  }
  return CheckReserved(detect_address, product);
}

// Records addresses that no device can have or that the product's tool refuses.
void CheckAddresses(const DevicePlan& plan, const ProductProfile* product,
                    const ServerGroups& groups, Mistakes* mistakes) {
  ForEachDevice(plan, [&](size_t s, size_t k) {
    const PlannedDevice& device = plan.devices[s][k];
    if (!device.address.has_value()) return;
    absl::Status status = CheckUsableAddress(device.address->address(),
                                             device.address->prefix_length());
    if (status.ok()) status = CheckReserved(device.address->address(), product);
    if (status.ok()) return;
    mistakes->AddOnce(device.position, "refused",
                      DeviceName(plan, groups, s, k), ": ", status.message());
  });
}

// Who has an address: a server, or one of its devices.
struct Owner {
  size_t server = 0;
  std::optional<size_t> device;  // Its index.
  TextPosition position;
};

// Records every address that stands twice among servers, devices and (once per
// device that has it) gateways, with both positions.
void CheckDuplicates(const DevicePlan& plan, const ServerGroups& groups,
                     Mistakes* mistakes) {
  absl::flat_hash_map<Ipv4Address, Owner> owners;
  owners.reserve(groups.servers.size() * (1 + plan.ids.size()));
  const auto name = [&](const Owner& owner) {
    return owner.device.has_value()
               ? DeviceName(plan, groups, owner.server, *owner.device)
               : absl::StrCat("server ", groups.servers[owner.server].host);
  };
  const auto add = [&](Ipv4Address address, const Owner& owner) {
    const auto [first, is_new] = owners.try_emplace(address, owner);
    if (is_new) return;
    mistakes->AddOnce(owner.position, "twice", name(owner), ": address \"",
                      address.ToString(), "\" is also that of ",
                      name(first->second), " at ",
                      ToString(first->second.position));
  };
  for (size_t s = 0; s < groups.servers.size(); ++s) {
    const PlannedServer& server = groups.servers[s];
    if (!server.address.IsUnset()) {
      add(server.address, {s, std::nullopt, server.position});
    }
  }
  ForEachDevice(plan, [&](size_t s, size_t k) {
    const PlannedDevice& device = plan.devices[s][k];
    if (device.address.has_value()) {
      add(device.address->address(), {s, k, device.position});
    }
  });
  ForEachDevice(plan, [&](size_t s, size_t k) {
    const std::optional<Ipv4Address>& gateway = plan.devices[s][k].gateway;
    if (!gateway.has_value()) return;
    const auto owner = owners.find(*gateway);
    if (owner == owners.end()) return;
    mistakes->AddOnce(owner->second.position, "gateway", name(owner->second),
                      ": address \"", gateway->ToString(),
                      "\" is also the gateway of ",
                      DeviceName(plan, groups, s, k));
  });
}

// Indices of a server, and of one of its devices.
struct DeviceIndex {
  size_t server;
  size_t device;
};

// What one text gives a device. nullopt: what it hangs on could not be read.
// InvalidArgument if there is no such address.
using Address = absl::StatusOr<std::optional<Ipv4Address>>;
using Source = std::function<Address(DeviceIndex)>;

// Reads one key's sources and sets the address of every device by them.
class SourceReader {
 public:
  // `member` is the gateway or the detect address.
  SourceReader(PlannedAddress member, const ProductProfile* product,
               const ServerGroups& groups, DevicePlan* plan)
      : member_(member), product_(product), groups_(groups), plan_(*plan) {}

  void Set(const YamlValue& value) {
    const size_t servers = plan_.devices.size();
    if (value.node() == nullptr) return;
    if (!value.Is(YamlNode::Kind::kMap)) return SetServers(value, 0, servers);
    const std::vector<const YamlNode*> nodes = ValuesByServer(value, groups_);
    for (size_t s = 0; s < servers; ++s) {
      if (nodes[s] == nullptr) {
        SetUnknown(s, s + 1);
        continue;
      }
      const YamlValue of_server = value.Inner(
          *nodes[s],
          absl::StrCat(value.subject(), ": ", groups_.servers[s].host));
      if (of_server.Is(YamlNode::Kind::kMap)) {
        of_server.Wrong(" is a mapping, expected a list");
        SetUnknown(s, s + 1);
      } else {
        SetServers(of_server, s, s + 1);
      }
    }
  }

 private:
  bool IsGateway() const { return member_ == &PlannedDevice::gateway; }
  absl::string_view Name() const {
    return IsGateway() ? "gateway" : "detect_address";
  }

  FormulaInputs InputsOf(DeviceIndex at) const {
    FormulaInputs inputs = groups_.servers[at.server].inputs;
    inputs.d = plan_.ids[at.device];
    return inputs;
  }

  // There is a mistake already.
  void SetUnknown(size_t first_server, size_t end) {
    for (size_t s = first_server; s < end; ++s) {
      for (PlannedDevice& device : plan_.devices[s]) {
        if (IsGateway()) device.gateway_unknown = true;
      }
    }
  }

  // Of the servers from `first` up to `end`.
  void SetServers(const YamlValue& value, size_t first, size_t end) {
    const size_t devices = plan_.ids.size();
    if (!value.Is(YamlNode::Kind::kList)) {
      return SetDevices(value, {first, 0}, {end, devices});
    }
    const std::vector<YamlValue> items = PerDevice(value, plan_.ids);
    if (items.empty()) SetUnknown(first, end);
    for (size_t k = 0; k < items.size(); ++k) {
      SetDevices(items[k], {first, k}, {end, k + 1});
    }
  }

  // Of the devices that lie between both.
  void SetDevices(const YamlValue& value, DeviceIndex first, DeviceIndex end) {
    const std::optional<Source> source = value.Parsed(
        [this](const std::string& text) { return ParseSource(text); });
    for (size_t s = first.server; s < end.server; ++s) {
      for (size_t k = first.device; k < end.device; ++k) {
        const absl::Status status = SetDevice(source, {s, k});
        if (status.ok()) continue;
        value.mistakes()->AddOnce(value.position(), Name(),
                                  DeviceName(plan_, groups_, s, k), ": ",
                                  Name(), ": ", status.message());
      }
    }
  }

  // `source`: nullopt if it could not be read, null for "none".
  absl::Status SetDevice(const std::optional<Source>& source, DeviceIndex at) {
    PlannedDevice& device = plan_.devices[at.server][at.device];
    const bool is_none = source.has_value() && *source == nullptr;
    if (is_none) return absl::OkStatus();
    if (IsGateway()) device.gateway_unknown = true;
    if (!source.has_value()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::optional<Ipv4Address> address, (*source)(at));
    if (!address.has_value()) return absl::OkStatus();
    RETURN_IF_ERROR(IsGateway()
                        ? CheckGateway(*address, device)
                        : CheckDetectAddress(*address, device, product_));
    device.*member_ = address;
    if (IsGateway()) device.gateway_unknown = false;
    return absl::OkStatus();
  }

  // One of the forms that device_plan.h lists.
  absl::StatusOr<Source> ParseSource(const std::string& text) const {
    if (text == "none") return Source();
    if (!IsGateway() && text == "gateway") {
      return Source([this](DeviceIndex at) { return GatewayOf(at); });
    }
    if (!IsGateway() && absl::StartsWith(text, "peer")) return ParsePeer(text);
    if (absl::StrContains(text, '.')) return ParsePattern(text);
    const absl::StatusOr<Formula> host = Formula::Parse(text);
    if (!host.ok()) {
      return Wrong(QuoteValue(text), " is not known, expected ",
                   IsGateway() ? "" : "gateway, peer(SERVER, DEVICE), ",
                   "none, an address, a pattern or a host part such as 1");
    }
    return Source([this, host = *host](DeviceIndex at) -> Address {
      ASSIGN_OR_RETURN(const int64_t part, host.Evaluate(InputsOf(at)));
      const PlannedDevice& device = plan_.devices[at.server][at.device];
      if (!HasSubnet(device)) return std::nullopt;
      return HostAddress(device.address->subnet(), part);
    });
  }

  absl::StatusOr<Source> ParsePattern(const std::string& text) const {
    ASSIGN_OR_RETURN(const AddressPattern pattern, AddressPattern::Parse(text));
    if (pattern.size() != 1 && pattern.size() != plan_.ids.size()) {
      return Wrong(QuoteValue(text), " has ", pattern.size(),
                   " addresses, expected 1 or ", plan_.ids.size(),
                   ", one per device");
    }
    return Source([this, pattern](DeviceIndex at) -> Address {
      return pattern.At(at.device, InputsOf(at));
    });
  }

  // "peer(0, d)": the formulas of a server's index and of a device's id.
  absl::StatusOr<Source> ParsePeer(absl::string_view text) const {
    absl::string_view inside = text;
    if (!absl::ConsumePrefix(&inside, "peer(") ||
        !absl::ConsumeSuffix(&inside, ")") || !absl::StrContains(inside, ',')) {
      return Wrong(QuoteValue(text),
                   " is malformed, expected peer(SERVER, DEVICE), "
                   "e.g. peer((n+1) % servers, d)");
    }
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(inside, absl::MaxSplits(',', 1));
    ASSIGN_OR_RETURN(const Formula server, Formula::Parse(halves.first));
    ASSIGN_OR_RETURN(const Formula device, Formula::Parse(halves.second));
    return Source([this, server, device](DeviceIndex at) -> Address {
      const FormulaInputs inputs = InputsOf(at);
      ASSIGN_OR_RETURN(const int64_t peer, server.Evaluate(inputs));
      ASSIGN_OR_RETURN(const int64_t id, device.Evaluate(inputs));
      return PeerAddress(peer, id);
    });
  }

  Address GatewayOf(DeviceIndex at) const {
    const PlannedDevice& device = plan_.devices[at.server][at.device];
    if (device.gateway.has_value() || device.gateway_unknown) {
      return device.gateway;
    }
    return Wrong("the device has no gateway");
  }

  Address PeerAddress(int64_t server, int64_t device) const {
    if (server < 0 || server >= static_cast<int64_t>(plan_.devices.size())) {
      return Wrong("peer server ", server, " does not exist, expected 0-",
                   plan_.devices.size() - 1);
    }
    const auto id = absl::c_find(plan_.ids, device);
    if (id == plan_.ids.end()) {
      return Wrong("peer device ", device, " does not exist");
    }
    const PlannedDevice& peer =
        plan_.devices[static_cast<size_t>(server)][id - plan_.ids.begin()];
    if (!peer.address.has_value()) return std::nullopt;
    return peer.address->address();
  }

  const PlannedAddress member_;
  const ProductProfile* const product_;
  const ServerGroups& groups_;
  DevicePlan& plan_;
};

}  // namespace

std::vector<YamlValue> PerDevice(const YamlValue& value,
                                 const std::vector<uint32_t>& ids) {
  const std::vector<YamlNode>& items = value.node()->items;
  std::vector<YamlValue> values;
  if (items.size() != ids.size()) {
    value.Wrong(" has ", items.size(), " entries, expected ", ids.size(),
                ", one per device");
    return values;
  }
  for (size_t k = 0; k < ids.size(); ++k) {
    values.push_back(value.Inner(
        items[k], absl::StrCat(value.subject(), ": device ", ids[k])));
  }
  return values;
}

void ReadAddressSources(const YamlMap& map, const ProductProfile* product,
                        const ServerGroups& groups, Mistakes* mistakes,
                        DevicePlan* plan) {
  SourceReader(&PlannedDevice::gateway, product, groups, plan)
      .Set(map["gateway"]);
  CheckAddresses(*plan, product, groups, mistakes);
  CheckDuplicates(*plan, groups, mistakes);
  SourceReader(&PlannedDevice::detect_address, product, groups, plan)
      .Set(map["detect_address"]);
}

}  // namespace clusterd
