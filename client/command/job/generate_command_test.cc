#include <sys/stat.h>

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/launch/rank_table.h"
#include "config/values/version.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Arguments = std::vector<std::string>;

// A controller with two healthy servers that pass.
ProgramWorld LaunchWorld(const char* product = "atlas-a2") {
  const ClusterSpec spec = MakeSpec(product, "", 2);
  LaunchEvent event;
  LaunchFacts& facts = *event.mutable_facts();
  *facts.mutable_report() = PassingReport({"server0", "server1"});
  *facts.mutable_spec() = spec;
  for (const ServerSpec& server : spec.servers()) {
    *facts.add_facts() = MakeHealthyHost(spec, server);
  }
  LaunchEvent progress;
  progress.mutable_progress()->set_pending(2);
  ProgramWorld world;
  world.script.launch_events = {progress, event};
  return world;
}

LaunchFacts& FactsOf(ProgramWorld& world) {
  return *world.script.launch_events[1].mutable_facts();
}

Arguments Generate(const char* what, const Arguments& more = {}) {
  Arguments all = {"generate",    what,        "--nodes",
                   "server[0-1]", "--devices", "8"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string NoFile(const std::string& name) {
  const std::string path = TestFile(name, "");
  std::remove(path.c_str());
  return path;
}

TEST(GenerateRankTableTest, PrintsATableThatHcclReads) {
  ProgramWorld world = LaunchWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output =
      RunProgram(Generate("ranktable", {"--skip", "link"}), world);
  EXPECT_EQ(output.status, 0) << output.err;
  const auto table = ParseRankTable(output.out);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->servers.size(), 2u);
  const LaunchRequest request = *controller.launch_request();
  ASSERT_EQ(request.job().servers_size(), 2);
  EXPECT_EQ(request.job().servers(0).host(), "server0");
  EXPECT_EQ(request.job().servers(1).device_count(), 8u);
  EXPECT_EQ(request.selection().skip(0), "link");
}

TEST(GenerateRankTableTest, WritesTheVersionOfSuperPodsForThem) {
  ProgramWorld world = LaunchWorld("atlas-a3-superpod");
  const ProgramOutput output = RunProgram(Generate("ranktable"), world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(ParseRankTable(output.out)->version, "1.2");
  FactsOf(world).mutable_facts(1)->mutable_devices(7)->clear_super_pod();
  const ProgramOutput refused = RunProgram(Generate("ranktable"), world);
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("server1 device 7: its super pod id and "
                                     "SDID are not known"));
}

TEST(GenerateRankTableTest, LeavesAnotherFileAloneAndTakesTheSameForDone) {
  const std::string path = NoFile("table.json");
  const ProgramWorld world = LaunchWorld();
  EXPECT_EQ(RunProgram(Generate("ranktable", {"-o", path}), world).status, 0);
  const std::string written = FileContent(path);
  EXPECT_TRUE(ParseRankTable(written).ok());
  const ProgramOutput again =
      RunProgram(Generate("ranktable", {"-o", path}), world);
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.err, HasSubstr("has this content already"));

  TestFile("table.json", "{}");
  const ProgramOutput refused =
      RunProgram(Generate("ranktable", {"-o", path}), world);
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("exists with other content"));
  EXPECT_EQ(FileContent(path), "{}");
  EXPECT_EQ(
      RunProgram(Generate("ranktable", {"-o", path, "--overwrite"}), world)
          .status,
      0);
  EXPECT_EQ(FileContent(path), written);
}

TEST(GenerateLaunchTest, TakesTheJobFilesVariablesAndTheEndpointsPort) {
  const std::string job =
      TestFile("job.yaml",
               "nodes: server[0-1]\ndevices: 8\nmethod: torch-npu-run\n"
               "environment: {MY_FLAG: \"a b\", HCCL_CONNECT_TIMEOUT: 600, "
               "NNODES: 2}\n");
  ProgramWorld world = LaunchWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  const std::string address = FactsOf(world).spec().servers(0).address();
  const ProgramOutput output = RunProgram(
      {"generate", "launch", "--job", job, "--node", "server1",
       "--rdzv-endpoint", absl::StrCat(address, ":29600"), "--local-addr"},
      world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("export MY_FLAG='a b'\n"));
  EXPECT_THAT(output.out, HasSubstr("export HCCL_CONNECT_TIMEOUT=600\n"));
  EXPECT_THAT(output.out, HasSubstr("export MASTER_PORT=29600\n"));
  EXPECT_THAT(output.out, HasSubstr(" --local_addr="));
  EXPECT_EQ(controller.launch_request()->job().servers(0).master_port(),
            29600u);
  // Values of login files do not count.
  std::map<std::string, std::string> sets;
  const auto request = controller.launch_request();
  for (const auto& each : request->job().environment()) {
    EXPECT_TRUE(sets.emplace(each.name(), each.value()).second) << each.name();
  }
  EXPECT_EQ(sets["NNODES"], "2");
  for (const char* name : {"MASTER_ADDR", "NODE_RANK", "WORLD_SIZE"}) {
    EXPECT_EQ(sets.count(name), 1u) << name;
    EXPECT_EQ(sets[name], "") << name;
  }
  const ProgramOutput refused = RunProgram(
      Generate("launch", {"--method", "torchrun", "--standalone"}), world);
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("--standalone: torchrun does not take"));
}

TEST(GenerateRankTableTest, WritesNothingOfAJobThatFails) {
  const std::string path = NoFile("failed.json");
  for (const State state : {FAIL, UNKNOWN}) {
    ProgramWorld world = LaunchWorld();
    Report& report = *FactsOf(world).mutable_report();
    report.set_verdict(state);
    report.mutable_rules(0)->set_state(state);
    Finding& finding = *report.mutable_rules(0)->add_findings();
    finding.set_rule("link");
    finding.set_state(state);
    finding.add_subjects()->set_host("server1");
    finding.set_observed("link is DOWN");
    RuleResult& warning = *report.add_rules();
    warning.set_rule("optics");
    warning.set_category("device");
    warning.set_state(WARN);
    *warning.add_findings() = finding;
    warning.mutable_findings(0)->set_rule("optics");
    warning.mutable_findings(0)->set_state(WARN);
    warning.mutable_findings(0)->set_observed("no optical module");
    report.mutable_rules()->SwapElements(0, 1);
    RuleResult& passing = *report.add_rules();
    passing.set_rule("tls-uniform");
    passing.set_category("cluster");
    passing.set_state(PASS);
    const ProgramOutput output =
        RunProgram(Generate("ranktable", {"-o", path}), world);
    EXPECT_EQ(output.status, state == FAIL ? 1 : 2);
    EXPECT_EQ(output.out, "");
    EXPECT_THAT(output.err, HasSubstr("link is DOWN"));
    // Failures come first; rules that passed are only counted.
    EXPECT_THAT(output.err, HasSubstr("no optical module"));
    EXPECT_LT(output.err.find("link is DOWN"),
              output.err.find("no optical module"));
    EXPECT_THAT(output.err, HasSubstr("cluster  1 passed"));
    EXPECT_THAT(output.err, Not(HasSubstr("tls-uniform")));
    EXPECT_THAT(output.err, HasSubstr("--skip link\n"));
    EXPECT_NE(access(path.c_str(), F_OK), 0);
  }
}

TEST(GenerateTest, NamesWhatTheCommandCanChangeAboutTheRulesThatFailed) {
  ProgramWorld world = LaunchWorld();
  Report& report = *FactsOf(world).mutable_report();
  report.set_verdict(FAIL);
  for (const char* rule : {"rendezvous", "job-size"}) {
    RuleResult& failed = *report.add_rules();
    failed.set_rule(rule);
    failed.set_category("job");
    failed.set_state(FAIL);
  }
  const ProgramOutput launch = RunProgram(Generate("launch"), world);
  EXPECT_EQ(launch.status, 1);
  EXPECT_THAT(launch.err, HasSubstr("rule rendezvous: this job can be changed "
                                    "with --master-port, or master_addr"));
  EXPECT_THAT(launch.err, HasSubstr("rule job-size: this job can be changed "
                                    "with --nodes, --devices, or nodes"));
  EXPECT_THAT(launch.err, HasSubstr("--skip rendezvous,job-size\n"));
  // `generate ranktable` has no such option.
  EXPECT_THAT(RunProgram(Generate("ranktable"), world).err,
              AllOf(HasSubstr("master_addr, master_port"),
                    Not(HasSubstr("--master-port"))));
}

TEST(GenerateTest, SpeaksChineseAndKeepsItsDocument) {
  ProgramWorld world = LaunchWorld();
  for (const Arguments& more :
       {Arguments{"--form", "json", "--tiered", "on", "--node", "server0"},
        Arguments{"--form", "json", "--nnodes", "3"},
        Arguments{"--form", "json"}}) {
    world.environment["CLUSTERD_LANG"] = "en";
    const ProgramOutput english = RunProgram(Generate("launch", more), world);
    world.environment["CLUSTERD_LANG"] = "zh";
    const ProgramOutput chinese = RunProgram(Generate("launch", more), world);
    EXPECT_EQ(chinese.status, english.status);
    EXPECT_EQ(chinese.out, english.out);
    EXPECT_NE(chinese.err, english.err);
  }
  EXPECT_THAT(RunProgram(Generate("launch", {"--tiered", "on"}), world).err,
              HasSubstr("--tiered：torchrun 不支持，应为 --method "));
  EXPECT_THAT(RunProgram(Generate("launch"), world).err,
              HasSubstr("说明：MASTER_PORT 已选择 29501"));
}

TEST(GenerateRankTableTest, DoesNotReadTheTableThatItIsToWrite) {
  ProgramWorld world = LaunchWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  const std::string job =
      TestFile("old_table.yaml",
               "nodes: server[0-1]\ndevices: 8\nrank_table: no_such.json\n");
  const ProgramOutput output =
      RunProgram({"generate", "ranktable", "--job", job}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(controller.launch_request()->job().rank_table(), "");
}

TEST(GenerateTest, NotesTheWaivedFailuresThatTheJobMeets) {
  ProgramWorld world = LaunchWorld();
  Report& report = *FactsOf(world).mutable_report();
  for (const State from : {FAIL, WARN}) {
    Finding& finding = *report.mutable_rules(0)->add_findings();
    finding.set_rule(from == FAIL ? "link" : "optics");
    finding.set_state(WARN);
    finding.add_subjects()->set_host("server1");
    finding.mutable_subjects(0)->add_devices(3);
    finding.mutable_waiver()->set_rule(finding.rule());
    finding.mutable_waiver()->set_waived_from(from);
    finding.set_observed("DOWN; waived, else fail, until noon by ann: cable");
  }
  for (const ProgramOutput& output :
       {RunProgram(Generate("ranktable"), world),
        RunProgram(Generate("launch", {"--node", "server0"}), world)}) {
    EXPECT_EQ(output.status, 0);
    EXPECT_NE(output.out, "");
    EXPECT_THAT(output.err,
                HasSubstr("note: rule link, server1 device 3: DOWN; waived, "
                          "else fail, until noon by ann: cable\n"));
    EXPECT_THAT(output.err, Not(HasSubstr("optics")));
  }
}

TEST(GenerateRankTableTest, NamesEveryReasonWhyAnAddressCannotBeWritten) {
  ProgramWorld world = LaunchWorld();
  FactsOf(world).mutable_facts(0)->mutable_devices(2)->clear_address();
  FactsOf(world).mutable_facts(1)->mutable_devices(7)->clear_address();
  const ProgramOutput output = RunProgram(Generate("ranktable"), world);
  EXPECT_EQ(output.status, 1);
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(output.err, HasSubstr("server0 device 2: its address is not"));
  EXPECT_THAT(output.err, HasSubstr("server1 device 7: its address is not"));
}

TEST(GenerateRankTableTest, NamesEveryMistakeOfTheLineAtOnce) {
  const ProgramOutput output = RunProgram(
      {"generate", "ranktable", "--nodes", "server[0-", "--devices", "x",
       "--version", "2.0", "--skip", "lnk", "--timeout", "3", "-o", "a.txt"});
  EXPECT_EQ(output.status, 3);
  for (const char* mistake : {"server[0-", "\"x\"", "--version: \"2.0\"",
                              "\"lnk\"", "--timeout: \"3\"", "--out: a.txt"}) {
    EXPECT_THAT(output.err, HasSubstr(mistake));
  }
}

TEST(GenerateRankTableTest, InsideASlurmJobTakesItsNodes) {
  ProgramWorld world = LaunchWorld();
  world.environment["SLURM_JOB_ID"] = "77";
  world.environment["SLURM_JOB_NODELIST"] = "server[0-1]";
  FakeController controller(world.script);
  world.controller = &controller;
  EXPECT_EQ(RunProgram({"generate", "ranktable"}, world).status, 0);
  EXPECT_EQ(controller.launch_request()->job().servers_size(), 2);
  EXPECT_THAT(controller.launch_request()->job().id(), HasSubstr("slurm:77"));
}

TEST(GenerateRankTableTest, WithoutServersSaysSo) {
  const ProgramOutput output = RunProgram({"generate", "ranktable"});
  EXPECT_EQ(output.status, 3);
  EXPECT_THAT(output.err, HasSubstr("no job is named"));
}

TEST(GenerateRankTableTest, TellsWhyTheControllerRefuses) {
  ProgramWorld world;
  world.script.launch_status =
      grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                   "server \"server9\" is not in the spec");
  const ProgramOutput output = RunProgram(Generate("ranktable"), world);
  EXPECT_EQ(output.status, 3);
  EXPECT_THAT(output.err, HasSubstr("server9"));
}

TEST(GenerateLaunchTest, PrintsAllServersOrOne) {
  const ProgramWorld world = LaunchWorld();
  const ProgramOutput all = RunProgram(Generate("launch"), world);
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("# torchrun, node 0: server0\n"));
  EXPECT_THAT(all.out, HasSubstr("# torchrun, node 1: server1\n"));
  EXPECT_THAT(all.err, HasSubstr("note: MASTER_PORT"));
  const ProgramOutput one =
      RunProgram(Generate("launch", {"--node", "server1"}), world);
  EXPECT_EQ(one.status, 0);
  EXPECT_THAT(one.out, Not(HasSubstr("server0")));
  const ProgramOutput none =
      RunProgram(Generate("launch", {"--node", "server2"}), world);
  EXPECT_EQ(none.status, 3);
  EXPECT_THAT(none.err, HasSubstr("is not a server of the job, did you mean"));
}

TEST(GenerateLaunchTest, WritesAFileForEachServerThatCanBeRun) {
  const std::string path = NoFile("launch-%h.sh");
  const std::string of_second =
      std::string(path).replace(path.find("%h"), 2, "server1");
  std::remove(of_second.c_str());
  const ProgramOutput output =
      RunProgram(Generate("launch", {"-o", path}), LaunchWorld());
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_THAT(FileContent(of_second), HasSubstr("NODE_RANK=1\n"));
  struct stat info = {};
  ASSERT_EQ(stat(of_second.c_str(), &info), 0);
  EXPECT_TRUE((info.st_mode & S_IXUSR) != 0);
}

TEST(GenerateLaunchTest, HandsTheScriptWhatStandsBehindTheDashes) {
  const ProgramOutput output = RunProgram(
      Generate("launch",
               {"--node", "server1", "--script", "my train.py", "--",
                "--node_rank={NODE_RANK}", "--name=", "it's $HOME", "--skip"}),
      LaunchWorld());
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_THAT(output.out,
              HasSubstr("torchrun $DISTRIBUTED_ARGS 'my train.py' "
                        "--node_rank=1 --name= 'it'\\''s $HOME' --skip\n"));
}

TEST(GenerateLaunchTest, HasTheOtherForms) {
  const ProgramWorld world = LaunchWorld();
  const ProgramOutput prolog = RunProgram(
      Generate("launch", {"--form", "slurm-task-prolog", "--node", "server0"}),
      world);
  EXPECT_EQ(prolog.status, 0);
  EXPECT_TRUE(absl::StartsWith(prolog.out, "export MASTER_ADDR="));
  const ProgramOutput json =
      RunProgram(Generate("launch", {"--form", "json"}), world);
  google::protobuf::Struct document;
  EXPECT_TRUE(
      google::protobuf::util::JsonStringToMessage(json.out, &document).ok());
  EXPECT_EQ(document.fields().at("nodes").list_value().values_size(), 2);
  const ProgramOutput which =
      RunProgram(Generate("launch", {"--form", "dotenv"}), world);
  EXPECT_EQ(which.status, 3);
  EXPECT_THAT(which.err, HasSubstr("--node: is missing"));
}

TEST(GenerateLaunchTest, AnErrorIsADocumentToo) {
  ProgramWorld world = LaunchWorld();
  FactsOf(world).mutable_report()->set_verdict(FAIL);
  for (const Arguments& more :
       {Arguments{"--form", "json"},
        Arguments{"--form", "json", "--master-port", "0"},
        Arguments{"--form", "json", "--skip", "nothing"}}) {
    const ProgramOutput output = RunProgram(Generate("launch", more), world);
    EXPECT_NE(output.status, 0);
    EXPECT_THAT(output.out, HasSubstr("\"command\": \"generate launch\""));
    EXPECT_THAT(output.out, HasSubstr(absl::StrCat("\"schema_version\": ",
                                                   kReportSchemaVersion)));
  }
}

TEST(GenerateLaunchTest, HasThePortTheMethodAndTheRankTableChecked) {
  ProgramWorld world = LaunchWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  const std::string table = TestFile("given.json", "{\"version\":\"1.0\"}");
  const ProgramOutput output =
      RunProgram(Generate("launch", {"--master-port", "29700", "--method",
                                     "mp-spawn", "--rank-table", table}),
                 world);
  EXPECT_EQ(output.status, 0) << output.err;
  const auto request = controller.launch_request();
  ASSERT_TRUE(request.has_value());
  const JobSpec& job = request->job();
  EXPECT_EQ(job.method(), "mp-spawn");
  EXPECT_EQ(job.rank_table(), "{\"version\":\"1.0\"}");
  EXPECT_EQ(job.servers(1).master_port(), 29700u);
  EXPECT_THAT(output.out,
              HasSubstr(absl::StrCat("export RANK_TABLE_FILE=", table, "\n")));
}

TEST(GenerateLaunchTest, HasTheInterpreterAndTheScriptChecked) {
  ProgramWorld world = LaunchWorld();
  world.environment["USER"] = "ann";
  FakeController controller(world.script);
  world.controller = &controller;
  const std::string needs = TestFile("needs.txt", "torch\n");
  const std::string script = TestFile("mine.py", "import torch\n");
  const ProgramOutput output = RunProgram(
      Generate("launch", {"--python", "/venv/bin/python", "--requirements",
                          needs, "--script", script}),
      world);
  EXPECT_EQ(output.status, 0) << output.err;
  const JobSpec job = controller.launch_request()->job();
  EXPECT_EQ(job.python(), "/venv/bin/python");
  EXPECT_EQ(job.user(), "ann");
  EXPECT_EQ(job.requirements(), "torch\n");
  EXPECT_EQ(job.script(), "import torch\n");
  EXPECT_THAT(output.out, HasSubstr(script));
  const ProgramOutput far =
      RunProgram(Generate("launch", {"--script", "/nowhere/far.py"}), world);
  EXPECT_EQ(far.status, 0) << far.err;
  EXPECT_THAT(far.err, HasSubstr("the script is not judged"));
  EXPECT_EQ(controller.launch_request()->job().script(), "");
  EXPECT_EQ(controller.launch_request()->job().python(), "");
  const std::string beside = TestFile("of_job.py", "import torch\n");
  const std::string file = TestFile(
      "python.yaml",
      absl::StrCat(
          "nodes: server[0-1]\ndevices: 8\npython: /opt/bin/python3\nscript: ",
          beside.substr(beside.rfind('/') + 1), "\n"));
  const ProgramOutput whole =
      RunProgram({"generate", "launch", "--job", file}, world);
  EXPECT_EQ(whole.status, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("of_job.py"));
  EXPECT_EQ(controller.launch_request()->job().python(), "/opt/bin/python3");
  EXPECT_EQ(controller.launch_request()->job().script(), "import torch\n");
}

TEST(GenerateLaunchTest, AScriptThatAJobFileMissesIsNamedOnce) {
  const std::string file = TestFile(
      "far.yaml", "nodes: server[0-1]\ndevices: 8\nscript: nowhere/far.py\n");
  const ProgramOutput output =
      RunProgram({"generate", "launch", "--job", file}, LaunchWorld());
  EXPECT_EQ(output.status, 3);
  EXPECT_THAT(output.err, HasSubstr("script: "));
  EXPECT_EQ(output.err.find("nowhere/far.py"),
            output.err.rfind("nowhere/far.py"))
      << output.err;
}

TEST(GenerateLaunchTest, APortInUseIsCalledByTheOptionThatNamedIt) {
  ProgramWorld world = LaunchWorld();
  const std::string first = FactsOf(world).spec().servers(0).address();
  BoundSocket& socket = *FactsOf(world)
                             .mutable_facts(0)
                             ->mutable_sockets()
                             ->mutable_value()
                             ->add_sockets();
  socket.set_port(29700);
  socket.set_protocol("tcp");
  socket.set_state("LISTEN");
  const ProgramOutput output = RunProgram(
      Generate("launch", {"--method", "torch-npu-run", "--rdzv-endpoint",
                          absl::StrCat(first, ":29700")}),
      world);
  EXPECT_EQ(output.status, 3);
  EXPECT_THAT(output.err, HasSubstr("--rdzv-endpoint: 29700 is taken on"));
  EXPECT_THAT(output.err, Not(HasSubstr("--master-port")));
}

TEST(GenerateLaunchTest, GivesThePortAndTheSuperPodsThatTheCheckJudges) {
  ProgramWorld world = LaunchWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  const auto launch = [&world](const std::string& lines,
                               const Arguments& more = {}) {
    const std::string job = TestFile(
        "given.yaml", absl::StrCat("nodes: server[0-1]\ndevices: 8\n", lines));
    Arguments all = {"generate", "launch", "--job", job, "--node", "server1"};
    all.insert(all.end(), more.begin(), more.end());
    return RunProgram(all, world);
  };
  const auto port = [&controller] {
    return controller.launch_request()->job().servers(1).master_port();
  };
  const char kBoth[] = "master_port: 29555\nlogic_super_pod: one\n";
  const ProgramOutput output = launch(kBoth);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("\nMASTER_PORT=29555\n"));
  EXPECT_THAT(output.out, HasSubstr("export HCCL_LOGIC_SUPERPOD_ID=one\n"));
  EXPECT_EQ(port(), 29555u);
  EXPECT_THAT(launch("environment: {MASTER_PORT: 29556}\n").out,
              HasSubstr("\nMASTER_PORT=29556\n"));
  EXPECT_EQ(port(), 29556u);
  EXPECT_THAT(launch(kBoth, {"--master-port", "29557"}).out,
              HasSubstr("\nMASTER_PORT=29557\n"));
  EXPECT_EQ(port(), 29557u);
  EXPECT_THAT(launch("master_port: 60001\n").err,
              HasSubstr("--job: master_port: 60001 lies in HCCL's range"));
}

TEST(GenerateLaunchTest, HasTheLoginsOfHorovodrunTried) {
  ProgramWorld world = LaunchWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  const auto asked = [&](const Arguments& more) {
    Arguments all = {"--method", "horovodrun"};
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_EQ(RunProgram(Generate("launch", all), world).status, 0);
    return controller.launch_request()->job().ssh();
  };
  const JobSsh ssh = asked({"--ssh-port", "12345", "--ssh-user", "ann"});
  EXPECT_EQ(ssh.user(), "ann");
  EXPECT_EQ(ssh.container_port(), 12345u);
  EXPECT_EQ(asked({"--ssh-port", "22", "--ssh-user", "ann"}).container_port(),
            0u);
  const std::string job = TestFile(
      "mpi.yaml",
      "nodes: server[0-1]\ndevices: 8\nssh: {user: bob, container_port: 2222}");
  const ProgramOutput output = RunProgram(
      {"generate", "launch", "--job", job, "--method", "horovodrun"}, world);
  EXPECT_THAT(output.out, HasSubstr(" -p 2222 "));
  EXPECT_EQ(controller.launch_request()->job().ssh().user(), "bob");
  const std::string of_user =
      TestFile("user.yaml", "nodes: server[0-1]\ndevices: 8\nuser: eve\n");
  EXPECT_EQ(RunProgram({"generate", "launch", "--job", of_user, "--method",
                        "horovodrun"},
                       world)
                .status,
            0);
  EXPECT_EQ(controller.launch_request()->job().ssh().user(), "eve");
}

TEST(GenerateLaunchTest, RefusesWhatTheMethodDoesNotHaveBeforeItAsksAnyHost) {
  ProgramWorld world = LaunchWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram(
      Generate("launch", {"--tiered", "on", "--ssh-port", "2222", "--mpi-args",
                          "-mca btl_tcp_if_exclude docker0"}),
      world);
  EXPECT_EQ(output.status, 3);
  EXPECT_FALSE(controller.launch_request().has_value());
  EXPECT_THAT(output.err, HasSubstr("--tiered: torchrun does not take"));
  EXPECT_THAT(output.err, HasSubstr("expected --method horovodrun"));
  EXPECT_THAT(output.err, HasSubstr("expected no btl_tcp_if_exclude"));
}

TEST(GenerateLaunchTest, WritesTheSameLaunchAsTheSameDocument) {
  const ProgramWorld world = LaunchWorld();
  const auto run = [&] {
    return RunProgram(Generate("launch", {"--form", "json"}), world).out;
  };
  const std::string first = run();
  EXPECT_THAT(first, HasSubstr("\"nodes\""));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(run(), first);
}

TEST(GenerateLaunchTest, NamesEveryMistakeOfTheLineAtOnce) {
  const ProgramOutput output =
      RunProgram({"generate", "launch", "--nodes", "n[", "--method", "torchrn",
                  "--form", "yaml", "--asd", "9", "--tiered", "maybe",
                  "--master-port", "port", "--ssh-port", "0"});
  EXPECT_EQ(output.status, 3);
  for (const char* mistake :
       {"did you mean \"torchrun\"?", "--form: \"yaml\"", "--asd: \"9\"",
        "--tiered: \"maybe\"", "--master-port: \"port\"", "--ssh-port: \"0\"",
        "--nodes: "}) {
    EXPECT_THAT(output.err, HasSubstr(mistake));
  }
}

TEST(GenerateLaunchTest, NamesTheEndpointWhosePortIsWrong) {
  const ProgramOutput output =
      RunProgram({"generate", "launch", "--nodes", "n[", "--rdzv-endpoint",
                  "server0:99999"});
  EXPECT_EQ(output.status, 3);
  EXPECT_THAT(output.err, HasSubstr("--rdzv-endpoint: \"99999\""));
  EXPECT_THAT(output.err, Not(HasSubstr("--master-port: ")));
}

TEST(GenerateLaunchTest, SaysWhatTheMethodCannotDo) {
  const ProgramOutput output = RunProgram(
      Generate("launch", {"--method", "mp-spawn", "--nnodes", "1:2"}),
      LaunchWorld());
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(output.err, HasSubstr("takes no range"));
}

}  // namespace
}  // namespace clusterd
