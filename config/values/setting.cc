#include "config/values/setting.h"

#include <bitset>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/text_form.h"
#include "config/values/value_error.h"

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

// Values that order keys, by target first. Views into the key.
auto OrderOf(const FactKey& key) {
  const SettingTarget& target = key.target();
  const AllowedPort& port = target.rule().port();
  return std::make_tuple(
      target.of_case(), target.device(), std::cref(target.kernel_parameter()),
      target.firewall(), target.rule().program(), port.first_port(),
      port.last_port(), std::cref(port.protocol()), std::cref(port.source()),
      std::cref(target.file()), key.of_case(), key.setting(),
      std::cref(key.conf_key()), key.other());
}

// "starts at boot" of STARTS_AT_BOOT.
std::string Words(absl::string_view name) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", " "}});
}

std::string WhatText(const FactKey& key) {
  if (key.other() == FactKey::SHA256) return "SHA-256";
  if (key.other() == FactKey::SHA256_OF_SETTINGS) {
    return "SHA-256 of what it sets";
  }
  return key.has_other() ? Words(FactKey::Other_Name(key.other()))
                         : SettingName(key.setting());
}

FactKey OfSetting(SettingId setting) {
  FactKey key;
  key.set_setting(setting);
  return key;
}

FactKey OfOther(FactKey::Other other) {
  FactKey key;
  key.set_other(other);
  return key;
}

constexpr char kSettingPrefix[] = "SETTING_";

}  // namespace

absl::StatusOr<DscpClasses> ParseDscpClasses(absl::string_view text) {
  static const LazyRE2 kPair = {R"((0|[1-9]\d?):([0-3]))"};
  DscpClasses classes = {};
  std::bitset<kDscps> named;
  for (const absl::string_view pair : absl::StrSplit(text, ',')) {
    uint32_t dscp = 0, traffic_class = 0;
    if (!HasForm(pair, *kPair, &dscp, &traffic_class) || dscp >= kDscps ||
        named[dscp]) {
      return WrongValue("value-dscp", pair);
    }
    named.set(dscp);
    classes[dscp] = traffic_class;
  }
  return classes;
}

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
  // In their order, so that each is added at the end: a hostile host may send
  // thousands.
  std::vector<PortSet::Range> ranges;
  for (const NumberPair& range : value.ports().pairs()) {
    if (range.first() <= range.second() && range.second() <= 65535) {
      ranges.emplace_back(range.first(), range.second());
    }
  }
  absl::c_sort(ranges);
  PortSet ports;
  for (const auto& [first, last] : ranges) ports.Add(first, last);
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
      if (value.map().pairs().empty()) return "0:0";
      return absl::StrJoin(value.map().pairs(), ",",
                           [](std::string* out, const NumberPair& pair) {
                             absl::StrAppend(out, pair.first(), ":",
                                             pair.second());
                           });
    case SettingValue::kPorts:
      return PortsOf(value).ToString();
    case SettingValue::kFirewall:
      return absl::StrCat(value.firewall().active() ? "active" : "stopped",
                          value.firewall().starts_at_boot()
                              ? ", starts at boot"
                              : ", does not start at boot");
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

bool operator<(const FactKey& a, const FactKey& b) {
  return OrderOf(a) < OrderOf(b);
}

FactKey DeviceFact(uint32_t device, SettingId setting) {
  FactKey key = OfSetting(setting);
  key.mutable_target()->set_device(device);
  return key;
}

FactKey ConfLineFact(uint32_t device, absl::string_view conf_key) {
  FactKey key;
  key.set_conf_key(std::string(conf_key));
  key.mutable_target()->set_device(device);
  return key;
}

FactKey RoutesFact(uint32_t device) {
  FactKey key = OfOther(FactKey::ROUTES);
  key.mutable_target()->set_device(device);
  return key;
}

FactKey FormFact() {
  FactKey key = OfSetting(SETTING_FORM);
  key.mutable_target()->set_file(kHccnConfFile);
  return key;
}

FactKey KernelFact(absl::string_view parameter, SettingId setting) {
  FactKey key = OfSetting(setting);
  key.mutable_target()->set_kernel_parameter(std::string(parameter));
  return key;
}

FactKey FirewallFact(FirewallProgram program, SettingId setting) {
  FactKey key = OfSetting(setting);
  key.mutable_target()->set_firewall(program);
  return key;
}

FactKey FirewallFact(FirewallProgram program, FactKey::Other other) {
  FactKey key = OfOther(other);
  key.mutable_target()->set_firewall(program);
  return key;
}

FactKey RuleFact(const FirewallRule& rule) {
  FactKey key = OfSetting(SETTING_ALLOWED);
  *key.mutable_target()->mutable_rule() = rule;
  return key;
}

FactKey NamespaceFact() { return OfOther(FactKey::NETWORK_NAMESPACE); }

FactKey FileFact(absl::string_view path, FactKey::Other other) {
  FactKey key = OfOther(other);
  key.mutable_target()->set_file(std::string(path));
  return key;
}

std::string FactKeyText(const FactKey& key) {
  const SettingTarget& target = key.target();
  const std::string what = WhatText(key);
  switch (target.of_case()) {
    case SettingTarget::kDevice:
      if (key.has_setting()) {
        return absl::StrCat("device ", target.device(), ": ", what);
      }
      return absl::StrCat(
          "hccn.conf: ", key.has_conf_key() ? key.conf_key() : what, "_",
          target.device());
    case SettingTarget::kKernelParameter:
      return absl::StrCat(target.kernel_parameter(),
                          key.setting() == SETTING_AT_BOOT ? " at boot" : "");
    case SettingTarget::kFirewall:
      return absl::StrCat(FirewallName(target.firewall()), ": ", what);
    case SettingTarget::kRule:
      return absl::StrCat(FirewallName(target.rule().program()), ": ", what,
                          " ", PortRuleText(target.rule().port()));
    case SettingTarget::kFile:
      return absl::StrCat(key.has_setting() ? "hccn.conf" : target.file(), ": ",
                          what);
    case SettingTarget::OF_NOT_SET:
      break;
  }
  return what;
}

std::string SettingName(SettingId setting) {
  if (setting == SETTING_UNSPECIFIED) return "";
  return Words(absl::StripPrefix(SettingId_Name(setting), kSettingPrefix));
}

SettingId ParseSettingName(absl::string_view name) {
  SettingId setting = SETTING_UNSPECIFIED;
  const std::string of_enum = absl::StrCat(
      kSettingPrefix,
      absl::StrReplaceAll(absl::AsciiStrToUpper(name), {{" ", "_"}}));
  // Another spelling of a name is not that name.
  return SettingId_Parse(of_enum, &setting) && SettingName(setting) == name
             ? setting
             : SETTING_UNSPECIFIED;
}

std::string FirewallName(FirewallProgram program) {
  return program == UFW ? "ufw" : "firewalld";
}

std::string PortRuleText(const AllowedPort& port) {
  return absl::StrCat(port.first_port(), "-", port.last_port(), "/",
                      port.protocol(), " from ", port.source());
}

}  // namespace clusterd
