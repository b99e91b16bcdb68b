// Gateways and detect addresses, and mistakes of any address of a plan.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "config/spec/device_plan.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

using PlannedAddress = std::optional<Ipv4Address> PlannedDevice::*;

// An address or mask is missing only after a recorded mistake.
bool HasSubnet(const PlannedDevice& device) {
  return device.address.has_value() && device.address->prefix_length() <= 30;
}

absl::Status CheckReserved(Ipv4Address address, const ProductProfile* product) {
  if (product == nullptr) return absl::OkStatus();
  for (const ReservedSubnet& reserved : product->reserved) {
    if (!reserved.subnet.Contains(address)) continue;
    return InvalidWords("msg-spec-address-reserved", address.ToString(),
                        reserved.subnet.ToString(), product->name,
                        Part(" ", product->mode), Term(reserved.why));
  }
  return absl::OkStatus();
}

absl::Status CheckGateway(Ipv4Address gateway, const PlannedDevice& device) {
  if (!HasSubnet(device)) return absl::OkStatus();
  const Ipv4Subnet subnet = device.address->subnet();
  if (!subnet.Contains(gateway)) {
    return InvalidWords("msg-spec-address-outside", gateway.ToString(),
                        subnet.ToString());
  }
  if (gateway == device.address->address()) {
    return InvalidWords("msg-spec-gateway-own", gateway.ToString());
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
    return InvalidWords("msg-spec-detect-own", detect_address.ToString());
  }
  if (judged && !inside && !device.gateway.has_value() &&
      !device.gateway_unknown) {
    return InvalidWords("msg-spec-detect-outside", detect_address.ToString(),
                        device.address->subnet().ToString());
  }
  return CheckReserved(detect_address, product);
}

// Records addresses that no device can have or that the product's tool refuses.
void CheckAddresses(const DevicePlan& plan, const ProductProfile* product,
                    Mistakes* mistakes) {
  for (const PlannedDevice& device : plan.devices) {
    if (!device.address.has_value()) continue;
    const Ipv4Address address = device.address->address();
    absl::Status status =
        CheckUsableAddress(address, device.address->prefix_length());
    if (status.ok()) status = CheckReserved(address, product);
    if (status.ok()) continue;
    mistakes->AddOnce(device.position, "refused", "spec-of", device.Name(),
                      MessageWords(status));
  }
}

// The owner of an address: a server, or one of its devices.
struct Owner {
  const PlannedServer* server = nullptr;
  const PlannedDevice* device = nullptr;  // nullptr: the server itself.

  TextPosition position() const {
    return device == nullptr ? server->position : device->position;
  }
  FindingValue Name() const {
    return device == nullptr ? Worded("spec-server", server->host)
                             : device->Name();
  }
};

// Records every address that stands twice among servers, devices and (once per
// device that has it) gateways, with both positions.
void CheckDuplicates(const DevicePlan& plan, const ServerGroups& groups,
                     Mistakes* mistakes) {
  absl::flat_hash_map<Ipv4Address, Owner> owners;
  owners.reserve(groups.servers.size() * (1 + plan.ids.size()));
  const auto add = [&](Ipv4Address address, const Owner& owner) {
    const auto [first, is_new] = owners.try_emplace(address, owner);
    if (is_new) return;
    mistakes->AddOnce(owner.position(), "twice", "msg-spec-address-twice",
                      owner.Name(), address.ToString(), first->second.Name(),
                      ToString(first->second.position()));
  };
  for (const PlannedServer& server : groups.servers) {
    if (!server.address.IsUnset()) add(server.address, {&server, nullptr});
  }
  for (const PlannedDevice& device : plan.devices) {
    if (!device.address.has_value()) continue;
    add(device.address->address(), {device.server, &device});
  }
  for (const PlannedDevice& device : plan.devices) {
    if (!device.gateway.has_value()) continue;
    const auto owner = owners.find(*device.gateway);
    if (owner == owners.end()) continue;
    mistakes->AddOnce(owner->second.position(), "gateway",
                      "msg-spec-address-is-gateway", owner->second.Name(),
                      device.gateway->ToString(), device.Name());
  }
}

// The address that one text gives a device. nullopt: a value it depends on
// could not be read. InvalidArgument for an impossible address.
using Address = absl::StatusOr<std::optional<Ipv4Address>>;
using Source = std::function<Address(const PlannedDevice&)>;

// Reads one key's sources and sets the address of every device by them.
class SourceReader {
 public:
  // `member` is the gateway or the detect address.
  SourceReader(PlannedAddress member, const ProductProfile* product,
               const ServerGroups& groups, DevicePlan* plan)
      : member_(member), product_(product), groups_(groups), plan_(*plan) {}

  void Set(const YamlValue& value) {
    if (value.node() == nullptr) return;
    // The gateway is unknown until it has been read, and after a mistake.
    for (PlannedDevice& device : plan_.devices) {
      device.gateway_unknown |= IsGateway();
    }
    ForEachPlace(value, groups_, &plan_,
                 [this](const YamlValue& one, absl::Span<PlannedDevice> devices,
                        std::optional<uint32_t> id) {
                   if (one.Is(YamlNode::Kind::kMap) && !id.has_value()) {
                     one.WrongKind("spec-a-list");
                   } else {
                     SetDevices(one, devices, id);
                   }
                 });
  }

 private:
  bool IsGateway() const { return member_ == &PlannedDevice::gateway; }
  absl::string_view Name() const {
    return IsGateway() ? "gateway" : "detect_address";
  }

  // Sets the devices with this id, if one is given.
  void SetDevices(const YamlValue& value, absl::Span<PlannedDevice> devices,
                  std::optional<uint32_t> id) {
    const std::optional<Source> source = value.Parsed(
        [this](const std::string& text) { return ParseSource(text); });
    if (!source.has_value()) return;
    for (PlannedDevice& device : devices) {
      if (id.value_or(device.id) != device.id) continue;
      const absl::Status status = SetDevice(*source, &device);
      if (status.ok()) continue;
      value.mistakes()->AddOnce(
          value.position(), Name(), "spec-of", device.Name(),
          Worded("spec-of", Name(), MessageWords(status)));
    }
  }

  // `source`: null for "none".
  absl::Status SetDevice(const Source& source, PlannedDevice* device) {
    std::optional<Ipv4Address> address;
    if (source != nullptr) {
      ASSIGN_OR_RETURN(address, source(*device));
      if (!address.has_value()) return absl::OkStatus();
      RETURN_IF_ERROR(IsGateway()
                          ? CheckGateway(*address, *device)
                          : CheckDetectAddress(*address, *device, product_));
    }
    device->*member_ = address;
    if (IsGateway()) device->gateway_unknown = false;
    return absl::OkStatus();
  }

  // One of the forms that device_plan.h lists.
  absl::StatusOr<Source> ParseSource(const std::string& text) const {
    if (text == "none") return Source();
    if (!IsGateway() && text == "gateway") return Source(GatewayOf);
    if (!IsGateway() && absl::StartsWith(text, "peer")) return ParsePeer(text);
    if (absl::StrContains(text, '.')) return ParsePattern(text);
    const absl::StatusOr<Formula> host = Formula::Parse(text);
    if (!host.ok()) {
      return InvalidWords("msg-spec-source", QuoteValue(text),
                          IsGateway() ? "" : "gateway, peer(SERVER, DEVICE), ");
    }
    return Source([host = *host](const PlannedDevice& device) -> Address {
      ASSIGN_OR_RETURN(const int64_t part, host.Evaluate(device.Inputs()));
      if (!HasSubnet(device)) return std::nullopt;
      return HostAddress(device.address->subnet(), part);
    });
  }

  absl::StatusOr<Source> ParsePattern(const std::string& text) const {
    ASSIGN_OR_RETURN(const AddressPattern pattern, AddressPattern::Parse(text));
    if (pattern.size() != 1 && pattern.size() != plan_.ids.size()) {
      return InvalidWords("msg-spec-source-count", QuoteValue(text),
                          pattern.size(), plan_.ids.size());
    }
    return Source([pattern](const PlannedDevice& device) -> Address {
      return pattern.At(device.index, device.Inputs());
    });
  }

  // "peer(0, d)": the formulas of a server's index and of a device's id.
  absl::StatusOr<Source> ParsePeer(absl::string_view text) const {
    static const LazyRE2 kForm = {R"(peer\(([^,]*),(.*)\))"};
    absl::string_view server_text, device_text;
    if (!HasForm(text, *kForm, &server_text, &device_text)) {
      return InvalidWords("msg-spec-peer", QuoteValue(text));
    }
    ASSIGN_OR_RETURN(const Formula server, Formula::Parse(server_text));
    ASSIGN_OR_RETURN(const Formula device, Formula::Parse(device_text));
    return Source([this, server, device](const PlannedDevice& of) -> Address {
      ASSIGN_OR_RETURN(const int64_t peer, server.Evaluate(of.Inputs()));
      ASSIGN_OR_RETURN(const int64_t id, device.Evaluate(of.Inputs()));
      return PeerAddress(peer, id);
    });
  }

  static Address GatewayOf(const PlannedDevice& device) {
    if (device.gateway.has_value() || device.gateway_unknown) {
      return device.gateway;
    }
    return InvalidWords("msg-spec-no-gateway");
  }

  Address PeerAddress(int64_t server, int64_t device) const {
    const auto servers = static_cast<int64_t>(groups_.servers.size());
    if (server < 0 || server >= servers) {
      return InvalidWords("msg-spec-no-peer-server", server, servers - 1);
    }
    const absl::Span<const PlannedDevice> devices =
        plan_.OfServer(static_cast<size_t>(server));
    const auto* peer = FirstWith(devices, &PlannedDevice::id, device);
    if (peer == nullptr) {
      return InvalidWords("msg-spec-no-peer-device", device);
    }
    if (!peer->address.has_value()) return std::nullopt;
    return peer->address->address();
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
    value.Wrong("msg-spec-entry-count", items.size(), ids.size());
    return values;
  }
  for (size_t k = 0; k < ids.size(); ++k) {
    values.push_back(value.Inner(
        items[k], Worded("spec-of", value.subject(), DevicesValue({ids[k]}))));
  }
  return values;
}

void ForEachPlace(const YamlValue& value, const ServerGroups& groups,
                  DevicePlan* plan, SetPlace set) {
  const auto visit = [&](const YamlValue& one,
                         absl::Span<PlannedDevice> devices,
                         const std::vector<uint32_t>& ids) {
    if (!one.Is(YamlNode::Kind::kList)) return set(one, devices, std::nullopt);
    const std::vector<YamlValue> items = PerDevice(one, ids);
    for (size_t k = 0; k < items.size(); ++k) set(items[k], devices, ids[k]);
  };
  if (!value.Is(YamlNode::Kind::kMap)) {
    return visit(value, absl::MakeSpan(plan->devices), plan->ids);
  }
  const std::vector<const YamlNode*> nodes = ValuesByServer(value, groups);
  for (size_t s = 0; s < nodes.size(); ++s) {
    if (nodes[s] == nullptr) continue;
    const auto own = Each<uint32_t>(plan->OfServer(s), &PlannedDevice::id);
    visit(value.Inner(*nodes[s], Worded("spec-of", value.subject(),
                                        groups.servers[s].host)),
          plan->OfServer(s), own.empty() ? plan->ids : own);
  }
}

void ReadAddressSources(const YamlMap& map, const ProductProfile* product,
                        const ServerGroups& groups, Mistakes* mistakes,
                        DevicePlan* plan) {
  SourceReader(&PlannedDevice::gateway, product, groups, plan)
      .Set(map["gateway"]);
  CheckAddresses(*plan, product, mistakes);
  CheckDuplicates(*plan, groups, mistakes);
  SourceReader(&PlannedDevice::detect_address, product, groups, plan)
      .Set(map["detect_address"]);
}

}  // namespace clusterd
