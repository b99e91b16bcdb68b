#include "config/launch/job_spec.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/hccl/job_ports.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;

JobSpec Load(absl::string_view text, std::string* path = nullptr) {
  return LoadJobSpec("job.yaml", text, path).value();
}

absl::Status Mistakes(absl::string_view text) {
  const absl::StatusOr<JobSpec> job = LoadJobSpec("job.yaml", text);
  EXPECT_EQ(job.status().code(), absl::StatusCode::kInvalidArgument);
  return job.status();
}

// "server0:0,1 server1:0".
std::string Devices(const ClusterSpec& spec) {
  std::vector<std::string> servers;
  for (const ServerSpec& server : spec.servers()) {
    std::vector<uint32_t> ids;
    for (const DeviceSpec& device : server.devices())
      ids.push_back(device.id());
    servers.push_back(
        absl::StrCat(server.host(), ":", absl::StrJoin(ids, ",")));
  }
  return absl::StrJoin(servers, " ");
}

absl::Status NotNarrowed(const ClusterSpec& spec, const JobSpec& job) {
  const absl::StatusOr<ClusterSpec> narrowed = NarrowToJob(spec, job);
  EXPECT_EQ(narrowed.status().code(), absl::StatusCode::kInvalidArgument);
  return narrowed.status();
}

JobSpec JobOf(std::vector<std::string> hosts) {
  JobSpec job;
  for (const std::string& host : hosts) job.add_servers()->set_host(host);
  return job;
}

TEST(LoadJobSpecTest, ReadsNodesAndWhatHoldsForAllOfThem) {
  std::string path;
  const JobSpec job = Load(R"(id: slurm:1234.0
nodes: node[01-03]
devices: 8
product: atlas-a2
dtypes: [float16, bf16]
method: torchrun
user: ann
processes_per_device: 2
rank_table: hccl.json
master_addr: 10.0.0.1
master_port: 29500
world_size: 24
ssh: {user: ann, port: 2222, container_port: 12345, before: true}
environment:
  HCCL_IF_BASE_PORT: 50000
)",
                           &path);
  EXPECT_EQ(job.id(), "slurm:1234.0");
  ASSERT_EQ(job.servers_size(), 3);
  EXPECT_EQ(job.servers(2).host(), "node03");
  EXPECT_EQ(job.servers(2).device_count(), 8);
  EXPECT_EQ(job.servers(2).master_addr(), "10.0.0.1");
  EXPECT_EQ(job.servers(2).master_port(), 29500);
  EXPECT_EQ(job.servers(2).world_size(), 24);
  EXPECT_FALSE(job.servers(2).has_node_rank());
  EXPECT_EQ(absl::StrJoin(job.dtypes(), " "), "fp16 bfp16");
  EXPECT_EQ(job.processes_per_device(), 2);
  EXPECT_EQ(job.ssh().container_port(), 12345);
  EXPECT_TRUE(job.ssh().before());
  ASSERT_EQ(job.environment_size(), 1);
  EXPECT_EQ(job.environment(0).name(), "HCCL_IF_BASE_PORT");
  EXPECT_EQ(job.environment(0).value(), "50000");
  EXPECT_EQ(job.environment(0).line(), 15);
  EXPECT_EQ(path, "hccl.json");
  EXPECT_EQ(job.rank_table(), "");
}

TEST(LoadJobSpecTest, ReadsServersThatDiffer) {
  const JobSpec job = Load(R"(servers:
  - {host: node02, devices: "0-1,6", node_rank: 0, master_addr: node02}
  - {host: "node[04-05]", devices: [3]}
  - {host: node06}
devices: 4
)");
  ASSERT_EQ(job.servers_size(), 4);
  EXPECT_EQ(absl::StrJoin(job.servers(0).devices(), ","), "0,1,6");
  EXPECT_EQ(job.servers(0).device_count(), 0);
  EXPECT_TRUE(job.servers(0).has_node_rank());
  EXPECT_EQ(job.servers(2).host(), "node05");
  EXPECT_EQ(absl::StrJoin(job.servers(2).devices(), ","), "3");
  EXPECT_EQ(job.servers(3).device_count(), 4);
}

TEST(LoadJobSpecTest, ReadsJson) {
  const JobSpec job = Load(R"({"nodes": ["a1", "b[1-2]"], "devices": 2})");
  ASSERT_EQ(job.servers_size(), 3);
  EXPECT_EQ(job.servers(0).host(), "a1");
}

TEST(LoadJobSpecTest, SaysEveryMistakeWithItsPlace) {
  EXPECT_THAT(
      MessageLines(Mistakes(R"(nodess: node1
devices: 0
product: atlas-a4
dtypes: [fp8]
method: torchrn
user: "-oProxyCommand=x"
servers:
  - {hosts: node1, node_rank: -1}
  - {host: "node[1-2]", node_rank: 1, master_port: 70000}
  - {host: node2, devices: 3-1}
ssh: yes
)")),
      ElementsAre(
          Tells("job.yaml:1:1: ", "msg-spec-unknown-key", "\"nodess\"",
                "did-you-mean", "nodes"),
          Tells("job.yaml:2:10: ", "devices", "msg-job-device-number", "\"0\"",
                100),
          Tells("job.yaml:3:10: ", "msg-spec-product", "atlas-a4",
                "did-you-mean", "atlas-a2"),
          Tells("job.yaml:4:10: ", "msg-job-word", "dtypes", "\"fp8\""),
          Tells("job.yaml:5:9: ", "method", "\"torchrn\"", "spec-a-word",
                "did-you-mean", "torchrun"),
          Tells("job.yaml:6:7: ", "msg-job-form", "user",
                "\"-oProxyCommand=x\"", "job-say-account", 64),
          Tells("job.yaml:8:5: ", "msg-spec-missing", "servers[0].host"),
          Tells("job.yaml:8:6: ", "msg-spec-unknown-key", "\"hosts\"",
                "servers[0]", "did-you-mean", "host"),
          Tells("job.yaml:8:31: ", "servers[0].node_rank", "\"-1\"",
                "spec-a-number", 0, 16777216),
          Tells("job.yaml:9:36: ", "msg-job-rank-of-several",
                "servers[1].node_rank", 2),
          Tells("job.yaml:9:52: ", "servers[1].master_port", "\"70000\"",
                "spec-a-number", 1, 65535),
          Tells("job.yaml:10:12: ", "msg-job-file-host-twice", "\"node2\"",
                "9:12"),
          Tells("job.yaml:10:28: ", "servers[2].devices",
                "value-number-backwards", "3-1"),
          Tells("job.yaml:11:6: ", "ssh", "\"yes\"", "spec-mapping-with",
                "user, port, container_port, before")));
  const std::vector<Refused> kRefused = {
      {"devices: 8\n", Tells("job.yaml:1:1: ", "msg-job-nodes-missing")},
      {"nodes: a1\nservers: [{host: a2}]\n",
       Tells("msg-job-nodes-and-servers", "servers", "1:8")},
      {"nodes: a[1-2],a1\nservers: a\n", Tells("servers", "job-say-servers")},
      {"nodes: [a1, 'a[1-2]']\n",
       Tells("msg-job-file-host-twice", "\"a1\"", "1:9")},
      {"nodes: server0\nports: [0]\n", Tells("msg-spec-no-port", "ports")},
      // Nobody takes the paths of these files.
      {"nodes: a1\nrank_table: x.json\n",
       Tells("msg-spec-unknown-key", "\"rank_table\"")},
      {"nodes: a1\nscript: a.py\n",
       Tells("msg-spec-unknown-key", "\"script\"")},
  };
  ExpectEach(Mistakes, kRefused);
}

TEST(LoadJobSpecTest, ReadsInterpreterRequirementsAndScript) {
  std::string path;
  const JobSpec files = Load(
      "nodes: a1\npython: /opt/my venv/bin/python3.10\n"
      "requirements: needs/requirements.txt\nscript: src/train.py\n",
      &path);
  EXPECT_EQ(files.python(), "/opt/my venv/bin/python3.10");
  EXPECT_EQ(files.requirements_file(), "needs/requirements.txt");
  EXPECT_EQ(files.requirements(), "");
  EXPECT_EQ(files.script_file(), "src/train.py");
  const JobSpec list = Load(
      "nodes: a1\nrequirements: [torch==2.1.0, 'numpy>=1.24,<2']\n", &path);
  EXPECT_EQ(list.requirements(), "torch==2.1.0\nnumpy>=1.24,<2\n");
  EXPECT_EQ(list.requirements_file(), "");
  for (const char* python :
       {"python3", "/usr/bin/bash", "\"/bin/python\\n\""}) {
    EXPECT_THAT(LoadJobSpec("job.yaml",
                            absl::StrCat("nodes: a1\npython: ", python), &path)
                    .status(),
                Tells("python", "job-say-interpreter"))
        << python;
  }
}

TEST(SetJobDevicesTest, FillsServersThatHaveNoneOfTheirOwn) {
  JobSpec job = JobOf({"a", "b"});
  job.mutable_servers(0)->add_devices(3);
  ASSERT_TRUE(SetJobDevices("8", &job).ok());
  EXPECT_EQ(job.servers(0).device_count(), 0);
  EXPECT_EQ(job.servers(1).device_count(), 8);
  job = JobOf({"a"});
  ASSERT_TRUE(SetJobDevices("0-3,6", &job).ok());
  EXPECT_EQ(absl::StrJoin(job.servers(0).devices(), ","), "0,1,2,3,6");
  for (const char* text : {"", "0", "101", "eight", "0-", "2,2"}) {
    EXPECT_EQ(SetJobDevices(text, &job).code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(NarrowToJobTest, KeepsTheJobsServersInItsOrderWithItsDevicesAlone) {
  ClusterSpec spec = MakeSpec("atlas-a2", "", 4);
  spec.set_rendezvous_port(6000);
  spec.set_mtu(4200);
  JobSpec job = JobOf({"server3", "server1"});
  job.mutable_servers(0)->set_device_count(2);
  job.mutable_servers(1)->add_devices(7);
  job.mutable_servers(1)->add_devices(5);
  const absl::StatusOr<ClusterSpec> narrowed = NarrowToJob(spec, job);
  ASSERT_TRUE(narrowed.ok()) << narrowed.status();
  EXPECT_EQ(Devices(*narrowed), "server3:0,1 server1:5,7");
  EXPECT_EQ(narrowed->servers(0).address(), spec.servers(3).address());
  EXPECT_EQ(narrowed->servers(0).devices(1).address(),
            spec.servers(3).devices(1).address());
  EXPECT_TRUE(narrowed->one_job());
  EXPECT_EQ(narrowed->cluster_servers(),
            static_cast<uint32_t>(spec.servers_size()));
  EXPECT_EQ(narrowed->rendezvous_port(), 6000);
  EXPECT_EQ(narrowed->mtu(), 4200);
}

TEST(NarrowToJobTest, TakesAllDevicesWhereTheJobNamesNone) {
  const auto narrowed =
      NarrowToJob(MakeSpec("atlas-300t", "", 2), JobOf({"server1"})).value();
  EXPECT_EQ(Devices(narrowed), "server1:1,4");
}

TEST(NarrowToJobTest, TakesThePortsThatTheJobNames) {
  JobSpec job = JobOf({"server0", "server1"});
  job.mutable_servers(1)->set_master_port(29500);
  job.mutable_ssh()->set_container_port(12345);
  const auto narrowed = NarrowToJob(MakeSpec("atlas-a2", "", 2), job).value();
  EXPECT_EQ(narrowed.rendezvous_port(), 29500);
  EXPECT_EQ(narrowed.ssh_port(), 12345);
}

TEST(NarrowToJobTest, AddsPortsOfTheJobsOtherServicesToThoseOfTheSpec) {
  ClusterSpec spec = MakeSpec("atlas-a2", "", 2);
  ObserveRequest::PortRange* const range = spec.add_ports();
  range->set_first(8265);
  range->set_last(8265);
  const auto narrowed = NarrowToJob(
      spec, Load("nodes: [server0, server1]\nports: [6379-6389, 10001]\n"));
  ASSERT_TRUE(narrowed.ok()) << narrowed.status();
  EXPECT_EQ(JobPorts(*narrowed).Minus(HcclPorts(*narrowed)).ToString(),
            "6379-6389,8265,10001");
}

// The same facts as master_port, master_addr and world_size.
TEST(LoadJobSpecTest, TakesLaunchVariablesOfTheEnvironment) {
  const std::string variables =
      "environment: {MASTER_PORT: 60010, MASTER_ADDR: 192.168.7.23, "
      "WORLD_SIZE: 12}\n";
  const JobSpec job = Load("nodes: [server0, server1]\n" + variables);
  for (const JobServer& server : job.servers()) {
    EXPECT_EQ(server.master_port(), 60010u);
    EXPECT_EQ(server.master_addr(), "192.168.7.23");
    EXPECT_EQ(server.world_size(), 12u);
    EXPECT_FALSE(server.has_node_rank());
  }
  EXPECT_EQ(NarrowToJob(MakeSpec("atlas-a2", "", 2), job)->rendezvous_port(),
            60010u);
  const JobSpec keyed = Load(
      "servers: [{host: a, world_size: 8}, {host: b}]\nmaster_port: 29500\n" +
      variables);
  EXPECT_EQ(keyed.servers(0).world_size(), 8u);
  EXPECT_EQ(keyed.servers(1).world_size(), 12u);
  EXPECT_EQ(keyed.servers(1).master_port(), 29500u);
}

TEST(NarrowToJobTest, KnowsHostsByAddressAndDomain) {
  ClusterSpec spec = MakeSpec("atlas-a2", "", 2);
  spec.set_domain("dc1.example.com");
  const auto narrowed = NarrowToJob(
      spec, JobOf({spec.servers(1).address(), "server0.dc1.example.com"}));
  ASSERT_TRUE(narrowed.ok()) << narrowed.status();
  EXPECT_EQ(narrowed->servers(0).host(), "server1");
  EXPECT_EQ(narrowed->servers(1).host(), "server0");
  EXPECT_THAT(NotNarrowed(spec, JobOf({"server1", spec.servers(1).address()})),
              Tells("msg-job-host-twice"));
}

TEST(NarrowToJobTest, SaysEveryMistake) {
  JobSpec job = JobOf({"server0", "servr1", "server0", "server1", "\x1b[31m"});
  job.set_product("atlas-a3");
  job.set_method("rsh");
  job.add_dtypes("bf17");
  job.mutable_servers(0)->add_devices(8);
  job.mutable_servers(0)->set_master_port(70000);
  job.mutable_servers(3)->set_device_count(9);
  EXPECT_THAT(
      MessageLines(NotNarrowed(MakeSpec("atlas-a2", "", 2), job)),
      ElementsAre(Tells("msg-job-product", "\"atlas-a3\"", "atlas-a2"),
                  Tells("msg-job-word", "dtypes", "\"bf17\""),
                  Tells("msg-job-word", "method", "\"rsh\""),
                  Tells("msg-job-out-of-range", "job-say-master-port-of",
                        "\"server0\"", 70000, 1, 65535),
                  Tells("msg-job-no-such-device", "server0", 8, "0-7"),
                  Tells("msg-job-host-not-in-cluster", "\"servr1\"",
                        "did-you-mean", "server1"),
                  Tells("msg-job-host-twice", "\"server0\""),
                  Tells("msg-job-too-few-devices", "server1", 9, 8, "0-7"),
                  Tells("msg-job-host-not-in-cluster", "\"\\033[31m\"", "")));
  EXPECT_THAT(MessageLines(NotNarrowed(ClusterSpec(), JobSpec())),
              ElementsAre(Tells("msg-job-without-server")));
  // Says its mistakes in the user's language.
  const auto lines = MessageLines(
      NarrowToJob(MakeSpec("atlas-a2", "", 2), JobOf({"x", "x"})).status());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].words(), "msg-job-host-not-in-cluster");
  const InLanguage chinese(Language::kChinese);
  EXPECT_EQ(ValueText(lines[0]),
            "主机 \"x\" 不是集群的服务器，应为 cluster.yaml 中的主机");
}

TEST(NarrowToJobTest, ShowsAHundredMistakesAndCountsTheRest) {
  JobSpec job;
  for (int i = 0; i < 250; ++i) {
    job.add_servers()->set_host(absl::StrCat("other", i));
  }
  const auto lines =
      MessageLines(NotNarrowed(MakeSpec("atlas-a2", "", 2), job));
  EXPECT_EQ(lines.size(), 101u);
  EXPECT_THAT(lines.back(), Tells("more-mistakes", "job", 150));
}

TEST(NarrowToJobTest, TakesOneHostForAHostThatKnowsNoOther) {
  const ClusterSpec own = MakeSpec("atlas-a2", "", 1);
  const JobSpec job = JobOf({"elsewhere", "server0"});
  const auto narrowed = NarrowToJob(own, job, "server0").value();
  EXPECT_EQ(Devices(narrowed), "server0:0,1,2,3,4,5,6,7");
  EXPECT_EQ(NarrowToJob(own, JobOf({"elsewhere"}), "server0").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(JobDigestTest, IsOfAllButTheId) {
  JobSpec job = JobOf({"a", "b"});
  const std::string digest = JobDigest(job);
  EXPECT_EQ(digest.size(), 64);
  job.set_id("slurm:1.0");
  EXPECT_EQ(JobDigest(job), digest);
  job.mutable_servers(1)->add_devices(1);
  EXPECT_NE(JobDigest(job), digest);
}

}  // namespace
}  // namespace clusterd
