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
using ::testing::Not;

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

class ApplyFaultTest : public ::testing::Test {
 protected:
  ApplyFaultTest() : host_(folder_.path()) {
    EXPECT_TRUE(
        host_.Write("var/lib/hccn_sim/state", "devices=0,1,5;ip.5=10.0.0.6\n")
            .ok());
    EXPECT_TRUE(host_.Write("etc/hccn.conf", "address_5=10.0.0.6\n").ok());
  }

  void Apply(const std::string& text) {
    const auto faults = ParseFaults({text}, A2Server());
    ASSERT_TRUE(faults.ok()) << faults.status();
    ASSERT_EQ(ApplyFault(faults->front(), host_), absl::OkStatus());
  }
  std::string State(const std::string& key) {
    return host_.state().Read().Find(key).value_or("none");
  }
  std::string Conf() { return host_.Read("etc/hccn.conf"); }

  const TestFolder folder_;
  const HostFolder host_;
};

TEST_F(ApplyFaultTest, AddressGoesToDeviceAndFileOrToOneOfThem) {
  const char* const kSteps[][3] = {
      {"5:address=10.0.0.9", "10.0.0.9", "address_5=10.0.0.9\n"},
      {"5:live_address=10.0.0.10", "10.0.0.10", "address_5=10.0.0.9\n"},
      {"5:stored_address=10.0.0.11", "10.0.0.10", "address_5=10.0.0.11\n"},
      {"5:address=none", "none", ""}};
  for (const auto& [fault, live, stored] : kSteps) {
    Apply(fault);
    EXPECT_EQ(State("ip.5"), live) << fault;
    EXPECT_EQ(Conf(), stored) << fault;
  }
}

TEST_F(ApplyFaultTest, WordsBecomeTheDevicesCodes) {
  const char* const kFaults[][3] = {
      {"0:link=DOWN", "link.0", "0"},
      {"0:net_health=ReceiveTimeout", "net_health.0", "2"},
      {"0:gone=1", "health.0", "0xffffffff"},
      {"1:busy=always", "busy.1", "-1"},
      {"1:delay=250", "delay.1.ms", "250"},
      {"1:lies=1", "lies.1", "1"},
      {"1:lldp=none", "lldp.1", ""}};
  for (const auto& [fault, key, value] : kFaults) {
    Apply(fault);
    EXPECT_EQ(State(key), value) << fault;
  }
  Apply("5:lldp=leaf-09/400GE1/0/3");
  EXPECT_THAT(State("lldp.5"), HasSubstr("Ifname: 400GE1/0/3\n"));
}

TEST_F(ApplyFaultTest, TlsKeyCanBeAbsent) {
  Apply("0:tls=1");
  EXPECT_THAT(Conf(), HasSubstr("tls_enable_0=1\n"));
  Apply("0:tls=absent");
  EXPECT_THAT(Conf(), Not(HasSubstr("tls_enable_0")));
  EXPECT_EQ(State("tls.0"), "1");
}

TEST_F(ApplyFaultTest, ConfTakesEveryShape) {
  Apply("host:hccn_conf=no-newline");
  EXPECT_EQ(Conf(), "address_5=10.0.0.6");
  Apply("host:hccn_conf=directory");
  EXPECT_TRUE(host_.Exists("etc/hccn.conf/."));
  Apply("host:hccn_conf=absent");
  EXPECT_FALSE(host_.Exists("etc/hccn.conf"));
}

TEST_F(ApplyFaultTest, KernelValuesAndVersionsAreFiles) {
  Apply("host:somaxconn=128");
  Apply("host:reserved_ports=none");
  Apply("host:driver=24.1.0");
  EXPECT_EQ(host_.Read("proc/sys/net/core/somaxconn"), "128\n");
  EXPECT_EQ(host_.Read("proc/sys/net/ipv4/ip_local_reserved_ports"), "\n");
  EXPECT_EQ(host_.Read("usr/local/Ascend/driver/version.info"),
            "Version=24.1.0\n");
}

TEST_F(ApplyFaultTest, AbsentDeviceIsGoneFromNodesAndDriver) {
  ASSERT_TRUE(host_.MakeNode("dev/davinci5").ok());
  Apply("host:device=absent-5");
  EXPECT_FALSE(host_.Exists("dev/davinci5"));
  EXPECT_EQ(State("devices"), "0,1");
}

TEST_F(ApplyFaultTest, InterfacesAreThoseThatIpShows) {
  ASSERT_TRUE(host_.Write("usr/sbin/ip", "#!/bin/sh\n", 0755).ok());
  const auto faults =
      ParseFaults(std::vector<std::string>{"host:interface=Meta/198.18.0.1",
                                           "host:interface_down=Meta"},
                  A2Server());
  ASSERT_TRUE(faults.ok()) << faults.status();
  ASSERT_TRUE(ApplyFault(faults->front(), host_).ok());
  EXPECT_EQ(host_.Read("usr/sbin/ip"),
            "#!/bin/sh\n"
            "echo '9: Meta    inet 198.18.0.1/30 scope global Meta'\n");
  ASSERT_TRUE(ApplyFault(faults->back(), host_).ok());
  EXPECT_EQ(host_.Read("sys/class/net/Meta/operstate"), "down\n");
  EXPECT_THAT(MistakesIn({"host:interface_down=eth7"}),
              HasSubstr("no interface \"eth7\", expected one of eth0 lo"));
  EXPECT_THAT(MistakesIn({"host:interface=a;b/198.18.0.1"}),
              HasSubstr("expected NAME/IPV4"));
}

}  // namespace
}  // namespace clusterd::sim
