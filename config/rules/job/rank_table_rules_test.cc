#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using Replacements = std::vector<std::pair<std::string, std::string>>;

// The findings of rule rank-table.
std::string Found(const TestCluster& cluster) {
  return Lines(cluster.Check("rank-table"));
}

// Two servers with devices 0 and 1 each.
TestCluster Small(const char* product = "atlas-a2") {
  TestCluster cluster(product);
  for (ServerSpec& server : *cluster.spec.mutable_servers()) {
    server.mutable_devices()->DeleteSubrange(2, server.devices_size() - 2);
  }
  cluster.StartJob().set_rank_table(MakeRankTable(cluster.spec));
  return cluster;
}

// The findings about the small job with another table.
std::string Said(const Replacements& replacements) {
  TestCluster cluster = Small();
  cluster.job->set_rank_table(
      absl::StrReplaceAll(cluster.job->rank_table(), replacements));
  return Found(cluster);
}

TEST(CheckRankTableTest, PassesWhereItSaysWhatIsThere) {
  TestCluster cluster = Small();
  const RuleResult result = cluster.Check("rank-table");
  EXPECT_EQ(result.state(), PASS) << Lines(result);
  EXPECT_EQ(result.summary(), "version 1.0, 2 servers, 4 ranks");
  cluster.job->set_rank_table(MakeRankTable(cluster.spec, false));
  EXPECT_EQ(cluster.Check("rank-table").state(), PASS) << Found(cluster);
}

TEST(CheckRankTableTest, FailsForAnSdidThatTheDeviceDoesNotHave) {
  TestCluster cluster("atlas-a3-superpod");
  cluster.StartJob().set_rank_table(MakeRankTable(cluster.spec, false, "1.2"));
  EXPECT_EQ(cluster.Check("rank-table").state(), PASS) << Found(cluster);
  cluster.device(1, 3).mutable_super_pod()->mutable_value()->set_sdid(4711);
  EXPECT_THAT(Found(cluster),
              HasSubstr("FAIL cluster other-sdid where=" +
                        Say("table-sdid", "server_list[1] \"node_1\" device 3",
                            4521987, "server1", 4711)));
  // Unknown values are not compared.
  cluster.Set(1, 3, "super_pod {missing {reason: NOT_SUPPORTED}}");
  EXPECT_EQ(cluster.Check("rank-table").state(), PASS);
}

TEST(CheckRankTableTest, FailsForABackupThatIsNoAddressOfTheSiblingDie) {
  TestCluster cluster("atlas-a3-superpod");
  const auto lines_with = [&cluster](int device) {
    const std::string& ip = cluster.spec.servers(0).devices(device).address();
    cluster.StartJob().set_rank_table(absl::StrReplaceAll(
        MakeRankTable(cluster.spec, false, "1.2"),
        {{R"("rank_id":"2")",
          absl::StrCat(R"("rank_id":"2","backup_device_ip":")", ip, "\"")}}));
    return Found(cluster);
  };
  EXPECT_EQ(lines_with(3), "");
  const auto& devices = cluster.spec.servers(0).devices();
  EXPECT_THAT(
      lines_with(4),
      HasSubstr("FAIL cluster other-address where=" +
                Say("table-other-backup", "server_list[0] \"node_0\" device 2",
                    devices[4].address(), "server0", devices[3].address(), 3)));
}

TEST(CheckRankTableTest, WarnsOfAHostIpThatTheHostDoesNotHave) {
  const auto lines_with = [](const char* ip) {
    return Said(
        {{R"("server_id":"172.16.0.2")",
          absl::StrCat(R"("server_id":"172.16.0.2","host_ip":")", ip, "\"")}});
  };
  EXPECT_EQ(lines_with("172.16.0.2"), "");
  EXPECT_THAT(lines_with("192.168.7.99"),
              HasSubstr("WARN cluster other-host-ip where=" +
                        Say("table-host-ip", "server_list[1] \"172.16.0.2\"",
                            "192.168.7.99", "server1")));
}

TEST(CheckRankTableTest, FailsForAPodOfServersThatAreInTwo) {
  TestCluster cluster("atlas-a3-superpod");
  cluster.StartJob().set_rank_table(absl::StrReplaceAll(
      MakeRankTable(cluster.spec, false, "1.2"),
      {{R"("super_pod_id":"0")", R"("super_pod_id":"a")"}}));
  EXPECT_EQ(cluster.Check("rank-table").state(), PASS) << Found(cluster);
  for (int i = 0; i < 16; ++i) {
    cluster.Set(1, i, "super_pod {value {super_pod_id: 1}}");
  }
  EXPECT_THAT(Found(cluster),
              HasSubstr("FAIL cluster mixed-pods where=super pod \"a\" has "
                        "\"node_0\" of super pod 0, " +
                        Say("table-server-of-pod", "\"node_1\"", 1)));
}

TEST(CheckRankTableTest, IsSkippedWithoutATable) {
  TestCluster cluster = Small();
  cluster.job->clear_rank_table();
  EXPECT_EQ(cluster.Check("rank-table").skip_words().words(),
            "job-no-rank-table");
  cluster.SetInLogins(1, "RANK_TABLE_FILE", "/nonexist");
  EXPECT_EQ(cluster.Check("rank-table").skip_reason(),
            Say("rank-table-not-read", "/etc/environment:1", "server1"));
}

TEST(CheckRankTableTest, SaysEveryMistakeThatHcclWouldRefuse) {
  const std::string said = Said({{R"("rank_id":"1")", R"("rank_id":1)"},
                                 {R"("rank_id":"3")", R"("rank_id":"x")"}});
  EXPECT_THAT(
      said,
      HasSubstr(
          "FAIL cluster mistake mistake=server_list[0].device[1].rank_id: "
          "number 1, expected a JSON string (EI0017)\n"));
  EXPECT_THAT(said, HasSubstr("server_list[1].device[1].rank_id: \"x\""));
}

TEST(CheckRankTableTest, BoundsWhatItSaysOfABadFile) {
  TestCluster cluster("atlas-a2", "", 8);
  cluster.StartJob().set_rank_table(absl::StrReplaceAll(
      MakeRankTable(cluster.spec), {{R"("rank_id":")", R"("rank":")"}}));
  const RuleResult result = cluster.Check("rank-table");
  ASSERT_EQ(result.findings_size(), 21);
  EXPECT_EQ(Brief(result.findings(20)), "mistake mistake=44 more mistakes");
  cluster.job->set_rank_table("\x1b[31m{");
  EXPECT_EQ(cluster.Check("rank-table").state(), FAIL);
  EXPECT_THAT(Found(cluster), ::testing::Not(HasSubstr("\x1b")));
}

TEST(CheckRankTableTest, DoesNotKnowOtherVersions) {
  EXPECT_THAT(Small("ascend-950").Check("rank-table"),
              Finds("FAIL cluster generation version=1.0"));
  EXPECT_THAT(Said({{"\"1.0\"", "\"1.1\""}}), HasSubstr("UNKNOWN cluster"));
  EXPECT_THAT(Said({{R"("version":"1.0",)", ""}}),
              HasSubstr("FAIL cluster mistake mistake=version: is missing in "
                        "the rank table (EI0017)"));
}

TEST(CheckRankTableTest, FailsForAFileThatIsNotCalledJson) {
  TestCluster cluster = Small();
  cluster.job->set_rank_table_file("/job/hccl.json");
  EXPECT_EQ(cluster.Check("rank-table").state(), PASS);
  // HCCL wants the first .json at the end.
  for (const char* name : {"/job/hccl.json.txt", "v3.json.json",
                           "d.json.old/v6.json", "/opt/a.json/hccl.json"}) {
    cluster.job->set_rank_table_file(name);
    EXPECT_THAT(Found(cluster),
                HasSubstr(absl::StrCat("FAIL cluster name file=", name, "\n")));
  }
  cluster.job->mutable_rank_table()->append("\n]");
  EXPECT_THAT(Found(cluster), HasSubstr("WARN cluster behind line=2"));
}

TEST(CheckRankTableTest, WantsEveryAddressWhereTheJobNeedsRoce) {
  TestCluster cluster("atlas-a3-superpod");
  const std::string address = absl::StrCat(
      "\"device_ip\":\"", cluster.spec.servers(1).devices(2).address(), "\",");
  cluster.StartJob().set_rank_table(absl::StrReplaceAll(
      MakeRankTable(cluster.spec, true, "1.2"), {{address, ""}}));
  EXPECT_EQ(cluster.Check("rank-table").state(), PASS) << Found(cluster);
  cluster.SetInJob("HCCL_INTRA_ROCE_ENABLE", "1");
  EXPECT_THAT(Found(cluster),
              HasSubstr("FAIL cluster other-address where=server_list[1] "
                        "\"172.16.0.2\" device 2: no device_ip"));
}

TEST(CheckRankTableTest, NamesBridgesByAddressAndByTheHostsInterfaces) {
  for (const auto& [bridge, finding] :
       {std::pair("br-0123456789ab", "docker-bridge"),
        std::pair("docker0", "docker-bridge"),
        std::pair("podman0", "docker-bridge"),
        // A bridge of Open vSwitch may have the host's own address.
        std::pair("br-ex", "not-in-job")}) {
    TestCluster cluster = Small();
    cluster.Set(0, absl::StrCat("interfaces {value {interfaces {name: '",
                                bridge, "' addresses: '10.89.0.1'}}}"));
    cluster.job->set_rank_table(absl::StrReplaceAll(
        cluster.job->rank_table(), {{"172.16.0.2", "10.89.0.7"}}));
    EXPECT_EQ(Found(cluster),
              absl::StrCat("FAIL cluster lacks-servers hosts=server1\n"
                           "FAIL cluster ",
                           finding, " servers=server_list[1] \"10.89.0.7\"\n"))
        << bridge;
  }
  EXPECT_THAT(Said({{"172.16.0.2", "172.17.0.6"}}),
              HasSubstr("FAIL cluster docker-bridge servers=server_list[1] "
                        "\"172.17.0.6\"\n"));
}

// Ranks of MindSpore follow server_id as text.
TEST(CheckRankTableTest, WantsServersInStringOrderForMindSporeAlone) {
  TestCluster cluster = Small();
  for (const auto& [host, address] :
       {std::pair(0, "172.16.0.9"), std::pair(1, "172.16.0.10")}) {
    cluster.spec.mutable_servers(host)->set_address(address);
  }
  cluster.job->set_rank_table(MakeRankTable(cluster.spec));
  EXPECT_EQ(cluster.Check("rank-table").state(), PASS);
  cluster.job->set_framework("mindspore");
  EXPECT_THAT(
      Found(cluster),
      HasSubstr("FAIL cluster string-order server=server_list[1] "
                "\"172.16.0.10\", before=server_list[0] \"172.16.0.9\""));
}

TEST(CheckRankTableTest, FailsForAnAddressThatTheDeviceDoesNotHave) {
  TestCluster cluster = Small();
  const auto other = [&cluster](const char* server, int device,
                                const char* live) {
    return Say("table-other-address",
               absl::StrCat("server_list[1] \"", server, "\" device ", device),
               cluster.spec.servers(1).devices(device).address(), "server1",
               live);
  };
  cluster.SetAddress(1, 1, "10.9.9.9", "255.255.255.0");
  EXPECT_EQ(Found(cluster), "FAIL cluster other-address where=" +
                                other("172.16.0.2", 1, "10.9.9.9") + "\n");
  // Then entries with names of their own are matched by their place.
  cluster.job->set_rank_table(MakeRankTable(cluster.spec, false));
  for (int d : {0, 1}) {
    cluster.SetAddress(1, d, absl::StrCat("10.9.9.", d + 1), "255.255.255.0");
  }
  EXPECT_THAT(Found(cluster), HasSubstr(other("node_1", 0, "10.9.9.1") + ", " +
                                        other("node_1", 1, "10.9.9.2")));
}

TEST(CheckRankTableTest, DoesNotKnowWithoutTheLiveAddress) {
  TestCluster cluster = Small();
  const std::string address =
      absl::StrCat("\"", cluster.spec.servers(0).devices(0).address(), "\"");
  EXPECT_THAT(Said({{address, "\"fd00::1\""}}),
              HasSubstr("UNKNOWN cluster ipv6 where=server_list[0] "
                        "\"172.16.0.1\" device 0: fd00::1"));
  SetMissing(Missing::TIMED_OUT, "10s", cluster.device(0, 1).mutable_address());
  EXPECT_THAT(Found(cluster), HasSubstr("UNKNOWN server0:1"));
}

TEST(CheckRankTableTest, FailsForOtherServersThanTheJobTakes) {
  const std::string said = Said({{"172.16.0.2", "172.16.0.9"}});
  EXPECT_THAT(said, HasSubstr("FAIL cluster not-in-job servers=server_list[1] "
                              "\"172.16.0.9\"\n"));
  EXPECT_THAT(said, HasSubstr("FAIL cluster lacks-servers hosts=server1"));
}

TEST(CheckRankTableTest, FailsForOtherDevicesThanTheJobTakes) {
  EXPECT_THAT(Said({{R"("device_id":"1")", R"("device_id":"5")"}}),
              HasSubstr("other-devices where=" +
                        Say("table-devices", "server_list[0] \"172.16.0.1\"",
                            "devices 0,5", "devices 0-1", "server0") +
                        ", " +
                        Say("table-devices", "server_list[1] \"172.16.0.2\"",
                            "devices 0,5", "devices 0-1", "server1")));
}

TEST(CheckRankTableTest, FailsWhereTheFirstServerHasOtherRanks) {
  const std::string said = Said({{"\"172.16.0.1\"", "\"172.16.0.2\""},
                                 {"\"172.16.0.2\"", "\"172.16.0.1\""},
                                 {"device_ip", "other"}});
  EXPECT_THAT(said, HasSubstr("device_ip: is not set"));
  TestCluster cluster = Small();
  cluster.spec.mutable_servers()->SwapElements(0, 1);
  cluster.job->mutable_servers()->SwapElements(0, 1);
  EXPECT_EQ(Found(cluster),
            "FAIL cluster other-ranks where=" +
                Say("table-first-rank", "server_list[0] \"172.16.0.1\"", 0, 2,
                    "server0") +
                ", " +
                Say("table-first-rank", "server_list[1] \"172.16.0.2\"", 2, 0,
                    "server1") +
                "\n");
  cluster.job->mutable_servers(0)->set_node_rank(1);
  cluster.job->mutable_servers(1)->set_node_rank(0);
  EXPECT_EQ(cluster.Check("rank-table").state(), PASS);
}

TEST(CheckRankTableTest, WarnsOfRanksThatDoNotAscendAndOfAnOpenTable) {
  EXPECT_THAT(Said({{R"("rank_id":"2")", R"("rank_id":"3")"},
                    {R"("rank_id":"3")", R"("rank_id":"2")"}}),
              HasSubstr("WARN cluster order"));
  EXPECT_THAT(Said({{"\"completed\"", "\"initializing\""}}),
              HasSubstr("WARN cluster not-completed status=\"initializing\""));
}

TEST(CheckRankTableTest, LeavesSilentHostsToHostIdentity) {
  TestCluster cluster = Small();
  cluster.Silence(1);
  EXPECT_EQ(cluster.Check("rank-table").state(), PASS);
  EXPECT_EQ(cluster.MakeReport().verdict(), UNKNOWN);
}

}  // namespace
}  // namespace clusterd
