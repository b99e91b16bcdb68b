#include "config/learn/import.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/learn/spec_writer.h"
#include "config/spec/spec_loader.h"
#include "config/words/subject_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

ClusterSpec SpecOf(const absl::StatusOr<SeenCluster>& seen) {
  EXPECT_TRUE(seen.ok()) << seen.status();
  if (!seen.ok()) return {};
  const auto written = WriteSpec(*seen);
  EXPECT_TRUE(written.ok()) << written.status();
  if (!written.ok()) return {};
  const auto spec = LoadSpec("cluster.yaml", written->yaml);
  EXPECT_TRUE(spec.ok()) << spec.status() << written->yaml;
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
              HasSubstr("devices 2-3: has an address and is not planned"));
  for (const char* list : {"10.20.0.1,,10.20.0.3", "10.20.0.1, 10.20.0.2"}) {
    EXPECT_THAT(
        std::string(Import({absl::StrCat("[hccn]\n10.0.0.1 deviceip=", list)})
                        .status()
                        .message()),
        HasSubstr("deviceip: an entry is empty, expected addresses by commas"));
  }
}

TEST(ImportClusterTest, TakesVariablesWithBlanksAroundTheirSign) {
  const ClusterSpec spec = SpecOf(Import({absl::StrReplaceAll(
      kInventory, {{"gateways=", "gateways = "},
                   {"netmask=", "netmask\t= "},
                   {"roce_port=4791", "roce_port = 4792"}})}));
  ASSERT_EQ(spec.servers_size(), 2);
  EXPECT_EQ(spec.servers(0).devices(0).netmask(), "255.255.255.0");
  EXPECT_EQ(spec.servers(0).devices(3).gateway(), "10.20.0.254");
  EXPECT_EQ(spec.lossless().roce_port(), 4792);
}

TEST(ImportClusterTest, SaysWhatOfAnInventoryIsNotTaken) {
  const auto seen = Import({absl::StrReplaceAll(
      kInventory,
      {{"[master]", "[hccn:children]\nextra\n[extra]\n10.10.0.13 a=b\n"},
       {"gateways=\"10.20.0.254\"", "gateways=\"10.20.0.254,10.9.0.254\""}})});
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ(seen->hosts.size(), 2);
  EXPECT_THAT(
      Texts(seen->notes),
      ElementsAre(
          "\"file0\": groups of [hccn:children] are not followed",
          "\"file0\": not taken, since [hccn] does not have them: 10.10.0.13",
          "gateway 10.9.0.254 is in no device's subnet, not taken"));
  EXPECT_THAT(WriteSpec(*seen)->yaml, HasSubstr("# Note: gateway 10.9.0.254"));
  EXPECT_THAT(Texts(Import({kInventory})->notes), IsEmpty());
}

TEST(ImportClusterTest, NotesAreInTheUsersLanguageAndTheFileIsEnglish) {
  const auto seen = Import({absl::StrReplaceAll(
      kInventory,
      {{"gateways=\"10.20.0.254\"", "gateways=\"10.20.0.254,10.9.0.254\""}})});
  ASSERT_TRUE(seen.ok()) << seen.status();
  const auto english = WriteSpec(*seen);
  const InLanguage chinese(Language::kChinese);
  const auto written = WriteSpec(*seen);
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
  EXPECT_THAT(WriteSpec(*seen)->yaml,
              HasSubstr("not taken: \"netmas\\xcdk\" is not known"));
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
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("file0: is an inventory without [hccn]"));
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
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(": another setting stands in its line"));
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
  const std::string text(status.message());
  EXPECT_THAT(text, HasSubstr("file0:2:1: deviceip: "));
  EXPECT_THAT(text, HasSubstr("file0:3:1: detectip has 7 addresses, expected "
                              "8, as deviceip"));
  EXPECT_THAT(text, HasSubstr("file0:6:1: gateways: "));
  EXPECT_THAT(text, HasSubstr("IPv6 is not planned"));
  EXPECT_THAT(text, HasSubstr("file0:7:1: netmask: "));
  EXPECT_THAT(text, HasSubstr("file0:8:1: roce_port: is \"80\", expected "));
  EXPECT_THAT(text, HasSubstr("file0:9:1: bitmap: is \"0,0,0,2,"));
  EXPECT_THAT(text, HasSubstr("file0:10:1: dscp_tc: \"25:9\" is not valid"));
  EXPECT_THAT(
      text,
      HasSubstr("file0:18:1: set_hostname: \"no de\" is not a valid host"));
  EXPECT_THAT(text, Not(HasSubstr("hush")));
}

TEST(ImportClusterTest, TakesARankTableAndNamesItsServersByAHostsFile) {
  ImportOptions options = Options();
  const absl::Status no_mask = Import({kRankTable, kHosts}, options).status();
  EXPECT_THAT(std::string(no_mask.message()), HasSubstr("--netmask: "));
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
  EXPECT_THAT(std::string(wrong.message()),
              HasSubstr("file0: server_list[0].device[1].device_ip"));
  EXPECT_THAT(std::string(wrong.message()),
              HasSubstr("file0: server_list[1].device[1].rank_id"));
}

TEST(ImportClusterTest, ARankTableWithCommentsIsNamedAsThat) {
  for (const std::string comment : {"# of the guide\n", "\n  // rank 0\n"}) {
    const absl::Status status = Import({comment + kRankTable}).status();
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("JSON has no comments"));
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
}

TEST(ImportClusterTest, TakesLinesThatEndAsOnWindows) {
  const std::string inventory =
      absl::StrReplaceAll(kInventory, {{"\n", "\r\n"}});
  EXPECT_EQ(SpecOf(Import({inventory})).DebugString(),
            SpecOf(Import({kInventory})).DebugString());
  const auto hosts = Import({absl::StrReplaceAll(kHosts, {{"\n", "\r\n"}})});
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_THAT(Names(*hosts), ElementsAre("node01.dc1.example 10.10.0.11",
                                         "node02.dc1.example 10.10.0.12"));
}

TEST(ImportClusterTest, HostsWithIpv6AddressesAloneAreLeftOutAndNamed) {
  const auto seen = Import({"node[01-02]\n",
                            "fd00::11 node01\nfd00::12 node02\n"
                            "10.10.0.12 node02\n"});
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_THAT(Names(*seen), ElementsAre("node01 none", "node02 10.10.0.12"));
  const auto written = WriteSpec(*seen);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_THAT(Texts(written->notes),
              Contains(HasSubstr("no address is known that others reach them "
                                 "by: node01; a hosts file gives them")));
  EXPECT_THAT(Texts(written->notes),
              Contains("\"file1\": line 1-2 not taken: IPv6 is not planned"));
}

TEST(ImportClusterTest, OfANameWithTwoAddressesTheFirstIsTaken) {
  const auto seen = Import({absl::StrCat(kHosts,
                                         "10.20.0.11 node01.dc1.example"
                                         "\n")});
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_THAT(Names(*seen), ElementsAre("node01.dc1.example 10.10.0.11",
                                        "node02.dc1.example 10.10.0.12"));
  EXPECT_TRUE(WriteSpec(*seen).ok());
}

TEST(ImportClusterTest, TakesAListOfAddressesAndNodesByTheirDnsNames) {
  const auto plain = Import({"10.10.0.11\n10.10.0.12\n"});
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_THAT(Names(*plain),
              ElementsAre("10.10.0.11 10.10.0.11", "10.10.0.12 10.10.0.12"));
  EXPECT_TRUE(WriteSpec(*plain).ok());
  const auto nodes =
      Import({"NodeName=a[1-2] NodeAddr=node[01-02].dc1.example\n"
              "NodeName=a3 NodeAddr=other\n",
              kHosts});
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  EXPECT_THAT(Names(*nodes),
              ElementsAre("a1 10.10.0.11", "a2 10.10.0.12", "a3 none"));
}

TEST(ImportClusterTest, TakesNodesOfSlurmWithTheirAddresses) {
  const auto seen =
      Import({"ClusterName=demo\n"
              "NodeName=DEFAULT CPUs=192\n"
              "nodename=node[01-02] NodeAddr=10.10.0.[11-12] \\\n"
              "  CPUs=192 State=UNKNOWN\n"
              "NodeName=node03  # by name\n",
              "10.10.0.13 node03\n"});
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_THAT(Names(*seen),
              ElementsAre("node01 10.10.0.11", "node02 10.10.0.12",
                          "node03 10.10.0.13"));
  EXPECT_EQ(Import({"NodeName=node[01-02] NodeAddr=10.10.0.11\n"
                    "NodeName=node[1-\n"})
                .status()
                .message(),
            "file0:1:1: NodeAddr has 1 addresses, expected 2, one per node\n"
            "file0:2:1: NodeName: hostlist: \"node[1-\" has an open bracket, "
            "expected \"]\"");
}

TEST(ImportClusterTest, TakesAListOfNodesAndAHostsFileAndLeavesDevicesOpen) {
  const auto seen = Import({"node[01-02]\n", kHosts});
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_THAT(Names(*seen),
              ElementsAre("node01 10.10.0.11", "node02 10.10.0.12"));
  const auto written = WriteSpec(*seen);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->pattern, "");
  EXPECT_THAT(written->yaml, HasSubstr("  - hosts: node[01-02]\n"
                                       "    address: 10.10.0.10 + name\n"));
  EXPECT_THAT(Texts(written->notes),
              ElementsAre(HasSubstr("fill in `devices`")));
  const auto hosts_alone = Import({kHosts});
  ASSERT_TRUE(hosts_alone.ok()) << hosts_alone.status();
  EXPECT_THAT(Names(*hosts_alone),
              ElementsAre("node01.dc1.example 10.10.0.11",
                          "node02.dc1.example 10.10.0.12"));
}

// A slurm.conf "conf/slurm.conf" that includes some of these files.
absl::StatusOr<SeenCluster> ImportSlurm(
    const std::string& text, const std::map<std::string, std::string>& files) {
  ImportOptions options = Options();
  options.read_file =
      [&files](const std::string& path) -> absl::StatusOr<std::string> {
    const auto file = files.find(path);
    if (file != files.end()) return file->second;
    return absl::NotFoundError(path + ": No such file or directory");
  };
  return ImportCluster({{"conf/slurm.conf", text}}, options);
}

TEST(ImportClusterTest, FollowsTheIncludesOfSlurm) {
  // Relative to the folder of slurm.conf, also from an included file.
  const std::map<std::string, std::string> files = {
      {"conf/nodes.conf", "include rack1/a.conf  # one file\r\n"},
      {"conf/rack1/a.conf", "NodeName=node02 NodeAddr=10.10.0.12\n"},
      {"/etc/b.conf", "Include\t/etc/c.conf"},
      {"/etc/c.conf", "NodeName = node[03-04] NodeAddr = 10.10.0.[13-14] \\"}};
  const auto seen = ImportSlurm(
      "ClusterName=demo\nNodeName=node01 NodeAddr=10.10.0.11\n"
      "INCLUDE nodes.conf\nInclude /etc/b.conf\n",
      files);
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_THAT(Names(*seen),
              ElementsAre("node01 10.10.0.11", "node02 10.10.0.12",
                          "node03 10.10.0.13", "node04 10.10.0.14"));
  // The same if slurm.conf itself has no node.
  EXPECT_TRUE(
      ImportSlurm("ClusterName=demo\nInclude nodes.conf\n", files).ok());
}

// slurm.conf(5), INCLUDE MODIFIERS.
TEST(ImportClusterTest, ClusterNameReplacesItsMarkInAnInclude) {
  const std::map<std::string, std::string> files = {
      {"conf/linux_config", "NodeName=node01 NodeAddr=10.10.0.11\n"},
      {"/etc/linux/nodes", "NodeName=node02 NodeAddr=10.10.0.12\n"}};
  const auto seen = ImportSlurm(
      "clustername = linux\nInclude %c_config\nInclude /etc/%c/nodes\n", files);
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_THAT(Names(*seen),
              ElementsAre("node01 10.10.0.11", "node02 10.10.0.12"));
  const auto mistake = [&files](const std::string& text) {
    return std::string(ImportSlurm(text, files).status().message());
  };
  EXPECT_EQ(mistake("Include %c_config\nClusterName=linux\n"),
            "conf/slurm.conf:1:1: Include: conf/%c_config: No such file or "
            "directory; only %c is replaced, by a ClusterName before it");
  EXPECT_EQ(mistake("ClusterName=linux\nInclude %h/nodes\n"),
            "conf/slurm.conf:2:1: Include: conf/%h/nodes: No such file or "
            "directory; only %c is replaced, by a ClusterName before it");
}

TEST(ImportClusterTest, SaysWhichIncludeOfSlurmIsWrong) {
  const std::string node = "NodeName=node01 NodeAddr=10.10.0.11\n";
  const auto mistake = [&node](
                           const std::string& text,
                           const std::map<std::string, std::string>& files) {
    return std::string(ImportSlurm(node + text, files).status().message());
  };
  EXPECT_EQ(mistake("Include nodes.conf\n", {}),
            "conf/slurm.conf:2:1: Include: conf/nodes.conf: No such file or "
            "directory");
  EXPECT_EQ(
      mistake("Include slurm.conf\n", {}),
      "conf/slurm.conf:2:1: Include: \"conf/slurm.conf\" includes itself");
  EXPECT_EQ(mistake("Include a\n",
                    {{"conf/a", "Include b\n"}, {"conf/b", "\nInclude a\n"}}),
            "conf/b:2:1: Include: \"conf/a\" includes itself");
  // The same file under ever new names.
  EXPECT_THAT(mistake("Include ./a\n", {{"conf/./a", "Include b\nInclude b\n"},
                                        {"conf/b", "Include c\nInclude c\n"},
                                        {"conf/c", "Include d\nInclude d\n"},
                                        {"conf/d", "Include e\nInclude e\n"},
                                        {"conf/e", "Include f\nInclude f\n"},
                                        {"conf/f", "Include g\nInclude g\n"},
                                        {"conf/g", "X=1\n"}}),
              HasSubstr("Include: more than 64 files"));
  EXPECT_EQ(mistake("Include\nInclude a b\n", {}),
            "conf/slurm.conf:2:1: Include: expected the name of one file\n"
            "conf/slurm.conf:3:1: Include: expected the name of one file");
  // Mistakes of an included file are reported with its own name.
  EXPECT_EQ(
      mistake("Include a\n", {{"conf/a", "NodeName=b[1-2] NodeAddr=c\n"}}),
      "conf/a:1:1: NodeAddr has 1 addresses, expected 2, one per node");
  EXPECT_THAT(std::string(Import({node + "Include a\n"}).status().message()),
              HasSubstr("file0:2:1: Include: \"a\" is not read"));
}

TEST(ImportClusterTest, NoLineOfSlurmIsDroppedForItsSpelling) {
  const std::string text = "NodeName=node01 NodeAddr=10.10.0.11\n";
  EXPECT_EQ(
      Import({text + "NodNename=node02\nNodeName node03\n"}).status().message(),
      "file0:2:1: \"NodNename\" is not known, did you mean "
      "\"NodeName\"?\n"
      "file0:3:1: \"NodeName\" is not a setting, expected KEY=VALUE");
  const auto seen =
      Import({"NodeName = node01  NodeAddr =10.10.0.11\n"
              "# A comment goes on nowhere: \\\n"
              "NodeName=node02 \\  # goes on\n  \\\n NodeHostname=10.10.0.12\n"
              "NodeSet=all Feature=x\n"});
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_THAT(Names(*seen),
              ElementsAre("node01 10.10.0.11", "node02 10.10.0.12"));
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
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("is a key of hccn.conf, which names no server"))
        << text;
  }
}

TEST(ImportClusterTest, AKeyOfAnotherFileIsNoIpv6Address) {
  EXPECT_THAT(
      std::string(
          Import({"version: 1.0\nserver_list: []\n"}).status().message()),
      HasSubstr("file0:1:1: address \"version:\" is not IPv4"));
}

TEST(ImportClusterTest, AnAddressBesideANameIsNoServer) {
  EXPECT_EQ(Import({"node[01-02]\nnode03 10.10.0.13\n"}).status().message(),
            "file0:2:1: has names and addresses, expected one kind, or address "
            "and name as in /etc/hosts");
  EXPECT_TRUE(Import({"node01 node02\n10.10.0.13 10.10.0.14\n"}).ok());
}

TEST(ImportClusterTest, LinesThatAreNotTakenAreNotedFolded) {
  const auto hosts = Import(
      {"127.0.0.1 localhost\n::1 localhost ip6-loopback\nff02::1 ip6-allnodes\n"
       "10.10.0.11 node01\nfd00::11 node01\nfd00::12 node02\n"
       "224.0.0.9 node03\n10.10.0.99 node01\n127.0.1.1 node04\n"
       "10.10.0.11 node01 alias\n"});
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_THAT(
      Texts(hosts->notes),
      ElementsAre("\"file0\": line 8 not taken: \"node01\" has another address "
                  "already",
                  "\"file0\": line 5-6 not taken: IPv6 is not planned",
                  "\"file0\": line 7,9 not taken: no server is reached by such "
                  "an address"));
  const auto inventory = Import({absl::StrReplaceAll(
      kInventory,
      {{"detectip=10.20.0.254,10.20.0.254,10.20.0.254,10.20.0.254,"
        "10.20.0.254,10.20.0.254,10.20.0.254,10.20.0.254 //",
        "detctip=10.20.0.254 //"},
       {"common_network=\"0.0.0.0/0\"", "MTU=9000\nhush secret"}})});
  ASSERT_TRUE(inventory.ok()) << inventory.status();
  EXPECT_THAT(
      Texts(inventory->notes),
      ElementsAre(
          "\"file0\": line 2 not taken: \"detctip\" is not known in "
          "[hccn], did you mean \"detectip\"?",
          "\"file0\": line 11 not taken: \"mtu\" is not known in [hccn]",
          "\"file0\": line 12 not taken: a word without \"=\""));
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
  const absl::Status wrong =
      ParseHostsFile({"h", "10.10.0 a\n10.10.0.1\n"}).status();
  EXPECT_THAT(std::string(wrong.message()),
              HasSubstr("h:1:1: address \"10.10.0\" is not IPv4"));
  EXPECT_THAT(std::string(wrong.message()),
              HasSubstr("\nh:2:1: has no name behind the address"));
}

}  // namespace
}  // namespace clusterd
