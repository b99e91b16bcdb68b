#include "config/values/setting_value.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

std::string NamespaceText(const NetworkNamespaceIdentity& identity) {
  std::string text = absl::StrCat(identity.inode());
  if (identity.has_cookie()) {
    absl::StrAppend(&text, ", cookie ", identity.cookie());
  }
  if (!identity.boot_id().empty()) {
    absl::StrAppend(&text, ", boot ", identity.boot_id());
  }
  return text;
}

std::string FirewallText(const SettingValue::Firewall& firewall) {
  return absl::StrCat(
      firewall.active() ? "active" : "stopped", ", ",
      firewall.starts_at_boot() ? "starts at boot" : "does not start at boot");
}

}  // namespace

// Equal values have equal bytes: they hold no maps and no floating point.
bool operator==(const SettingValue& a, const SettingValue& b) {
  return a.of_case() == b.of_case() &&
         a.SerializeAsString() == b.SerializeAsString();
}

SettingValue NoneValue() {
  SettingValue value;
  value.mutable_none();
  return value;
}

SettingValue AddressValue(Ipv4Address address) {
  SettingValue value;
  value.set_address(address.ToString());
  return value;
}

SettingValue InterfaceValue(const Ipv4Interface& interface) {
  SettingValue value;
  value.mutable_interface()->set_address(interface.address().ToString());
  value.mutable_interface()->set_netmask(
      interface.subnet().netmask().ToString());
  return value;
}

SettingValue SwitchValue(bool on) {
  SettingValue value;
  value.set_on(on);
  return value;
}

SettingValue YesValue(bool yes) {
  SettingValue value;
  value.set_yes(yes);
  return value;
}

SettingValue NumberValue(uint64_t number) {
  SettingValue value;
  value.set_number(number);
  return value;
}

SettingValue MapValue(const DscpClasses& classes) {
  SettingValue value;
  SettingValue::Pairs* const map = value.mutable_map();
  for (uint32_t dscp = 0; dscp < kDscps; ++dscp) {
    if (classes[dscp] == 0) continue;
    NumberPair* const pair = map->add_pairs();
    pair->set_first(dscp);
    pair->set_second(classes[dscp]);
  }
  return value;
}

SettingValue PortsValue(const PortSet& ports) {
  if (ports.empty()) return NoneValue();
  SettingValue value;
  for (const auto& [first, last] : ports.ranges()) {
    NumberPair* const range = value.mutable_ports()->add_pairs();
    range->set_first(first);
    range->set_second(last);
  }
  return value;
}

SettingValue TextsValue(std::vector<std::string> texts) {
  if (texts.empty()) return NoneValue();
  SettingValue value;
  for (std::string& text : texts) {
    value.mutable_texts()->add_texts(std::move(text));
  }
  return value;
}

std::optional<Ipv4Address> AddressOf(const SettingValue& value) {
  const auto address = Ipv4Address::Parse(value.address());
  return address.ok() ? std::make_optional(*address) : std::nullopt;
}

std::optional<Ipv4Interface> InterfaceOf(const SettingValue& value) {
  const auto interface = Ipv4Interface::Parse(value.interface().address(),
                                              value.interface().netmask());
  return interface.ok() ? std::make_optional(*interface) : std::nullopt;
}

std::optional<DscpClasses> ClassesOf(const SettingValue& value) {
  if (!value.has_map()) return std::nullopt;
  const auto classes = ParseDscpClasses(SettingText(value));
  return classes.ok() ? std::make_optional(*classes) : std::nullopt;
}

PortSet PortsOf(const SettingValue& value) {
  PortSet ports;
  for (const NumberPair& range : value.ports().pairs()) {
    if (range.first() <= range.second() && range.second() <= 65535) {
      ports.Add(range.first(), range.second());
    }
  }
  return ports;
}

std::string SettingText(const SettingValue& value) {
  switch (value.of_case()) {
    case SettingValue::kNone:
      return "none";
    case SettingValue::kAddress:
      return value.address();
    case SettingValue::kInterface: {
      const auto interface = InterfaceOf(value);
      return interface ? interface->ToString()
                       : absl::StrCat(value.interface().address(), " netmask ",
                                      value.interface().netmask());
    }
    case SettingValue::kOn:
      return value.on() ? "on" : "off";
    case SettingValue::kYes:
      return value.yes() ? "yes" : "no";
    case SettingValue::kNumber:
      return absl::StrCat(value.number());
    case SettingValue::kNumbers:
      return absl::StrJoin(value.numbers().numbers(), ",");
    case SettingValue::kMap:
      if (value.map().pairs().empty()) return DscpClassesText({});
      return absl::StrJoin(value.map().pairs(), ",",
                           [](std::string* out, const NumberPair& pair) {
                             absl::StrAppend(out, pair.first(), ":",
                                             pair.second());
                           });
    case SettingValue::kPorts:
      return PortsOf(value).ToString();
    case SettingValue::kFirewall:
      return FirewallText(value.firewall());
    case SettingValue::kNetworkNamespace:
      return NamespaceText(value.network_namespace());
    case SettingValue::kTexts:
      return absl::StrJoin(value.texts().texts(), ", ");
    case SettingValue::OF_NOT_SET:
      break;
  }
  return "unknown";
}

SettingValue Shortened(const SettingValue& value, size_t max_bytes) {
  const std::string text = SettingText(value);
  if (text.size() <= max_bytes) return value;
  return TextsValue({absl::StrCat(CutUtf8(text, max_bytes), "...")});
}

}  // namespace clusterd
