#include <string>

#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// The job takes `counts` devices of the servers, from the lowest.
TestCluster JobOf(const char* product, std::vector<int> counts) {
  TestCluster cluster(product, "", static_cast<int>(counts.size()));
  for (size_t i = 0; i < counts.size(); ++i) {
    auto* devices = cluster.spec.mutable_servers(i)->mutable_devices();
    devices->DeleteSubrange(counts[i], devices->size() - counts[i]);
  }
  cluster.StartJob();
  return cluster;
}

// A job on one server that takes those devices.
TestCluster JobOnOne(const char* product, std::vector<uint32_t> ids) {
  TestCluster cluster(product, "", 1);
  ServerSpec* server = cluster.spec.mutable_servers(0);
  server->clear_devices();
  for (const uint32_t id : ids) server->add_devices()->set_id(id);
  cluster.StartJob();
  return cluster;
}

// A job of which only the number of servers matters.
TestCluster Sized(const char* product, int servers) {
  TestCluster cluster = SizedCluster(product, servers);
  cluster.StartJob();
  return cluster;
}

constexpr const char* kJobRules[] = {"job-device-count", "job-device-group",
                                     "job-uniform",      "job-size",
                                     "rendezvous",       "ranks",
                                     "rank-table",       "job-dtype"};

TEST(JobRulesTest, AreSkippedWithoutAJob) {
  for (const char* rule : kJobRules) {
    const RuleResult result = TestCluster().Check(rule);
    EXPECT_EQ(result.state(), SKIPPED) << rule;
    EXPECT_TRUE(result.not_run()) << rule;
    EXPECT_EQ(result.skip_words().words(), "rule-no-job") << rule;
  }
}

TEST(JobRulesTest, PassForAJobOnAHealthyCluster) {
  for (const char* product :
       {"atlas-training", "atlas-a2", "atlas-a2-box16", "atlas-a3"}) {
    TestCluster cluster(product);
    JobSpec& job = cluster.StartJob();
    job.add_dtypes("fp16");
    const int devices = cluster.spec.servers(0).devices_size();
    for (int i = 0; i < 2; ++i) {
      JobServer* server = job.mutable_servers(i);
      server->set_node_rank(i);
      server->set_world_size(2 * devices);
      server->set_master_addr(cluster.spec.servers(0).address());
      server->set_master_port(29500);
    }
    for (const char* rule :
         {"job-device-count", "job-uniform", "job-size", "rendezvous", "ranks",
          "job-dtype", "device-idle", "device-process-limit"}) {
      EXPECT_EQ(cluster.Check(rule).state(), PASS)
          << product << "\n"
          << Lines(cluster.Check(rule));
    }
    EXPECT_EQ(cluster.MakeReport().verdict(), PASS) << product;
  }
}

TEST(CheckJobDeviceCountTest, TakesTheNumbersOfTheProduct) {
  const std::vector<std::pair<const char*, std::vector<int>>> legal = {
      {"atlas-training", {1, 2, 4, 8}},
      {"atlas-a2", {1, 2, 3, 4, 5, 6, 7, 8}},
      {"atlas-a2-box16", {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16}},
      {"atlas-a3", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}};
  for (const auto& [product, counts] : legal) {
    const int most = TestCluster(product).spec.servers(0).devices_size();
    for (int count = 1; count <= most; ++count) {
      const State state = JobOf(product, {count}).StateOf("job-device-count");
      const bool is_legal =
          std::find(counts.begin(), counts.end(), count) != counts.end();
      EXPECT_EQ(state, is_legal ? PASS : FAIL) << product << " " << count;
    }
  }
  EXPECT_EQ(JobOf("atlas-300t", {2}).StateOf("job-device-count"), SKIPPED);
}

TEST(CheckJobDeviceCountTest, NamesTheServersAndTheChoice) {
  EXPECT_EQ(
      Lines(JobOf("atlas-training", {3, 8, 3}).Check("job-device-count")),
      "FAIL cluster no-such-number devices=3 devices, servers=server[0,2], "
      "choice=1, 2, 4 or 8, product=Atlas training series (SMP)\n");
  EXPECT_THAT(
      JobOf("atlas-a2-box16", {9}).Check("job-device-count"),
      Finds("no-such-number devices=9 devices, servers=server0, choice=1, 2, "
            "3, 4, 5, 6, 7, 8, 10, 12, 14 or 16, product=Atlas 200T A2 Box16"));
}

TEST(CheckJobDeviceGroupTest, KeepsTwoAndFourDevicesOfOneServerTogether) {
  const std::pair<std::vector<uint32_t>, State> kIds[] = {
      {{2, 3}, PASS}, {{4, 5, 6, 7}, PASS},
      {{5}, PASS},    {{0, 1, 2, 3, 4, 5, 6, 7}, PASS},
      {{3, 4}, FAIL}, {{0, 1, 2, 4}, FAIL}};
  for (const auto& [ids, state] : kIds) {
    EXPECT_EQ(JobOnOne("atlas-training", ids).StateOf("job-device-group"),
              state)
        << testing::PrintToString(ids);
  }
  EXPECT_EQ(Lines(JobOnOne("atlas-training", {0, 4}).Check("job-device-group")),
            "FAIL cluster across devices=devices 0,4\n");
}

TEST(CheckJobDeviceGroupTest, IsForOneServerOfTheAtlasTrainingSeries) {
  EXPECT_EQ(JobOnOne("atlas-a2", {3, 4}).StateOf("job-device-group"), SKIPPED);
  TestCluster two("atlas-training");
  for (ServerSpec& server : *two.spec.mutable_servers()) {
    server.mutable_devices()->DeleteSubrange(5, 3);
    server.mutable_devices()->DeleteSubrange(0, 3);
  }
  two.StartJob();
  EXPECT_EQ(two.Check("job-device-group").state(), SKIPPED);
}

TEST(CheckJobUniformTest, IsDemandedOrAdvised) {
  EXPECT_EQ(Lines(JobOf("atlas-training", {8, 4, 8}).Check("job-uniform")),
            "FAIL cluster demanded groups=8 devices on server[0,2], 4 devices "
            "on server1, product=Atlas training series (SMP)\n");
  for (const char* product : {"atlas-a2", "atlas-a3"}) {
    EXPECT_EQ(JobOf(product, {8, 7}).Check("job-uniform").state(), WARN);
    EXPECT_EQ(JobOf(product, {7, 7}).Check("job-uniform").state(), PASS);
  }
  EXPECT_EQ(JobOf("ascend-950", {8, 7}).Check("job-uniform").state(), SKIPPED);
}

TEST(CheckJobSizeTest, FailsAboveTheProductsBoundAndAdvisesAPowerOfTwo) {
  for (const auto& [product, servers, state] :
       {std::tuple("atlas-training", 512, PASS),
        std::tuple("atlas-training", 513, FAIL),
        std::tuple("atlas-a2", 1024, PASS), std::tuple("atlas-a3", 1153, FAIL),
        std::tuple("atlas-300t", 3, SKIPPED)}) {
    EXPECT_EQ(Sized(product, servers).Check("job-size").state(), state)
        << product << " " << servers;
  }
  EXPECT_EQ(
      Lines(Sized("atlas-a2", 1152).Check("job-size")),
      "WARN cluster no-power servers=1152 servers, below=1024, above=2048\n");
}

TEST(CheckJobSizeTest, SpeaksInsteadOfTheRulesAboutTheCluster) {
  TestCluster cluster = Sized("atlas-a2", 3);
  for (const char* rule : {"cluster-size", "cluster-size-power"}) {
    EXPECT_EQ(cluster.Check(rule).skip_words().words(), "job-size-judges");
  }
}

TEST(CheckJobDtypeTest, TakesWhatTheDocumentsListForTheProduct) {
  const auto check = [](const char* product, const char* type) {
    TestCluster cluster(product);
    cluster.StartJob().add_dtypes(type);
    return cluster.Check("job-dtype").state();
  };
  for (const char* type : {"int8", "int32", "fp16", "fp32", "float16"}) {
    EXPECT_EQ(check("atlas-training", type), PASS) << type;
    EXPECT_EQ(check("atlas-a2", type), PASS) << type;
  }
  for (const char* type : {"bfp16", "bf16"}) {
    EXPECT_EQ(check("atlas-training", type), FAIL) << type;
    EXPECT_EQ(check("atlas-a2", type), PASS) << type;
    EXPECT_EQ(check("atlas-a3-superpod", type), PASS) << type;
  }
  for (const char* type : {"int16", "int64", "uint8", "fp64"}) {
    EXPECT_EQ(check("atlas-training", type), FAIL) << type;
    EXPECT_EQ(check("atlas-a3", type), FAIL) << type;
  }
  EXPECT_EQ(check("ascend-950", "bfp16"), SKIPPED);
  TestCluster cluster;
  cluster.StartJob().add_dtypes("bf16\x1b[31m");
  EXPECT_THAT(cluster.Check("job-dtype"),
              Finds("FAIL cluster lacks types=bf16\\x1b[31m, product=Atlas "
                    "training series (SMP), legal=int8, int32, fp16, fp32"));
}

// A job with the same value on every server.
TestCluster Meeting(const std::string& address, uint32_t port) {
  TestCluster cluster("atlas-a2");
  for (JobServer& server : *cluster.StartJob().mutable_servers()) {
    server.set_master_addr(address);
    server.set_master_port(port);
  }
  return cluster;
}

TEST(CheckRendezvousTest, IsOnTheFirstServersHostAddress) {
  const std::pair<const char*, State> kAddresses[] = {
      {"172.16.0.1", PASS}, {"server0", PASS},   {"server0.example.com", PASS},
      {"server1", FAIL},    {"127.0.0.1", FAIL}, {"localhost", FAIL},
      {"head", UNKNOWN}};
  for (const auto& [address, state] : kAddresses) {
    EXPECT_EQ(Meeting(address, 0).StateOf("rendezvous"), state) << address;
  }
  EXPECT_EQ(Lines(Meeting("172.16.0.2", 0).Check("rendezvous")),
            "FAIL cluster not-first given=172.16.0.2, address=172.16.0.1, "
            "host=server0\n");
  // One server may meet itself.
  TestCluster one("atlas-a2", "", 1);
  one.StartJob().mutable_servers(0)->set_master_addr("localhost");
  EXPECT_EQ(one.Check("rendezvous").state(), PASS);
}

TEST(CheckRendezvousTest, IsTheSameEverywhere) {
  TestCluster cluster = Meeting("172.16.0.1", 29500);
  cluster.job->mutable_servers(1)->set_master_addr("172.16.0.2");
  cluster.job->mutable_servers(1)->set_master_port(29501);
  EXPECT_EQ(Lines(cluster.Check("rendezvous")),
            "FAIL cluster addresses-differ addresses=172.16.0.1 on server0, "
            "172.16.0.2 on server1, address=172.16.0.1, host=server0\nFAIL "
            "cluster ports-differ ports=29500 on server0, 29501 on server1\n");
}

TEST(CheckRendezvousTest, StaysClearOfThePortsOfHccl) {
  EXPECT_THAT(Meeting("", 60007).Check("rendezvous"),
              Finds("FAIL cluster port-of-hccl port=60007, range=60000-60031"));
}

// A host's facts where another program has the port of Meeting.
constexpr char kTaken[] = R"(
    sockets {value {sockets {port: 29500 protocol: "tcp" address: "0.0.0.0"
    state: "LISTEN" pid: 7 command: "exporter\n"}}})";

TEST(CheckRendezvousTest, NeedsAFreePortOnTheFirstServer) {
  TestCluster cluster = Meeting("172.16.0.1", 29500);
  cluster.Set(1, kTaken);
  EXPECT_EQ(cluster.Check("rendezvous").state(), PASS);
  cluster.spec.set_rendezvous_port(29500);
  cluster.Set(0, kTaken);
  EXPECT_EQ(Lines(cluster.Check("rendezvous")),
            "FAIL cluster taken port=29500, holder=tcp 0.0.0.0 port 29500 "
            "LISTEN, held by pid 7 (exporter\\n), host=server0\n");
  // Only one rule reports it.
  EXPECT_EQ(cluster.Check("ports-free").state(), PASS);
  cluster.facts[0]
      .mutable_sockets()
      ->mutable_value()
      ->mutable_sockets(0)
      ->set_state("TIME_WAIT");
  EXPECT_EQ(cluster.Check("rendezvous").state(), PASS);
}

TEST(CheckRendezvousTest, JudgesTheSpecsPortWhereTheJobNamesNone) {
  TestCluster cluster = Meeting("172.16.0.1", 0);
  cluster.spec.set_rendezvous_port(29500);
  cluster.Set(0, kTaken);
  EXPECT_EQ(cluster.Check("ports-free").state(), FAIL);
  // The port of the job is not known without the sockets.
  cluster = Meeting("", 29500);
  SetMissing(Missing::UNREADABLE, "no", cluster.facts[0].mutable_sockets());
  EXPECT_EQ(cluster.Check("rendezvous").state(), UNKNOWN);
}

TEST(CheckRendezvousTest, JudgesWhatLoginFilesSetWhereTheJobSaysNothing) {
  TestCluster cluster("atlas-a2");
  cluster.StartJob();
  for (const int host : {0, 1}) {
    cluster.SetInLogins(host, "MASTER_ADDR", "172.16.0.2");
    cluster.SetInLogins(host, "MASTER_PORT", "60010");
  }
  const std::string lines = Lines(cluster.Check("rendezvous"));
  EXPECT_THAT(lines, HasSubstr("FAIL cluster not-first given=172.16.0.2, "
                               "address=172.16.0.1, host=server0"));
  EXPECT_THAT(
      lines,
      HasSubstr("FAIL cluster port-of-hccl port=60010, range=60000-60031"));
  for (JobServer& server : *cluster.job->mutable_servers()) {
    server.set_master_addr("172.16.0.1");
    server.set_master_port(29500);
  }
  EXPECT_EQ(cluster.Check("rendezvous").state(), PASS);
  // The login files of one server differ from the rest.
  cluster.job->mutable_servers(1)->clear_master_port();
  cluster.SetInLogins(1, "MASTER_PORT", "29501");
  EXPECT_THAT(cluster.Check("rendezvous"),
              Finds("FAIL cluster ports-differ ports=29500 on server0, 29501 "
                    "on server1"));
}

// HCCL takes another port of a range that is not pinned.
TEST(CheckRendezvousTest, KeepsOtherServicesClearOfAPinnedRange) {
  TestCluster cluster("atlas-a2");
  cluster.StartJob();
  cluster.SetSpec(
      "ports {first: 60010 last: 60040} hccl {base_port_auto: true}");
  EXPECT_EQ(cluster.Check("rendezvous").state(), PASS)
      << Lines(cluster.Check("rendezvous"));
  EXPECT_THAT(
      cluster.SetSpec("hccl {base_port_auto: false}").Check("rendezvous"),
      Finds(
          "FAIL cluster service-of-hccl ports=60010-60031, range=60000-60031"));
  cluster.spec.mutable_ports(0)->set_first(60032);
  EXPECT_EQ(cluster.Check("rendezvous").state(), PASS);
}

TEST(CheckRanksTest, JudgesVariables) {
  const auto state = [](const char* name, const char* first,
                        const char* second) {
    TestCluster cluster("atlas-a2");
    cluster.StartJob();
    cluster.SetInLogins(0, name, first);
    cluster.SetInLogins(1, name, second);
    return cluster.Check("ranks").state();
  };
  for (const char* name : {"WORLD_SIZE", "RANK_SIZE"}) {
    EXPECT_EQ(state(name, "16", "16"), PASS) << name;
    EXPECT_EQ(state(name, "12", "12"), FAIL) << name;
    EXPECT_EQ(state(name, "16", "12"), FAIL) << name;
  }
  EXPECT_EQ(state("NNODES", "2", "2"), PASS);
  EXPECT_EQ(state("NNODES", "1:4", "1:4"), PASS);
  EXPECT_EQ(state("NNODES", "3", "3"), FAIL);
  EXPECT_EQ(state("NODE_RANK", "0", "1"), PASS);
  EXPECT_EQ(state("NODE_RANK", "0", "0"), FAIL);
  EXPECT_EQ(state("NODE_RANK", "1", "0"), FAIL);
}

TEST(CheckRanksTest, CountsNodesAndRanksOfAllServers) {
  TestCluster nodes("atlas-a2");
  for (JobServer& server : *nodes.StartJob().mutable_servers()) {
    server.set_nnodes("3");
  }
  EXPECT_EQ(Lines(nodes.Check("ranks")),
            "FAIL cluster nodes given=3 on server[0-1], servers=2\n");
  TestCluster cluster("atlas-a2");
  cluster.StartJob().mutable_servers(1)->set_world_size(16);
  EXPECT_EQ(cluster.Check("ranks").state(), PASS);
  cluster.job->mutable_servers(0)->set_world_size(8);
  EXPECT_EQ(Lines(cluster.Check("ranks")),
            "FAIL cluster world-size given=8 on server0, 16 on server1, "
            "ranks=16, servers=8 devices on server[0-1], processes=1\n");
  for (JobServer& server : *cluster.job->mutable_servers()) {
    server.set_world_size(32);
  }
  EXPECT_EQ(cluster.Check("ranks").state(), FAIL);
  cluster.job->set_processes_per_device(2);
  EXPECT_EQ(cluster.Check("ranks").state(), PASS);
}

TEST(CheckRanksTest, WantsNodeRanksFromZeroEachOnce) {
  const auto wrong = [](std::vector<int> ranks) {
    TestCluster cluster("atlas-a2", "", static_cast<int>(ranks.size()));
    cluster.StartJob();
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] >= 0) {
        cluster.job->mutable_servers(i)->set_node_rank(ranks[i]);
      }
    }
    const RuleResult result = cluster.Check("ranks");
    return result.findings().empty() ? State_Name(result.state())
                                     : Brief(result.findings(0));
  };
  EXPECT_EQ(wrong({0, 1, 2}), "PASS");
  EXPECT_EQ(wrong({0, 2, 1}), "PASS");
  EXPECT_EQ(wrong({-1, -1}), "SKIPPED");
  EXPECT_EQ(wrong({0, 2}), "node-ranks wrong=node rank 2 on server1, last=1");
  EXPECT_EQ(
      wrong({1, 1}),
      "node-ranks wrong=node rank 1 on server1 and on another server, last=1");
  EXPECT_EQ(wrong({0, -1, 1}),
            "node-ranks wrong=no node rank on 1 server, last=2");
  EXPECT_EQ(
      wrong({1, 0}),
      "node-ranks wrong=node rank 1 on server0, the first server, last=1");
}

void Use(uint32_t device, HostFacts* host) {
  NpuProcess* process =
      host->mutable_npu_processes()->mutable_value()->add_processes();
  process->set_pid(4711);
  process->set_command("python");
  process->add_devices(device);
}

TEST(CheckDeviceIdleTest, FailsForADeviceOfTheJobAlone) {
  TestCluster cluster = JobOf("atlas-a2", {4, 4});
  Use(5, &cluster.facts[0]);
  EXPECT_EQ(cluster.Check("device-idle").state(), PASS);
  Use(3, &cluster.facts[1]);
  const std::string lines = Lines(cluster.Check("device-idle"));
  EXPECT_EQ(lines, "FAIL server1:3 in-the-way processes=4711 (python)\n");
  EXPECT_THAT(lines, ::testing::Not(HasSubstr("kill")));
  cluster.job.reset();
  EXPECT_EQ(cluster.Check("device-idle").state(), WARN);
}

TEST(CheckDeviceProcessLimitTest, JudgesThePlanOfTheJob) {
  TestCluster a1("atlas-training");
  a1.StartJob().set_processes_per_device(2);
  EXPECT_EQ(Lines(a1.Check("device-process-limit")),
            "FAIL cluster planned processes=2, product=Atlas training series "
            "(SMP)\n");
  a1.job->set_processes_per_device(1);
  EXPECT_EQ(a1.Check("device-process-limit").state(), PASS);
  TestCluster a2("atlas-a2");
  a2.StartJob().set_processes_per_device(2);
  a2.SetHosts("versions {driver {value: '25.0.rc1'}}");
  EXPECT_EQ(a2.Check("device-process-limit").state(), PASS);
  a2.facts[1].mutable_versions()->mutable_driver()->set_value("24.1.0");
  EXPECT_EQ(Lines(a2.Check("device-process-limit")),
            "FAIL cluster planned-for-driver processes=2, driver=\"24.1.0\", "
            "hosts=server1\n");
  a2.Set(1, "versions {driver {missing {reason: UNREADABLE detail: 'no'}}}");
  EXPECT_EQ(a2.Check("device-process-limit").state(), UNKNOWN);
}

TEST(ListenBacklogTest, CountsTheRanksOfTheJob) {
  TestCluster cluster = JobOf("atlas-a2", {8, 8});
  cluster.spec.mutable_kernel()->set_somaxconn_auto(true);
  cluster.facts[0].mutable_kernel()->mutable_somaxconn()->set_value(100);
  EXPECT_EQ(cluster.Check("listen-backlog").state(), PASS);
  cluster.job->set_processes_per_device(8);
  EXPECT_EQ(cluster.Check("listen-backlog").state(), FAIL);
}

}  // namespace
}  // namespace clusterd
