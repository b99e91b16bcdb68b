#include "config/values/fact_key.h"

#include <functional>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace clusterd {
namespace {

// What orders keys, by target first. Views into the key.
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
