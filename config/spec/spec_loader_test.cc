#include "config/spec/spec_loader.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/words/message.h"
#include "tests/support/wait/telling.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty,
    ::testing::Matcher, ::testing::Not;

ClusterSpec LoadExample(const std::string& name) {
  const absl::StatusOr<ClusterSpec> spec =
      LoadSpec(name, TestData("config/examples/" + name));
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

absl::Status Wrong(absl::string_view text) {
  absl::Status status = LoadSpec("f", text).status();
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return status;
}

// The mistake in line 9 of File(line).
absl::Status WrongLine(absl::string_view line) {
  return Wrong(File(absl::StrCat(line, "\n")));
}

// File() for another product, with further lines.
std::string Training(absl::string_view more = "") {
  return absl::StrReplaceAll(File(more), {{"atlas-a2", "atlas-training"}});
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
  EXPECT_EQ(spec.hccl().ShortDebugString(),
            "base_port: 60000 port_count: 32 port_count_auto: true "
            "base_port_auto: true");
  EXPECT_EQ(spec.kernel().ShortDebugString(),
            "somaxconn: 65535 tcp_max_syn_backlog: 65535 somaxconn_auto: true "
            "tcp_max_syn_backlog_auto: true");
  EXPECT_EQ(spec.firewall(), FIREWALL_DISABLED);
  EXPECT_EQ(spec.deadlines().ShortDebugString(),
            "command_ms: 10000 host_ms: 30000 run_ms: 60000");
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
  EXPECT_EQ(spec.servers(1).devices(7).ShortDebugString(),
            "id: 7 address: \"10.20.0.16\" netmask: \"255.255.255.0\" "
            "gateway: \"10.20.0.254\" detect_address: \"10.20.0.254\"");
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
  EXPECT_EQ(spec.hccl().ShortDebugString(),
            "base_port: 50000 port_count: 64 rdma_tc: 132 rdma_sl: 0");
  EXPECT_EQ(spec.kernel().ShortDebugString(),
            "somaxconn: 1024 tcp_max_syn_backlog: 2048 persistent: true");
  EXPECT_EQ(spec.firewall(), FIREWALL_OPEN_PORTS);
  EXPECT_EQ(spec.deadlines().ShortDebugString(),
            "command_ms: 500 host_ms: 60000 run_ms: 60000");
  EXPECT_TRUE(spec.has_tls());
  EXPECT_FALSE(spec.tls());
  EXPECT_EQ(spec.mtu(), 4200u);
  EXPECT_EQ(spec.clock_skew_ms(), 2000u);
  EXPECT_EQ(spec.rendezvous_port(), 29500u);
  EXPECT_EQ(spec.ssh_port(), 22u);
  EXPECT_EQ(spec.domain(), "dc1.example.com");
  EXPECT_EQ(
      spec.lossless().ShortDebugString(),
      "pfc: \"0,0,0,0,1,0,0,0\" dscp_to_tc: \"33:1,46:2\" roce_port: 4791");
  EXPECT_EQ(
      Load(File("lossless: {dscp_to_tc: \"33:0\"}\n")).lossless().dscp_to_tc(),
      "0:0");
  EXPECT_EQ(Load(File("firewall: ignore\n")).firewall(), FIREWALL_IGNORE);
}

TEST(LoadSpecTest, DigestIsTheSha256OfTheTextAndModeIsTheDefaultUnlessGiven) {
  // printf of File() | sha256sum
  EXPECT_EQ(Load(File()).digest(),
            "216e754ed9cd8f3b9d7fcfcc60bd8ba46eaab490a523620ffaeccd03649ef976");
  EXPECT_NE(Load(File("# a comment\n")).digest(), Load(File()).digest());
  EXPECT_EQ(Load(Training()).mode(), "smp");
  EXPECT_EQ(Load(Training("mode: amp\n")).mode(), "amp");
}

TEST(LoadSpecTest, RefusesWhatIsNoSpecAtAll) {
  const std::vector<Refused> kRefused = {
      {"", Tells("f:1:1: ", "msg-spec-file-empty")},
      {"~\n", Tells("f:1:1: ", "msg-spec-file-empty")},
      {"just text\n",
       Tells("f:1:1: ", "spec-the-file", "\"just text\"", "spec-mapping-with")},
      {"- a\n", Tells("spec-the-file", "spec-a-list")},
      {std::string((32 << 20) + 1, 'a'),
       Tells("msg-spec-file-too-large", 33554433, 33554432)},
      {absl::StrReplaceAll(File(), {{"version: 1", "version: 2"}}),
       Tells("f:1:10: ", "version", "\"2\"", "spec-a-number", 1, 1)},
      {absl::StrReplaceAll(File(), {{"atlas-a2", "atlas-a4"}}),
       Tells("f:3:10: ", "msg-spec-product", "atlas-a4", "did-you-mean",
             "atlas-a2")},
      {Training("mode: apm\n"),
       Tells("f:9:7: ", "msg-spec-mode", "apm", "atlas-training", "smp, amp",
             "did-you-mean", "amp")},
  };
  ExpectEachAlone(Wrong, kRefused);
  // Names every missing key and cluster names fit into certificates.
  EXPECT_THAT(MessageLines(Wrong("firewall: ignore\n")),
              ElementsAre(Tells("f:1:1: ", "msg-spec-missing", "version"),
                          Tells("f:1:1: ", "msg-spec-missing", "name"),
                          Tells("f:1:1: ", "msg-spec-missing", "product"),
                          Tells("f:1:1: ", "msg-spec-missing", "servers"),
                          Tells("f:1:1: ", "msg-spec-missing", "devices")));
  for (absl::string_view name : {"Demo", "a b", "-a", "a/b", "a_", "集群"}) {
    EXPECT_THAT(Wrong(absl::StrReplaceAll(
                    File(), {{"name: demo", absl::StrCat("name: ", name)}})),
                Tells("f:2:7: ", "name", "spec-cluster-name"))
        << name;
  }
}

TEST(LoadSpecTest, SettingsHaveRangesAndTypes) {
  const std::vector<Refused> kRefused = {
      {"name: other",
       Tells("f:9:1: ", "msg-spec-key-twice", "\"name\"", "2:1")},
      {"firewal: ignore", Tells("f:9:1: ", "msg-spec-unknown-key",
                                "\"firewal\"", "did-you-mean", "firewall")},
      {"hccl: {baseport: 1}", Tells("msg-spec-unknown-key", "\"baseport\"",
                                    "hccl", "did-you-mean", "base_port")},
      {"hccl: {base_port: 65520}",
       Tells("f:9:19: ", "msg-spec-base-port", "hccl.base_port", 65520, 32,
             65551, 65504, "spec-or-cann")},
      {"hccl: {base_port: 65520, port_count: 17}",
       Tells("msg-spec-base-port", 65520, 17, 65536, 65519)},
      {"hccl: {base_port: 1023}",
       Tells("hccl.base_port", "\"1023\"", "spec-a-number", 1024, 65520)},
      {"hccl: {port_count: 0}",
       Tells("spec-where-not", "hccl.port_count", "auto", "\"0\"")},
      {"hccl: {port_count: \"auto\"}",
       Tells("hccl.port_count", "spec-quoted-text", "\"auto\"",
             "spec-a-number")},
      {"hccl: {rdma_tc: 133}",
       Tells("hccl.rdma_tc", 133, "spec-multiple-of-4")},
      {"hccl: {rdma_sl: 8}", Tells("hccl.rdma_sl", "\"8\"")},
      {"rendezvous_port: 60031", Tells("f:9:18: ", "rendezvous_port", 60031,
                                       "spec-port-outside", 60000, 60031)},
      {"ssh_port: 60000",
       Tells("f:9:11: ", "ssh_port", 60000, "spec-port-outside", 60000, 60031)},
      {"ssh_port: 22\nrendezvous_port: 22",
       Tells("f:9:11: ", "msg-spec-port-twice", "ssh_port", 22)},
      {"ssh_port: 65536", Tells("ssh_port", "spec-a-number", 1, 65535)},
      {"ports: [0]", Tells("msg-spec-no-port", "ports")},
      {"ports: [ray]", Tells("ports", "value-port", "ray")},
      {"deadlines: {command: 40s}",
       Tells("f:9:22: ", "msg-spec-deadline-order", "deadlines.host", "30s",
             "40s", "deadlines.command")},
      {"deadlines: {host: 5s}",
       Tells("f:9:19: ", "msg-spec-deadline-order", "deadlines.host", "5s",
             "10s", "deadlines.command")},
      {"deadlines: {run: 20s}",
       Tells("f:9:18: ", "msg-spec-deadline-order", "deadlines.run", "20s",
             "30s", "deadlines.host")},
      {"deadlines: {command: 10}",
       Tells("f:9:22: ", "deadlines.command", "\"10\"", "spec-a-duration",
             "100ms", "5m", "10s", "500ms")},
      {"deadlines: {host: 31m, run: 1h}", Tells("deadlines.host", "\"31m\"")},
      {"deadlines: {run: 3h}",
       Tells("deadlines.run", "spec-a-duration", "100ms", "2h")},
      {"kernel: {somaxconn: 0}",
       Tells("kernel.somaxconn", "\"0\"", "spec-a-number", 1)},
      {"kernel: {tcp_max_syn_backlog: 2147483648}",
       Tells("kernel.tcp_max_syn_backlog", "spec-a-number", 1, 2147483647)},
      {"kernel: {persistent: yes}",
       Tells("kernel.persistent", "spec-true-or-false")},
      {"kernel: 65535", Tells("kernel", "\"65535\"", "spec-mapping-with",
                              "somaxconn, tcp_max_syn_backlog, persistent")},
      {"firewall: disable", Tells("firewall", "did-you-mean", "disabled")},
      {"tls: 1", Tells("tls", "\"1\"", "spec-true-or-false")},
      {"mtu: 1279", Tells("mtu", "\"1279\"", "spec-a-number", 1280, 9702)},
      {"job: all", Tells("job", "spec-a-word", "all-servers")},
      {"lossless: {pfc: \"1,1,1,1,1,0,0,0\"}",
       Tells("msg-spec-too-many-priorities", "lossless.pfc", 5, 4)},
      {"lossless: {pfc: \"0,0,0,0,1,0,0\"}",
       Tells("lossless.pfc", "msg-spec-pfc", "0,0,0,0,1,0,0")},
      {"lossless: {dscp_to_tc: \"64:1\"}", Tells("value-dscp", "64:1")},
      {"lossless: {dscp_to_tc: \"33:1,33:2\"}", Tells("value-dscp", "33:2")},
      {"lossless: {roce_port: 4096}",
       Tells("lossless.roce_port", "\"4096\"", "spec-a-number", 4097, 65535)},
      {"domain: .example", Tells("domain", "\".example\"", "spec-domain")},
      {"enforce: {sysctrl: true}",
       Tells("msg-spec-unknown-key", "\"sysctrl\"", "did-you-mean", "sysctl")},
      {"enforce: {observe: true}",
       Tells("msg-spec-unknown-key", "\"observe\"", "enforce")},
      {"enforce: {sysctl: yes}", Tells("enforce.sysctl", "spec-true-or-false")},
      {"enforce: [sysctl]", Tells("enforce", "spec-mapping-with")},
  };
  ExpectEachAlone(WrongLine, kRefused);
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
                Tells("hccl.cann", "spec-cann-version"))
        << cann;
  }
  // HCCL ports end below 65536.
  EXPECT_EQ(Load(File("hccl: {base_port: 65504}\n")).hccl().base_port(),
            65504u);
  EXPECT_EQ(
      Load(File("hccl: {base_port: 65520, cann: 8.0.0}\n")).hccl().port_count(),
      16u);
  EXPECT_EQ(Load(File("rendezvous_port: 60032\n")).rendezvous_port(), 60032u);
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
              Tells("msg-spec-too-many-ranges", "ports", 33, 32));
}

TEST(LoadSpecTest, PfcHasAsManyPrioritiesAsTheProductsToolTakes) {
  const std::string all = "lossless: {pfc: \"1,1,1,1,1,1,1,1\"}\n";
  EXPECT_EQ(Load(Training(all)).lossless().pfc(), "1,1,1,1,1,1,1,1");
  EXPECT_THAT(WrongLine(all), Tells("msg-spec-too-many-priorities", 8, 4));
  EXPECT_EQ(WrongLine("lossless: {pfc: \"1,1,1,1,0,0,0,0\"}"),
            absl::OkStatus());
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
  // Wants addresses unless RoCE is unused.
  const auto wrong = [](const std::string& more) {
    return Wrong(absl::StrCat(kSuperPod, more));
  };
  EXPECT_THAT(wrong(""), Tells("msg-spec-missing", "devices"));
  EXPECT_THAT(wrong("roce: used\n"), Tells("msg-spec-missing", "devices"));
  EXPECT_THAT(wrong("roce: off\n"), Tells("roce", "\"off\"", "spec-a-word"));
  const absl::Status unused =
      wrong("roce: unused\ndevices: {netmask: 255.255.255.0, rails: []}\n");
  for (const char* key : {"devices.netmask", "devices.rails"}) {
    EXPECT_THAT(unused, Tells("msg-spec-beside-roce-unused", key));
  }
  EXPECT_THAT(unused, Not(Tells("msg-spec-unknown-key")));
  EXPECT_THAT(wrong("roce: unused\ndevices: {netmsk: 255.255.255.0}\n"),
              Tells("msg-spec-unknown-key", "\"netmsk\"", "devices"));
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
  // Enforces only the kinds that say true.
  EXPECT_THAT(Load(File()).enforce(), IsEmpty());
  EXPECT_THAT(
      Load(File("enforce:\n  hccn-conf: true\n  tls: false\n  sysctl: true\n"))
          .enforce(),
      ElementsAre("sysctl", "hccn-conf"));
  // Reports ten mistakes in one run.
  const absl::Status status =
      LoadSpec("cluster.yaml",
               TestData("tests/testdata/spec/ten-mistakes.yaml"))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(absl::StrCat(status.message(), "\n"),
            TestData("tests/testdata/spec/ten-mistakes.txt"));
}

TEST(LoadSpecTest, ReportsMistakesInTheUsersLanguage) {
  const std::string text = TestData("tests/testdata/spec/ten-mistakes.yaml");
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
  // Rails expand to the same spec as lists.
  ClusterSpec rails = LoadExample("two-servers-rails.yaml");
  const ClusterSpec lists = LoadExample("two-servers.yaml");
  EXPECT_NE(rails.digest(), lists.digest());
  rails.set_digest(lists.digest());
  EXPECT_EQ(rails.DebugString(), lists.DebugString());
}

TEST(ExamplesTest, EveryDeviceHasItsAddressAndGateway) {
  const struct {
    const char* file;
    int servers;
    int devices;
    const char* first;
    const char* host;
    const char* address;
    const char* last;
    const char* gateway;
  } kExamples[] = {
      {"atlas-a2.yaml", 16, 8, "10.20.0.1", "a2-16", "10.10.0.26",
       "10.20.0.128", "10.20.0.254"},
      {"atlas-a3.yaml", 24, 16, "10.30.0.1", "rack2n12", "10.11.2.12",
       "10.30.1.192", "10.30.1.254"},
      {"ascend-950.yaml", 8, 8, "10.51.0.1", "a5-08", "10.50.0.18",
       "10.51.0.64", "10.51.0.254"},
      {"large-1152.yaml", 1152, 8, "10.20.0.1", "rack64n18", "10.10.4.128",
       "10.20.36.0", "10.20.63.254"},
  };
  for (const auto& example : kExamples) {
    SCOPED_TRACE(example.file);
    const ClusterSpec spec = LoadExample(example.file);
    ASSERT_EQ(spec.servers_size(), example.servers);
    const ServerSpec& last = *spec.servers().rbegin();
    ASSERT_EQ(last.devices_size(), example.devices);
    EXPECT_EQ(spec.servers(0).devices(0).address(), example.first);
    EXPECT_EQ(last.host(), example.host);
    EXPECT_EQ(last.address(), example.address);
    EXPECT_EQ(last.devices().rbegin()->address(), example.last);
    EXPECT_EQ(last.devices().rbegin()->gateway(), example.gateway);
    EXPECT_EQ(last.devices().rbegin()->detect_address(), example.gateway);
  }
  // Every example fits on a screen or is a list.
  for (const char* name :
       {"two-servers-rails.yaml", "atlas-a2.yaml", "atlas-a3.yaml",
        "ascend-950.yaml", "large-1152.yaml"}) {
    const std::string text = TestData(std::string("config/examples/") + name);
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
  // Every setting comes back the same.
  for (const char* name : {"lists.yaml", "rails.yaml"}) {
    const ClusterSpec spec =
        Load(TestData(std::string("tests/testdata/spec/cluster/") + name));
    EXPECT_EQ(Again(spec).DebugString(), spec.DebugString()) << name;
  }
  // The settings of lossless RoCE come back the same.
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
  // A number that the file does not name is still not named.
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
  // A rack comes back with its hosts.
  const std::string pod = absl::StrCat(kSuperPod, "roce: unused\n");
  const ClusterSpec named =
      Load(absl::StrReplaceAll(pod, {{"10.9.0.1 + n}",
                                      "10.9.0.1 + n, rack: \"null\"}, "
                                      "{hosts: m1, address: 10.9.0.9}"}}));
  EXPECT_EQ(named.servers(0).rack(), "null");
  EXPECT_EQ(named.servers(1).rack(), "null");
  EXPECT_EQ(named.servers(2).rack(), "");
  EXPECT_EQ(Again(named).DebugString(), named.DebugString());
  // Devices that differ by host come back the same.
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
  const absl::Status wrong = LoadSpec("c.yaml", R"(version: 1
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
                                 .status();
  for (const Telling& error :
       {Tells("c.yaml:6:1: ", "msg-spec-key-twice", "\"hccl\"", "4:1"),
        Tells("c.yaml:7:14: ", "hccl.base_port", "\"7\""),
        Tells("c.yaml:8:3: ", "msg-spec-unknown-key", "\"base_prot\""),
        Tells("c.yaml:12:5: ", "msg-spec-key-twice", "\"address\"", "11:5"),
        Tells("c.yaml:12:14: ", "msg-spec-address-count", "servers[0].address",
              3),
        Tells("c.yaml:13:14: ", "servers[0].address", "value-ipv4",
              "10.0.0.1000"),
        Tells("c.yaml:17:18: ", "devices.rails"),
        Tells("c.yaml:18:1: ", "msg-spec-unknown-key", "\"mut\"")}) {
    EXPECT_THAT(wrong, error);
  }
  // Each is named once, even if read two or three times.
  const std::vector<FindingValue> lines = MessageLines(wrong);
  const Matcher<FindingValue> mut = Tells("\"mut\"");
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [&](const auto& line) { return mut.Matches(line); }),
            1);
}

}  // namespace
}  // namespace clusterd
