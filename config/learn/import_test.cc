#include "config/learn/import.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/learn/spec_writer.h"
#include "config/spec/spec_loader.h"
#include "config/words/subject_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> Texts(const std::vector<FindingValue>& notes) {
  return Each<std::string>(notes, ValueText);
}

// Follows the sample of the Deployer's documentation (deployer_0025), with the
// quotes of its own writer of the file, and set_hostname.
constexpr char kInventory[] = R"([hccn]
10.10.0.11 ansible_ssh_user="root" ansible_ssh_pass="hush" deviceip=10.20.0.1,10.20.0.2,10.20.0.3,10.20.0.4,10.20.0.5,10.20.0.6,10.20.0.7,10.20.0.8 detectip=10.20.0.254,10.20.0.254,10.20.0.254,10.20.0.254,10.20.0.254,10.20.0.254,10.20.0.254,10.20.0.254 // one line for each node
10.10.0.12 ansible_ssh_user="root" deviceip=10.20.0.9,10.20.0.10,10.20.0.11,10.20.0.12,10.20.0.13,10.20.0.14,10.20.0.15,10.20.0.16 detectip=10.20.0.254,10.20.0.254,10.20.0.254,10.20.0.254,10.20.0.254,10.20.0.254,10.20.0.254,10.20.0.254

[hccn:vars]
gateways="10.20.0.254"
netmask="255.255.255.0"
roce_port=4791
bitmap="0,0,0,1,0,0,0,0"
dscp_tc="25:3,"
common_network="0.0.0.0/0"

[master]

[worker]
localhost ansible_connection='local' ansible_ssh_user='root'
10.10.0.11 ansible_ssh_user="root" set_hostname="node01" npu_num=8
10.10.0.12 ansible_ssh_user="root" set_hostname="node02" npu_num=8

[all:vars]
SCALE="false"
)";

constexpr char kRankTable[] = R"({"version":"1.0","status":"completed",
"server_count":"2","server_list":[
{"server_id":"10.10.0.11","device":[
{"device_id":"0","device_ip":"10.20.0.1","rank_id":"0"},
{"device_id":"1","device_ip":"10.20.0.2","rank_id":"1"}]},
{"server_id":"10.10.0.12","device":[
{"device_id":"0","device_ip":"10.20.0.3","rank_id":"2"},
{"device_id":"1","device_ip":"10.20.0.4","rank_id":"3"}]}]})";

constexpr char kHosts[] = R"(127.0.0.1 localhost
::1 localhost ip6-localhost
10.10.0.11 node01.dc1.example node01   # rack 1
10.10.0.12 node02.dc1.example node02
)";

ImportOptions Options(const std::string& product = "atlas-a2") {
  ImportOptions options;
  options.cluster = "demo";
  options.product = product;
  return options;
}

absl::StatusOr<SeenCluster> Import(const std::vector<std::string>& texts,
                                   const ImportOptions& options = Options()) {
  std::vector<ImportedFile> files;
  for (const std::string& text : texts) {
    files.push_back({absl::StrCat("file", files.size()), text});
  }
  return ImportCluster(files, options);
}

// The same; the test fails if a mistake is found.
SeenCluster Seen(const std::vector<std::string>& texts) {
  return Import(texts).value();
}

WrittenSpec Written(const SeenCluster& seen) { return WriteSpec(seen).value(); }

ClusterSpec SpecOf(const absl::StatusOr<SeenCluster>& seen) {
  EXPECT_TRUE(seen.ok()) << seen.status();
  if (!seen.ok()) return {};
  const WrittenSpec written = Written(*seen);
  const auto spec = LoadSpec("cluster.yaml", written.yaml);
  EXPECT_TRUE(spec.ok()) << spec.status() << written.yaml;
  return spec.ok() ? *spec : ClusterSpec();
}

std::vector<std::string> Names(const SeenCluster& cluster) {
  std::vector<std::string> names;
  for (const SeenHost& host : cluster.hosts) {
    names.push_back(absl::StrCat(
        host.name, " ", host.address ? host.address->ToString() : "none"));
  }
  return names;
}

TEST(ImportClusterTest, TakesAddressesGatewaysAndNamesOfADeployersInventory) {
  const ClusterSpec spec = SpecOf(Import({kInventory}));
  ASSERT_EQ(spec.servers_size(), 2);
  EXPECT_EQ(spec.servers(1).host(), "node02");
  EXPECT_EQ(spec.servers(1).address(), "10.10.0.12");
  EXPECT_EQ(spec.servers(1).devices(7).address(), "10.20.0.16");
  EXPECT_EQ(spec.servers(1).devices(7).netmask(), "255.255.255.0");
  EXPECT_EQ(spec.servers(0).devices(3).gateway(), "10.20.0.254");
  EXPECT_EQ(spec.servers(0).devices(3).detect_address(), "10.20.0.254");
  EXPECT_EQ(spec.lossless().pfc(), "0,0,0,1,0,0,0,0");
  EXPECT_EQ(spec.lossless().dscp_to_tc(), "25:3");
  EXPECT_EQ(spec.lossless().roce_port(), 4791);
}

TEST(ImportClusterTest, DropsNoAddressWithoutAWord) {
  const auto written = WriteSpec(*Import(
      {"[hccn]\n10.0.0.1 deviceip=10.20.0.1,10.20.0.2,10.20.0.3,10.20.0.4\n"
       "10.0.0.2 deviceip=10.20.0.5,10.20.0.6\n"
       "[hccn:vars]\nnetmask=255.255.255.0\n"}));
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_THAT(written->yaml, HasSubstr("ids: 0-1"));
  EXPECT_THAT(written->yaml,
              HasSubstr("devices 2-3: " + Say("spec-has-unplanned-address")));
  for (const char* list : {"10.20.0.1,,10.20.0.3", "10.20.0.1, 10.20.0.2"}) {
    EXPECT_THAT(
        Import({absl::StrCat("[hccn]\n10.0.0.1 deviceip=", list)}).status(),
        Tells("msg-learn-empty-entry", "deviceip"));
  }
  // Takes variables with blanks around their sign.
  const ClusterSpec spec = SpecOf(Import({absl::StrReplaceAll(
      kInventory, {{"gateways=", "gateways = "},
                   {"netmask=", "netmask\t= "},
                   {"roce_port=4791", "roce_port = 4792"}})}));
  ASSERT_EQ(spec.servers_size(), 2);
  EXPECT_EQ(spec.servers(0).devices(0).netmask(), "255.255.255.0");
  EXPECT_EQ(spec.servers(0).devices(3).gateway(), "10.20.0.254");
  EXPECT_EQ(spec.lossless().roce_port(), 4792);
  // Says what of an inventory is not taken.
  const SeenCluster seen = Seen({absl::StrReplaceAll(
      kInventory,
      {{"[master]", "[hccn:children]\nextra\n[extra]\n10.10.0.13 a=b\n"},
       {"gateways=\"10.20.0.254\"", "gateways=\"10.20.0.254,10.9.0.254\""}})});
  EXPECT_EQ(seen.hosts.size(), 2);
  EXPECT_THAT(
      seen.notes,
      ElementsAre(Tells("spec-note-groups", "\"file0\"", "[hccn:children]"),
                  Tells("spec-note-not-in-hccn", "\"file0\"", "10.10.0.13"),
                  Tells("spec-note-gateway-outside", "10.9.0.254")));
  EXPECT_THAT(WriteSpec(seen)->yaml, HasSubstr("# Note: gateway 10.9.0.254"));
  EXPECT_THAT(Import({kInventory})->notes, IsEmpty());
}

TEST(ImportClusterTest, NotesAreInTheUsersLanguageAndTheFileIsEnglish) {
  const SeenCluster seen = Seen({absl::StrReplaceAll(
      kInventory,
      {{"gateways=\"10.20.0.254\"", "gateways=\"10.20.0.254,10.9.0.254\""}})});
  const auto english = WriteSpec(seen);
  const InLanguage chinese(Language::kChinese);
  const auto written = WriteSpec(seen);
  ASSERT_TRUE(written.ok() && english.ok()) << written.status();
  EXPECT_EQ(written->yaml, english->yaml);
  EXPECT_THAT(Texts(written->notes),
              Contains("网关 10.9.0.254 不在任何设备的网段内，未采用"));
  EXPECT_THAT(written->pattern, HasSubstr("主机部分"));
  const absl::Status error = Import({""}).status();
  EXPECT_EQ(error.message(), "no file names a server");
  EXPECT_EQ(ValueText(MessageWords(error)), "没有文件列出服务器");
}

// Such a byte in a note used to make a cluster.yaml that does not load.
TEST(ImportClusterTest, EscapesWhatANoteQuotes) {
  const auto seen = Import({absl::StrReplaceAll(
      kInventory, {{"roce_port=4791", "netmas\xcdk=1\nroce_port=4791"}})});
  EXPECT_EQ(SpecOf(seen).lossless().roce_port(), 4791);
  EXPECT_THAT(WriteSpec(*seen)->yaml, HasSubstr("\"netmas\\xcdk\""));
}

TEST(ImportClusterTest, AnInventoryWithoutHccnIsAMistakeAndShowsNoPassword) {
  const std::string rows =
      "10.10.0.11 ansible_ssh_user=root ansible_ssh_pass=hush\n"
      "ansible_ssh_pass=hush\nansible_ssh_pass = \"hush\"\n";
  for (const std::string& text :
       {"[worker]\n" + rows, "[hccn:children]\nworker\n[worker]\n" + rows,
        "\xEF\xBB\xBF[worker]\n" + rows, rows,
        std::string("all:\n  ansible_ssh_pass: hush\n")}) {
    const absl::Status status = Import({text}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(status, Tells("msg-learn-no-hccn", "file0"));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hush")));
  }
  for (const std::string text :
       {"10.10.0.11 node01 pass=hush\n", "node01\npass=hush\n",
        "[hccn]\npass=hush deviceip=10.20.0.1\n", "pass=hush\n"}) {
    const absl::Status status = Import({text}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("\"pass\""));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hush")));
  }
  EXPECT_TRUE(Import({absl::StrCat("\xEF\xBB\xBF", kInventory)}).ok());
  for (const std::string line : {"netmask=x ansible_ssh_pass=hush\n",
                                 "gateways=x ansible_ssh_pass=hush\n"}) {
    const absl::Status status =
        Import({"[hccn]\na deviceip=10.20.0.1\n[hccn:vars]\n" + line}).status();
    EXPECT_THAT(status, Tells("msg-learn-two-settings"));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hush")));
  }
  ImportOptions options = Options();
  options.netmask = "255.255.255.0";
  EXPECT_TRUE(Import({absl::StrCat("\xEF\xBB\xBF", kRankTable)}, options).ok());
}

TEST(ImportClusterTest, NamesEveryMistakeOfAnInventoryByLineAndNoPassword) {
  const absl::Status status =
      Import({absl::StrReplaceAll(kInventory,
                                  {{"deviceip=10.20.0.1,", "deviceip=10.20.0,"},
                                   {"detectip=10.20.0.254,", "detectip="},
                                   {"255.255.255.0", "255.0.255.0"},
                                   {"=4791", "=80"},
                                   {"0,0,0,1", "0,0,0,2"},
                                   {"25:3,", "25:9,"},
                                   {"gateways=\"10.20.0.254", "gateways=\"::1"},
                                   {"\"node02\"", "\"no de\nname: x\""}})})
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const Telling& error :
       {Tells("file0:2:1: ", "deviceip"),
        Tells("file0:3:1: ", "msg-learn-detectip-count", 7, 8),
        Tells("file0:6:1: ", "msg-learn-address", "gateways"),
        Tells("file0:7:1: ", "netmask"),
        Tells("file0:8:1: ", "roce_port", "msg-spec-roce-port", 80),
        Tells("file0:9:1: ", "bitmap", "msg-spec-pfc"),
        Tells("file0:10:1: ", "dscp_tc", "value-dscp", "25:9"),
        Tells("file0:18:1: ", "msg-learn-host-name", "set_hostname",
              "\"no de\"")}) {
    EXPECT_THAT(status, error);
  }
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hush")));
}

TEST(ImportClusterTest, TakesARankTableAndNamesItsServersByAHostsFile) {
  ImportOptions options = Options();
  const absl::Status no_mask = Import({kRankTable, kHosts}, options).status();
  EXPECT_THAT(no_mask, Tells("msg-learn-no-netmask"));
  options.netmask = "255.255.255.0";
  const ClusterSpec spec = SpecOf(Import({kRankTable, kHosts}, options));
  ASSERT_EQ(spec.servers_size(), 2);
  EXPECT_EQ(spec.servers(0).host(), "node01.dc1.example");
  EXPECT_EQ(spec.servers(0).address(), "10.10.0.11");
  ASSERT_EQ(spec.servers(1).devices_size(), 2);
  EXPECT_EQ(spec.servers(1).devices(1).address(), "10.20.0.4");
  const absl::Status wrong =
      Import(
          {absl::StrReplaceAll(kRankTable, {{"\"10.20.0.2\"", "\"x\""},
                                            {"\"rank_id\":\"3\"", "\"r\":1"}})})
          .status();
  EXPECT_THAT(wrong, HasText("file0: server_list[0].device[1].device_ip"));
  EXPECT_THAT(wrong, HasText("file0: server_list[1].device[1].rank_id"));
  // A rank table with comments is named as that.
  for (const std::string comment : {"# of the guide\n", "\n  // rank 0\n"}) {
    const absl::Status status = Import({comment + kRankTable}).status();
    EXPECT_THAT(status, HasText("JSON has no comments"));
  }
}

TEST(ImportClusterTest, TakesARankTableOfASuperPod) {
  ImportOptions options = Options("atlas-a3-superpod");
  options.netmask = "255.255.255.0";
  const std::string table = absl::StrReplaceAll(
      kRankTable,
      {{"\"1.0\"", "\"1.2\""},
       {"\"rank_id\":\"0\"", "\"super_device_id\":\"0\",\"rank_id\":\"0\""},
       {"\"rank_id\":\"1\"", "\"super_device_id\":\"1\",\"rank_id\":\"1\""},
       {"\"rank_id\":\"2\"", "\"super_device_id\":\"2\",\"rank_id\":\"2\""},
       {"\"rank_id\":\"3\"", "\"super_device_id\":\"3\",\"rank_id\":\"3\""},
       {"]}]}",
        "]}],\"super_pod_list\":[{\"super_pod_id\":\"0\","
        "\"server_list\":[{\"server_id\":\"10.10.0.11\"},"
        "{\"server_id\":\"10.10.0.12\"}]}]}"}});
  const ClusterSpec spec = SpecOf(Import({table, kHosts}, options));
  ASSERT_EQ(spec.servers_size(), 2);
  EXPECT_EQ(spec.servers(1).host(), "node02.dc1.example");
  ASSERT_EQ(spec.servers(1).devices_size(), 2);
  EXPECT_EQ(spec.servers(1).devices(1).address(), "10.20.0.4");
  // Takes lines that end as on Windows.
  EXPECT_EQ(SpecOf(Import({absl::StrReplaceAll(kInventory, {{"\n", "\r\n"}})}))
                .DebugString(),
            SpecOf(Import({kInventory})).DebugString());
  EXPECT_THAT(Names(Seen({absl::StrReplaceAll(kHosts, {{"\n", "\r\n"}})})),
              ElementsAre("node01.dc1.example 10.10.0.11",
                          "node02.dc1.example 10.10.0.12"));
}

TEST(ImportClusterTest, HostsWithIpv6AddressesAloneAreLeftOutAndNamed) {
  const SeenCluster seen = Seen({"node[01-02]\n",
                                 "fd00::11 node01\nfd00::12 node02\n"
                                 "10.10.0.12 node02\n"});
  EXPECT_THAT(Names(seen), ElementsAre("node01 none", "node02 10.10.0.12"));
  const WrittenSpec written = Written(seen);
  EXPECT_THAT(written.notes, Contains(Tells("spec-note-no-address", "node01")));
  EXPECT_THAT(written.notes, Contains(Tells("spec-note-not-taken", "\"file1\"",
                                            "1-2", "spec-ipv6-not-planned")));
}

TEST(ImportClusterTest, OfANameWithTwoAddressesTheFirstIsTaken) {
  const SeenCluster seen = Seen({absl::StrCat(kHosts,
                                              "10.20.0.11 node01.dc1.example"
                                              "\n")});
  EXPECT_THAT(Names(seen), ElementsAre("node01.dc1.example 10.10.0.11",
                                       "node02.dc1.example 10.10.0.12"));
  EXPECT_TRUE(WriteSpec(seen).ok());
  // Takes a list of addresses and nodes by their DNS names.
  const SeenCluster plain = Seen({"10.10.0.11\n10.10.0.12\n"});
  EXPECT_THAT(Names(plain),
              ElementsAre("10.10.0.11 10.10.0.11", "10.10.0.12 10.10.0.12"));
  EXPECT_TRUE(WriteSpec(plain).ok());
}

TEST(ImportClusterTest, TakesAListOfNodesAndAHostsFileAndLeavesDevicesOpen) {
  const SeenCluster seen = Seen({"node[01-02]\n", kHosts});
  EXPECT_THAT(Names(seen),
              ElementsAre("node01 10.10.0.11", "node02 10.10.0.12"));
  const WrittenSpec written = Written(seen);
  EXPECT_EQ(written.pattern, "");
  EXPECT_THAT(written.yaml, HasSubstr("  - hosts: node[01-02]\n"
                                      "    address: 10.10.0.10 + name\n"));
  EXPECT_THAT(written.notes, ElementsAre(Tells("spec-note-fill-in")));
  const SeenCluster hosts_alone = Seen({kHosts});
  EXPECT_THAT(Names(hosts_alone), ElementsAre("node01.dc1.example 10.10.0.11",
                                              "node02.dc1.example 10.10.0.12"));
}

// sinfo repeats a node for each of its partitions.
TEST(ImportClusterTest, TakesNodesAsSinfoPrintsThemAndNoSlurmConf) {
  EXPECT_THAT(Names(Seen({"10.10.0.11 node01\n10.10.0.12 node02\n"
                          "10.10.0.11 node01\n"})),
              ElementsAre("node01 10.10.0.11", "node02 10.10.0.12"));
  const std::pair<const char*, const char*> files[] = {
      {"ClusterName=demo\nNodeName=node[01-02] NodeAddr=10.10.0.[11-12]\n",
       "\"NodeName\""},
      {"# nodes\nnodename = node01  NodeAddr =10.10.0.11 \\\n  CPUs=192\n",
       "\"nodename\""},
  };
  for (const auto& [text, key] : files) {
    EXPECT_THAT(MessageLines(Import({text}).status()),
                ElementsAre(Tells("file0:2:1: ", "msg-learn-slurm-conf", key)));
  }
}

// These lines name no server: "address_0" is not one.
TEST(ImportClusterTest, LinesOfHccnConfAreNamedWhateverTheirSeparator) {
  for (const std::string text :
       {"address_0 10.20.0.2\nnetmask_0 255.255.255.0\n",
        "address_0=10.20.0.2\n", "address_0 = 10.20.0.2\r\n",
        "address_0:10.20.0.2\nnetmask_0:255.255.255.0\n",
        "# of server a\n\naddress_0\t10.20.0.2", "gateway_7 10.20.0.254\n",
        "xsfp_reset_max_times_1=0\naddress_1=10.20.0.2\n"}) {
    const absl::Status status = Import({text}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(status, Tells("msg-learn-hccn-conf")) << text;
  }
  // A key of another file is not an IPv6 address.
  EXPECT_THAT(Import({"version: 1.0\nserver_list: []\n"}).status(),
              Tells("file0:1:1: ", "value-ipv6", "version:"));
  // An address beside a name is not a server.
  EXPECT_THAT(
      MessageLines(Import({"node[01-02]\nnode03 10.10.0.13\n"}).status()),
      ElementsAre(Tells("file0:2:1: ", "msg-learn-mixed")));
  EXPECT_TRUE(Import({"node01 node02\n10.10.0.13 10.10.0.14\n"}).ok());
}

TEST(ImportClusterTest, LinesThatAreNotTakenAreNotedFolded) {
  const SeenCluster hosts = Seen(
      {"127.0.0.1 localhost\n::1 localhost ip6-loopback\nff02::1 ip6-allnodes\n"
       "10.10.0.11 node01\nfd00::11 node01\nfd00::12 node02\n"
       "224.0.0.9 node03\n10.10.0.99 node01\n127.0.1.1 node04\n"
       "10.10.0.11 node01 alias\n"});
  EXPECT_THAT(hosts.notes,
              ElementsAre(Tells("spec-note-not-taken", "\"file0\"", "8",
                                "spec-has-another-address", "\"node01\""),
                          Tells("spec-note-not-taken", "\"file0\"", "5-6",
                                "spec-ipv6-not-planned"),
                          Tells("spec-note-not-taken", "\"file0\"", "7,9",
                                "spec-not-an-address-of-servers")));
  const SeenCluster inventory = Seen({absl::StrReplaceAll(
      kInventory,
      {{"detectip=10.20.0.254,10.20.0.254,10.20.0.254,10.20.0.254,"
        "10.20.0.254,10.20.0.254,10.20.0.254,10.20.0.254 //",
        "detctip=10.20.0.254 //"},
       {"common_network=\"0.0.0.0/0\"", "MTU=9000\nhush secret"}})});
  EXPECT_THAT(
      inventory.notes,
      ElementsAre(
          Tells("spec-note-not-taken", "2", "spec-not-of-hccn", "\"detctip\"",
                "did-you-mean", "detectip"),
          Tells("spec-note-not-taken", "11", "spec-not-of-hccn", "\"mtu\"", ""),
          Tells("spec-note-not-taken", "12", "spec-no-equals-sign")));
}

TEST(ImportClusterTest, HostileTextsAreMistakesAndGetIntoNoFile) {
  for (const std::string text :
       {"", "\n#\n", "[hccn]\n", "{", "[hccn]\n$(reboot) deviceip=1.2.3.4\n",
        "10.0.0.1 a\tb;rm\n10.0.0.2 $x\n", "node[1-99999999999]\n",
        "NodeName=a[1-2] NodeAddr=b[1-3]\n", "\xff\xfe\n", "\"\n"}) {
    EXPECT_EQ(Import({text}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_THAT(std::string(Import({"node1\n"}, Options("")).status().message()),
              HasSubstr("--product: "));
}

TEST(ParseHostsFileTest, HasEveryNameOfALineAndTheFirstOfTwoLines) {
  const auto addresses = ParseHostsFile(
      {"/etc/hosts", absl::StrCat(kHosts, "10.10.0.99 node02\n")});
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  EXPECT_EQ(addresses->size(), 4);
  EXPECT_EQ(addresses->at("node02").ToString(), "10.10.0.12");
  EXPECT_THAT(
      MessageLines(ParseHostsFile({"h", "10.10.0 a\n10.10.0.1\n"}).status()),
      ElementsAre(Tells("h:1:1: ", "value-ipv4", "10.10.0"),
                  Tells("h:2:1: ", "msg-learn-no-name")));
}

}  // namespace
}  // namespace clusterd
