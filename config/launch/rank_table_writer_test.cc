#include "config/launch/rank_table_writer.h"

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "config/launch/rank_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/wait/from_text.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::ElementsAreArray, ::testing::HasSubstr;

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
  absl::Status Refusal(const std::string& version = "1.0") const {
    return Write(version).status();
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
  EXPECT_EQ(job.Write().value(), ReadLaunchFile("hccl_json_16p_2_host.json"));
}

TEST(WriteRankTableTest, IsReadBackWithTheMasterFirstAndRanksAscending) {
  Job job(3);
  job.spec.mutable_servers()->SwapElements(0, 2);
  std::swap(job.facts[0], job.facts[2]);
  const auto text = job.Write().value();
  const auto table = ParseRankTable(text).value();
  EXPECT_EQ(table.status, "completed");
  ASSERT_EQ(table.servers.size(), 3u);
  EXPECT_EQ(table.servers[0].server_id, job.spec.servers(0).address());
  uint32_t rank = 0;
  for (const RankTableServer& server : table.servers) {
    for (const RankTableDevice& device : server.devices) {
      EXPECT_EQ(device.rank_id, rank++);
    }
  }
  EXPECT_EQ(rank, 24u);
  EXPECT_EQ(*job.Write(), text);
}

TEST(WriteRankTableTest, TakesTheJobsDevicesAlone) {
  Job job(2);
  for (ServerSpec& server : *job.spec.mutable_servers()) {
    server.mutable_devices()->DeleteSubrange(0, 4);
  }
  const auto table = ParseRankTable(*job.Write()).value();
  EXPECT_EQ(table.servers[1].devices[0].device_id, 4u);
  EXPECT_EQ(table.servers[1].devices[0].rank_id, 4u);
}

TEST(WriteRankTableTest, NamesEveryReasonAtOnce) {
  Job job(4);
  job.Live(0, 3).set_address("10.9.9.9");
  job.facts[0].mutable_devices(4)->mutable_address()->mutable_value()->Clear();
  MergeText("address {missing {reason: BUSY}}",
            job.facts[0].mutable_devices(5));
  job.facts[1].mutable_devices()->DeleteSubrange(7, 1);
  job.Live(1, 0).set_address(job.Live(0, 0).address());
  job.facts[2] =
      MakeSilentHost("server2", Missing::NO_ANSWER, "is not attached");
  job.spec.mutable_servers(3)->clear_address();
  const auto table = job.Write();
  EXPECT_EQ(table.status().code(), absl::StatusCode::kFailedPrecondition);
  for (const Telling& reason :
       {Tells("msg-job-table-not-planned", "server0 device 3", "10.9.9.9",
              "10.0.0.4"),
        Tells("msg-job-table-no-address", "server0 device 4"),
        Tells("msg-job-table-address-not-known", "server0 device 5"),
        Tells("msg-job-table-no-device", "server1 device 7"),
        Tells("msg-job-table-address-twice", "server1 device 0", "10.0.0.1",
              "server0 device 0"),
        Tells("msg-job-host-without-facts", "server2"),
        Tells("msg-job-host-without-address", "server3")}) {
    EXPECT_THAT(table.status(), reason);
  }
}

TEST(WriteRankTableTest, AFactThatIsNotThereIsNoAddress) {
  Job job(1);
  job.facts[0].mutable_devices(0)->clear_address();
  EXPECT_THAT(job.Refusal(),
              Tells("msg-job-table-address-not-known", "why-not-asked"));
}

TEST(WriteRankTableTest, AHostsAddressThatIsNoneGetsIntoNoTable) {
  Job job(1);
  job.Live(0, 0).set_address("10.0.0.1\", \"rank_id\":\"9");
  job.spec.mutable_servers(0)->mutable_devices(0)->clear_address();
  EXPECT_THAT(job.Refusal(), Tells("msg-job-table-live-not-ipv4"));
}

TEST(WriteRankTableTest, OneServerNeedsNoAddressesOfItsDevices) {
  Job job(1);
  for (DeviceFacts& device : *job.facts[0].mutable_devices()) {
    device.mutable_address()->mutable_value()->Clear();
  }
  EXPECT_THAT(job.Write().value(), Not(HasSubstr("device_ip")));
}

TEST(WriteRankTableTest,
     ServersWithDifferentNumbersOfDevicesAreRefusedAsByHccl) {
  Job job(2);
  job.spec.mutable_servers(1)->mutable_devices()->DeleteSubrange(4, 4);
  EXPECT_THAT(job.Refusal(), Tells("msg-job-table-device-count",
                                   "server_list[1].device", "4 devices", 8));
}

TEST(WriteRankTableTest, FactsOfOtherServersAreRefused) {
  Job job(2);
  std::swap(job.facts[0], job.facts[1]);
  EXPECT_THAT(job.Refusal(),
              Tells("msg-job-facts-order", "\"server1\"", "server0"));
  job.facts.pop_back();
  EXPECT_THAT(job.Refusal(),
              Tells("msg-job-facts-count", "1 host", "2 servers"));
}

// Two servers with two devices each of one pod, and one of another.
TEST(WriteRankTableTest, WritesSuperPodsAsTheirChipsTellThem) {
  Job job(3, "atlas-a3-superpod");
  job.MoveToPod(2, 7);
  for (ServerSpec& server : *job.spec.mutable_servers()) {
    server.mutable_devices()->DeleteSubrange(2, 14);
  }
  const auto text = job.Write("1.2").value();
  EXPECT_EQ(text, ReadLaunchFile("hccl_json_super_pods.json"));
  const auto table = ParseRankTable(text).value();
  EXPECT_EQ(table.version, "1.2");
  ASSERT_EQ(table.super_pods.size(), 2u);
  EXPECT_THAT(table.super_pods[0].server_ids,
              ElementsAre(job.spec.servers(0).address(),
                          job.spec.servers(1).address()));
  EXPECT_EQ(table.servers[1].devices[1].super_device_id,
            job.Place(1, 1).sdid());
}

TEST(WriteRankTableTest, WithinOneSuperPodDevicesNeedNoAddress) {
  Job job(2, "atlas-a3-superpod");
  for (HostFacts& host : job.facts) {
    for (DeviceFacts& device : *host.mutable_devices()) {
      device.mutable_address()->mutable_value()->Clear();
    }
  }
  EXPECT_THAT(job.Write("1.2").value(), Not(HasSubstr("device_ip")));
  job.MoveToPod(1, 7);
  EXPECT_THAT(job.Refusal("1.2"),
              Tells("msg-job-table-no-address", "server0 device 0"));
}

TEST(WriteRankTableTest, AnSdidThatIsThereTwiceIsRefusedAsByHccl) {
  Job job(2, "atlas-a3-superpod");
  job.Place(1, 0).set_sdid(job.Place(0, 0).sdid());
  EXPECT_THAT(job.Refusal("1.2"), HasText("super_device_id"));
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
  const Telling kExpected[] = {
      Tells("msg-job-table-place-not-known", "server0 device 3",
            "why-not-supported", "spod-info"),
      Tells("msg-job-table-pod-differs", "server1 device 2", 3),
      Tells("msg-job-table-pod-differs", "server2 device 0", 4294967295),
      Tells("msg-job-table-place-not-known", "server3 device 0",
            "why-not-asked")};
  EXPECT_THAT(MessageLines(table.status()), ElementsAreArray(kExpected));
}

// HCCL's guide: servers of two pods must not be mixed.
TEST(WriteRankTableTest, ServersOfAPodFollowEachOther) {
  Job job(3, "atlas-a3-superpod");
  job.MoveToPod(1, 7);
  EXPECT_THAT(
      MessageLines(job.Refusal("1.2")),
      ElementsAre(Tells("msg-job-table-pods-mixed", "server2", 0, "server0")));
  // Other versions are not written.
  EXPECT_THAT(Job(1).Refusal("2.0"),
              Tells("msg-job-table-version-not-written", "\"2.0\""));
  EXPECT_EQ(*RankTableVersionOf(Job(1).spec), "1.0");
  EXPECT_EQ(*RankTableVersionOf(Job(1, "atlas-a3-superpod").spec), "1.2");
  EXPECT_EQ(RankTableVersionOf(Job(1, "ascend-950").spec).status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace clusterd
