#include "tests/sim/fault.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/test_folder.h"

namespace clusterd::sim {
namespace {

using ::testing::HasSubstr;

const ServerKind& A2Server() {
  static const auto* const server = new ServerKind{{0, 1, 5}, "A2"};
  return *server;
}

std::string MistakesIn(const std::vector<std::string>& texts,
                       const ServerKind& server = A2Server()) {
  return std::string(ParseFaults(texts, server).status().message());
}

TEST(ParseFaultsTest, ReadsDeviceAndHostFaults) {
  const auto faults =
      ParseFaults(std::vector<std::string>{"5:link=DOWN", "host:somaxconn=128",
                                           "0:state=res.0x5=-16"},
                  A2Server());
  ASSERT_TRUE(faults.ok()) << faults.status();
  ASSERT_EQ(faults->size(), 3u);
  EXPECT_EQ(faults->at(0).device, 5);
  EXPECT_EQ(faults->at(1).device, -1);
  EXPECT_EQ(faults->at(2).value, "res.0x5=-16");
}

TEST(ParseFaultsTest, NamesEveryMistakeInOneRun) {
  const std::string mistakes =
      MistakesIn({"5:lnk=DOWN", "7:link=UP", "0:link=SIDEWAYS", "x",
                  "host:link=UP", "0:net_health=11", "0:address=10.0.0.300"});
  for (const char* mistake :
       {"did you mean \"link\"?",
        "no device \"7\", expected host or one of 0 1 5",
        "link is \"SIDEWAYS\", expected UP|DOWN",
        "fault \"x\": expected DEVICE:KEY=VALUE or host:KEY=VALUE",
        "unknown key \"link\" of the host", "net_health is \"11\"",
        "address is \"10.0.0.300\""}) {
    EXPECT_THAT(mistakes, HasSubstr(mistake));
  }
  const std::vector<std::string> lines = absl::StrSplit(mistakes, '\n');
  EXPECT_EQ(lines.size(), 7u);
  // A value stays on its line.
  EXPECT_THAT(MistakesIn({"0:answer=a\nhang.0=1"}), HasSubstr("answer is"));
}

TEST(FaultKeysTest, EveryKeyOfAScopeIsThereOnceAndSaysWhatItDoes) {
  std::set<std::string> seen;
  for (const FaultKey& key : FaultKeys()) {
    EXPECT_TRUE(
        seen.insert(absl::StrCat(key.of_device ? "d" : "h", key.key)).second)
        << key.key;
    EXPECT_FALSE(key.values.empty()) << key.key;
    EXPECT_FALSE(key.meaning.empty()) << key.key;
  }
}

TEST(ParseFaultsTest, RefusesWhatCannotActThereWithTheReason) {
  const ServerKind inside = {{3}, "A3-superpod", Mode::kNamespaces};
  const ServerKind ascend950 = {{3}, "ascend-950"};
  const struct {
    const char* fault;
    ServerKind server;
    const char* mistake;
  } kRefused[] = {
      {"host:uda=5b0c7e21d9f4", inside,
       "cannot act in namespaces: /proc is the kernel's"},
      {"5:sdid=7", A2Server(),
       "cannot act on a server outside an Atlas A3 super pod"},
      {"3:health=Alarm", ascend950, "cannot act on an Ascend 950: "},
      {"host:machine_id=ab", A2Server(), "side by side"},
      {"host:machine_id=ab", inside, "in namespaces"},
      // Values that name nothing there.
      {"0:state=lnk=1", A2Server(), "state is \"lnk=1\", expected NAME=VALUE"},
      {"host:device=absent-99", A2Server(),
       "no device \"99\", expected one of 0 1 5"},
      {"3:state=speed=1000", ascend950,
       "cannot act on an Ascend 950: its hccn_tool does not read \"speed\""},
      {"3:lies=1", ascend950, "clusterd changes nothing on its devices"},
      {"host:conf_empty=9", ascend950,
       "clusterd changes nothing on its devices"},
      {"5:state=bond=4", A2Server(),
       "cannot act on a server that is not an Ascend 950"},
      {"5:state=bond_ip=1", A2Server(), "expected NAME=VALUE"},
      {"5:state=bond_mask=1", A2Server(), "expected NAME=VALUE"},
      {"5:state=opt_access_failed=1", A2Server(), "expected NAME=VALUE"}};
  for (const auto& refused : kRefused) {
    EXPECT_THAT(MistakesIn({refused.fault}, refused.server),
                HasSubstr(refused.mistake))
        << refused.fault;
  }
  EXPECT_EQ(MistakesIn({"3:sdid=7"}, inside), "");
  for (const char* text : {"host:uda=5b0c7e21d9f4", "host:device=absent-5",
                           "5:state=opt_serial=x"}) {
    EXPECT_EQ(MistakesIn({text}), "") << text;
  }
  for (const char* text :
       {"state=bond=4", "state=lldp_second=x", "state=ports=0/4/UB/UP",
        "state=tls=1", "state=hang.set=1", "state=rc.health=1"}) {
    EXPECT_EQ(MistakesIn({absl::StrCat("3:", text)}, ascend950), "") << text;
  }
}

// A fault of the table either acts somewhere, and a rule reports it, or it has
// a reason for each place.
TEST(FaultKeysTest, EachIsNoticedOrRefusedEverywhere) {
  for (const FaultKey& key : FaultKeys()) {
    const bool acts =
        key.not_side_by_side.empty() || key.not_in_namespaces.empty();
    EXPECT_EQ(key.noticed.rule.empty(), !acts) << key.key;
    const std::string text = absl::StrCat(
        key.of_device ? "3:" : "host:", key.key, "=", key.noticed.value);
    const Mode mode =
        key.not_side_by_side.empty() ? Mode::kSideBySide : Mode::kNamespaces;
    if (!acts) continue;
    EXPECT_EQ(MistakesIn({text}, {{3}, "A3-superpod", mode}), "");
  }
}

TEST(ApplyFaultTest, InterfacesAreThoseThatIpShows) {
  const TestFolder folder;
  const HostFolder host(folder.path());
  ASSERT_TRUE(host.Write("usr/sbin/ip", "#!/bin/sh\n", 0755).ok());
  const auto faults =
      ParseFaults(std::vector<std::string>{"host:interface=Meta/198.18.0.1",
                                           "host:interface_down=Meta"},
                  A2Server());
  ASSERT_TRUE(faults.ok()) << faults.status();
  ASSERT_TRUE(ApplyFault(faults->front(), host).ok());
  EXPECT_EQ(host.Read("usr/sbin/ip"),
            "#!/bin/sh\n"
            "echo '9: Meta    inet 198.18.0.1/30 scope global Meta'\n");
  ASSERT_TRUE(ApplyFault(faults->back(), host).ok());
  EXPECT_EQ(host.Read("sys/class/net/Meta/operstate"), "down\n");
  EXPECT_THAT(MistakesIn({"host:interface_down=eth7"}),
              HasSubstr("no interface \"eth7\", expected one of eth0 lo"));
  EXPECT_THAT(MistakesIn({"host:interface=a;b/198.18.0.1"}),
              HasSubstr("expected NAME/IPV4"));
}

}  // namespace
}  // namespace clusterd::sim
