#include "config/spec/spec_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string ReadRunfile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return std::string(std::istreambuf_iterator<char>(file),
                     std::istreambuf_iterator<char>());
}

ClusterSpec LoadExample(const std::string& name) {
  const absl::StatusOr<ClusterSpec> spec =
      LoadSpec(name, ReadRunfile("config/examples/" + name));
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return spec.value_or(ClusterSpec());
}

// A small good file; `more` are further lines.
std::string File(absl::string_view more = "") {
  return absl::StrCat(
      "version: 1\n"
      "name: demo\n"
      "product: atlas-a2\n"
      "servers:\n"
      "  - hosts: n[0-1]\n"
      "    address: 10.9.0.[1-2]\n"
      "devices:\n"
      "  rails: [{device: 0-7, subnet: 10.20.0.0/24, host: 1 + 8*n + d}]\n",
      more);
}

ClusterSpec Load(absl::string_view text) {
  const absl::StatusOr<ClusterSpec> spec = LoadSpec("cluster.yaml", text);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return spec.value_or(ClusterSpec());
}

// The mistakes; empty if there are none.
std::string Wrong(absl::string_view text) {
  const absl::Status status = LoadSpec("f", text).status();
  if (status.ok()) return "";
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

// The mistake in line 9 of File(line).
std::string WrongLine(absl::string_view line) {
  return Wrong(File(absl::StrCat(line, "\n")));
}

std::string Addresses(const ServerSpec& server) {
  return absl::StrJoin(server.devices(), " ",
                       [](std::string* out, const DeviceSpec& device) {
                         absl::StrAppend(out, device.address());
                       });
}

TEST(LoadSpecTest, FillsInDefaults) {
  const ClusterSpec spec = Load(File());
  EXPECT_EQ(spec.version(), 1u);
  EXPECT_EQ(spec.mode(), "");
  EXPECT_EQ(spec.hccl().base_port(), 60000u);
  EXPECT_EQ(spec.hccl().port_count(), 32u);
  EXPECT_TRUE(spec.hccl().port_count_auto());
  EXPECT_TRUE(spec.hccl().base_port_auto());
  EXPECT_EQ(spec.kernel().somaxconn(), 65535u);
  EXPECT_EQ(spec.kernel().tcp_max_syn_backlog(), 65535u);
  EXPECT_TRUE(spec.kernel().somaxconn_auto());
  EXPECT_TRUE(spec.kernel().tcp_max_syn_backlog_auto());
  EXPECT_FALSE(spec.kernel().persistent());
  EXPECT_EQ(spec.firewall(), FIREWALL_DISABLED);
  EXPECT_EQ(spec.deadlines().command_ms(), 10000u);
  EXPECT_EQ(spec.deadlines().host_ms(), 30000u);
  EXPECT_EQ(spec.deadlines().run_ms(), 60000u);
  EXPECT_FALSE(spec.has_tls());
  EXPECT_FALSE(spec.has_mtu());
  EXPECT_EQ(spec.clock_skew_ms(), 0u);
  EXPECT_EQ(spec.rendezvous_port(), 0u);
  EXPECT_EQ(spec.ssh_port(), 0u);
}

TEST(LoadSpecTest, FillsEveryDevice) {
  const ClusterSpec spec =
      Load(File("  gateway: 254\n  detect_address: gateway\n"));
  ASSERT_EQ(spec.servers_size(), 2);
  EXPECT_EQ(spec.servers(1).host(), "n1");
  EXPECT_EQ(spec.servers(1).address(), "10.9.0.2");
  ASSERT_EQ(spec.servers(1).devices_size(), 8);
  const DeviceSpec& device = spec.servers(1).devices(7);
  EXPECT_EQ(device.id(), 7u);
  EXPECT_EQ(device.address(), "10.20.0.16");
  EXPECT_EQ(device.netmask(), "255.255.255.0");
  EXPECT_EQ(device.gateway(), "10.20.0.254");
  EXPECT_EQ(device.detect_address(), "10.20.0.254");
}

TEST(LoadSpecTest, ReadsEverySetting) {
  const ClusterSpec spec = Load(File(
      "hccl: {base_port: 50000, port_count: 64, rdma_tc: 132, rdma_sl: 0}\n"
      "kernel: {somaxconn: 1024, tcp_max_syn_backlog: 2048, persistent: "
      "true}\n"
      "firewall: open-ports\n"
      "deadlines: {command: 500ms, host: 1m, run: 1m}\n"
      "tls: false\nmtu: 4200\nclock_skew: 2s\nrendezvous_port: 29500\n"
      "ssh_port: 22\ndomain: dc1.example.com\n"
      "lossless: {pfc: \"0,0,0,0,1,0,0,0\", dscp_to_tc: \"46:2,3:0,33:1\", "
      "roce_port: 4791}\n"));
  EXPECT_EQ(spec.hccl().base_port(), 50000u);
  EXPECT_EQ(spec.hccl().port_count(), 64u);
  EXPECT_FALSE(spec.hccl().port_count_auto());
  EXPECT_FALSE(spec.hccl().base_port_auto());
  EXPECT_FALSE(spec.kernel().somaxconn_auto());
  EXPECT_FALSE(spec.kernel().tcp_max_syn_backlog_auto());
  EXPECT_EQ(spec.kernel().somaxconn(), 1024u);
  EXPECT_EQ(spec.kernel().tcp_max_syn_backlog(), 2048u);
  EXPECT_TRUE(spec.kernel().persistent());
  EXPECT_EQ(spec.firewall(), FIREWALL_OPEN_PORTS);
  EXPECT_EQ(spec.deadlines().command_ms(), 500u);
  EXPECT_EQ(spec.deadlines().run_ms(), 60000u);
  EXPECT_TRUE(spec.has_tls());
  EXPECT_FALSE(spec.tls());
  EXPECT_EQ(spec.mtu(), 4200u);
  EXPECT_EQ(spec.clock_skew_ms(), 2000u);
  EXPECT_EQ(spec.rendezvous_port(), 29500u);
  EXPECT_EQ(spec.ssh_port(), 22u);
  EXPECT_EQ(spec.domain(), "dc1.example.com");
  EXPECT_EQ(spec.lossless().pfc(), "0,0,0,0,1,0,0,0");
  EXPECT_EQ(spec.lossless().dscp_to_tc(), "33:1,46:2");
  EXPECT_EQ(spec.lossless().roce_port(), 4791u);
  EXPECT_EQ(spec.hccl().rdma_tc(), 132u);
  EXPECT_TRUE(spec.hccl().has_rdma_sl());
  EXPECT_EQ(
      Load(File("lossless: {dscp_to_tc: \"33:0\"}\n")).lossless().dscp_to_tc(),
      "0:0");
  EXPECT_EQ(Load(File("firewall: ignore\n")).firewall(), FIREWALL_IGNORE);
}

TEST(LoadSpecTest, DigestIsTheSha256OfTheText) {
  // printf of File() | sha256sum
  EXPECT_EQ(Load(File()).digest(),
            "216e754ed9cd8f3b9d7fcfcc60bd8ba46eaab490a523620ffaeccd03649ef976");
  EXPECT_NE(Load(File("# a comment\n")).digest(), Load(File()).digest());
}

TEST(LoadSpecTest, ModeIsTheDefaultUnlessGiven) {
  const std::string training =
      absl::StrReplaceAll(File(), {{"atlas-a2", "atlas-training"}});
  EXPECT_EQ(Load(training).mode(), "smp");
  EXPECT_EQ(Load(training + "mode: amp\n").mode(), "amp");
  EXPECT_THAT(Wrong(training + "mode: apm\n"),
              HasSubstr("f:9:7: mode \"apm\" is not known for atlas-training, "
                        "expected one of smp, amp, did you mean \"amp\"?"));
  EXPECT_EQ(WrongLine("mode: smp"),
            "f:9:7: mode \"smp\": product atlas-a2 has no modes");
}

TEST(LoadSpecTest, NamesEveryMissingKey) {
  EXPECT_EQ(Wrong("firewall: ignore\n"),
            "f:1:1: version is missing\n"
            "f:1:1: name is missing\n"
            "f:1:1: product is missing\n"
            "f:1:1: servers is missing\n"
            "f:1:1: devices is missing");
}

TEST(LoadSpecTest, RefusesWhatIsNoSpecAtAll) {
  EXPECT_EQ(Wrong(""), "f:1:1: is empty");
  EXPECT_EQ(Wrong("~\n"), "f:1:1: is empty");
  EXPECT_THAT(Wrong("just text\n"),
              StartsWith("f:1:1: the file is \"just text\", expected a "
                         "mapping with version, name, product"));
  EXPECT_THAT(Wrong("- a\n"), HasSubstr("the file is a list"));
  EXPECT_EQ(Wrong("name: \xff\n"), "f:1:7: is not UTF-8");
  EXPECT_EQ(Wrong("devices:\n\trails: []\n"),
            "f:2:1: a tab in the indentation, expected spaces");
  EXPECT_THAT(Wrong("a: [\n"), HasSubstr("is not YAML"));
  EXPECT_THAT(Wrong(std::string((32 << 20) + 1, 'a')),
              HasSubstr("has 33554433 bytes, expected at most 33554432"));
}

TEST(LoadSpecTest, UnknownKeysSuggestTheNearest) {
  EXPECT_THAT(WrongLine("firewal: ignore"),
              AllOf(HasSubstr("f:9:1: unknown key \"firewal\", expected "
                              "version, name, product, mode, servers"),
                    HasSubstr("did you mean \"firewall\"?")));
  EXPECT_THAT(WrongLine("hccl: {baseport: 1}"),
              AllOf(HasSubstr("unknown key \"baseport\" in hccl, expected "
                              "base_port, port_count, cann, "),
                    HasSubstr("did you mean \"base_port\"?")));
}

TEST(LoadSpecTest, OnlyVersion1IsKnown) {
  EXPECT_EQ(Wrong(absl::StrReplaceAll(File(), {{"version: 1", "version: 2"}})),
            "f:1:10: version is \"2\", expected a number from 1 to 1");
}

TEST(LoadSpecTest, ClusterNamesFitIntoCertificates) {
  for (absl::string_view name : {"Demo", "a b", "-a", "a/b", "a_", "集群"}) {
    EXPECT_THAT(Wrong(absl::StrReplaceAll(
                    File(), {{"name: demo", absl::StrCat("name: ", name)}})),
                HasSubstr("f:2:7: name is \""))
        << name;
  }
}

TEST(LoadSpecTest, UnknownProductsSuggestTheNearest) {
  EXPECT_THAT(Wrong(absl::StrReplaceAll(File(), {{"atlas-a2", "atlas-a4"}})),
              AllOf(HasSubstr("f:3:10: product \"atlas-a4\" is not known"),
                    HasSubstr("did you mean \"atlas-a2\"?")));
}

TEST(LoadSpecTest, PortCountFollowsTheCannVersion) {
  const auto count = [](absl::string_view cann) {
    return Load(File(absl::StrCat("hccl: {cann: ", cann, "}\n")))
        .hccl()
        .port_count();
  };
  EXPECT_EQ(count("5.0.4.6"), 16u);
  EXPECT_EQ(count("6.3.RC2"), 16u);
  EXPECT_EQ(count("8.0.0"), 16u);
  EXPECT_EQ(count("8.0"), 16u);
  // The number is not published: the larger range covers both.
  EXPECT_EQ(count("8.1.RC1"), 32u);
  EXPECT_EQ(count("8.2.RC1"), 32u);
  EXPECT_EQ(count("8.5.0"), 32u);
  EXPECT_EQ(count("9.0.0"), 32u);
  EXPECT_EQ(
      Load(File("hccl: {cann: 8.0.0, port_count: 32}\n")).hccl().port_count(),
      32u);
  for (absl::string_view cann : {"8", "x", "8.", "8..1", "v8.0", "8.0-rc1"}) {
    EXPECT_THAT(WrongLine(absl::StrCat("hccl: {cann: ", cann, "}")),
                HasSubstr("expected a version such as 8.0.0 or 8.2.RC1"))
        << cann;
  }
}

TEST(LoadSpecTest, HcclPortsEndBelow65536) {
  EXPECT_EQ(Load(File("hccl: {base_port: 65504}\n")).hccl().base_port(),
            65504u);
  EXPECT_EQ(WrongLine("hccl: {base_port: 65520}"),
            "f:9:19: hccl.base_port is 65520 and 32 ports from there end at "
            "65551, expected at most 65504 (or cann, where it is before 8.1)");
  EXPECT_EQ(
      Load(File("hccl: {base_port: 65520, cann: 8.0.0}\n")).hccl().port_count(),
      16u);
  EXPECT_THAT(WrongLine("hccl: {base_port: 65520, port_count: 17}"),
              HasSubstr("end at 65536, expected at most 65519"));
  EXPECT_THAT(WrongLine("hccl: {base_port: 1023}"),
              HasSubstr("expected a number from 1024 to 65520"));
  EXPECT_THAT(WrongLine("hccl: {port_count: 0}"),
              HasSubstr("hccl.port_count (where it is not auto) is \"0\""));
  EXPECT_THAT(WrongLine("hccl: {port_count: \"auto\"}"),
              HasSubstr("is the text \"auto\", expected a number"));
}

TEST(LoadSpecTest, JobPortsStayClearOfHcclAndOfEachOther) {
  EXPECT_EQ(WrongLine("rendezvous_port: 60031"),
            "f:9:18: rendezvous_port is 60031, expected a port outside of "
            "HCCL's 60000-60031");
  EXPECT_EQ(WrongLine("ssh_port: 60000"),
            "f:9:11: ssh_port is 60000, expected a port outside of HCCL's "
            "60000-60031");
  EXPECT_EQ(WrongLine("rendezvous_port: 60032"), "");
  EXPECT_EQ(WrongLine("ssh_port: 22\nrendezvous_port: 22"),
            "f:9:11: ssh_port is 22, which is the rendezvous_port too");
  EXPECT_THAT(WrongLine("ports: [0]"), HasSubstr("has no port of 1-65535"));
  EXPECT_THAT(WrongLine("ports: [ray]"), HasSubstr("ports"));
  EXPECT_THAT(WrongLine("ssh_port: 65536"), HasSubstr("from 1 to 65535"));
}

// Ray takes some, which `ports-free` expects to be free on every host.
TEST(LoadSpecTest, PortsOfOtherServicesMayBeRanges) {
  const ClusterSpec spec = Load(File("ports: [8265, 6379-6389, 6389-6390]\n"));
  ASSERT_EQ(spec.ports_size(), 2);
  EXPECT_EQ(spec.ports(0).first(), 6379u);
  EXPECT_EQ(spec.ports(0).last(), 6390u);
  EXPECT_EQ(spec.ports(1).first(), 8265u);
  EXPECT_EQ(spec.ports(1).last(), 8265u);
  EXPECT_THAT(SpecToYaml(spec), HasSubstr("\nports: [6379-6390, 8265]\n"));
  std::string many = "ports: [1";
  for (int port = 3; port <= 65; port += 2) absl::StrAppend(&many, ", ", port);
  EXPECT_THAT(WrongLine(many + "]"),
              HasSubstr("ports has 33 ranges, expected at most 32"));
}

TEST(LoadSpecTest, DeadlinesContainEachOther) {
  EXPECT_EQ(WrongLine("deadlines: {command: 40s}"),
            "f:9:22: deadlines.host is 30s, expected at least 40s "
            "(deadlines.command)");
  EXPECT_EQ(WrongLine("deadlines: {host: 5s}"),
            "f:9:19: deadlines.host is 5s, expected at least 10s "
            "(deadlines.command)");
  EXPECT_EQ(WrongLine("deadlines: {run: 20s}"),
            "f:9:18: deadlines.run is 20s, expected at least 30s "
            "(deadlines.host)");
  EXPECT_EQ(WrongLine("deadlines: {command: 10}"),
            "f:9:22: deadlines.command is \"10\", expected a duration from "
            "100ms to 5m such as 10s or 500ms");
  EXPECT_THAT(WrongLine("deadlines: {command: 99ms}"), HasSubstr("100ms"));
  EXPECT_THAT(WrongLine("deadlines: {host: 31m, run: 1h}"),
              HasSubstr("deadlines.host is \"31m\""));
  EXPECT_THAT(WrongLine("deadlines: {run: 3h}"), HasSubstr("100ms to 2h"));
}

TEST(LoadSpecTest, SettingsHaveRangesAndTypes) {
  EXPECT_THAT(WrongLine("kernel: {somaxconn: 0}"),
              HasSubstr("kernel.somaxconn is \"0\", expected a number from 1"));
  EXPECT_THAT(WrongLine("kernel: {tcp_max_syn_backlog: 2147483648}"),
              HasSubstr("from 1 to 2147483647"));
  EXPECT_THAT(WrongLine("kernel: {persistent: yes}"),
              HasSubstr("expected true or false"));
  EXPECT_THAT(WrongLine("kernel: 65535"),
              HasSubstr("kernel is \"65535\", expected a mapping with "
                        "somaxconn"));
  EXPECT_THAT(WrongLine("firewall: disable"),
              HasSubstr("did you mean \"disabled\"?"));
  EXPECT_THAT(WrongLine("tls: 1"), HasSubstr("tls is \"1\""));
  EXPECT_THAT(WrongLine("mtu: 1279"), HasSubstr("number from 1280 to 9702"));
  EXPECT_THAT(WrongLine("mtu: 9703"), HasSubstr("mtu is \"9703\""));
  EXPECT_THAT(WrongLine("lossless: {pfc: \"1,1,1,1,1,0,0,0\"}"),
              HasSubstr("5 priorities on, expected at most 4"));
  EXPECT_THAT(WrongLine("job: all"), HasSubstr("all-servers"));
  EXPECT_THAT(WrongLine("lossless: {pfc: \"0,0,0,0,1,0,0\"}"),
              HasSubstr("expected 0 or 1 for each of the eight priorities"));
  EXPECT_THAT(WrongLine("lossless: {dscp_to_tc: \"64:1\"}"),
              HasSubstr("\"64:1\" is not valid, expected a DSCP"));
  EXPECT_THAT(WrongLine("lossless: {dscp_to_tc: \"33:1,33:2\"}"),
              HasSubstr("each once"));
  EXPECT_THAT(WrongLine("lossless: {roce_port: 4096}"),
              HasSubstr("lossless.roce_port is \"4096\""));
  EXPECT_THAT(WrongLine("hccl: {rdma_tc: 133}"),
              HasSubstr("hccl.rdma_tc is 133, expected a multiple of 4"));
  EXPECT_THAT(WrongLine("hccl: {rdma_sl: 8}"),
              HasSubstr("hccl.rdma_sl is \"8\""));
  EXPECT_THAT(WrongLine("domain: .example"),
              HasSubstr("domain is \".example\", expected the DNS domain"));
}

TEST(LoadSpecTest, PfcHasAsManyPrioritiesAsTheProductsToolTakes) {
  const std::string training =
      absl::StrReplaceAll(File(), {{"atlas-a2", "atlas-training"}});
  const std::string all = "lossless: {pfc: \"1,1,1,1,1,1,1,1\"}\n";
  EXPECT_EQ(Load(training + all).lossless().pfc(), "1,1,1,1,1,1,1,1");
  EXPECT_THAT(WrongLine(all), HasSubstr("8 priorities on, expected at most 4"));
  EXPECT_EQ(WrongLine("lossless: {pfc: \"1,1,1,1,0,0,0,0\"}"), "");
}

constexpr char kSuperPod[] =
    "version: 1\nname: pod\nproduct: atlas-a3-superpod\n"
    "servers: [{hosts: \"n[0-1]\", address: 10.9.0.1 + n}]\n";

TEST(LoadSpecTest, NeedsNoAddressesWhereRoceIsUnused) {
  for (const char* devices : {"", "devices: {ids: 0-7}\n"}) {
    const ClusterSpec spec =
        Load(absl::StrCat(kSuperPod, devices, "roce: unused\n"));
    EXPECT_TRUE(spec.roce_unused());
    ASSERT_EQ(spec.servers_size(), 2);
    EXPECT_EQ(spec.servers(1).devices_size(), *devices == '\0' ? 16 : 8);
    EXPECT_EQ(spec.servers(1).devices(7).id(), 7u);
    EXPECT_EQ(spec.servers(1).devices(7).address(), "");
    // The output of `config show` loads as the same spec.
    ClusterSpec again = Load(SpecToYaml(spec));
    again.set_digest(spec.digest());
    EXPECT_EQ(again.DebugString(), spec.DebugString());
  }
}

TEST(LoadSpecTest, WantsAddressesUnlessRoceIsUnused) {
  const auto mistake = [](const std::string& more) {
    return std::string(
        LoadSpec("f", absl::StrCat(kSuperPod, more)).status().message());
  };
  EXPECT_THAT(mistake(""), HasSubstr("devices is missing"));
  EXPECT_THAT(mistake("roce: used\n"), HasSubstr("devices is missing"));
  EXPECT_THAT(mistake("roce: off\n"), HasSubstr("unused"));
  const std::string unused =
      mistake("roce: unused\ndevices: {netmask: 255.255.255.0, rails: []}\n");
  for (const char* key : {"netmask", "rails"}) {
    EXPECT_THAT(unused, HasSubstr(absl::StrCat("devices.", key,
                                               " is given beside roce: unused, "
                                               "expected ids alone")));
  }
  EXPECT_THAT(unused, Not(HasSubstr("unknown key")));
  EXPECT_THAT(mistake("roce: unused\ndevices: {netmsk: 255.255.255.0}\n"),
              HasSubstr("unknown key \"netmsk\" in devices"));
}

// Jobs inside one server need no RoCE; job-super-pod judges the others.
TEST(LoadSpecTest, RoceMayBeUnusedOnEveryProduct) {
  for (const char* product : {"atlas-training", "atlas-a2", "atlas-a2-box16"}) {
    const ClusterSpec spec = Load(absl::StrCat(
        "version: 1\nname: a\nproduct: ", product,
        "\nservers: [{hosts: n0, address: 10.9.0.1}]\nroce: unused\n"));
    EXPECT_TRUE(spec.roce_unused()) << product;
    EXPECT_GT(spec.servers(0).devices_size(), 0) << product;
  }
}

TEST(LoadSpecTest, EnforcesOnlyTheKindsThatSayTrue) {
  EXPECT_THAT(Load(File()).enforce(), IsEmpty());
  EXPECT_THAT(
      Load(File("enforce:\n  hccn-conf: true\n  tls: false\n  sysctl: true\n"))
          .enforce(),
      ElementsAre("sysctl", "hccn-conf"));
}

TEST(LoadSpecTest, EnforceNamesKindsAndTheNearestOne) {
  EXPECT_THAT(WrongLine("enforce: {sysctrl: true}"), HasSubstr("\"sysctl\""));
  EXPECT_THAT(WrongLine("enforce: {observe: true}"), HasSubstr("observe"));
  EXPECT_THAT(WrongLine("enforce: {sysctl: yes}"), HasSubstr("enforce.sysctl"));
  EXPECT_THAT(WrongLine("enforce: [sysctl]"), HasSubstr("mapping"));
  EXPECT_THAT(WrongLine("enforce: true"), HasSubstr("mapping"));
}

TEST(LoadSpecTest, KeysThatStandTwiceAreMistakes) {
  EXPECT_EQ(WrongLine("name: other"),
            "f:9:1: key \"name\" stands twice, first at 2:1");
}

TEST(LoadSpecTest, ReportsTenMistakesInOneRun) {
  const absl::Status status =
      LoadSpec("cluster.yaml",
               ReadRunfile("tests/testdata/spec/ten-mistakes.yaml"))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(absl::StrCat(status.message(), "\n"),
            ReadRunfile("tests/testdata/spec/ten-mistakes.txt"));
}

TEST(LoadSpecTest, ReportsMistakesInTheUsersLanguage) {
  const std::string text = ReadRunfile("tests/testdata/spec/ten-mistakes.yaml");
  const absl::Status english = LoadSpec("cluster.yaml", text).status();
  const InLanguage chinese(Language::kChinese);
  const absl::Status status = LoadSpec("cluster.yaml", text).status();
  EXPECT_EQ(status.message(), english.message());
  const std::string shown = ValueText(MessageWords(status));
  EXPECT_THAT(shown, HasSubstr("cluster.yaml:10:14: servers[1].address 有 1 "
                               "个地址，应为 2 个，每台主机一个\n"));
  EXPECT_THAT(shown, HasSubstr("cluster.yaml:24:40: kernel.persistent 为 "
                               "\"yes\"，应为 true 或 false\n"));
  EXPECT_THAT(shown, HasSubstr("，您要用的是 “disabled” 吗？"));
  EXPECT_THAT(shown, HasSubstr("地址 “192.168.103.300” 不是 IPv4 地址，应为"));
}

TEST(LoadSpecTest, AliasBombsAreRefusedQuickly) {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 64; ++i) {
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [*a", i - 1, ", *a", i - 1,
                    "]\n");
  }
  EXPECT_THAT(Wrong(bomb), HasSubstr("aliases (*name) are not supported"));
}

TEST(ExamplesTest, TwoServersHaveTheAddressesOfTheGuide) {
  const ClusterSpec spec = LoadExample("two-servers.yaml");
  ASSERT_EQ(spec.servers_size(), 2);
  EXPECT_EQ(spec.servers(0).host(), "server0");
  EXPECT_EQ(spec.servers(0).address(), "192.168.7.22");
  EXPECT_EQ(spec.servers(1).address(), "192.168.7.23");
  EXPECT_EQ(Addresses(spec.servers(0)),
            "192.168.100.101 192.168.101.101 192.168.102.101 192.168.103.101 "
            "192.168.100.100 192.168.101.100 192.168.102.100 192.168.103.100");
  EXPECT_EQ(Addresses(spec.servers(1)),
            "192.168.100.111 192.168.101.111 192.168.102.111 192.168.103.111 "
            "192.168.100.110 192.168.101.110 192.168.102.110 192.168.103.110");
  EXPECT_EQ(spec.servers(1).devices(4).detect_address(), "192.168.100.100");
}

TEST(ExamplesTest, RailsExpandToTheSameSpecAsLists) {
  ClusterSpec rails = LoadExample("two-servers-rails.yaml");
  const ClusterSpec lists = LoadExample("two-servers.yaml");
  EXPECT_NE(rails.digest(), lists.digest());
  rails.set_digest(lists.digest());
  EXPECT_EQ(rails.DebugString(), lists.DebugString());
}

TEST(ExamplesTest, A2ClusterHasAGateway) {
  const ClusterSpec spec = LoadExample("atlas-a2.yaml");
  ASSERT_EQ(spec.servers_size(), 16);
  EXPECT_EQ(spec.servers(15).host(), "a2-16");
  EXPECT_EQ(spec.servers(0).devices(0).address(), "10.20.0.1");
  EXPECT_EQ(spec.servers(15).devices(7).address(), "10.20.0.128");
  EXPECT_EQ(spec.servers(15).devices(7).gateway(), "10.20.0.254");
  EXPECT_EQ(spec.servers(15).devices(7).detect_address(), "10.20.0.254");
}

TEST(ExamplesTest, A3ClusterHasASubnetPerRack) {
  const ClusterSpec spec = LoadExample("atlas-a3.yaml");
  ASSERT_EQ(spec.servers_size(), 24);
  ASSERT_EQ(spec.servers(23).devices_size(), 16);
  EXPECT_EQ(spec.servers(0).devices(0).address(), "10.30.0.1");
  EXPECT_EQ(spec.servers(12).host(), "rack2n01");
  EXPECT_EQ(spec.servers(12).address(), "10.11.2.1");
  EXPECT_EQ(spec.servers(12).devices(0).address(), "10.30.1.1");
  EXPECT_EQ(spec.servers(23).devices(15).address(), "10.30.1.192");
  EXPECT_EQ(spec.servers(23).devices(15).gateway(), "10.30.1.254");
}

TEST(ExamplesTest, Ascend950ClusterHasOneAddressADevice) {
  const ClusterSpec spec = LoadExample("ascend-950.yaml");
  EXPECT_EQ(spec.product(), "ascend-950");
  ASSERT_EQ(spec.servers_size(), 8);
  ASSERT_EQ(spec.servers(7).devices_size(), 8);
  EXPECT_EQ(spec.servers(0).devices(0).address(), "10.51.0.1");
  EXPECT_EQ(spec.servers(7).devices(7).address(), "10.51.0.64");
  EXPECT_EQ(spec.servers(7).devices(7).detect_address(), "10.51.0.254");
}

TEST(ExamplesTest, LargeClusterHas9216Addresses) {
  const ClusterSpec spec = LoadExample("large-1152.yaml");
  ASSERT_EQ(spec.servers_size(), 1152);
  EXPECT_EQ(spec.servers(1151).host(), "rack64n18");
  EXPECT_EQ(spec.servers(0).address(), "10.10.0.1");
  EXPECT_EQ(spec.servers(1151).address(), "10.10.4.128");
  EXPECT_EQ(spec.servers(0).devices(0).address(), "10.20.0.1");
  EXPECT_EQ(spec.servers(1151).devices(7).address(), "10.20.36.0");
  EXPECT_EQ(spec.servers(1151).devices(7).netmask(), "255.255.192.0");
  EXPECT_EQ(spec.servers(1151).devices(7).gateway(), "10.20.63.254");
}

TEST(ExamplesTest, EveryExampleFitsOnAScreenOrIsAList) {
  for (const char* name :
       {"two-servers-rails.yaml", "atlas-a2.yaml", "atlas-a3.yaml",
        "ascend-950.yaml", "large-1152.yaml"}) {
    const std::string text =
        ReadRunfile(std::string("config/examples/") + name);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40) << name;
  }
}

// Loads what SpecToYaml made of `spec`, with the old digest.
ClusterSpec Again(const ClusterSpec& spec) {
  ClusterSpec again = Load(SpecToYaml(spec));
  again.set_digest(spec.digest());
  return again;
}

TEST(SpecToYamlTest, EveryExampleComesBackTheSame) {
  for (const char* name :
       {"two-servers.yaml", "two-servers-rails.yaml", "atlas-a2.yaml",
        "atlas-a3.yaml", "ascend-950.yaml", "large-1152.yaml"}) {
    const ClusterSpec spec = LoadExample(name);
    EXPECT_EQ(Again(spec).DebugString(), spec.DebugString()) << name;
  }
}

TEST(SpecToYamlTest, EverySettingComesBackTheSame) {
  for (const char* name : {"lists.yaml", "rails.yaml"}) {
    const ClusterSpec spec =
        Load(ReadRunfile(std::string("tests/testdata/spec/cluster/") + name));
    EXPECT_EQ(Again(spec).DebugString(), spec.DebugString()) << name;
  }
}

TEST(SpecToYamlTest, WhatKeepsRoceFromLosingPacketsComesBackTheSame) {
  const ClusterSpec spec =
      Load(File("hccl: {rdma_tc: 132, rdma_sl: 4}\n"
                "lossless: {pfc: \"0,0,0,0,1,0,0,0\", dscp_to_tc: \"33:1\", "
                "roce_port: 4791}\n"));
  EXPECT_THAT(SpecToYaml(spec), HasSubstr("dscp_to_tc: \"33:1\"\n"));
  EXPECT_EQ(Again(spec).DebugString(), spec.DebugString());
}

TEST(SpecToYamlTest, NamesThatYamlReadsAsNothingAreQuoted) {
  const std::string text = absl::StrReplaceAll(
      File(), {{"n[0-1]", "[\"null\", \"Null\"]"}, {"demo", "\"null\""}});
  const ClusterSpec spec = Load(text);
  EXPECT_EQ(spec.servers(0).host(), "null");
  EXPECT_EQ(Again(spec).DebugString(), spec.DebugString());
}

TEST(SpecToYamlTest, ANumberThatTheFileDoesNotNameIsStillNotNamed) {
  const ClusterSpec silent = Load(File());
  EXPECT_THAT(SpecToYaml(silent),
              HasSubstr("base_port: auto  # 60000\n  port_count: auto  # 32\n"
                        "kernel:\n  somaxconn: auto  # 65535\n"
                        "  tcp_max_syn_backlog: auto  # 65535\n"));
  EXPECT_EQ(Again(silent).DebugString(), silent.DebugString());
  const ClusterSpec named =
      Load(File("hccl: {base_port: 60000}\n"
                "kernel: {somaxconn: 65535, tcp_max_syn_backlog: auto}\n"));
  EXPECT_FALSE(named.hccl().base_port_auto());
  EXPECT_FALSE(named.kernel().somaxconn_auto());
  EXPECT_TRUE(named.kernel().tcp_max_syn_backlog_auto());
  EXPECT_EQ(Again(named).DebugString(), named.DebugString());
}

TEST(SpecToYamlTest, ReadsWell) {
  const std::string yaml = SpecToYaml(
      Load(File("  gateway: 254\n  detect_address: \"peer(1-n, d)\"\n")));
  EXPECT_THAT(yaml, HasSubstr("servers:\n  - hosts: n0\n    address: 10.9.0.1\n"
                              "  - hosts: n1\n    address: 10.9.0.2\n"));
  EXPECT_THAT(yaml, HasSubstr("devices:\n  ids: 0-7\n"
                              "  netmask: 255.255.255.0\n  addresses:\n"
                              "    n0: [10.20.0.1, 10.20.0.2,"));
  EXPECT_THAT(yaml, HasSubstr("  gateway: 10.20.0.254\n  detect_address:\n"
                              "    n0: [10.20.0.9, "));
  EXPECT_THAT(yaml, HasSubstr("port_count: auto  # 32\n"));
  EXPECT_THAT(yaml, HasSubstr("firewall: disabled\n"));
  EXPECT_THAT(yaml, HasSubstr("deadlines:\n  command: 10s\n  host: 30s\n"
                              "  run: 1m\n"));
}

TEST(SpecToYamlTest, ARackComesBackWithItsHosts) {
  const std::string pod = absl::StrCat(kSuperPod, "roce: unused\n");
  const ClusterSpec named =
      Load(absl::StrReplaceAll(pod, {{"10.9.0.1 + n}",
                                      "10.9.0.1 + n, rack: \"null\"}, "
                                      "{hosts: m1, address: 10.9.0.9}"}}));
  EXPECT_EQ(named.servers(0).rack(), "null");
  EXPECT_EQ(named.servers(1).rack(), "null");
  EXPECT_EQ(named.servers(2).rack(), "");
  EXPECT_EQ(Again(named).DebugString(), named.DebugString());
}

TEST(SpecToYamlTest, DevicesThatDifferByHostComeBackTheSame) {
  const ClusterSpec spec = Load(
      File("  ids: {n1: 0-3}\n  gateway: [254, none, none, none, none, none, "
           "none, 253]\n  switch: [leaf-0, \"6c:b1:58:00:00:01\", none, none, "
           "none, none, none, 10.1.1.1]\njob: all-servers\n"));
  EXPECT_EQ(spec.servers(0).devices_size(), 8);
  EXPECT_EQ(spec.servers(1).devices_size(), 4);
  EXPECT_EQ(spec.servers(1).devices(1).switch_name(), "6c:b1:58:00:00:01");
  EXPECT_TRUE(spec.one_job());
  EXPECT_THAT(SpecToYaml(spec),
              HasSubstr("  ids:\n    n0: 0-7\n    n1: 0-3\n"));
  EXPECT_EQ(Again(spec).DebugString(), spec.DebugString());
}

TEST(LoadSpecTest, ADuplicateKeyDoesNotHideLaterMistakes) {
  const std::string message(LoadSpec("c.yaml", R"(version: 1
name: demo
product: atlas-training
hccl:
  base_port: 60000
hccl:
  base_port: 7
  base_prot: 1
servers:
  - hosts: s[0-1]
    address: 10.0.0.[1-2]
    address: 10.0.0.[1-3]
    address: 10.0.0.1000
devices:
  netmask: 255.255.255.0
  rails: [{device: 0-7, subnet: "10.1.[0-7].0/24", host: 1 + n}]
devices: {rails: 5}
mut: 1
)")
                                .status()
                                .message());
  for (const char* line :
       {"c.yaml:6:1: key \"hccl\" stands twice, first at 4:1",
        "c.yaml:7:14: hccl.base_port is \"7\"",
        "c.yaml:8:3: unknown key \"base_prot\"",
        "c.yaml:12:5: key \"address\" stands twice, first at 11:5",
        "c.yaml:12:14: servers[0].address has 3 addresses",
        "c.yaml:13:14: servers[0].address: address \"10.0.0.1000\"",
        "c.yaml:17:18: devices.rails", "c.yaml:18:1: unknown key \"mut\""}) {
    EXPECT_THAT(message, HasSubstr(line));
  }
  // Each is named once, even if read two or three times.
  const size_t mut = message.find("\"mut\", expected");
  EXPECT_EQ(message.find("\"mut\", expected", mut + 1), std::string::npos)
      << message;
}

}  // namespace
}  // namespace clusterd
