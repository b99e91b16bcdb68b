#include <sys/stat.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "config/launch/rank_table.h"
#include "config/values/version.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::Not,
    ::testing::StartsWith;

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
  return With({"generate", what, "--nodes", "server[0-1]", "--devices", "8"},
              more);
}

ProgramOutput RunLaunch(const ProgramWorld& world, const Arguments& more = {}) {
  return RunProgram(Generate("launch", more), world);
}

ProgramOutput RunTable(const ProgramWorld& world, const Arguments& more = {}) {
  return RunProgram(Generate("ranktable", more), world);
}

// A job file of both servers with these lines more.
std::string JobFile(const std::string& name, const std::string& lines) {
  return TestFile(name,
                  absl::StrCat("nodes: server[0-1]\ndevices: 8\n", lines));
}

std::string NoFile(const std::string& name) {
  const std::string path = TestFile(name, "");
  std::remove(path.c_str());
  return path;
}

TEST(GenerateRankTableTest, PrintsATableThatHcclReads) {
  ProgramWorld world = LaunchWorld();
  WatchedController controller(world);
  const ProgramOutput output = RunTable(world, {"--skip", "link"});
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
  const ProgramOutput output = RunTable(world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(ParseRankTable(output.out)->version, "1.2");
  FactsOf(world).mutable_facts(1)->mutable_devices(7)->clear_super_pod();
  EXPECT_THAT(
      RunTable(world),
      Ends(1, Err(HasSubstr("server1 device 7: its super pod id")), Out("")));
}

TEST(GenerateRankTableTest, LeavesAnotherFileAloneAndTakesTheSameForDone) {
  const std::string path = NoFile("table.json");
  const ProgramWorld world = LaunchWorld();
  EXPECT_EQ(RunTable(world, {"-o", path}).status, 0);
  const std::string written = FileContent(path);
  EXPECT_TRUE(ParseRankTable(written).ok());
  EXPECT_THAT(RunTable(world, {"-o", path}),
              Ends(0, Err(HasSubstr("has this content already"))));

  TestFile("table.json", "{}");
  EXPECT_THAT(RunTable(world, {"-o", path}),
              Ends(3, Err(Tells("msg-job-other-content", path))));
  EXPECT_EQ(FileContent(path), "{}");
  EXPECT_EQ(RunTable(world, {"-o", path, "--overwrite"}).status, 0);
  EXPECT_EQ(FileContent(path), written);
}

TEST(GenerateLaunchTest, TakesTheJobFilesVariablesAndTheEndpointsPort) {
  const std::string job =
      JobFile("job.yaml",
              "method: torch-npu-run\n"
              "environment: {MY_FLAG: \"a b\", HCCL_CONNECT_TIMEOUT: 600, "
              "NNODES: 2}\n");
  ProgramWorld world = LaunchWorld();
  WatchedController controller(world);
  const std::string address = FactsOf(world).spec().servers(0).address();
  EXPECT_THAT(RunProgram({"generate", "launch", "--job", job, "--node",
                          "server1", "--rdzv-endpoint",
                          absl::StrCat(address, ":29600"), "--local-addr"},
                         world),
              Ends(0, Out(HasSubstr("export MY_FLAG='a b'\n")),
                   Out(HasSubstr("export HCCL_CONNECT_TIMEOUT=600\n")),
                   Out(HasSubstr("export MASTER_PORT=29600\n")),
                   Out(HasSubstr(" --local_addr="))));
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
  EXPECT_THAT(RunLaunch(world, {"--method", "torchrun", "--standalone"}),
              Ends(3, Err(HasSubstr("--standalone: torchrun "))));
}

TEST(GenerateRankTableTest, WritesNothingOfAJobThatFails) {
  const std::string path = NoFile("failed.json");
  for (const State state : {FAIL, UNKNOWN}) {
    ProgramWorld world = LaunchWorld();
    Report& report = *FactsOf(world).mutable_report();
    const auto failed = FromText<RuleResult>(R"(
        rule: "link" findings {rule: "link" observed: "link is DOWN"
        subjects {host: "server1"}})");
    report.set_verdict(state);
    report.mutable_rules(0)->MergeFrom(failed);
    report.mutable_rules(0)->set_state(state);
    report.mutable_rules(0)->mutable_findings(0)->set_state(state);
    MergeText(R"(
        rules {rule: "optics" category: "device" state: WARN
        findings {rule: "optics" state: WARN observed: "no optical module"
        subjects {host: "server1"}}}
        rules {rule: "tls-uniform" category: "cluster" state: PASS})",
              &report);
    report.mutable_rules()->SwapElements(0, 1);
    const ProgramOutput output = RunTable(world, {"-o", path});
    // Failures come first; rules that passed are only counted.
    EXPECT_THAT(output, Ends(state == FAIL ? 1 : 2, Out(""),
                             Err(HasSubstr("link is DOWN")),
                             Err(HasSubstr("no optical module")),
                             Err(HasSubstr("cluster  1 passed")),
                             Err(Not(HasSubstr("tls-uniform"))),
                             Err(HasSubstr("--skip link\n"))));
    EXPECT_LT(output.err.find("link is DOWN"),
              output.err.find("no optical module"));
    EXPECT_NE(access(path.c_str(), F_OK), 0);
  }
}

TEST(GenerateTest, NamesWhatTheCommandCanChangeAboutTheRulesThatFailed) {
  ProgramWorld world = LaunchWorld();
  Report& report = *FactsOf(world).mutable_report();
  report.set_verdict(FAIL);
  for (const char* rule : {"rendezvous", "job-size"}) {
    RuleResult& failed = *report.add_rules();
    MergeText("category: 'job' state: FAIL", &failed);
    failed.set_rule(rule);
  }
  EXPECT_THAT(RunLaunch(world),
              Ends(1,
                   Err(Tells("job-say-change-here", "rendezvous",
                             "--master-port, or master_addr")),
                   Err(Tells("job-say-change-here", "job-size",
                             "--nodes, --devices, or nodes")),
                   Err(HasSubstr("--skip rendezvous,job-size\n"))));
  // `generate ranktable` has no such option.
  EXPECT_THAT(RunTable(world).err, AllOf(HasSubstr("master_addr, master_port"),
                                         Not(HasSubstr("--master-port"))));
}

TEST(GenerateTest, SpeaksChineseAndKeepsItsDocument) {
  ProgramWorld world = LaunchWorld();
  for (const Arguments& more :
       {Arguments{"--form", "json", "--tiered", "on", "--node", "server0"},
        Arguments{"--form", "json", "--nnodes", "3"},
        Arguments{"--form", "json"}}) {
    world.environment["CLUSTERD_LANG"] = "en";
    const ProgramOutput english = RunLaunch(world, more);
    world.environment["CLUSTERD_LANG"] = "zh";
    const ProgramOutput chinese = RunLaunch(world, more);
    EXPECT_EQ(chinese.status, english.status);
    EXPECT_EQ(chinese.out, english.out);
    EXPECT_NE(chinese.err, english.err);
  }
  EXPECT_THAT(RunLaunch(world, {"--tiered", "on"}).err,
              HasSubstr("--tiered：torchrun 不支持，应为 --method "));
  EXPECT_THAT(RunLaunch(world).err,
              HasSubstr("说明：MASTER_PORT 已选择 29501"));
}

TEST(GenerateRankTableTest, DoesNotReadTheTableThatItIsToWrite) {
  ProgramWorld world = LaunchWorld();
  WatchedController controller(world);
  const std::string job =
      JobFile("old_table.yaml", "rank_table: no_such.json\n");
  EXPECT_EQ(RunProgram({"generate", "ranktable", "--job", job}, world).status,
            0);
  EXPECT_EQ(controller.launch_request()->job().rank_table(), "");
}

TEST(GenerateTest, NotesTheWaivedFailuresThatTheJobMeets) {
  ProgramWorld world = LaunchWorld();
  Report& report = *FactsOf(world).mutable_report();
  for (const State from : {FAIL, WARN}) {
    Finding& finding = *report.mutable_rules(0)->add_findings();
    MergeText(
        "state: WARN subjects {host: 'server1' devices: 3} "
        "observed: 'DOWN; waived by ann'",
        &finding);
    finding.set_rule(from == FAIL ? "link" : "optics");
    finding.mutable_waiver()->set_rule(finding.rule());
    finding.mutable_waiver()->set_waived_from(from);
  }
  for (const ProgramOutput& output :
       {RunTable(world), RunLaunch(world, {"--node", "server0"})}) {
    EXPECT_EQ(output.status, 0);
    EXPECT_NE(output.out, "");
    EXPECT_THAT(output.err, AllOf(Tells("note", Worded("job-say-waived", "link",
                                                       "server1 device 3",
                                                       "DOWN; waived by ann")),
                                  Not(HasSubstr("optics"))));
  }
}

TEST(GenerateRankTableTest, NamesEveryReasonWhyAnAddressCannotBeWritten) {
  ProgramWorld world = LaunchWorld();
  FactsOf(world).mutable_facts(0)->mutable_devices(2)->clear_address();
  FactsOf(world).mutable_facts(1)->mutable_devices(7)->clear_address();
  EXPECT_THAT(RunTable(world),
              Ends(1, Err(HasSubstr("server0 device 2: its address")),
                   Err(HasSubstr("server1 device 7: its address")), Out("")));
}

TEST(GenerateRankTableTest, NamesEveryMistakeOfTheLineAtOnce) {
  EXPECT_THAT(
      RunProgram({"generate", "ranktable", "--nodes", "server[0-", "--devices",
                  "x", "--version", "2.0", "--skip", "lnk", "--timeout", "3",
                  "-o", "a.txt"}),
      Ends(3, Err(AllOf(HasSubstr("server[0-"), HasSubstr("\"x\""),
                        HasSubstr("--version: \"2.0\""), HasSubstr("\"lnk\""),
                        HasSubstr("--timeout: \"3\""),
                        HasSubstr("--out: a.txt")))));
}

TEST(GenerateRankTableTest, InsideASlurmJobTakesItsNodes) {
  ProgramWorld world = LaunchWorld();
  world.environment["SLURM_JOB_ID"] = "77";
  world.environment["SLURM_JOB_NODELIST"] = "server[0-1]";
  WatchedController controller(world);
  EXPECT_EQ(RunProgram({"generate", "ranktable"}, world).status, 0);
  EXPECT_EQ(controller.launch_request()->job().servers_size(), 2);
  EXPECT_THAT(controller.launch_request()->job().id(), HasSubstr("slurm:77"));
}

TEST(GenerateRankTableTest, WithoutServersSaysSo) {
  EXPECT_THAT(RunProgram({"generate", "ranktable"}),
              Ends(3, Err(HasSubstr("no job is named"))));
}

TEST(GenerateRankTableTest, TellsWhyTheControllerRefuses) {
  ProgramWorld world;
  world.script.launch_status = {grpc::StatusCode::INVALID_ARGUMENT, "server9"};
  EXPECT_THAT(RunTable(world), Ends(3, Err(HasSubstr("server9"))));
}

TEST(GenerateLaunchTest, PrintsAllServersOrOne) {
  const ProgramWorld world = LaunchWorld();
  EXPECT_THAT(RunLaunch(world),
              Ends(0, Err(HasSubstr("note: MASTER_PORT")),
                   Out(HasSubstr("# torchrun, node 0: server0\n")),
                   Out(HasSubstr("# torchrun, node 1: server1\n"))));
  EXPECT_THAT(RunLaunch(world, {"--node", "server1"}),
              Ends(0, Out(Not(HasSubstr("server0")))));
  EXPECT_THAT(RunLaunch(world, {"--node", "server2"}),
              Ends(3, Err(Tells("msg-job-node-not-known", "server2", "")),
                   Err(HasSubstr("did you mean"))));
}

TEST(GenerateLaunchTest, WritesAFileForEachServerThatCanBeRun) {
  const std::string path = NoFile("launch-%h.sh");
  const std::string of_second =
      std::string(path).replace(path.find("%h"), 2, "server1");
  std::remove(of_second.c_str());
  EXPECT_EQ(RunLaunch(LaunchWorld(), {"-o", path}).status, 0);
  EXPECT_THAT(FileContent(of_second), HasSubstr("NODE_RANK=1\n"));
  struct stat info = {};
  ASSERT_EQ(stat(of_second.c_str(), &info), 0);
  EXPECT_TRUE((info.st_mode & S_IXUSR) != 0);
}

TEST(GenerateLaunchTest, HandsTheScriptWhatStandsBehindTheDashes) {
  EXPECT_THAT(
      RunLaunch(LaunchWorld(),
                {"--node", "server1", "--script", "my train.py", "--",
                 "--node_rank={NODE_RANK}", "--name=", "it's $HOME", "--skip"}),
      Ends(0, Out(HasSubstr(" 'my train.py' --node_rank=1 --name= "
                            "'it'\\''s $HOME' --skip\n"))));
}

TEST(GenerateLaunchTest, HasTheOtherForms) {
  const ProgramWorld world = LaunchWorld();
  EXPECT_THAT(
      RunLaunch(world, {"--form", "slurm-task-prolog", "--node", "server0"}),
      Ends(0, Out(StartsWith("export MASTER_ADDR="))));
  const ProgramOutput json = RunLaunch(world, {"--form", "json"});
  const auto document = FromJson<google::protobuf::Struct>(json.out);
  EXPECT_EQ(document.fields().at("nodes").list_value().values_size(), 2);
  EXPECT_THAT(RunLaunch(world, {"--form", "dotenv"}),
              Ends(3, Err(HasSubstr("--node: is missing"))));
}

TEST(GenerateLaunchTest, AnErrorIsADocumentToo) {
  ProgramWorld world = LaunchWorld();
  FactsOf(world).mutable_report()->set_verdict(FAIL);
  for (const Arguments& more :
       {Arguments{"--form", "json"},
        Arguments{"--form", "json", "--master-port", "0"},
        Arguments{"--form", "json", "--skip", "nothing"}}) {
    const ProgramOutput output = RunLaunch(world, more);
    EXPECT_NE(output.status, 0);
    EXPECT_THAT(output.out, HasSubstr("\"command\": \"generate launch\""));
    EXPECT_THAT(output.out, HasSubstr(absl::StrCat("\"schema_version\": ",
                                                   kReportSchemaVersion)));
  }
}

TEST(GenerateLaunchTest, HasThePortTheMethodAndTheRankTableChecked) {
  ProgramWorld world = LaunchWorld();
  WatchedController controller(world);
  const std::string table = TestFile("given.json", "{\"version\":\"1.0\"}");
  const ProgramOutput output =
      RunLaunch(world, {"--master-port", "29700", "--method", "mp-spawn",
                        "--rank-table", table});
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
  WatchedController controller(world);
  const std::string needs = TestFile("needs.txt", "torch\n");
  const std::string script = TestFile("mine.py", "import torch\n");
  const ProgramOutput output =
      RunLaunch(world, {"--python", "/venv/bin/python", "--requirements", needs,
                        "--script", script});
  EXPECT_EQ(output.status, 0) << output.err;
  const JobSpec job = controller.launch_request()->job();
  EXPECT_EQ(job.python(), "/venv/bin/python");
  EXPECT_EQ(job.user(), "ann");
  EXPECT_EQ(job.requirements(), "torch\n");
  EXPECT_EQ(job.script(), "import torch\n");
  EXPECT_THAT(output.out, HasSubstr(script));
  EXPECT_THAT(RunLaunch(world, {"--script", "/nowhere/far.py"}),
              Ends(0, Err(HasSubstr("the script is not judged"))));
  EXPECT_EQ(controller.launch_request()->job().script(), "");
  EXPECT_EQ(controller.launch_request()->job().python(), "");
  const std::string beside = TestFile("of_job.py", "import torch\n");
  const std::string file = JobFile(
      "python.yaml", absl::StrCat("python: /opt/bin/python3\nscript: ",
                                  beside.substr(beside.rfind('/') + 1), "\n"));
  EXPECT_THAT(RunProgram({"generate", "launch", "--job", file}, world),
              Ends(0, Out(HasSubstr("of_job.py"))));
  EXPECT_EQ(controller.launch_request()->job().python(), "/opt/bin/python3");
  EXPECT_EQ(controller.launch_request()->job().script(), "import torch\n");
}

TEST(GenerateLaunchTest, AScriptThatAJobFileMissesIsNamedOnce) {
  const std::string file = JobFile("far.yaml", "script: nowhere/far.py\n");
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
  MergeText(
      "sockets {value {sockets {port: 29700 protocol: 'tcp' state: 'LISTEN'}}}",
      FactsOf(world).mutable_facts(0));
  EXPECT_THAT(RunLaunch(world, {"--method", "torch-npu-run", "--rdzv-endpoint",
                                absl::StrCat(first, ":29700")}),
              Ends(3, Err(HasSubstr("--rdzv-endpoint: 29700 is")),
                   Err(Not(HasSubstr("--master-port")))));
}

TEST(GenerateLaunchTest, GivesThePortAndTheSuperPodsThatTheCheckJudges) {
  ProgramWorld world = LaunchWorld();
  WatchedController controller(world);
  const auto launch = [&world](const std::string& lines,
                               const Arguments& more = {}) {
    return RunProgram(With({"generate", "launch", "--job",
                            JobFile("given.yaml", lines), "--node", "server1"},
                           more),
                      world);
  };
  const auto port = [&controller] {
    return controller.launch_request()->job().servers(1).master_port();
  };
  const char kBoth[] = "master_port: 29555\nlogic_super_pod: one\n";
  EXPECT_THAT(launch(kBoth),
              Ends(0, Out(HasSubstr("\nMASTER_PORT=29555\n")),
                   Out(HasSubstr("export HCCL_LOGIC_SUPERPOD_ID=one\n"))));
  EXPECT_EQ(port(), 29555u);
  EXPECT_THAT(launch("environment: {MASTER_PORT: 29556}\n").out,
              HasSubstr("\nMASTER_PORT=29556\n"));
  EXPECT_EQ(port(), 29556u);
  EXPECT_THAT(launch(kBoth, {"--master-port", "29557"}).out,
              HasSubstr("\nMASTER_PORT=29557\n"));
  EXPECT_EQ(port(), 29557u);
  EXPECT_THAT(launch("master_port: 60001\n").err,
              HasSubstr("--job: master_port: 60001 lies in"));
}

TEST(GenerateLaunchTest, HasTheLoginsOfHorovodrunTried) {
  ProgramWorld world = LaunchWorld();
  WatchedController controller(world);
  const auto asked = [&](const Arguments& more) {
    EXPECT_EQ(RunLaunch(world, With({"--method", "horovodrun"}, more)).status,
              0);
    return controller.launch_request()->job().ssh();
  };
  const JobSsh ssh = asked({"--ssh-port", "12345", "--ssh-user", "ann"});
  EXPECT_EQ(ssh.user(), "ann");
  EXPECT_EQ(ssh.container_port(), 12345u);
  EXPECT_EQ(asked({"--ssh-port", "22", "--ssh-user", "ann"}).container_port(),
            0u);
  const std::string job =
      JobFile("mpi.yaml", "ssh: {user: bob, container_port: 2222}");
  const ProgramOutput output = RunProgram(
      {"generate", "launch", "--job", job, "--method", "horovodrun"}, world);
  EXPECT_THAT(output.out, HasSubstr(" -p 2222 "));
  EXPECT_EQ(controller.launch_request()->job().ssh().user(), "bob");
  const std::string of_user = JobFile("user.yaml", "user: eve\n");
  EXPECT_EQ(RunProgram({"generate", "launch", "--job", of_user, "--method",
                        "horovodrun"},
                       world)
                .status,
            0);
  EXPECT_EQ(controller.launch_request()->job().ssh().user(), "eve");
}

TEST(GenerateLaunchTest, RefusesWhatTheMethodDoesNotHaveBeforeItAsksAnyHost) {
  ProgramWorld world = LaunchWorld();
  WatchedController controller(world);
  EXPECT_THAT(
      RunLaunch(world, {"--tiered", "on", "--ssh-port", "2222", "--mpi-args",
                        "-mca btl_tcp_if_exclude docker0"}),
      Ends(3, Err(HasSubstr("--tiered: torchrun ")),
           Err(HasSubstr("expected --method horovodrun")),
           Err(HasSubstr("expected no btl_tcp_if_exclude"))));
  EXPECT_FALSE(controller.launch_request().has_value());
}

TEST(GenerateLaunchTest, WritesTheSameLaunchAsTheSameDocument) {
  const ProgramWorld world = LaunchWorld();
  const auto run = [&] { return RunLaunch(world, {"--form", "json"}).out; };
  const std::string first = run();
  EXPECT_THAT(first, HasSubstr("\"nodes\""));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(run(), first);
}

TEST(GenerateLaunchTest, NamesEveryMistakeOfTheLineAtOnce) {
  EXPECT_THAT(
      RunProgram({"generate", "launch", "--nodes", "n[", "--method", "torchrn",
                  "--form", "yaml", "--asd", "9", "--tiered", "maybe",
                  "--master-port", "port", "--ssh-port", "0"}),
      Ends(3,
           Err(AllOf(Tells("did-you-mean", "torchrun"),
                     HasSubstr("--form: \"yaml\""), HasSubstr("--asd: \"9\""),
                     HasSubstr("--tiered: \"maybe\""),
                     HasSubstr("--master-port: \"port\""),
                     HasSubstr("--ssh-port: \"0\""), HasSubstr("--nodes: ")))));
}

TEST(GenerateLaunchTest, NamesTheEndpointWhosePortIsWrong) {
  EXPECT_THAT(RunProgram({"generate", "launch", "--nodes", "n[",
                          "--rdzv-endpoint", "server0:99999"}),
              Ends(3, Err(HasSubstr("--rdzv-endpoint: \"99999\"")),
                   Err(Not(HasSubstr("--master-port: ")))));
}

TEST(GenerateLaunchTest, SaysWhatTheMethodCannotDo) {
  EXPECT_THAT(
      RunLaunch(LaunchWorld(), {"--method", "mp-spawn", "--nnodes", "1:2"}),
      Ends(3, Err(HasSubstr("takes no range")), Out("")));
}

}  // namespace
}  // namespace clusterd
