#include "daemon/agent/apply/journal_contents.h"

#include <functional>
#include <string>

#include "config/values/setting.h"
#include "config/words/words.h"
#include "daemon/agent/apply/journal.h"
#include "gmock/gmock.h"
#include "google/protobuf/unknown_field_set.h"
#include "gtest/gtest.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

void AddUnknown(google::protobuf::Message* message) {
  message->GetReflection()->MutableUnknownFields(message)->AddVarint(77, 1);
}

absl::Status CheckOf(const std::function<void(SavedResource*)>& save) {
  JournalEntry entry;
  save(entry.mutable_intent()->add_saved());
  return CheckJournalEntry(entry);
}

TEST(UnknownPartTest, FindsWhatANewerVersionWroteAtAnyDepth) {
  JournalEntry entry;
  SavedDevice* device = entry.mutable_intent()->add_saved()->mutable_device();
  device->add_values()->set_setting(SETTING_MTU);
  EXPECT_EQ(UnknownPart(entry), "");
  AddUnknown(device->mutable_values(0));
  EXPECT_EQ(UnknownPart(entry), "intent.saved[0].device.values[0]: field 77");
  AddUnknown(&entry);
  EXPECT_EQ(UnknownPart(entry), "field 77");
}

TEST(UnknownPartTest, FindsAValueOfAnEnumerationThatIsNew) {
  JournalEntry entry;
  entry.mutable_end()->set_outcome(static_cast<ApplyResult::Outcome>(99));
  EXPECT_EQ(UnknownPart(entry), "end.outcome: value 99");
}

// As after a downgrade: the older version parses but does not know it.
TEST(CheckJournalEntryTest, RefusesAResourceOfANewerVersion) {
  JournalEntry entry;
  AddUnknown(entry.mutable_intent()->add_saved());
  JournalEntry read;
  ASSERT_TRUE(read.ParseFromString(entry.SerializeAsString()));
  EXPECT_THAT(CheckJournalEntry(read),
              Fails(absl::StatusCode::kUnimplemented,
                    HasText(Say("msg-step-journal-newer",
                                "intent.saved[0]: field 77"))));
  EXPECT_TRUE(absl::IsUnimplemented(CheckJournalEntry(JournalEntry())));
  EXPECT_TRUE(absl::IsUnimplemented(CheckOf([](SavedResource*) {})));
}

TEST(CheckJournalEntryTest, PutsNoFileBackButThoseThatAnApplyChanges) {
  const auto file = [](const std::string& path) {
    return CheckOf([&](SavedResource* saved) {
      saved->mutable_file()->set_path(path);
      saved->mutable_file()->set_existed(true);
    });
  };
  EXPECT_TRUE(file("/etc/sysctl.d/90-clusterd.conf").ok());
  for (const char* path : {"/etc/shadow", "/root/.ssh/authorized_keys",
                           "/etc/sysctl.d/../shadow", "", "/etc/hccn.conf"}) {
    EXPECT_TRUE(absl::IsUnimplemented(file(path))) << path;
  }
  EXPECT_FALSE(CheckOf([](SavedResource* saved) {
                 saved->mutable_file_in_place()->set_path("/etc/passwd");
               }).ok());
}

TEST(CheckJournalEntryTest, SetsNoParameterAndNoSettingThatIsNotOurs) {
  EXPECT_FALSE(CheckOf([](SavedResource* saved) {
                 saved->mutable_sysctl()->set_key("kernel.core_pattern");
               }).ok());
  const auto device = [](uint32_t id, SettingId setting,
                         const SettingValue& value) {
    return CheckOf([&](SavedResource* saved) {
      saved->mutable_device()->set_device(id);
      saved->mutable_device()->add_values()->set_setting(setting);
      *saved->mutable_device()->mutable_values(0)->mutable_value() = value;
    });
  };
  const auto interface = [](const char* address, const char* netmask) {
    SettingValue value;
    value.mutable_interface()->set_address(address);
    value.mutable_interface()->set_netmask(netmask);
    return value;
  };
  const SettingValue one = NumberValue(1);
  EXPECT_TRUE(
      device(3, SETTING_ADDRESS, interface("10.0.0.1", "255.255.255.0")).ok());
  EXPECT_TRUE(device(3, SETTING_GATEWAY, NoneValue()).ok());
  EXPECT_TRUE(device(3, SETTING_ROCE_PORT, TextsValue({"auto"})).ok());
  EXPECT_FALSE(device(3, SETTING_RUNNING, one).ok());
  EXPECT_FALSE(device(3, static_cast<SettingId>(99), one).ok());
  EXPECT_FALSE(device(100000, SETTING_MTU, NumberValue(1500)).ok());
  EXPECT_FALSE(device(3, SETTING_MTU, TextsValue({"-cfg"})).ok());
  EXPECT_FALSE(device(3, SETTING_ADDRESS, interface("10.0.0.1", "-i")).ok());
  EXPECT_FALSE(device(3, SETTING_ADDRESS, TextsValue({"10.0.0.1", "-i"})).ok());
  EXPECT_FALSE(device(3, SETTING_MTU, TextsValue({"1500\n"})).ok());
  SettingValue option;
  option.set_address("-i");
  EXPECT_FALSE(device(3, SETTING_GATEWAY, option).ok());
  EXPECT_FALSE(device(3, SETTING_GATEWAY, SettingValue()).ok());
}

TEST(CheckJournalEntryTest, TakesNoOtherRuleFromAFirewallThanItAdds) {
  const auto firewall = [](FirewallProgram program, const std::string& path,
                           const std::string& rule) {
    return CheckOf([&](SavedResource* saved) {
      SavedFirewall* const of = saved->mutable_firewall();
      of->set_program(program);
      if (!path.empty()) of->add_files()->set_path(path);
      if (!rule.empty()) of->add_added_running(rule);
    });
  };
  EXPECT_TRUE(firewall(UFW, "/etc/ufw/user.rules", "").ok());
  EXPECT_TRUE(
      firewall(FIREWALLD, "/etc/firewalld/zones/public.xml.old", "").ok());
  EXPECT_TRUE(firewall(FIREWALLD, "",
                       "rule family=\"ipv4\" source address=\"10.0.0.0/24\" "
                       "port port=\"22\" protocol=\"tcp\" accept")
                  .ok());
  EXPECT_FALSE(firewall(FIREWALLD, "", "rule family=\"ipv4\" accept").ok());
  EXPECT_FALSE(firewall(UFW, "/etc/ufw/before.rules", "").ok());
  EXPECT_FALSE(firewall(FIREWALLD, "/etc/ufw/user.rules", "").ok());
  EXPECT_FALSE(
      firewall(FIREWALLD, "/etc/firewalld/zones/../../passwd", "").ok());
  EXPECT_FALSE(firewall(FIREWALL_PROGRAM_UNSPECIFIED, "", "").ok());
}

TEST(CheckJournalEntryTest, WaitsForNoConfirmationLongerThanADay) {
  JournalEntry entry;
  entry.mutable_deadline()->set_within_ms(24 * 3600 * 1000);
  EXPECT_TRUE(CheckJournalEntry(entry).ok());
  entry.mutable_deadline()->set_within_ms(24 * 3600 * 1000 + 1);
  EXPECT_THAT(CheckJournalEntry(entry), Fails(absl::StatusCode::kUnimplemented,
                                              HasText("expected at most 24h")));
}

// Everything that an apply writes can be read back.
TEST(CheckJournalEntryTest, KnowsAllThatAnApplySaves) {
  for (const NamedScenario& named : AllScenarios()) {
    const auto scenario = named.make();
    ASSERT_TRUE(scenario->Apply().ok());
    const auto journals =
        JournalFolder(&scenario->machine.files(), kScenarioStateFolder)
            .Read()
            .value();
    ASSERT_EQ(journals.size(), 1u) << named.name;
    EXPECT_TRUE(journals[0].state.ok()) << journals[0].state.status();
  }
}

}  // namespace
}  // namespace clusterd
