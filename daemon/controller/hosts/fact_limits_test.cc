#include "daemon/controller/hosts/fact_limits.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "config/values/setting.h"
#include "config/values/version.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

std::string MessageOf(const absl::Status& status) {
  return std::string(status.message());
}

TEST(CleanFactsTest, TakesUsualFacts) {
  HostFacts facts;
  facts.set_host("server0");
  for (uint32_t id = 0; id < 16; ++id) facts.add_devices()->set_id(id);
  facts.mutable_versions()->mutable_driver()->set_value("24.1.rc2");
  EXPECT_TRUE(CleanFacts("server0", &facts).ok());
}

TEST(CleanFactsTest, RefusesTooManyDevices) {
  HostFacts facts;
  for (uint32_t id = 0; id < 65; ++id) facts.add_devices()->set_id(id);
  EXPECT_THAT(MessageOf(CleanFacts("server0", &facts)),
              HasSubstr("65 devices"));
  HostFacts ids;
  for (uint32_t id = 0; id < 65; ++id) {
    ids.mutable_device_ids()->mutable_value()->add_ids(id);
  }
  EXPECT_THAT(MessageOf(CleanFacts("server0", &ids)),
              HasSubstr("65 device ids"));
}

TEST(CleanFactsTest, RefusesDeviceThatStandsTwice) {
  HostFacts facts;
  facts.add_devices()->set_id(3);
  facts.add_devices()->set_id(3);
  EXPECT_THAT(MessageOf(CleanFacts("server0", &facts)),
              HasSubstr("device 3 is listed twice"));
}

// For example 60 kB of reserved ports.
TEST(CleanFactsTest, LosesAFactThatIsTooLongAndKeepsTheHost) {
  HostFacts facts;
  facts.mutable_kernel()->mutable_reserved_ports()->set_value(
      std::string(kMaxTextBytes + 1, '1'));
  facts.mutable_kernel()->mutable_somaxconn()->set_value(4096);
  DeviceFacts* const device = facts.add_devices();
  device->mutable_lldp()->mutable_value()->set_system_name(
      std::string(kMaxTextBytes + 1, 'a'));
  device->mutable_gateway()->mutable_missing()->set_detail(
      std::string(kMaxTextBytes + 1, 'b'));
  for (int i = 0; i <= kMaxRepeated; ++i) {
    facts.mutable_sockets()->mutable_value()->add_sockets();
  }
  ASSERT_TRUE(CleanFacts("server0", &facts).ok());
  EXPECT_EQ(facts.kernel().somaxconn().value(), 4096u);
  EXPECT_EQ(facts.kernel().reserved_ports().missing().reason(),
            Missing::UNREADABLE);
  EXPECT_THAT(facts.kernel().reserved_ports().missing().detail(),
              Tells("hub-more-than-taken",
                    absl::StrCat("clusterd.TextFact.value: 16385 ", kAny)));
  EXPECT_THAT(device->lldp().missing().detail(),
              HasSubstr("system_name: 16385"));
  EXPECT_THAT(device->gateway().missing().detail(), HasSubstr("detail: 16385"));
  EXPECT_THAT(facts.sockets().missing().detail(), HasSubstr("sockets: 8193"));
}

TEST(CleanFactsTest, NoHostTellsOfMoreLoginsThanItTries) {
  HostFacts facts;
  for (int i = 0; i < kMaxSshLogins; ++i) {
    facts.mutable_ssh()->mutable_value()->add_logins();
  }
  EXPECT_TRUE(CleanFacts("server0", &facts).ok());
  EXPECT_TRUE(facts.ssh().has_value());
  facts.mutable_ssh()->mutable_value()->add_logins();
  EXPECT_TRUE(CleanFacts("server0", &facts).ok());
  EXPECT_THAT(facts.ssh().missing().detail(), HasSubstr("129 logins"));
}

TEST(CleanFactsTest, RefusesLongTextThatIsNoFact) {
  HostFacts facts;
  facts.mutable_missing()->set_detail(std::string(kMaxTextBytes + 1, 'a'));
  EXPECT_TRUE(absl::IsInvalidArgument(CleanFacts("server0", &facts)));
  ApplyResult result;
  result.set_error(std::string(kMaxTextBytes + 1, 'a'));
  EXPECT_THAT(MessageOf(CleanMessage(&result)), HasSubstr("error: 16385"));
}

TEST(CleanFactsTest, NeverLetsHostSpeakForAnotherOrForTheController) {
  HostFacts facts;
  facts.set_host("server1");
  facts.set_conflict("server1 is two machines");
  facts.set_certificate_notice("never");
  facts.mutable_clock()->mutable_value();
  facts.mutable_controller_roots()->add_hashes("sha256:0");
  ASSERT_TRUE(CleanFacts("server0", &facts).ok());
  EXPECT_THAT(facts, HasFields(R"(
      host: "server0" conflict: "" certificate_notice: "")"));
  EXPECT_FALSE(facts.has_clock());
  EXPECT_FALSE(facts.has_controller_roots());
}

TEST(CleanFactsTest, EscapesControlBytesEverywhere) {
  HostFacts facts;
  facts.mutable_identity()->mutable_hostname()->set_value("a\x1b[2Jb");
  facts.add_devices()->mutable_gateway()->mutable_missing()->set_detail(
      "x\ry\nz\t\x7f");
  ASSERT_TRUE(CleanFacts("server0", &facts).ok());
  EXPECT_EQ(facts.identity().hostname().value(), "a\\x1b[2Jb");
  EXPECT_EQ(facts.devices(0).gateway().missing().detail(), "x\\x0dy\nz\t\\x7f");
}

TEST(TrimDriftTest, KeepsDriftsBeforeUnknownOnesAndCountsTheRest) {
  DriftFact drift;
  DriftFact::Drifts* value = drift.mutable_value();
  for (int i = 0; i < kMaxKeptDrifts - 1; ++i) value->add_drifts();
  for (int i = 0; i < 5; ++i) value->add_unknown();
  value->set_left_out(2);
  TrimDrift(&drift);
  EXPECT_EQ(value->drifts_size(), kMaxKeptDrifts - 1);
  EXPECT_EQ(value->unknown_size(), 1);
  EXPECT_EQ(value->left_out(), 6u);
}

TEST(TrimDriftTest, CutsLongTextsBetweenCharacters) {
  DriftFact drift;
  AppliedDrift* entry = drift.mutable_value()->add_drifts();
  entry->set_why(std::string(kMaxDriftTextBytes - 1, 'a') +
                 "\xc3\xa4 and more");
  *entry->mutable_to() = TextsValue({std::string(10000, 'b')});
  *entry->mutable_now() = TextsValue({std::string(10000, 'c')});
  for (int i = 0; i < 10000; ++i) {
    entry->mutable_was()->mutable_ports()->add_pairs();
  }
  *entry->mutable_fact() = KernelFact(std::string(10000, 'd'), SETTING_RUNNING);
  *entry->mutable_target() = entry->fact();
  TrimDrift(&drift);
  EXPECT_EQ(SettingText(entry->now()).size(), kMaxDriftTextBytes);
  EXPECT_LE(entry->was().ByteSizeLong(), kMaxDriftTextBytes);
  EXPECT_FALSE(entry->has_fact());
  EXPECT_FALSE(entry->has_target());
  EXPECT_EQ(entry->why(), std::string(kMaxDriftTextBytes - 1, 'a'));
  EXPECT_EQ(SettingText(entry->to()).size(), kMaxDriftTextBytes);
}

TEST(TrimDriftTest, KeepsShortWordsOfAMissingDriftAlone) {
  DriftFact drift;
  SetDetail(Worded("hub-with-why", "a", "b"), drift.mutable_missing());
  TrimDrift(&drift);
  EXPECT_TRUE(drift.missing().has_detail_words());
  SetDetail(Worded("hub-with-why", "a", std::string(10000, 'b')),
            drift.mutable_missing());
  TrimDrift(&drift);
  EXPECT_FALSE(drift.missing().has_detail_words());
  EXPECT_EQ(drift.missing().detail().size(), kMaxDriftTextBytes);
}

TEST(CheckHelloTest, TakesOurOwnAndRefusesOtherVersions) {
  Hello hello;
  hello.set_protocol_version(kProtocolVersion);
  hello.set_boot_id("b");
  EXPECT_TRUE(CheckHello(hello).ok());
  hello.set_protocol_version(kProtocolVersion + 1);
  EXPECT_EQ(CheckHello(hello).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(CheckHello(hello)),
              HasSubstr(absl::StrCat("protocol version ", kProtocolVersion + 1,
                                     ", expected ", kProtocolVersion)));
}

TEST(CheckHelloTest, RefusesLongOrControllingText) {
  Hello good;
  good.set_protocol_version(kProtocolVersion);
  Hello hello = good;
  hello.set_machine_id(std::string(257, 'a'));
  EXPECT_EQ(CheckHello(hello).code(), absl::StatusCode::kInvalidArgument);
  hello = good;
  hello.set_clusterd_version("1\n2");
  EXPECT_EQ(CheckHello(hello).code(), absl::StatusCode::kInvalidArgument);
  hello = good;
  for (int i = 0; i < 65; ++i) hello.add_tasks("observe");
  EXPECT_EQ(CheckHello(hello).code(), absl::StatusCode::kInvalidArgument);
}

TEST(MissingFactsTest, HoldNothingButTheReason) {
  const HostFacts facts =
      MissingFacts("a", Missing::NO_ANSWER, ToFindingValue("gone"));
  EXPECT_THAT(facts, HasFields(R"(
      host: "a" missing { reason: NO_ANSWER detail: "gone" })"));
  EXPECT_FALSE(facts.missing().has_detail_words());
  EXPECT_FALSE(facts.has_kernel());
}

TEST(MissingFactsTest, KeepTheWordsOfTheReasonBesideTheText) {
  const Missing missing =
      MissingFacts("a", Missing::NO_ANSWER, Worded("msg-hub-never-attached"))
          .missing();
  EXPECT_EQ(missing.detail(), Say("msg-hub-never-attached"));
  const InLanguage chinese(Language::kChinese);
  EXPECT_EQ(WhyMissing(missing), "无应答：自此控制器启动以来从未连接");
}

}  // namespace
}  // namespace clusterd
