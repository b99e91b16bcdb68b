#include "config/spec/address_source.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/spec/yaml_values.h"

namespace clusterd {
namespace {

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(what);
}

// "peer(0, d)" to its two formulas.
absl::StatusOr<std::pair<Formula, Formula>> ParsePeer(absl::string_view text) {
  absl::string_view inside = text;
  if (!absl::ConsumePrefix(&inside, "peer(") ||
      !absl::ConsumeSuffix(&inside, ")") || !absl::StrContains(inside, ',')) {
    return Wrong(absl::StrCat(QuoteValue(text),
                              " is malformed, expected peer(SERVER, DEVICE), "
                              "e.g. peer((n+1) % servers, d)"));
  }
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(inside, absl::MaxSplits(',', 1));
  absl::StatusOr<Formula> server = Formula::Parse(halves.first);
  if (!server.ok()) return server.status();
  absl::StatusOr<Formula> device = Formula::Parse(halves.second);
  if (!device.ok()) return device.status();
  return std::make_pair(*std::move(server), *std::move(device));
}

Place PlaceOf(size_t server, size_t index, const DevicePlan& plan,
              const ServerGroups& groups) {
  Place place = groups.servers[server].place;
  place.d = plan.ids[index];
  return place;
}

absl::StatusOr<std::optional<Ipv4Address>> PeerAddress(int64_t server,
                                                       int64_t device,
                                                       const DevicePlan& plan) {
  if (server < 0 || server >= static_cast<int64_t>(plan.devices.size())) {
    return Wrong(absl::StrCat("peer server ", server,
                              " does not exist, expected 0-",
                              plan.devices.size() - 1));
  }
  const auto id = std::find(plan.ids.begin(), plan.ids.end(), device);
  if (id == plan.ids.end()) {
    return Wrong(absl::StrCat("peer device ", device, " does not exist"));
  }
  const PlannedDevice& peer =
      plan.devices[static_cast<size_t>(server)]
                  [static_cast<size_t>(id - plan.ids.begin())];
  std::optional<Ipv4Address> address;
  if (peer.address.has_value()) address = peer.address->address();
  return address;
}

}  // namespace

AddressSource AddressSource::ReadText(const YamlNode& node,
                                      absl::string_view subject, Use use,
                                      const DevicePlan& plan,
                                      Mistakes* mistakes) {
  AddressSource source;
  source.position_ = node.position;
  const std::optional<std::string> text =
      clusterd::ReadText(node, subject, mistakes);
  source.wrong_ = !text.has_value();
  if (source.wrong_ || *text == "none") return source;
  absl::Status status;
  if (use == Use::kDetectAddress && *text == "gateway") {
    source.kind_ = Kind::kGateway;
  } else if (use == Use::kDetectAddress && absl::StartsWith(*text, "peer")) {
    absl::StatusOr<std::pair<Formula, Formula>> peer = ParsePeer(*text);
    status = peer.status();
    if (peer.ok()) {
      source.kind_ = Kind::kPeer;
      source.formula_ = std::move(peer->first);
      source.device_formula_ = std::move(peer->second);
    }
  } else if (absl::StrContains(*text, '.')) {
    absl::StatusOr<AddressPattern> pattern = AddressPattern::Parse(*text);
    status = pattern.status();
    if (pattern.ok() && pattern->size() != 1 &&
        pattern->size() != plan.ids.size()) {
      status = Wrong(absl::StrCat(QuoteValue(*text), " has ", pattern->size(),
                                  " addresses, expected 1 or ", plan.ids.size(),
                                  ", one per device"));
    } else if (pattern.ok()) {
      source.kind_ = Kind::kPattern;
      source.pattern_.push_back(*std::move(pattern));
    }
  } else {
    absl::StatusOr<Formula> formula = Formula::Parse(*text);
    if (formula.ok()) {
      source.kind_ = Kind::kHostPart;
      source.formula_ = *std::move(formula);
    } else {
      status = Wrong(absl::StrCat(
          QuoteValue(*text), " is not known, expected ",
          use == Use::kDetectAddress ? "gateway, peer(SERVER, DEVICE), " : "",
          "none, an address, a pattern or a host part such as 1"));
    }
  }
  if (!status.ok()) {
    mistakes->Add(node.position, absl::StrCat(subject, ": ", status.message()));
    source.wrong_ = true;
  }
  return source;
}

AddressSource AddressSource::Read(const YamlNode& node,
                                  absl::string_view subject, Use use,
                                  const DevicePlan& plan,
                                  const ServerGroups& groups,
                                  Mistakes* mistakes) {
  AddressSource source;
  source.position_ = node.position;
  if (node.kind == YamlNode::Kind::kMap) {
    source.kind_ = Kind::kPerServer;
    const std::vector<const YamlNode*> values =
        ValuesByServer(node, subject, groups, mistakes);
    for (size_t s = 0; s < values.size(); ++s) {
      source.parts_.emplace_back();
      source.parts_.back().wrong_ = true;
      if (values[s] == nullptr) continue;
      const std::string host =
          absl::StrCat(subject, ": ", groups.servers[s].host);
      if (values[s]->kind == YamlNode::Kind::kMap) {
        mistakes->Add(values[s]->position,
                      absl::StrCat(host, " is a mapping, expected a list"));
        continue;
      }
      source.parts_.back() =
          Read(*values[s], host, use, plan, groups, mistakes);
    }
    return source;
  }
  if (node.kind == YamlNode::Kind::kList) {
    if (node.items.size() != plan.ids.size()) {
      mistakes->Add(node.position,
                    absl::StrCat(subject, " has ", node.items.size(),
                                 " entries, expected ", plan.ids.size(),
                                 ", one per device"));
      source.wrong_ = true;
      return source;
    }
    source.kind_ = Kind::kPerDevice;
    for (size_t k = 0; k < node.items.size(); ++k) {
      source.parts_.push_back(ReadText(
          node.items[k], absl::StrCat(subject, ": device ", plan.ids[k]), use,
          plan, mistakes));
    }
    return source;
  }
  return ReadText(node, subject, use, plan, mistakes);
}

const AddressSource& AddressSource::For(size_t server, size_t index) const {
  switch (kind_) {
    case Kind::kPerServer:
      return parts_[server].For(server, index);
    case Kind::kPerDevice:
      return parts_[index];
    default:
      return *this;
  }
}

absl::StatusOr<std::optional<Ipv4Address>> AddressSource::Evaluate(
    size_t server, size_t index, const DevicePlan& plan,
    const ServerGroups& groups) const {
  const std::optional<Ipv4Address> nothing;
  if (kind_ == Kind::kNone) return nothing;
  const PlannedDevice& device = plan.devices[server][index];
  if (kind_ == Kind::kGateway) {
    if (device.gateway.has_value() || device.gateway_unknown) {
      return device.gateway;
    }
    return Wrong("the device has no gateway");
  }
  const Place place = PlaceOf(server, index, plan, groups);
  if (kind_ == Kind::kPattern) {
    absl::StatusOr<Ipv4Address> address = pattern_[0].At(index, place);
    if (!address.ok()) return address.status();
    return std::optional<Ipv4Address>(*address);
  }
  const absl::StatusOr<int64_t> value = formula_.Evaluate(place);
  if (!value.ok()) return value.status();
  if (kind_ == Kind::kPeer) {
    const absl::StatusOr<int64_t> id = device_formula_.Evaluate(place);
    if (!id.ok()) return id.status();
    return PeerAddress(*value, *id, plan);
  }
  // Without an address or its mask there is a mistake already.
  if (!device.address.has_value() || device.address->prefix_length() > 30) {
    return nothing;
  }
  absl::StatusOr<Ipv4Address> address =
      HostAddress(device.address->subnet(), *value);
  if (!address.ok()) return address.status();
  return std::optional<Ipv4Address>(*address);
}

}  // namespace clusterd
