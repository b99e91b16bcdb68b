// The examples of the vendor's documents, with addresses in place of masked
// ones; and choices, refusals and notes.
#include "config/launch/launch.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/launch/job_spec.h"
#include "config/launch/launch_text.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string LaunchFile(const std::string& name) {
  return absl::StrCat("tests/testdata/launch/", name);
}

// Compares with the file. Run from the top of the tree with
// CLUSTERD_UPDATE_GOLDEN=1, the test writes the file instead, and fails.
void ExpectLaunchFile(const std::string& name, const std::string& actual) {
  if (std::getenv("CLUSTERD_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(LaunchFile(name), std::ios::binary) << actual;
    ADD_FAILURE() << "wrote " << name << "; look at the difference";
    return;
  }
  std::ifstream file(LaunchFile(name));
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(actual, text.str()) << name;
}

// The servers of the documents: 192.168.10.22 and on, of eight devices each.
struct Job {
  explicit Job(int servers = 2)
      : spec(MakeSpec("atlas-a2", "", servers)), facts(MakeHealthyFacts(spec)) {
    spec.clear_rendezvous_port();
    spec.mutable_hccl()->set_base_port_auto(true);
    for (int s = 0; s < servers; ++s) {
      const std::string address =
          absl::StrCat("192.168.", 10 + s / 200, ".", 22 + s % 200);
      spec.mutable_servers(s)->set_address(address);
      auto* const interfaces =
          facts[s].mutable_interfaces()->mutable_value()->mutable_interfaces();
      interfaces->Clear();
      HostInterface* const eth = interfaces->Add();
      eth->set_name("eth0");
      eth->add_addresses(address);
    }
  }

  absl::StatusOr<Launch> Make() const {
    return MakeLaunch(spec, Pointers(facts), options);
  }
  std::string Text(int node, LaunchForm form = LaunchForm::kShell) const {
    const auto launch = Make();
    return launch.ok() ? NodeText(*launch, launch->nodes[node], form)
                       : std::string(launch.status().message());
  }
  absl::Status Refusal() const { return Make().status(); }
  std::vector<FindingValue> Notes() const { return Make()->notes; }

  void Rename(int server, const std::string& interface) {
    facts[server]
        .mutable_interfaces()
        ->mutable_value()
        ->mutable_interfaces(0)
        ->set_name(interface);
  }
  void Bind(uint32_t port, const std::string& state = "LISTEN") {
    BoundSocket* const socket =
        facts[0].mutable_sockets()->mutable_value()->add_sockets();
    socket->set_port(port);
    socket->set_protocol("tcp");
    socket->set_state(state);
    socket->set_pid(7);
    socket->set_command("python\x1b[2J");
  }

  ClusterSpec spec;
  std::vector<HostFacts> facts;
  LaunchOptions options;
};

// Joins lines inside of a shell's string or command.
std::string OneLinePerCommand(absl::string_view text) {
  return absl::StrJoin(absl::StrSplit(text, " \\\n"), "");
}

// The text has every line, in this order.
void ExpectLines(const std::string& text,
                 const std::vector<std::string>& lines) {
  const std::string flat = absl::StrCat("\n", OneLinePerCommand(text));
  size_t at = 0;
  for (const std::string& line : lines) {
    const size_t found = flat.find(absl::StrCat("\n", line, "\n"), at);
    ASSERT_NE(found, std::string::npos) << line << "\nis not in\n" << flat;
    at = found + 1 + line.size();
  }
}

// "Start script" of the migration guide (several servers and devices), without
// its comments. Its source line is guarded here, and words behind a comment in
// the middle of its command become arguments of the script.
TEST(LaunchDocumentTest, TorchrunIsAsInTheMigrationGuide) {
  Job job;
  job.options.master_port = 6004;
  job.options.script = "train_16p.py";
  job.options.arguments = {"--nproc_per_node", "{NPUS_PER_NODE}",
                           "--node_rank",      "{NODE_RANK}",
                           "--learning_rate",  "0.0001",
                           "--batch_size",     "1",
                           "--epochs",         "1"};
  ExpectLaunchFile("torchrun_node0.sh", job.Text(0));
  ExpectLaunchFile("torchrun_node1.sh", job.Text(1));
}

// "Start the training" of the guide for PyTorch on two servers of eight, both
// servers. The document lost the blank in front of the second --master_port.
TEST(LaunchDocumentTest, TorchDistributedLaunchIsAsInTheGuideForTwoServers) {
  Job job;
  job.options.method = "torch-distributed-launch";
  job.options.master_port = 29501;
  job.options.python = "python3.7";
  job.options.script = "main.py";
  job.options.arguments = {"--addr", "{MASTER_ADDR}"};
  job.options.sources = std::vector<std::string>{"./env_npu.sh"};
  for (int node = 0; node < 2; ++node) {
    ExpectLines(
        job.Text(node),
        {"[ -f ./env_npu.sh ] && . ./env_npu.sh",
         "export HCCL_WHITELIST_DISABLE=1",
         absl::StrCat("export HCCL_IF_IP=192.168.10.", 22 + node),
         absl::StrCat(
             "python3.7 -m torch.distributed.launch --nnodes=2 --node_rank=",
             node,
             " --nproc_per_node 8 --master_addr 192.168.10.22 --master_port "
             "29501 main.py --addr 192.168.10.22")});
  }
  ExpectLaunchFile("torch_distributed_launch_node1.sh", job.Text(1));
}

// "Example of a job of one server" of the guide of torch_npu_run.
TEST(LaunchDocumentTest, TorchNpuRunOfOneServerIsAsInItsGuide) {
  Job job(1);
  job.options.method = "torch-npu-run";
  job.options.script = "ddp_test.py";
  ExpectLines(
      job.Text(0),
      {"export MASTER_IP_ADDR=192.168.10.22", "export MASTER_PORT=29501",
       "torch_npu_run --rdzv_backend=parallel "
       "--master_addr=$MASTER_IP_ADDR --master_port=$MASTER_PORT "
       "--nnodes=1 --nproc_per_node=8 ddp_test.py"});
}

// "Example of two servers" of the same, without tiers and with them.
TEST(LaunchDocumentTest, TorchNpuRunOfTwoServersIsAsInItsGuide) {
  for (const bool tiered : {false, true}) {
    Job job;
    job.options.method = "torch-npu-run";
    job.options.script = "ddp_test.py";
    job.options.tiered = tiered;
    for (int node = 0; node < 2; ++node) {
      ExpectLines(
          job.Text(node),
          {"export MASTER_IP_ADDR=192.168.10.22", "export MASTER_PORT=29501",
           absl::StrCat("torch_npu_run --rdzv_backend=parallel "
                        "--master_addr=$MASTER_IP_ADDR "
                        "--master_port=$MASTER_PORT --nnodes=2 --node_rank ",
                        node, " --nproc_per_node=8 ",
                        tiered ? "--enable_tiered_parallel_tcpstore=true " : "",
                        "ddp_test.py")});
    }
    if (tiered) ExpectLaunchFile("torch_npu_run_node1.sh", job.Text(1));
  }
}

Job HorovodJob() {
  Job job;
  job.options.method = "horovodrun";
  job.options.script = "main.py";
  job.options.mpi_args = "-mca btl tcp,self";
  job.options.ssh_port = 12345;
  return job;
}

// Steps 1.4 (~/.bashrc) and 2.3 (changes of run.sh) of the Rec SDK's guide for
// several servers, with a rank table. "xxx" is horovodrun there.
TEST(LaunchDocumentTest, HorovodrunIsAsInTheGuideWithARankTable) {
  Job job = HorovodJob();
  job.options.rank_table = "/job/hccl_json_16p_2_host.json";
  const std::string text = job.Text(0);
  EXPECT_THAT(text, Not(HasSubstr("btl_tcp_if_exclude")));
  ExpectLaunchFile("horovodrun_node0.sh", text);
}

// Step 2.2 of the same without one: main.py of all other nodes sets
// CM_WORKER_IP, and the master's address is given to it.
TEST(LaunchDocumentTest, HorovodrunIsAsInTheGuideWithoutARankTable) {
  const Job job = HorovodJob();
  ExpectLines(job.Text(0),
              {"export CM_CHIEF_IP=192.168.10.22", "export CM_WORKER_SIZE=16",
               "export CM_WORKER_IP=192.168.10.22"});
  ExpectLaunchFile("horovodrun_without_table_node1.sh", job.Text(1));
}

// The migration guide names mp.spawn and shell scripts beside the three, with
// requirements for all: one MASTER_ADDR and MASTER_PORT, ranks, a world size, a
// process per device.
TEST(LaunchDocumentTest, MpSpawnAndShellGetWhatTheMigrationGuideAsksFor) {
  Job job;
  job.options.method = "mp-spawn";
  ExpectLaunchFile("mp_spawn_node1.sh", job.Text(1));
  job.options.method = "shell";
  ExpectLaunchFile("shell_node1.sh", job.Text(1));
}

// tests/launch runs it.
TEST(LaunchTextTest, AUsersWordsAreWordsAndNothingElse) {
  Job job(1);
  job.options.script = "it's $(touch made).py";
  job.options.arguments = {
      "`touch made`", "\"; touch made; #", "*", "~", "a b", ""};
  ExpectLaunchFile("hostile_words.sh", job.Text(0));
}

TEST(LaunchTextTest, OtherFormsHoldValuesAndNoNames) {
  Job job;
  job.options.rank_table = "/job/a table.json";
  const std::string dotenv = job.Text(1, LaunchForm::kDotenv);
  EXPECT_EQ(dotenv,
            "MASTER_ADDR=192.168.10.22\nMASTER_PORT=29501\nNODE_RANK=1\n"
            "NNODES=2\nNPUS_PER_NODE=8\nWORLD_SIZE=16\nNPU_ASD_ENABLE=1\n"
            "HCCL_WHITELIST_DISABLE=1\nHCCL_IF_IP=192.168.10.23\n"
            "RANK_TABLE_FILE=/job/a table.json\n");
  for (const absl::string_view line :
       absl::StrSplit(job.Text(1, LaunchForm::kSlurmTaskProlog), '\n',
                      absl::SkipEmpty())) {
    EXPECT_TRUE(absl::StartsWith(line, "export ")) << line;
    EXPECT_THAT(dotenv, HasSubstr(line.substr(7)));
  }
}

TEST(LaunchTextTest, TheDocumentHasEveryNodeWithItsWords) {
  Job job;
  job.options.method = "torch-npu-run";
  const auto document = LaunchDocument(*job.Make());
  EXPECT_EQ(document.fields().at("schema_version").number_value(), 1);
  const auto& nodes = document.fields().at("nodes").list_value();
  ASSERT_EQ(nodes.values_size(), 2);
  const auto& node = nodes.values(1).struct_value().fields();
  EXPECT_EQ(node.at("host").string_value(), "server1");
  std::vector<std::string> words;
  for (const auto& word : node.at("command").list_value().values()) {
    words.push_back(word.string_value());
  }
  EXPECT_THAT(
      words, ElementsAre("torch_npu_run", "--rdzv_backend=parallel",
                         "--master_addr=192.168.10.22", "--master_port=29501",
                         "--nnodes=2", "--node_rank", "1", "--nproc_per_node=8",
                         "train.py"));
}

TEST(LaunchMethodsTest, AreThoseThatAJobMayName) {
  EXPECT_THAT(LaunchMethods(), ElementsAreArray(kLaunchMethods));
}

TEST(MakeLaunchTest, ARangeOfNodesMeetsAtARendezvous) {
  Job job(4);
  job.options.nnodes = "2:4";
  job.options.job_id = "slurm:12.0";
  const std::string text = job.Text(3);
  EXPECT_THAT(text, HasSubstr("\nNNODES=2:4\n"));
  EXPECT_THAT(text, HasSubstr("--rdzv_id slurm:12.0"));
  EXPECT_THAT(text, HasSubstr("--rdzv_endpoint $MASTER_ADDR:$MASTER_PORT"));
  EXPECT_THAT(text, Not(HasSubstr("--node_rank")));
  EXPECT_THAT(text, Not(HasSubstr("WORLD_SIZE")));
  job.options.job_id = "$(id)";
  EXPECT_THAT(job.Refusal(), Tells("msg-job-letters", "--job-id", "\"$(id)\""));
  job.options.method = "mp-spawn";
  EXPECT_THAT(job.Refusal(),
              Tells("msg-job-nnodes-range", "\"2:4\"", "mp-spawn", 4));
}

TEST(MakeLaunchTest, VariablesOfTheClusterGoWithEveryNode) {
  Job job;
  job.spec.mutable_hccl()->set_base_port(50000);
  job.spec.mutable_hccl()->set_base_port_auto(false);
  EXPECT_THAT(job.Text(0), HasSubstr("export HCCL_IF_BASE_PORT=50000\n"));
  job.spec.mutable_hccl()->set_base_port_auto(true);
  EXPECT_THAT(job.Text(0), Not(HasSubstr("HCCL_IF_BASE_PORT")));
  job.options.asd = 0;
  EXPECT_THAT(job.Text(0), HasSubstr("export NPU_ASD_ENABLE=0\n"));
}

TEST(MakeLaunchTest, DevicesThatAreNotTheFirstOnesAreMadeVisible) {
  Job job;
  for (ServerSpec& server : *job.spec.mutable_servers()) {
    server.mutable_devices()->DeleteSubrange(0, 4);
  }
  EXPECT_THAT(job.Text(1),
              HasSubstr("export ASCEND_RT_VISIBLE_DEVICES=4,5,6,7\n"));
  EXPECT_THAT(job.Text(1), HasSubstr("NPUS_PER_NODE=4\n"));
}

TEST(MakeLaunchTest, UnequalServersAreForHorovodrunAlone) {
  Job job = HorovodJob();
  job.spec.mutable_servers(1)->mutable_devices()->DeleteSubrange(4, 4);
  EXPECT_THAT(job.Refusal(), Tells("msg-job-one-environment", "devices"));
  job = Job();
  job.spec.mutable_servers(1)->mutable_devices()->DeleteSubrange(4, 4);
  EXPECT_THAT(job.Refusal(), Tells("msg-job-uneven-devices", "server1",
                                   "4 devices", "server0", 8));
}

TEST(MakeLaunchTest, TiersBeginWhereAProcessRunsOutOfFilesAndTheReasonIsGiven) {
  Job job(113);
  job.options.method = "torch-npu-run";
  EXPECT_THAT(job.Text(0), Not(HasSubstr("tiered")));
  EXPECT_THAT(job.Notes(), Contains(Tells("job-say-tiers-off", 1017)));
  job = Job(114);
  job.options.method = "torch-npu-run";
  EXPECT_THAT(job.Text(0), HasSubstr("--enable_tiered_parallel_tcpstore=true"));
  EXPECT_THAT(job.Notes(), Contains(Tells("job-say-tiers-on")));
  job.options.method = "torchrun";
  job.options.tiered = true;
  EXPECT_THAT(job.Refusal(), Tells("msg-job-option-of-other-method", "torchrun",
                                   "torch-npu-run"));
}

TEST(MakeLaunchTest, NamesEveryMistakeAtOnce) {
  Job job;
  job.options.script = "train\n.py";
  job.options.python = "";
  job.options.arguments = {"\x1b[31m"};
  job.options.asd = 4;
  job.options.nnodes = "3";
  job.options.rank_table = "table.txt";
  job.options.mpi_args = "-mca btl_tcp_if_exclude docker0";
  job.spec.mutable_servers(1)->clear_address();
  const absl::Status refusal = job.Refusal();
  for (const Telling& mistake :
       {Tells("--script", "\"train\\n.py\""), Tells("--python", "\"\""),
        Tells("job-say-argument", "\"\\x1b[31m\""),
        Tells("msg-job-out-of-range", "--asd", 4, 0, 3),
        Tells("msg-job-nnodes", "\"3\"", 2),
        Tells("msg-job-table-path", "\"table.txt\""),
        Tells("msg-job-option-of-other-method", "horovodrun"),
        Tells("msg-job-mpi-exclude"),
        Tells("msg-job-host-without-address", "server1")}) {
    EXPECT_THAT(refusal, mistake);
  }
  job.options.method = "torchrn";
  EXPECT_THAT(job.Refusal(),
              Tells("msg-job-word", "--method", "did-you-mean", "torchrun"));
}

TEST(MakeLaunchTest, AHostsNameThatIsNoneGetsIntoNoScript) {
  Job job;
  job.spec.mutable_servers(1)->set_host("a\nreboot");
  EXPECT_THAT(job.Refusal(), Tells("msg-job-host-name", "\"a\\nreboot\""));
}

TEST(MakeLaunchTest, AnInterfaceThatIsNotKnownIsNoneToName) {
  Job job = HorovodJob();
  job.facts[1].clear_interfaces();
  EXPECT_THAT(job.Refusal(), Tells("msg-job-interface-not-known", "server1",
                                   "192.168.10.23", "why-not-asked"));
  job = HorovodJob();
  job.Rename(1, "$(reboot)");
  EXPECT_THAT(job.Refusal(),
              Tells("msg-job-interface-name", "server1", "\"$(reboot)\""));
  job.Rename(1, "bond0.7");
  EXPECT_THAT(job.Text(0), HasSubstr("\ninterface=bond0.7,eth0\n"));
  EXPECT_THAT(job.Notes(), Contains(Tells("job-say-interfaces-differ")));
}

TEST(ChooseMasterPortTest, TakesTheFirstThatNobodyHas) {
  Job job;
  EXPECT_EQ(ChooseMasterPort(job.spec, job.facts[0], 0)->port, 29501u);
  job.Bind(29501);
  job.Bind(29502, "TIME_WAIT");
  const auto chosen = ChooseMasterPort(job.spec, job.facts[0], 0);
  EXPECT_EQ(chosen->port, 29502u);
  EXPECT_THAT(chosen->notes, ElementsAre(Tells("job-say-port-chosen", 29502)));
}

TEST(ChooseMasterPortTest, TheClustersOwnIsKnownToBeFree) {
  Job job;
  job.spec.set_rendezvous_port(29700);
  const auto chosen = ChooseMasterPort(job.spec, job.facts[0], 0);
  EXPECT_EQ(chosen->port, 29700u);
  EXPECT_THAT(chosen->notes, IsEmpty());
  job.facts[0].clear_sockets();
  EXPECT_THAT(ChooseMasterPort(job.spec, job.facts[0], 0)->notes,
              ElementsAre(Tells("job-say-port-not-known", 29700, "server0",
                                "why-not-asked")));
}

TEST(ChooseMasterPortTest, RefusesWhatHcclSshOrAProcessHas) {
  Job job;
  job.Bind(29600);
  const auto refusal = [&](uint32_t port) {
    return ChooseMasterPort(job.spec, job.facts[0], port).status();
  };
  EXPECT_THAT(refusal(60000), Tells("job-say-port-of-hccl", "60000-60031"));
  EXPECT_THAT(refusal(60031), Tells("job-say-port-of-hccl"));
  EXPECT_EQ(refusal(60032), absl::OkStatus());
  EXPECT_THAT(refusal(22), Tells("job-say-port-of-ssh"));
  EXPECT_THAT(refusal(70000), Tells("job-say-port-not-valid"));
  EXPECT_THAT(refusal(29600), Tells("job-say-port-taken", "server0",
                                    "job-say-process", 7, "python\\x1b[2J"));
}

TEST(MakeLaunchTest, APortInUseIsCalledByTheOptionThatNamedIt) {
  Job job;
  job.Bind(29600);
  job.options.method = "torch-npu-run";
  job.options.master_port = 29600;
  EXPECT_THAT(job.Refusal(), Tells("--master-port", 29600, "job-say-port-taken",
                                   "server0", "job-say-process", 7));
  job.options.rdzv_endpoint = "192.168.10.22:29600";
  job.options.port_option = "--rdzv-endpoint";
  EXPECT_THAT(job.Refusal(),
              AllOf(Tells("--rdzv-endpoint", 29600, "job-say-port-taken"),
                    Not(Tells("--master-port"))));
  // Both were given, but only one is used.
  job.options.rdzv_endpoint = "192.168.10.22:29601";
  job.options.port_option = "--master-port";
  EXPECT_THAT(job.Refusal(),
              Tells("--master-port", 29600, "job-say-port-taken"));
  job.spec.set_rendezvous_port(29600);
  job.options.master_port = 0;
  job.options.rdzv_endpoint = "";
  EXPECT_THAT(job.Refusal(), Tells("cluster.yaml: rendezvous_port", 29600,
                                   "job-say-port-taken"));
}

TEST(ChooseMasterPortTest, AnEphemeralPortIsFineOnceItIsReserved) {
  Job job;
  job.spec.set_rendezvous_port(40000);
  EXPECT_THAT(ChooseMasterPort(job.spec, job.facts[0], 0)->notes,
              ElementsAre(Tells("job-say-port-handed-out", 40000, "server0")));
  job.facts[0].mutable_kernel()->mutable_reserved_ports()->set_value(
      "40000,60000-60031");
  EXPECT_THAT(ChooseMasterPort(job.spec, job.facts[0], 0)->notes, IsEmpty());
}

TEST(MakeLaunchTest, TorchNpuRunTakesItsEndpointIdAndLocalAddress) {
  Job job;
  job.options.method = "torch-npu-run";
  job.options.rdzv_endpoint = "192.168.10.22:29600";
  job.options.master_port = 29600;
  job.options.rdzv_id = "job-7";
  job.options.local_addr = true;
  EXPECT_THAT(
      job.Text(1),
      HasSubstr("torch_npu_run --rdzv_backend=parallel "
                "--rdzv_endpoint=$MASTER_IP_ADDR:$MASTER_PORT --rdzv_id=job-7 "
                "--master_addr=$MASTER_IP_ADDR --master_port=$MASTER_PORT "
                "--nnodes=2 --node_rank 1 --nproc_per_node=8 "
                "--local_addr=192.168.10.23 train.py\n"));
  EXPECT_THAT(job.Text(1), HasSubstr("export MASTER_PORT=29600\n"));
  EXPECT_EQ(job.Make().value().nodes[0].command[2].value,
            "--rdzv_endpoint=192.168.10.22:29600");
  job.options.rdzv_endpoint =
      absl::StrCat(job.spec.servers(0).host(), ":29600");
  EXPECT_EQ(job.Refusal(), absl::OkStatus());
}

TEST(MakeLaunchTest, StandaloneIsOneServerWithoutAMaster) {
  Job job(1);
  job.options.method = "torch-npu-run";
  job.options.standalone = true;
  EXPECT_THAT(job.Text(0), HasSubstr("torch_npu_run --standalone --nnodes=1 "
                                     "--nproc_per_node=8 train.py\n"));
  EXPECT_THAT(job.Text(0), Not(HasSubstr("MASTER_")));
  EXPECT_THAT(job.Notes(), Contains(Tells("job-say-standalone")));
}

TEST(MakeLaunchTest, SaysWhichOptionsOfTheRendezvousDoNotFit) {
  const auto refusal = [](int servers, const auto& change) {
    Job job(servers);
    job.options.method = "torch-npu-run";
    change(job.options);
    return job.Refusal();
  };
  EXPECT_THAT(
      refusal(2, [](LaunchOptions& options) { options.standalone = true; }),
      Tells("msg-job-standalone-servers", 2));
  const absl::Status alone = refusal(1, [](LaunchOptions& options) {
    options.standalone = true;
    options.rdzv_id = "a";
    options.local_addr = true;
    options.tiered = true;
    options.master_port = 29600;
  });
  EXPECT_THAT(alone,
              Tells("msg-job-standalone-with",
                    "--rdzv-id, --local-addr, --tiered on, --master-port"));
  const absl::Status of_endpoint = refusal(1, [](LaunchOptions& options) {
    options.standalone = true;
    options.rdzv_endpoint = "192.168.10.22:29600";
    options.master_port = 29600;
    options.port_option = "--rdzv-endpoint";
  });
  EXPECT_THAT(of_endpoint, Tells("msg-job-standalone-with", "--rdzv-endpoint"));
  for (const char* wrong : {"192.168.10.23:29600", "192.168.10.22:29601",
                            "192.168.10.22", "a:0", ":29600", "a b:29600"}) {
    EXPECT_THAT(refusal(2,
                        [wrong](LaunchOptions& options) {
                          options.rdzv_endpoint = wrong;
                          options.master_port = 29600;
                        }),
                Tells("msg-job-endpoint", "192.168.10.22:29600"))
        << wrong;
  }
  EXPECT_THAT(
      refusal(2, [](LaunchOptions& options) { options.rdzv_id = "a b"; }),
      Tells("msg-job-letters", "--rdzv-id", "\"a b\""));
  EXPECT_THAT(refusal(1,
                      [](LaunchOptions& options) {
                        options.method = "torchrun";
                        options.standalone = true;
                        options.rdzv_id = "a";
                      }),
              Tells("msg-job-option-of-other-method", "--rdzv-id, --standalone",
                    "torchrun"));
}

TEST(MakeLaunchTest, ExportsWhatTheJobFileSets) {
  Job job;
  job.spec.mutable_hccl()->set_base_port_auto(false);
  job.spec.mutable_hccl()->set_base_port(60000);
  job.options.environment = {{"HCCL_IF_BASE_PORT", "50000"},
                             {"NPU_ASD_ENABLE", "0"},
                             {"MY_FLAG", "a $b"},
                             {"MASTER_PORT", "1"}};
  const std::string text = job.Text(0);
  EXPECT_THAT(text, HasSubstr("export HCCL_IF_BASE_PORT=50000\n"));
  EXPECT_THAT(text, Not(HasSubstr("60000")));
  // The last one counts.
  EXPECT_GT(text.find("export NPU_ASD_ENABLE=0\n"),
            text.find("export NPU_ASD_ENABLE=1\n"));
  EXPECT_THAT(text, HasSubstr("export MY_FLAG='a $b'\n"));
  EXPECT_THAT(text, Not(HasSubstr("MASTER_PORT=1\n")));
  EXPECT_THAT(job.Notes(),
              Contains(Tells("job-say-variable-left-out", "MASTER_PORT")));
  EXPECT_THAT(job.Text(0, LaunchForm::kDotenv), HasSubstr("MY_FLAG=a $b\n"));
  job.options.environment = {{"MY_FLAG", "a\nexport LD_PRELOAD=x"}};
  EXPECT_THAT(job.Refusal(), Tells("environment.MY_FLAG"));
}

TEST(MakeLaunchTest, ALogicalSuperPodIsThatOfEachServer) {
  Job job;
  job.options.environment = {{"HCCL_LOGIC_SUPERPOD_ID", "c"}};
  job.options.super_pods = {"a", "b"};
  EXPECT_THAT(job.Text(0),
              AllOf(HasSubstr("\nexport HCCL_LOGIC_SUPERPOD_ID=a\n"),
                    Not(HasSubstr("SUPERPOD_ID=c"))));
  EXPECT_THAT(job.Text(1), HasSubstr("\nexport HCCL_LOGIC_SUPERPOD_ID=b\n"));
  job.options.super_pods = {"", ""};
  EXPECT_THAT(job.Text(1), HasSubstr("\nexport HCCL_LOGIC_SUPERPOD_ID=c\n"));
  Job mpi = HorovodJob();
  mpi.options.super_pods = {"a", "a"};
  EXPECT_THAT(mpi.Text(0), HasSubstr("\nexport HCCL_LOGIC_SUPERPOD_ID=a\n"));
  mpi.options.super_pods = {"a", ""};
  EXPECT_THAT(mpi.Refusal(),
              Tells("msg-job-one-environment", "logic_super_pod"));
}

}  // namespace
}  // namespace clusterd
