#include "config/report/facts_table.h"

#include <sstream>

#include "config/words/fact_text.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

std::string Text(const HostFacts& facts) {
  std::ostringstream out;
  PrintFactsTable(facts, Style(), absl::FromUnixMillis(1735689600000), out);
  return out.str();
}

TEST(FactsTableTest, PrintsValuesAndReasonsUnderTheirTitle) {
  auto facts = FromText<HostFacts>(R"(
      identity {hostname {value: "server0"}} kernel {somaxconn {value: 4096}}
      devices {id: 5 gateway {missing {reason: TIMED_OUT detail: "10s"}}
      address {value {settings {address: "10.0.0.5"
      netmask: "255.255.255.0"}}}})");

  const std::string text = Text(facts);

  EXPECT_THAT(text, HasSubstr("\nHost\n  hostname        server0\n"));
  EXPECT_THAT(text, HasSubstr("\n  somaxconn                    4096\n"));
  EXPECT_THAT(text, HasSubstr("\nDevice 5\n  address         10.0.0.5, "
                              "netmask 255.255.255.0\n"));
  EXPECT_THAT(text, HasSubstr("\n  gateway         missing: timed out: 10s\n"));
}

TEST(FactsTableTest, TellsAnEmptyValueFromWhatWasNotAskedFor) {
  HostFacts facts;
  EXPECT_THAT(Text(facts),
              HasSubstr("\n  sockets        " + Say("why-not-asked") + "\n"));
  facts.mutable_sockets()->mutable_value();
  EXPECT_THAT(Text(facts), HasSubstr("\n  sockets        none in "));
  DeviceFacts* device = facts.add_devices();
  EXPECT_THAT(Text(facts), Not(HasSubstr("ipv6")));
  device->mutable_ipv6_address()->set_value("fd00::17/64");
  EXPECT_THAT(Text(facts), HasSubstr("\n  ipv6 address    fd00::17/64\n"));
  HostFacts none;
  none.mutable_missing()->set_reason(Missing::NO_ANSWER);
  none.mutable_missing()->set_detail("30s");
  EXPECT_EQ(Text(none),
            Say("hosts-no-facts-why", WhyMissing(none.missing())) + "\n");
}

TEST(FactsTableTest, ShowsWhatALaunchMeets) {
  auto facts = FromText<HostFacts>(
      R"(interfaces {value {interfaces {name: "eth0" addresses: "10.0.0.5"}}})");
  facts.mutable_own_name()->mutable_value();
  MergeText(R"(
      environment {value {variables {name: "HCCL_IF_IP" value: "10.0.0.5"
      file: "/etc/environment" line: 2}}} clock {value {ahead_at_most_ms: 7}}
      firewalld {other_zones {value {zones {name: "docker"
      interfaces: "docker0"}}}})",
            &facts);
  const std::string text = Text(facts);
  EXPECT_THAT(text, HasSubstr("eth0 10.0.0.5, link down\n"));
  EXPECT_THAT(text, HasSubstr("resolves to no address\n"));
  EXPECT_THAT(text, HasSubstr("HCCL_IF_IP=10.0.0.5 (/etc/environment:2)\n"));
  EXPECT_THAT(text, HasSubstr("between 0 and 7 ms ahead of "));
  EXPECT_THAT(text, HasSubstr("docker: docker0\n"));
}

TEST(FactsTableTest, EscapesWhatATerminalObeys) {
  HostFacts facts;
  facts.mutable_versions()->mutable_driver()->set_value("1\x1b[2J");
  facts.set_simulation("\x1b");
  facts.mutable_allows()->set_mistake("\x1b");
  EXPECT_THAT(Text(facts), HasSubstr("1\\x1b[2J"));
  EXPECT_THAT(Text(facts), Not(HasSubstr("\x1b")));
}

TEST(FactsTableTest, SpeaksChinese) {
  const InLanguage chinese(Language::kChinese);
  Style style;
  style.utf8 = true;
  std::ostringstream out;
  const auto facts = FromText<HostFacts>(
      "allows {kinds: 'observe'} docker_running {value: true} "
      "drop_rules {value {}} devices {id: 5 lldp {value {}}}");
  PrintFactsTable(facts, style, absl::UnixEpoch(), out);
  for (const char* text : {"允许 observe（没有配置文件）\n", "\n主机\n",
                           "\n内核\n", "\n  sockets         未要求查询\n",
                           "无\n", "是\n", "\n设备 5\n", "未收到邻居信息\n"}) {
    EXPECT_THAT(out.str(), HasSubstr(text));
  }
}

}  // namespace
}  // namespace clusterd
