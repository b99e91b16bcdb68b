// clusterctl hook from a scheduler's environment to an exit status and lines,
// over real gRPC against a daemon and a controller with scripted answers.
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/words/waiver_text.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::IsEmpty,
    ::testing::Not;

// The environment in which slurmd starts a prolog: only Slurm's variables.
Environment Prolog() {
  return {{"SLURM_JOB_ID", "1234"},
          {"SLURM_NODELIST", "node[01-02]"},
          {"SLURM_JOB_RESTART_COUNT", "1"},
          {"SLURMD_NODENAME", "node02"}};
}

ProgramWorld WorldWith(HookAnswer::Decision decision = HookAnswer::ALLOW,
                       const Environment& environment = Prolog()) {
  ProgramWorld world;
  world.environment = environment;
  world.script.hook.set_decision(decision);
  if (decision != HookAnswer::ALLOW) {
    world.script.hook.set_reason("clusterd: link: device 3: DOWN");
  }
  return world;
}

JobSpec JobOf(const HookRequest& request) {
  JobSpec job;
  EXPECT_TRUE(job.ParseFromString(request.job()));
  return job;
}

// Runs a hook. The daemon's socket, and the prolog's file beside it, are in the
// test's own folder instead of /run.
ProgramOutput RunHook(std::vector<std::string> words,
                      const ProgramWorld& world = {}) {
  words.insert(words.begin(), "hook");
  words.insert(words.end(), {"--socket", TestFile("agent.sock", "")});
  // Its usual three seconds are not under test.
  if (words[1] == "slurm-task-prolog") {
    words.insert(words.end(), {"--timeout", "60s"});
  }
  return RunProgram(words, world);
}

// The request that reached the daemon.
HookRequest Asked(const std::vector<std::string>& arguments,
                  ProgramWorld world) {
  WatchedController controller(world);
  EXPECT_EQ(RunHook(arguments, world).status, 0);
  EXPECT_TRUE(controller.hook_request().has_value());
  return controller.hook_request().value_or(HookRequest());
}

struct StatusCase {
  const char* hook;
  int refused;
  int drained;
};

const StatusCase kStatusCases[] = {
    {"slurm-prolog", 0, 1}, {"slurm-health", 0, 0}, {"slurm-task-prolog", 0, 0},
    {"slurm-epilog", 0, 1}, {"pbs", 1, 1},          {"lsf", 1, 1},
    {"plain", 1, 1}};

TEST(HookStatusTest, IsWhatTheSchedulerUnderstands) {
  for (const StatusCase& hook : kStatusCases) {
    SCOPED_TRACE(hook.hook);
    const std::pair<HookAnswer::Decision, int> decisions[] = {
        {HookAnswer::ALLOW, 0},
        {HookAnswer::REFUSE, hook.refused},
        {HookAnswer::REFUSE_AND_DRAIN, hook.drained}};
    for (const auto& [decision, status] : decisions) {
      EXPECT_THAT(RunHook({hook.hook}, WorldWith(decision)),
                  Ends(status, Out(IsEmpty())));
    }
  }
}

TEST(HookStatusTest, StartsUncheckedWithALineWithoutAnAnswer) {
  for (const StatusCase& each : kStatusCases) {
    SCOPED_TRACE(each.hook);
    ProgramWorld world = WorldWith();
    world.script.hook_status = {grpc::StatusCode::UNAVAILABLE,
                                "no such socket"};
    world.environment["SLURM_PROCID"] = "0";
    EXPECT_THAT(RunHook({each.hook}, world),
                Ends(0, Err(Tells("msg-hook-not-checked"))));
    const ProgramOutput closed = RunHook({each.hook, "--fail-closed"}, world);
    EXPECT_EQ(closed.status, each.drained);
    EXPECT_EQ(absl::StrContains(closed.err, "refused, because no"),
              each.drained != 0);
  }
}

TEST(HookTest, HelpHasARowForEachHook) {
  const std::string help = RunProgram({"hook", "--help"}).out;
  for (const char* row :
       {"slurm-prolog             job     8s     0            1: Slurm drains",
        "slurm-controller-prolog  job     30s    1: requeued  left to that "
        "host",
        "slurm-health             host    20s    0            0: clusterd drai",
        "slurm-task-prolog        none    3s     0            0\n",
        "slurm-epilog             host    30s    0            1: Slurm drains",
        "pbs                      job     20s    1            1\n"}) {
    EXPECT_THAT(help, HasSubstr(row));
  }
  const std::string chinese =
      RunProgram({"hook", "--help", "--lang", "zh"}).out;
  for (const char* row :
       {"拒绝时", "1：Slurm 排空节点\n", "由该主机的 prolog 拒绝\n"}) {
    EXPECT_THAT(chinese, HasSubstr(row));
  }
}

// A finding in the daemon's words, and a text of its own.
ProgramWorld WorldWithWords() {
  ProgramWorld world = WorldWith(HookAnswer::REFUSE_AND_DRAIN);
  HookAnswer& answer = world.script.hook;
  FindingValue finding;
  finding.set_words("maintenance/in-maintenance");
  finding.set_text("in maintenance until 10:00");
  *finding.add_values() = ToFindingValue("UNTIL");
  FindingValue& end = *finding.add_values() = Worded("waived", "fail", "ann");
  end.set_name(kWaivedEnd);
  *answer.mutable_reason_words() =
      Worded("hook-reason", "maintenance", finding);
  answer.set_reason("clusterd: maintenance: in maintenance UNTIL");
  answer.add_let_through("waivers are not known");
  *answer.add_let_through_words() = Worded("msg-hook-waivers-not-known");
  FindingValue text_alone;  // As TextWords makes it.
  text_alone.set_words("link/");
  text_alone.set_text("DOWN since noon");
  answer.add_let_through("text alone");
  *answer.add_let_through_words() = Worded("hook-reason", "link", text_alone);
  finding.set_words("a-newer-rule/x");
  answer.add_let_through("new");
  *answer.add_let_through_words() =
      Worded("hook-reason", "a-newer-rule", finding);
  return world;
}

TEST(HookTest, SpeaksChineseOnlyWhereItIsAskedTo) {
  ProgramWorld world = WorldWithWords();
  // Schedulers store a hook's output.
  world.environment["LANG"] = "zh_CN.UTF-8";
  const std::string english =
      "clusterctl hook: slurm-prolog: not blocking: waivers are not known: the "
      "controller has sent none since clusterd started on this host\n"
      "clusterctl hook: slurm-prolog: not blocking: clusterd: link: DOWN since "
      "noon\n"
      "clusterctl hook: slurm-prolog: not blocking: clusterd: a-newer-rule: in "
      "maintenance until 10:00\n"
      "clusterd: maintenance: in maintenance UNTIL; waived, otherwise fail, "
      "ann\n";
  EXPECT_EQ(RunHook({"slurm-prolog"}, world).err, english);
  // A hook runs without a locale.
  world.environment.erase("LANG");
  EXPECT_EQ(RunHook({"slurm-prolog"}, world).err, english);
  for (const bool is_option : {true, false}) {
    std::vector<std::string> words = {"slurm-prolog"};
    if (is_option) words.insert(words.end(), {"--lang", "zh"});
    if (!is_option) world.environment["CLUSTERD_LANG"] = "zh";
    const std::string chinese = RunHook(words, world).err;
    for (const char* text :
         {"slurm-prolog：不阻止：豁免未知", "clusterd：maintenance：维护中：",
          "clusterd：link：期望：网口的链路为 UP；英文原文：DOWN since noon\n",
          "；已豁免", "a-newer-rule：in maintenance until 10:00\n"}) {
      EXPECT_THAT(chinese, HasSubstr(text));
    }
  }
}

TEST(HookTest, SaysItsErrorsInChineseAndTheSameAnswerToPrograms) {
  const auto json = [](std::vector<std::string> language) {
    return RunHook(With({"plain", "-o", "json"}, language), WorldWithWords())
        .out;
  };
  EXPECT_EQ(json({}), json({"--lang", "zh"}));
  ProgramWorld world = WorldWith();
  EXPECT_THAT(
      RunHook({"slurm-prolog", "--nodes", "a", "--lang", "zh"}, world).err,
      HasSubstr("--nodes：slurm-prolog 从环境变量获取作业"));
  world.script.hook_status = {grpc::StatusCode::UNAVAILABLE, "no such socket"};
  EXPECT_THAT(RunHook({"slurm-prolog", "--lang", "zh"}, world).err,
              HasSubstr("未得到应答，未检查；退出状态为 0"));
}

TEST(HookTest, SaysHowManyLinesOfWhatDoesNotBlockItLeavesOut) {
  ProgramWorld world = WorldWith();
  for (int i = 0; i < 5; ++i) world.script.hook.add_let_through("a line");
  EXPECT_THAT(RunHook({"slurm-prolog"}, world).err, Not(HasSubstr("more")));
  for (int i = 0; i < 3; ++i) world.script.hook.add_let_through("hidden");
  world.script.hook.set_let_through_more(20);
  const std::string err = RunHook({"slurm-prolog"}, world).err;
  EXPECT_THAT(err, Tells("hook-more-not-blocking", 23));
  EXPECT_THAT(err, Not(HasSubstr("hidden")));
}

TEST(HookTest, LeavesOutNoFailureNorTheBrake) {
  ProgramWorld world = WorldWith();
  for (int i = 0; i < 7; ++i) {
    world.script.hook.add_let_through("fail: " + std::to_string(i));
  }
  world.script.hook.add_let_through("the brake");
  world.script.hook.set_let_through_worst(8);
  for (int i = 0; i < 5; ++i) world.script.hook.add_let_through("unknown");
  const std::string err = RunHook({"slurm-health"}, world).err;
  EXPECT_THAT(err, AllOf(Tells("hook-not-blocking", "fail: 6\n"),
                         Tells("hook-not-blocking", "the brake\n"),
                         Tells("hook-more-not-blocking", 5),
                         Not(HasSubstr("unknown"))));
}

TEST(HookTest, GivesTheReasonInOneLineThatNobodyCanForge) {
  ProgramWorld world = WorldWith(HookAnswer::REFUSE_AND_DRAIN);
  world.script.hook.set_reason("clusterd: link: \x1b[2J\nall");
  EXPECT_THAT(RunHook({"slurm-prolog"}, world),
              Ends(1, Err("clusterd: link: \\x1b[2J\\nall\n")));
}

TEST(HookTest, AsksAboutTheJobOfAPrologsEnvironment) {
  const HookRequest request = Asked({"slurm-prolog"}, WorldWith());
  EXPECT_EQ(request.kind(), HOOK_SLURM_PROLOG);
  EXPECT_EQ(JobOf(request).id(), "slurm:1234.1");
  ASSERT_EQ(JobOf(request).servers_size(), 2);
  EXPECT_EQ(JobOf(request).servers(1).host(), "node02");
  EXPECT_EQ(request.node_name(), "node02");
  EXPECT_EQ(request.wait_ms(), 8000u);
  EXPECT_EQ(request.opt_out(), "");
}

TEST(HookTest, TellsTheSameJobInTheTaskAsInTheProlog) {
  const HookRequest before = Asked({"slurm-prolog"}, WorldWith());
  const HookRequest task =
      Asked({"slurm-task-prolog"},
            WorldWith(HookAnswer::ALLOW, {{"SLURM_JOB_ID", "1234"},
                                          {"SLURM_JOB_NODELIST", "node[01-02]"},
                                          {"SLURM_NODELIST", "node01"},
                                          {"SLURM_JOB_GPUS", "0-3"},
                                          {"SLURM_RESTART_COUNT", "1"}}));
  EXPECT_EQ(before.job(), task.job());
}

TEST(HookTest, TakesTheDevicesOfAJobOnOneHost) {
  Environment environment = Prolog();
  environment["SLURM_NODELIST"] = "node02";
  environment["SLURM_JOB_GPUS"] = "2,0-1";
  const HookRequest request =
      Asked({"slurm-prolog"}, WorldWith(HookAnswer::ALLOW, environment));
  EXPECT_EQ(JobOf(request).servers(0).devices_size(), 3);
}

TEST(HookTest, JudgesThisHostAloneWhereTheJobCannotBeRead) {
  const std::pair<const char*, const char*> wrong[] = {
      {"SLURM_JOB_ID", "12\n34"},
      {"SLURM_NODELIST", "node[01"},
      {"SLURM_NODELIST", ""},
      {"SLURMD_NODENAME", "-all"}};
  for (const auto& [name, value] : wrong) {
    Environment environment = Prolog();
    environment[name] = value;
    const ProgramWorld world = WorldWith(HookAnswer::ALLOW, environment);
    const HookRequest request = Asked({"slurm-prolog"}, world);
    const bool is_node = absl::string_view(name) == "SLURMD_NODENAME";
    EXPECT_EQ(JobOf(request).servers().empty(), !is_node) << name;
    EXPECT_EQ(request.node_name().empty(), is_node) << name;
    EXPECT_THAT(RunHook({"slurm-prolog"}, world).err,
                HasSubstr(is_node ? "host name \"-all\"" : "job is not known"));
  }
}

TEST(HookTest, TellsWhereAJobOptsOut) {
  const std::pair<std::pair<const char*, const char*>, const char*> words[] = {
      {{"CLUSTERD_CHECK", "off"}, "CLUSTERD_CHECK=off"},
      {{"SLURM_JOB_COMMENT", "night run, clusterd=off"},
       "clusterd=off in SLURM_JOB_COMMENT"},
      {{"SLURM_JOB_COMMENT", "not-clusterd=off"}, ""},
      {{"CLUSTERD_CHECK", "offline"}, ""}};
  for (const auto& [variable, expected] : words) {
    Environment environment = Prolog();
    environment.insert(variable);
    EXPECT_EQ(Asked({"slurm-prolog"}, WorldWith(HookAnswer::ALLOW, environment))
                  .opt_out(),
              expected);
  }
}

TEST(HookTest, ReadsTheJobsOfPbsAndLsf) {
  const std::string file = TestFile("nodes", "node01\nnode01\nnode02\n");
  HookRequest request = Asked(
      {"pbs"}, WorldWith(HookAnswer::ALLOW,
                         {{"PBS_JOBID", "7[3].head"}, {"PBS_NODEFILE", file}}));
  EXPECT_EQ(JobOf(request).id(), "pbs:7[3].head");
  EXPECT_EQ(JobOf(request).servers_size(), 2);
  request =
      Asked({"lsf"}, WorldWith(HookAnswer::ALLOW,
                               {{"LSB_JOBID", "8"},
                                {"LSB_JOBINDEX", "2"},
                                {"LSB_MCPU_HOSTS", "node01 64 node02 64"}}));
  EXPECT_EQ(JobOf(request).id(), "lsf:8[2]");
  ASSERT_EQ(JobOf(request).servers_size(), 2);
  EXPECT_EQ(JobOf(request).servers(1).host(), "node02");
}

TEST(HookTest, PrintsNothingButExportsAndWarningsInATaskProlog) {
  ProgramWorld world = WorldWith();
  world.environment["MASTER_PORT"] = "1234";
  // Set by the batch script, on another host.
  world.environment["HCCL_IF_IP"] = "10.0.0.1";
  world.environment["SLURM_PROCID"] = "0";
  for (const char* const line :
       {"MASTER_ADDR=10.0.0.1", "HCCL_IF_IP=10.0.0.2", "MASTER_PORT=29500",
        "BAD=a\nprint b", "lower=1", "X=$(id)"}) {
    world.script.hook.add_environment(line);
  }
  EXPECT_THAT(
      RunHook({"slurm-task-prolog"}, world),
      Ends(0, Err(HasSubstr("\"BAD=a\\nprint b\"")),
           Out(absl::StrCat(
               "export MASTER_ADDR=10.0.0.1\nexport HCCL_IF_IP=10.0.0.2\n"
               "print ",
               Say("hook-variable-differs", "MASTER_PORT", 1234, 29500),
               "\n"))));
}

TEST(HookTest, TasksThatMayNotAskGetTheAnswerOfTheirProlog) {
  ProgramWorld world = WorldWith();
  world.script.hook.add_environment("MASTER_ADDR=10.0.0.1");
  EXPECT_EQ(RunHook({"slurm-prolog"}, world).err, "");
  ProgramWorld task = WorldWith();
  task.environment["SLURM_PROCID"] = "0";
  task.script.hook_status = {grpc::StatusCode::UNAVAILABLE, "denied"};
  EXPECT_THAT(RunHook({"slurm-task-prolog"}, task),
              Ends(0, Err(""), Out("export MASTER_ADDR=10.0.0.1\n")));
  RunHook({"slurm-epilog"}, WorldWith());
  EXPECT_THAT(RunHook({"slurm-task-prolog"}, task),
              Ends(0, Out(""), Err(Tells("msg-hook-not-checked"))));
}

TEST(HookTest, IsSilentInTheTasksBehindTheFirst) {
  ProgramWorld world = WorldWith(HookAnswer::REFUSE);
  world.environment["SLURM_PROCID"] = "1";
  EXPECT_THAT(RunHook({"slurm-task-prolog"}, world), Ends(0, Out(""), Err("")));
}

TEST(HookTest, TakesAJobFromOptionsWhereNoSchedulerHasOne) {
  const HookRequest request =
      Asked({"plain", "--nodes", "node[01-02]", "--devices", "4", "--timeout",
             "5s", "--max-age", "1m"},
            WorldWith(HookAnswer::ALLOW, {}));
  EXPECT_EQ(JobOf(request).servers(0).device_count(), 4u);
  EXPECT_EQ(request.wait_ms(), 5000u);
  EXPECT_EQ(request.max_age_ms(), 60'000u);
  EXPECT_EQ(
      JobOf(Asked({"plain"}, WorldWith(HookAnswer::ALLOW, {}))).servers_size(),
      0);
}

TEST(HookTest, PrintsTheWholeAnswerAsJson) {
  ProgramWorld world = WorldWith(HookAnswer::REFUSE, {});
  world.script.hook.set_schema_version(1);
  EXPECT_THAT(RunHook({"plain", "-o", "json"}, world),
              Ends(1, Out(HasSubstr("\"schema_version\""))));
}

TEST(HookTest, NamesEveryMistakeAtOnce) {
  EXPECT_THAT(RunHook({"slurm-prolog", "--nodes", "a", "--timeout", "1h",
                       "--max-age", "x", "--output", "yaml"},
                      WorldWith()),
              Ends(3, Err(HasSubstr("--nodes: slurm-prolog takes")),
                   Err(HasSubstr("--timeout: \"1h\"")),
                   Err(HasSubstr("--max-age: \"x\"")),
                   Err(HasSubstr("--output: \"yaml\""))));
  EXPECT_THAT(RunHook({"slurm-prologue"}).err,
              Tells("did-you-mean", "slurm-prolog"));
}

// slurm-controller-prolog.

RuleResult FailingRule(const std::string& category, const std::string& host) {
  auto rule = FromText<RuleResult>(
      "rule: 'a-rule' state: FAIL findings {state: FAIL observed: 'seen'}");
  rule.set_category(category);
  if (host.empty()) return rule;
  rule.mutable_findings(0)->add_subjects()->set_host(host);
  return rule;
}

ProgramOutput ControllerProlog(const RuleResult& rule,
                               std::optional<CheckRequest>* asked = nullptr,
                               const Environment& more = {}) {
  Report report = PassingReport({"node01", "node02"});
  report.set_job_servers(2);
  report.set_verdict(FAIL);
  *report.add_rules() = rule;
  ProgramWorld world;
  world.environment.insert({"SLURM_JOB_ID", "1234"});
  world.environment.insert({"SLURM_JOB_NODELIST", "node[01-02]"});
  world.environment.insert(more.begin(), more.end());
  world.script.check_events = {EventOf(report)};
  WatchedController controller(world);
  ProgramOutput output = RunHook({"slurm-controller-prolog"}, world);
  if (asked != nullptr) *asked = controller.check_request();
  return output;
}

TEST(ControllerPrologTest, RefusesWhatIsWrongWithTheJobOrTheCluster) {
  std::optional<CheckRequest> asked;
  EXPECT_THAT(ControllerProlog(FailingRule("job", ""), &asked),
              Ends(1, Err("clusterd: a-rule: seen\n")));
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->job().id(), "slurm:1234.0");
  EXPECT_EQ(ControllerProlog(FailingRule("cluster", "")).status, 1);
  EXPECT_EQ(ControllerProlog(FailingRule("job", "node01")).err,
            "clusterd: a-rule: node01: seen\n");
}

TEST(ControllerPrologTest, SaysAFindingInTheLanguageThatItIsAskedFor) {
  RuleResult rule = FailingRule("cluster", "");
  rule.set_rule("link");
  rule.mutable_findings(0)->set_finding("down");
  EXPECT_EQ(ControllerProlog(rule).err,
            Say("hook-reason", "link", "link is DOWN") + "\n");
  EXPECT_EQ(ControllerProlog(rule, nullptr, {{"CLUSTERD_LANG", "zh"}}).err,
            "clusterd：link：链路为 DOWN\n");
}

TEST(ControllerPrologTest, RefusesWhatAHostHasAgainstTheJobOnly) {
  for (const char* name : {"maintenance", "hccl-environment",
                           "device-process-limit", "environment-uniform"}) {
    RuleResult rule = FailingRule("host", "node01");
    rule.set_rule(name);
    EXPECT_THAT(
        ControllerProlog(rule),
        Ends(1, Err(absl::StrCat("clusterd: ", name, ": node01: seen\n"))));
  }
}

TEST(ControllerPrologTest, LeavesABadHostToThatHostsOwnProlog) {
  EXPECT_EQ(ControllerProlog(FailingRule("device", "node01")).status, 0);
}

TEST(ControllerPrologTest, AsksNobodyAboutAJobThatOptsOut) {
  std::optional<CheckRequest> asked;
  EXPECT_THAT(ControllerProlog(FailingRule("job", ""), &asked,
                               {{"SLURM_JOB_COMMENT", "clusterd=off"}}),
              Ends(0, Err(HasSubstr("is not checked"))));
  EXPECT_FALSE(asked.has_value());
}

TEST(ControllerPrologTest, StartsUncheckedWithoutCertificatesOrAController) {
  ProgramWorld world;
  world.environment = {{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_NODELIST", "a"}};
  EXPECT_THAT(RunHook({"slurm-controller-prolog"}, world),
              Ends(0, Err(Tells("msg-hook-not-checked"))));
  EXPECT_EQ(RunHook({"slurm-controller-prolog", "--fail-closed"}, world).status,
            1);
}

}  // namespace
}  // namespace clusterd
