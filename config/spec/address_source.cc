#include "config/spec/address_source.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/address_pattern.h"

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
  absl::Status status = CheckUsableAddress(
      detect_address, inside ? device.address->prefix_length() : 32);
  if (!status.ok()) return status;
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
class DuplicateFinder {
 public:
  DuplicateFinder(const DevicePlan& plan, const ServerGroups& groups,
                  Mistakes* mistakes)
      : plan_(plan), groups_(groups), mistakes_(mistakes) {
    owners_.reserve(groups.servers.size() * (1 + plan.ids.size()));
  }

  void Find() {
    for (size_t s = 0; s < groups_.servers.size(); ++s) {
      const PlannedServer& server = groups_.servers[s];
      if (server.address.IsUnset()) continue;
      Add(server.address, {s, std::nullopt, server.position});
    }
    ForEachDevice(plan_, [this](size_t s, size_t k) {
      const PlannedDevice& device = plan_.devices[s][k];
      if (!device.address.has_value()) return;
      Add(device.address->address(), {s, k, device.position});
    });
    ForEachDevice(plan_, [this](size_t s, size_t k) { CheckGateway(s, k); });
  }

 private:
  std::string Name(const Owner& owner) const {
    if (owner.device.has_value()) {
      return DeviceName(plan_, groups_, owner.server, *owner.device);
    }
    return absl::StrCat("server ", groups_.servers[owner.server].host);
  }

  void Add(Ipv4Address address, const Owner& owner) {
    const auto [first, is_new] = owners_.try_emplace(address, owner);
    if (is_new) return;
    mistakes_->AddOnce(owner.position, "twice", Name(owner), ": address \"",
                       address.ToString(), "\" is also that of ",
                       Name(first->second), " at ",
                       ToString(first->second.position));
  }

  void CheckGateway(size_t server, size_t index) {
    const auto& gateway = plan_.devices[server][index].gateway;
    if (!gateway.has_value()) return;
    const auto owner = owners_.find(*gateway);
    if (owner == owners_.end()) return;
    mistakes_->AddOnce(owner->second.position, "gateway", Name(owner->second),
                       ": address \"", gateway->ToString(),
                       "\" is also the gateway of ",
                       DeviceName(plan_, groups_, server, index));
  }

  const DevicePlan& plan_;
  const ServerGroups& groups_;
  Mistakes* const mistakes_;
  absl::flat_hash_map<Ipv4Address, Owner> owners_;
};

// One of the forms that address_source.h lists.
struct Source {
  enum class Kind {
    kNone,
    kHostPart,
    kPattern,
    kGateway,
    kPeer,
    kPerDevice,
    kPerServer,
  };

  Kind kind = Kind::kNone;
  bool wrong = false;  // A mistake about this part was recorded.
  TextPosition position;
  Formula formula;                        // kHostPart; kPeer: the server.
  Formula device_formula;                 // kPeer: the device.
  std::optional<AddressPattern> pattern;  // kPattern.
  std::vector<Source> parts;  // kPerDevice: by index; kPerServer: by server.
};

// "peer(0, d)" to its two formulas.
absl::Status ParsePeer(absl::string_view text, Source* source) {
  absl::string_view inside = text;
  if (!absl::ConsumePrefix(&inside, "peer(") ||
      !absl::ConsumeSuffix(&inside, ")") || !absl::StrContains(inside, ',')) {
    return Wrong(QuoteValue(text),
                 " is malformed, expected peer(SERVER, DEVICE), "
                 "e.g. peer((n+1) % servers, d)");
  }
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(inside, absl::MaxSplits(',', 1));
  absl::StatusOr<Formula> server = Formula::Parse(halves.first);
  if (!server.ok()) return server.status();
  absl::StatusOr<Formula> device = Formula::Parse(halves.second);
  if (!device.ok()) return device.status();
  source->formula = *std::move(server);
  source->device_formula = *std::move(device);
  source->kind = Source::Kind::kPeer;
  return absl::OkStatus();
}

// Reads one key's source and sets the address of every device by it.
class SourceReader {
 public:
  // `member` is the gateway or the detect address.
  SourceReader(PlannedAddress member, const ProductProfile* product,
               const ServerGroups& groups, DevicePlan* plan)
      : member_(member), product_(product), groups_(groups), plan_(*plan) {}

  void Set(const YamlValue& value) {
    if (value.node() == nullptr) return;
    const Source source = Read(value);
    ForEachDevice(plan_, [&](size_t s, size_t k) {
      const Source* part = &source;
      if (part->kind == Source::Kind::kPerServer) part = &part->parts[s];
      if (part->kind == Source::Kind::kPerDevice) part = &part->parts[k];
      const absl::Status status = SetDevice(*part, s, k);
      if (status.ok()) return;
      value.mistakes()->AddOnce(part->position, Name(),
                                DeviceName(plan_, groups_, s, k), ": ", Name(),
                                ": ", status.message());
    });
  }

 private:
  bool IsGateway() const { return member_ == &PlannedDevice::gateway; }
  absl::string_view Name() const {
    return IsGateway() ? "gateway" : "detect_address";
  }

  // Records what is wrong; that part then comes to nothing.
  Source Read(const YamlValue& value) {
    if (value.Is(YamlNode::Kind::kMap)) return ReadServers(value);
    if (!value.Is(YamlNode::Kind::kList)) return ReadText(value);
    Source source;
    source.position = value.position();
    const std::vector<YamlNode>& items = value.node()->items;
    source.wrong = items.size() != plan_.ids.size();
    if (source.wrong) {
      value.Wrong(" has ", items.size(), " entries, expected ",
                  plan_.ids.size(), ", one per device");
      return source;
    }
    source.kind = Source::Kind::kPerDevice;
    for (size_t k = 0; k < items.size(); ++k) {
      source.parts.push_back(ReadText(value.Inner(
          items[k], absl::StrCat(value.subject(), ": device ", plan_.ids[k]))));
    }
    return source;
  }

  Source ReadServers(const YamlValue& value) {
    Source source;
    source.kind = Source::Kind::kPerServer;
    const std::vector<const YamlNode*> nodes = ValuesByServer(value, groups_);
    source.parts.resize(nodes.size());
    for (size_t s = 0; s < nodes.size(); ++s) {
      source.parts[s].wrong = true;
      if (nodes[s] == nullptr) continue;
      const YamlValue of_server = value.Inner(
          *nodes[s],
          absl::StrCat(value.subject(), ": ", groups_.servers[s].host));
      if (of_server.Is(YamlNode::Kind::kMap)) {
        of_server.Wrong(" is a mapping, expected a list");
      } else {
        source.parts[s] = Read(of_server);
      }
    }
    return source;
  }

  Source ReadText(const YamlValue& value) const {
    Source source;
    const auto text = value.Text();
    if (text.has_value() && *text != "none") {
      const absl::Status status = Parse(*text, &source);
      source.wrong = !status.ok();
      if (source.wrong) value.Wrong(": ", status.message());
    }
    source.wrong = source.wrong || !text.has_value();
    source.position = value.position();
    return source;
  }

  // Leaves the kind alone if the text is wrong.
  absl::Status Parse(const std::string& text, Source* source) const {
    if (!IsGateway() && text == "gateway") {
      source->kind = Source::Kind::kGateway;
      return absl::OkStatus();
    }
    if (!IsGateway() && absl::StartsWith(text, "peer")) {
      return ParsePeer(text, source);
    }
    if (absl::StrContains(text, '.')) return ParsePattern(text, source);
    absl::StatusOr<Formula> formula = Formula::Parse(text);
    if (!formula.ok()) {
      return Wrong(QuoteValue(text), " is not known, expected ",
                   IsGateway() ? "" : "gateway, peer(SERVER, DEVICE), ",
                   "none, an address, a pattern or a host part such as 1");
    }
    source->formula = *std::move(formula);
    source->kind = Source::Kind::kHostPart;
    return absl::OkStatus();
  }

  absl::Status ParsePattern(const std::string& text, Source* source) const {
    absl::StatusOr<AddressPattern> pattern = AddressPattern::Parse(text);
    if (!pattern.ok()) return pattern.status();
    if (pattern->size() != 1 && pattern->size() != plan_.ids.size()) {
      return Wrong(QuoteValue(text), " has ", pattern->size(),
                   " addresses, expected 1 or ", plan_.ids.size(),
                   ", one per device");
    }
    source->pattern = *std::move(pattern);
    source->kind = Source::Kind::kPattern;
    return absl::OkStatus();
  }

  absl::Status SetDevice(const Source& source, size_t server, size_t index) {
    PlannedDevice& device = plan_.devices[server][index];
    const auto address = Evaluate(source, server, index);
    absl::Status status = address.status();
    if (address.ok() && address->has_value()) {
      status = IsGateway() ? CheckGateway(**address, device)
                           : CheckDetectAddress(**address, device, product_);
    }
    const bool is_known = status.ok() && address->has_value();
    if (is_known) device.*member_ = *address;
    if (IsGateway()) {
      device.gateway_unknown =
          !is_known && (source.wrong || source.kind != Source::Kind::kNone);
    }
    return status;
  }

  // nullopt: none, or what it hangs on could not be read. InvalidArgument if
  // there is no such address.
  absl::StatusOr<std::optional<Ipv4Address>> Evaluate(const Source& source,
                                                      size_t server,
                                                      size_t index) const {
    const std::optional<Ipv4Address> nothing;
    if (source.kind == Source::Kind::kNone) return nothing;
    const PlannedDevice& device = plan_.devices[server][index];
    if (source.kind == Source::Kind::kGateway) {
      if (device.gateway.has_value() || device.gateway_unknown) {
        return device.gateway;
      }
      return Wrong("the device has no gateway");
    }
    FormulaInputs inputs = groups_.servers[server].inputs;
    inputs.d = plan_.ids[index];
    if (source.kind == Source::Kind::kPattern) {
      return source.pattern->At(index, inputs);
    }
    const absl::StatusOr<int64_t> value = source.formula.Evaluate(inputs);
    if (!value.ok()) return value.status();
    if (source.kind == Source::Kind::kPeer) {
      const auto id = source.device_formula.Evaluate(inputs);
      if (!id.ok()) return id.status();
      return PeerAddress(*value, *id);
    }
    if (!HasSubnet(device)) return nothing;
    return HostAddress(device.address->subnet(), *value);
  }

  absl::StatusOr<std::optional<Ipv4Address>> PeerAddress(int64_t server,
                                                         int64_t device) const {
    if (server < 0 || server >= static_cast<int64_t>(plan_.devices.size())) {
      return Wrong("peer server ", server, " does not exist, expected 0-",
                   plan_.devices.size() - 1);
    }
    const auto id = std::find(plan_.ids.begin(), plan_.ids.end(), device);
    if (id == plan_.ids.end()) {
      return Wrong("peer device ", device, " does not exist");
    }
    const auto index = static_cast<size_t>(id - plan_.ids.begin());
    const auto& peer = plan_.devices[static_cast<size_t>(server)][index];
    std::optional<Ipv4Address> address;
    if (peer.address.has_value()) address = peer.address->address();
    return address;
  }

  const PlannedAddress member_;
  const ProductProfile* const product_;
  const ServerGroups& groups_;
  DevicePlan& plan_;
};

}  // namespace

void ReadAddressSources(const YamlMap& map, const ProductProfile* product,
                        const ServerGroups& groups, Mistakes* mistakes,
                        DevicePlan* plan) {
  SourceReader(&PlannedDevice::gateway, product, groups, plan)
      .Set(map["gateway"]);
  CheckAddresses(*plan, product, groups, mistakes);
  DuplicateFinder(*plan, groups, mistakes).Find();
  SourceReader(&PlannedDevice::detect_address, product, groups, plan)
      .Set(map["detect_address"]);
}

}  // namespace clusterd
