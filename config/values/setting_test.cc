#include "config/values/setting.h"

#include <gtest/gtest.h>

#include "config/values/value_error.h"

namespace clusterd {
namespace {

std::string Canonical(absl::string_view text) {
  const auto classes = ParseDscpClasses(text);
  return classes.ok() ? SettingText(MapValue(*classes))
                      : std::string(classes.status().message());
}

TEST(DscpClassesTest, SortsAndLeavesOutClassNought) {
  EXPECT_EQ(Canonical("46:2,3:0,33:1"), "33:1,46:2");
  EXPECT_EQ(Canonical("63:3,0:1"), "0:1,63:3");
  EXPECT_EQ(Canonical("33:0"), "0:0");
  EXPECT_EQ(Canonical("0:0"), "0:0");
  // Refuses input that is not a map or names a DSCP twice.
  for (const char* const text :
       {"", "33", "64:1", "1:4", "033:1", "33:1,", "33:1,33:1", "33:0,33:1",
        "33:1 46:2", "-1:1", "33:1\n", "4294967297:1"}) {
    EXPECT_FALSE(ParseDscpClasses(text).ok()) << text;
  }
  EXPECT_EQ(ParseDscpClasses("33:1,64:1").status(),
            WrongValue("value-dscp", "64:1"));
}

FirewallRule OpenRule() {
  FirewallRule rule;
  rule.set_program(UFW);
  rule.mutable_port()->set_first_port(22);
  rule.mutable_port()->set_last_port(22);
  rule.mutable_port()->set_protocol("tcp");
  rule.mutable_port()->set_source("10.0.0.0/24");
  return rule;
}

TEST(SettingTextTest, HasOneTextForEachType) {
  const auto ipv4 = Ipv4Interface::Parse("10.0.0.1", "255.255.255.0").value();
  DscpClasses classes = {};
  EXPECT_EQ(SettingText(MapValue(classes)), "0:0");
  classes[33] = 1;
  classes[46] = 2;
  SettingValue numbers;
  for (const uint32_t number : {0, 1}) {
    numbers.mutable_numbers()->add_numbers(number);
  }
  EXPECT_EQ(SettingText(InterfaceValue(ipv4)), "10.0.0.1/24");
  EXPECT_EQ(SettingText(AddressValue(ipv4.address())), "10.0.0.1");
  EXPECT_EQ(SettingText(SwitchValue(true)), "on");
  EXPECT_EQ(SettingText(YesValue(false)), "no");
  EXPECT_EQ(SettingText(NumberValue(1500)), "1500");
  EXPECT_EQ(SettingText(numbers), "0,1");
  EXPECT_EQ(SettingText(MapValue(classes)), "33:1,46:2");
  EXPECT_EQ(SettingText(PortsValue(PortSet::Parse("8080,1-3").value())),
            "1-3,8080");
  EXPECT_EQ(SettingText(PortsValue(PortSet())), "none");
  EXPECT_EQ(SettingText(TextsValue({"a", "b"})), "a, b");
  EXPECT_EQ(SettingText(TextsValue({})), "none");
  EXPECT_EQ(SettingText(SettingValue()), "unknown");
}

TEST(SettingValueTest, GivesBackWhatItWasMadeOf) {
  const auto ipv4 = Ipv4Interface::Parse("10.0.0.1", "255.255.255.0").value();
  DscpClasses classes = {};
  classes[63] = 3;
  const PortSet ports = PortSet::Parse("1-3,8080").value();
  EXPECT_EQ(InterfaceOf(InterfaceValue(ipv4)), ipv4);
  EXPECT_EQ(AddressOf(AddressValue(ipv4.address())), ipv4.address());
  EXPECT_EQ(ClassesOf(MapValue(classes)), classes);
  EXPECT_EQ(PortsOf(PortsValue(ports)), ports);
}

// As a peer without this version's checks may send them.
TEST(SettingValueTest, HasNothingOfAnotherTypeOrOfWhatIsNotOne) {
  SettingValue bad;
  bad.set_address("10.0.0.300");
  EXPECT_FALSE(AddressOf(bad));
  bad.mutable_interface()->set_address("10.0.0.1");
  EXPECT_FALSE(InterfaceOf(bad));
  bad.mutable_map()->add_pairs()->set_first(64);
  EXPECT_FALSE(ClassesOf(bad));
  bad.mutable_ports()->add_pairs()->set_first(70000);
  EXPECT_TRUE(PortsOf(bad).empty());
  EXPECT_FALSE(AddressOf(NumberValue(1)));
  EXPECT_FALSE(ClassesOf(NoneValue()));
}

TEST(SettingValueTest, IsEqualByTypeAndValue) {
  EXPECT_EQ(NumberValue(1), NumberValue(1));
  EXPECT_NE(NumberValue(1), NumberValue(2));
  EXPECT_NE(SwitchValue(true), YesValue(true));
  EXPECT_NE(NoneValue(), SettingValue());
  EXPECT_NE(TextsValue({"a, b"}), TextsValue({"a", "b"}));
}

TEST(ShortenedTest, CutsALongTextOnly) {
  EXPECT_EQ(Shortened(NumberValue(12345), 5), NumberValue(12345));
  EXPECT_EQ(Shortened(NumberValue(12345), 4), TextsValue({"1234..."}));
}

TEST(FactKeyTextTest, NamesEachFact) {
  EXPECT_EQ(FactKeyText(DeviceFact(3, SETTING_DETECT_ADDRESS)),
            "device 3: detect address");
  EXPECT_EQ(FactKeyText(ConfLineFact(3, "netmask")), "hccn.conf: netmask_3");
  EXPECT_EQ(FactKeyText(RoutesFact(3)), "hccn.conf: routes_3");
  EXPECT_EQ(FactKeyText(FormFact()), "hccn.conf: form");
  EXPECT_EQ(FactKeyText(KernelFact("a.b", SETTING_RUNNING)), "a.b");
  EXPECT_EQ(FactKeyText(KernelFact("a.b", SETTING_AT_BOOT)), "a.b at boot");
  EXPECT_EQ(FactKeyText(FirewallFact(UFW, SETTING_ACTIVE)), "ufw: active");
  EXPECT_EQ(FactKeyText(FirewallFact(FIREWALLD, FactKey::STARTS_AT_BOOT)),
            "firewalld: starts at boot");
  EXPECT_EQ(FactKeyText(FirewallFact(FIREWALLD, FactKey::ALLOWED_PERMANENTLY)),
            "firewalld: allowed permanently");
  EXPECT_EQ(FactKeyText(RuleFact(OpenRule())),
            "ufw: allowed 22-22/tcp from 10.0.0.0/24");
  EXPECT_EQ(FactKeyText(NamespaceFact()), "network namespace");
  EXPECT_EQ(FactKeyText(FileFact("/etc/x", FactKey::SHA256)),
            "/etc/x: SHA-256");
  EXPECT_EQ(FactKeyText(FactKey()), "");
}

TEST(FactKeyTest, OrdersDevicesByNumberAndTellsTargetsApart) {
  EXPECT_LT(DeviceFact(2, SETTING_TLS), DeviceFact(10, SETTING_ADDRESS));
  EXPECT_EQ(RuleFact(OpenRule()), RuleFact(OpenRule()));
  EXPECT_NE(RuleFact(OpenRule()), FirewallFact(UFW, SETTING_ALLOWED));
  EXPECT_NE(ConfLineFact(1, "mtu"), DeviceFact(1, SETTING_MTU));
}

TEST(ParseSettingNameTest, TakesExactlyTheNamesThatSettingsHave) {
  for (int id = SettingId_MIN + 1; id <= SettingId_MAX; ++id) {
    const auto setting = static_cast<SettingId>(id);
    EXPECT_EQ(ParseSettingName(SettingName(setting)), setting);
  }
  for (const char* name :
       {"", "colour", "unspecified", "TLS", "detect_address", "net.core.x"}) {
    EXPECT_EQ(ParseSettingName(name), SETTING_UNSPECIFIED) << name;
  }
}

}  // namespace
}  // namespace clusterd
