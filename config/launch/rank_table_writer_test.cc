#include "config/launch/rank_table_writer.h"

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "config/launch/rank_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ReadLaunchFile(const std::string& name) {
  std::ifstream file(absl::StrCat("tests/testdata/launch/", name));
  EXPECT_TRUE(file.is_open()) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A job on healthy servers; tests break it.
struct Job {
  explicit Job(int servers, const std::string& product = "atlas-a2")
      : spec(MakeSpec(product, "", servers)), facts(MakeHealthyFacts(spec)) {}

  absl::StatusOr<std::string> Write(const std::string& version = "1.0") const {
    return WriteRankTable(spec, Pointers(facts), version);
  }
  Ipv4Setting& Live(int server, int device) {
    return *facts[server]
                .mutable_devices(device)
                ->mutable_address()
                ->mutable_value()
                ->mutable_settings(0);
  }
  SuperPodPlace& Place(int server, int device) {
    return *facts[server]
                .mutable_devices(device)
                ->mutable_super_pod()
                ->mutable_value();
  }
  void MoveToPod(int server, uint32_t pod) {
    for (int d = 0; d < facts[server].devices_size(); ++d) {
      Place(server, d).set_super_pod_id(pod);
    }
  }
  std::string Refusal(const std::string& version = "1.0") const {
    const auto table = Write(version);
    return table.ok() ? "none" : std::string(table.status().message());
  }

  ClusterSpec spec;
  std::vector<HostFacts> facts;
};

// The sample hccl_json_16p_2_host.json of the Rec SDK's guide for several
// servers, with addresses in place of {device_0_ip} and {host_1_ip}.
TEST(WriteRankTableTest, WritesTheVendorsSampleCharacterForCharacter) {
  Job job(2);
  for (int s = 0; s < 2; ++s) {
    job.spec.mutable_servers(s)->set_address(
        absl::StrCat("192.168.10.", 22 + s));
    for (int d = 0; d < 8; ++d) {
      const std::string ip =
          absl::StrCat("192.168.", 100 + d % 4, ".", 101 + 10 * s - d / 4);
      job.spec.mutable_servers(s)->mutable_devices(d)->set_address(ip);
      job.Live(s, d).set_address(ip);
    }
  }
  const auto table = job.Write();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(*table, ReadLaunchFile("hccl_json_16p_2_host.json"));
}

TEST(WriteRankTableTest, IsReadBackWithTheMasterFirstAndRanksAscending) {
  Job job(3);
  job.spec.mutable_servers()->SwapElements(0, 2);
  std::swap(job.facts[0], job.facts[2]);
  const auto text = job.Write();
  ASSERT_TRUE(text.ok()) << text.status();
  const auto table = ParseRankTable(*text);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->status, "completed");
  ASSERT_EQ(table->servers.size(), 3u);
  EXPECT_EQ(table->servers[0].server_id, job.spec.servers(0).address());
  uint32_t rank = 0;
  for (const RankTableServer& server : table->servers) {
    for (const RankTableDevice& device : server.devices) {
      EXPECT_EQ(device.rank_id, rank++);
    }
  }
  EXPECT_EQ(rank, 24u);
  EXPECT_EQ(*job.Write(), *text);
}

TEST(WriteRankTableTest, TakesTheJobsDevicesAlone) {
  Job job(2);
  for (ServerSpec& server : *job.spec.mutable_servers()) {
    server.mutable_devices()->DeleteSubrange(0, 4);
  }
  const auto table = ParseRankTable(*job.Write());
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->servers[1].devices[0].device_id, 4u);
  EXPECT_EQ(table->servers[1].devices[0].rank_id, 4u);
}

TEST(WriteRankTableTest, NamesEveryReasonAtOnce) {
  Job job(4);
  job.Live(0, 3).set_address("10.9.9.9");
  job.facts[0].mutable_devices(4)->mutable_address()->mutable_value()->Clear();
  job.facts[0]
      .mutable_devices(5)
      ->mutable_address()
      ->mutable_missing()
      ->set_reason(Missing::BUSY);
  job.facts[1].mutable_devices()->DeleteSubrange(7, 1);
  job.Live(1, 0).set_address(job.Live(0, 0).address());
  job.facts[2] =
      MakeSilentHost("server2", Missing::NO_ANSWER, "is not attached");
  job.spec.mutable_servers(3)->clear_address();
  const auto table = job.Write();
  EXPECT_EQ(table.status().code(), absl::StatusCode::kFailedPrecondition);
  const std::string message(table.status().message());
  for (const char* reason :
       {"server0 device 3: has 10.9.9.9, cluster.yaml plans 10.0.0.4 (rule "
        "device-ip-planned)",
        "server0 device 4: has no address, expected one",
        "server0 device 5: its address is not known: ",
        "server1 device 7: the host has no such device",
        "server1 device 0: has 10.0.0.1, which server0 device 0 has too",
        "server2: no facts: ", "server3: cluster.yaml gives it no address"}) {
    EXPECT_THAT(message, HasSubstr(reason));
  }
}

TEST(WriteRankTableTest, AFactThatIsNotThereIsNoAddress) {
  Job job(1);
  job.facts[0].mutable_devices(0)->clear_address();
  EXPECT_THAT(job.Refusal(), HasSubstr("not asked for"));
}

TEST(WriteRankTableTest, AHostsAddressThatIsNoneGetsIntoNoTable) {
  Job job(1);
  job.Live(0, 0).set_address("10.0.0.1\", \"rank_id\":\"9");
  job.spec.mutable_servers(0)->mutable_devices(0)->clear_address();
  EXPECT_THAT(job.Refusal(), HasSubstr("expected an IPv4 address"));
}

TEST(WriteRankTableTest, OneServerNeedsNoAddressesOfItsDevices) {
  Job job(1);
  for (DeviceFacts& device : *job.facts[0].mutable_devices()) {
    device.mutable_address()->mutable_value()->Clear();
  }
  const auto text = job.Write();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, Not(HasSubstr("device_ip")));
}

TEST(WriteRankTableTest,
     ServersWithDifferentNumbersOfDevicesAreRefusedAsByHccl) {
  Job job(2);
  job.spec.mutable_servers(1)->mutable_devices()->DeleteSubrange(4, 4);
  EXPECT_THAT(job.Refusal(), HasSubstr("server_list[1].device: 4 devices"));
}

TEST(WriteRankTableTest, FactsOfOtherServersAreRefused) {
  Job job(2);
  std::swap(job.facts[0], job.facts[1]);
  EXPECT_THAT(job.Refusal(), HasSubstr("instead of server0"));
  job.facts.pop_back();
  EXPECT_THAT(job.Refusal(), HasSubstr("of 1 host"));
}

// Two servers with two devices each of one pod, and one of another.
TEST(WriteRankTableTest, WritesSuperPodsAsTheirChipsTellThem) {
  Job job(3, "atlas-a3-superpod");
  job.MoveToPod(2, 7);
  for (ServerSpec& server : *job.spec.mutable_servers()) {
    server.mutable_devices()->DeleteSubrange(2, 14);
  }
  const auto text = job.Write("1.2");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, ReadLaunchFile("hccl_json_super_pods.json"));
  const auto table = ParseRankTable(*text);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->version, "1.2");
  ASSERT_EQ(table->super_pods.size(), 2u);
  EXPECT_THAT(table->super_pods[0].server_ids,
              ElementsAre(job.spec.servers(0).address(),
                          job.spec.servers(1).address()));
  EXPECT_EQ(table->servers[1].devices[1].super_device_id,
            job.Place(1, 1).sdid());
}

TEST(WriteRankTableTest, WithinOneSuperPodDevicesNeedNoAddress) {
  Job job(2, "atlas-a3-superpod");
  for (HostFacts& host : job.facts) {
    for (DeviceFacts& device : *host.mutable_devices()) {
      device.mutable_address()->mutable_value()->Clear();
    }
  }
  const auto text = job.Write("1.2");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, Not(HasSubstr("device_ip")));
  job.MoveToPod(1, 7);
  EXPECT_THAT(job.Refusal("1.2"),
              HasSubstr("server0 device 0: has no address, expected one"));
}

TEST(WriteRankTableTest, AnSdidThatIsThereTwiceIsRefusedAsByHccl) {
  Job job(2, "atlas-a3-superpod");
  job.Place(1, 0).set_sdid(job.Place(0, 0).sdid());
  EXPECT_THAT(job.Refusal("1.2"), HasSubstr("super_device_id"));
}

TEST(WriteRankTableTest, NamesEveryServerWhosePlaceIsNotOneThatCanBeWritten) {
  Job job(5, "atlas-a3-superpod");
  SuperPodFact& unknown = *job.facts[0].mutable_devices(3)->mutable_super_pod();
  unknown.mutable_missing()->set_reason(Missing::NOT_SUPPORTED);
  unknown.mutable_missing()->set_detail("spod-info");
  job.Place(1, 2).set_super_pod_id(3);
  job.MoveToPod(2, 4294967295);
  job.facts[3].mutable_devices(0)->clear_super_pod();
  const auto table = job.Write("1.2");
  EXPECT_EQ(table.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(table.status().message(),
            "server0 device 3: its super pod id and SDID are not known: not "
            "supported: spod-info, expected them for version 1.2\n"
            "server1 device 2: has super pod id 3, expected one that its "
            "server has (rule subnet-superpod)\n"
            "server2 device 0: has super pod id 4294967295, expected one that "
            "its server has (rule subnet-superpod)\n"
            "server3 device 0: its super pod id and SDID are not known: not "
            "asked for, expected them for version 1.2");
}

// HCCL's guide: servers of two pods must not be mixed.
TEST(WriteRankTableTest, ServersOfAPodFollowEachOther) {
  Job job(3, "atlas-a3-superpod");
  job.MoveToPod(1, 7);
  EXPECT_EQ(job.Refusal("1.2"),
            "server2: is in super pod 0 as server0 is, and others stand "
            "between them, expected the job's servers pod by pod");
}

TEST(WriteRankTableTest, OtherVersionsAreNotWritten) {
  EXPECT_THAT(Job(1).Refusal("2.0"), HasSubstr("expected 1.0 or 1.2"));
  EXPECT_EQ(*RankTableVersionOf(Job(1).spec), "1.0");
  EXPECT_EQ(*RankTableVersionOf(Job(1, "atlas-a3-superpod").spec), "1.2");
  EXPECT_EQ(RankTableVersionOf(Job(1, "ascend-950").spec).status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace clusterd
