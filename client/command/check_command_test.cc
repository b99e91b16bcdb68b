// clusterctl check from command line to exit status, over real gRPC against a
// controller with scripted answers.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/version.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::ElementsAreArray, ::testing::EndsWith, ::testing::HasSubstr,
    ::testing::Not, ::testing::StartsWith;

using Arguments = std::vector<std::string>;

Report ReportOf(State state) {
  Report report = PassingReport({"server0", "server1"});
  report.set_verdict(state);
  RuleResult& rule = *report.mutable_rules(0);
  rule.set_state(state);
  if (state == PASS) return report;
  Finding& finding = *rule.add_findings();
  finding.set_rule("link");
  finding.set_state(state);
  MergeText("observed: 'DOWN' subjects {host: 'server1' devices: 3}", &finding);
  return report;
}

CheckProgress Progress() {
  return FromText<CheckProgress>("answered: 1 pending: 1 awaited: 'server1'");
}

// Two servers, one progress message, then this report.
ProgramWorld WorldWith(const Report& report) {
  ProgramWorld world;
  *world.script.spec.mutable_spec() = SpecOfServers(2);
  world.script.check_events = {EventOf(Progress()), EventOf(report)};
  return world;
}

struct ExitCase {
  State verdict;
  Arguments options;
  int status;
};

ProgramOutput Check(const Arguments& words, const ProgramWorld& world = {}) {
  return RunProgram(With({"check"}, words), world);
}

TEST(CheckExitTest, FollowsVerdictAndLine) {
  const char kWarn[] = "--fail-on=warn";
  const char kUnknown[] = "--fail-on=unknown";
  const ExitCase kExitCases[] = {{PASS, {}, 0},
                                 {WARN, {}, 0},
                                 {UNKNOWN, {}, 2},
                                 {FAIL, {}, 1},
                                 {SKIPPED, {}, 2},
                                 {PASS, {"--fail-on", "warn"}, 0},
                                 {WARN, {kWarn}, 1},
                                 {WARN, {kUnknown}, 0},
                                 {UNKNOWN, {kUnknown}, 1},
                                 {UNKNOWN, {"--fail-on=fail"}, 2}};
  for (const ExitCase& each : kExitCases) {
    EXPECT_THAT(Check(each.options, WorldWith(ReportOf(each.verdict))),
                Ends(each.status))
        << State_Name(each.verdict);
  }
}

TEST(CheckTest, PrintsTheTableOnStdoutAndNothingElse) {
  EXPECT_THAT(
      Check({}, WorldWith(ReportOf(FAIL))),
      Ends(1, Err(""), Out(HasSubstr("× fail     link\n  server1 device 3\n")),
           Out(HasSubstr("FAIL: 1 failed of 1 rule"))));
}

TEST(CheckTest, PrintsOneLineOrJsonOnRequest) {
  EXPECT_THAT(Check({"-o", "short"}, WorldWith(ReportOf(FAIL))).out,
              StartsWith("demo: FAIL on server1: "));
  const auto report =
      FromJson<Report>(Check({"-o", "json"}, WorldWith(ReportOf(FAIL))).out);
  EXPECT_EQ(report.verdict(), FAIL);
  EXPECT_EQ(report.rules(0).findings(0).observed(), "DOWN");
}

struct FormatCase {
  const char* format;
  const char* text;
};

TEST(CheckFormatTest, PrintsEachWithTheSameStatusAndReportAndNoColour) {
  for (const FormatCase& each : {FormatCase{"yaml", "\nverdict: FAIL\n"},
                                 {"jsonl", "{\"kind\": \"finding\", "},
                                 {"junit", "<failure message=\"DOWN\""},
                                 {"markdown", "## FAIL: `demo` is not ready"},
                                 {"html", "FAIL: demo is not ready</h1>"}}) {
    const std::string path = TestFile("report.json", "old");
    EXPECT_THAT(
        Check({"-o", each.format, "--color", "always", "--report", path},
              WorldWith(ReportOf(FAIL))),
        Ends(1, Err(""), Out(HasSubstr(each.text)),
             Out(Not(HasSubstr("\x1b")))));
    EXPECT_EQ(FromJson<Report>(FileContent(path)).verdict(), FAIL);
  }
}

TEST(CheckFormatTest, IsADocumentAlsoWithoutAVerdict) {
  ProgramWorld away;
  away.script.spec_status = Away();
  for (const FormatCase& each :
       {FormatCase{"yaml", "\nerror: \"controller head:7443: away\"\n"},
        {"jsonl", "\"error\": \"controller head:7443: away\""},
        {"junit", "<error message=\"controller head:7443: away\""},
        {"markdown",
         "## NO VERDICT: `demo` was not checked\n\n"
         "- `controller head:7443: away`"},
        {"html", "NO VERDICT: demo was not checked</h1>"},
        {"short", "demo: NO VERDICT: controller head:7443: away\n"}}) {
    EXPECT_THAT(Check({"-o", each.format}, away),
                Ends(2, Out(HasSubstr(each.text))));
  }
  EXPECT_EQ(FromJson<Report>(Check({"-o", "json"}, away).out).error(),
            ValueText(FromController("away")));
}

TEST(CheckFormatTest, RefusesOneDocumentOfManyRounds) {
  EXPECT_THAT(
      Check({"--watch", "1s", "-o", "junit"}, WorldWith(ReportOf(PASS))),
      Ends(3, Err(Tells("msg-watch-prints-reports", "junit"))));
}

TEST(CheckReportTest, ShowsEveryFindingWithVerbose) {
  Report report = ReportOf(FAIL);
  RuleResult& rule = *report.mutable_rules(0);
  for (int i = 0; i < 9; ++i) *rule.add_findings() = rule.findings(0);
  rule.mutable_findings(9)->set_observed("the tenth");
  EXPECT_THAT(
      Check({}, WorldWith(report)).out,
      Tells("report-more-findings", Counted(6, "more finding"), "server1"));
  EXPECT_THAT(Check({"--verbose"}, WorldWith(report)).out,
              HasSubstr("the tenth"));
}

// The printed form of Progress().
FindingValue Awaiting() {
  return Worded("now-progress-awaiting", Worded("now-progress", 1, 0, 1),
                "server1");
}

TEST(CheckTest, ShowsProgressOnATerminalOnly) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.terminal = {/*out_is_terminal=*/true, /*err_is_terminal=*/true, 80};
  EXPECT_THAT(Check({}, world).err, HasSubstr(ValueText(Awaiting())));
  world.environment["TERM"] = "dumb";
  EXPECT_EQ(Check({}, world).err, "");
}

TEST(CheckTest, ColoursATerminalUnlessDisabled) {
  ProgramWorld world = WorldWith(ReportOf(FAIL));
  world.terminal = {/*out_is_terminal=*/true, /*err_is_terminal=*/false, 80};
  EXPECT_THAT(Check({}, world).out, HasSubstr("\x1b[31m"));
  EXPECT_THAT(Check({"--color=never"}, world).out, Not(HasSubstr("\x1b")));
  world.environment["NO_COLOR"] = "1";
  EXPECT_THAT(Check({}, world).out, Not(HasSubstr("\x1b")));
}

TEST(CheckTest, SendsSelectedHostsAndRules) {
  ProgramWorld world = WorldWith(PassingReport({"server1"}));
  WatchedController controller(world);
  EXPECT_EQ(
      Check({"server[0-1]", "-x", "server0", "--only", "link,lldp", "--only",
             "mtu-uniform", "--skip", "lldp", "--downgrade", "link"},
            world)
          .status,
      0);
  const CheckRequest request = controller.check_request().value();
  ASSERT_EQ(request.hosts_size(), 1);
  EXPECT_EQ(request.hosts(0), "server1");
  EXPECT_EQ(request.selection().only_size(), 3);
  EXPECT_EQ(request.selection().only(2), "mtu-uniform");
  EXPECT_EQ(request.selection().skip(0), "lldp");
  EXPECT_EQ(request.selection().downgrade(0), "link");
}

TEST(CheckTest, ChecksTheNodesOfItsSlurmJobAndSaysSo) {
  Report report = PassingReport({"server1"});
  report.set_job_servers(1);
  ProgramWorld world = WorldWith(report);
  world.environment["SLURM_JOB_ID"] = "17";
  world.environment["SLURM_JOB_NODELIST"] = "server1";
  EXPECT_THAT(
      Check({}, world),
      Ends(0,
           Err(Line("check", Worded("ctl-own-job", "slurm:17.0", "server1")))));
}

TEST(CheckTest, SaysThatTheControllerJudgesByAnOlderSpecAndItsFirstMistake) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.script.spec.set_refused("c.yaml:3:1: wrong\nc.yaml:4:1: too");
  const FindingValue text =
      Worded("msg-older-spec", Worded("ctl-judges"), "c.yaml:3:1: wrong");
  EXPECT_THAT(Check({}, world), Ends(0, Err(""), Out(Tells("note", text))));
  const ProgramOutput json = Check({"-o", "json"}, world);
  EXPECT_EQ(FromJson<Report>(json.out).notes(0), ValueText(text));
  // The short format has no notes.
  EXPECT_EQ(Check({"-o", "short"}, world).err, Line("check", text));
}

TEST(CheckTest, AsksForTheHostsThatTheLineLeaves) {
  const struct {
    Arguments line;
    Arguments hosts;
  } kCases[] = {{{}, {}},  // All hosts by naming none.
                {{"-x", "server0", "-x", "server1", "server0", "server[1-2]"},
                 {"server2"}},
                // A host behind a rule is a host.
                {{"--only", "link", "server1"}, {"server1"}}};
  for (const auto& each : kCases) {
    ProgramWorld world = WorldWith(PassingReport(
        each.hosts.empty() ? Arguments{"server0", "server1", "server2"}
                           : each.hosts));
    *world.script.spec.mutable_spec() = SpecOfServers(3);
    WatchedController controller(world);
    EXPECT_EQ(Check(each.line, world).status, 0);
    EXPECT_THAT(controller.check_request().value().hosts(),
                ElementsAreArray(each.hosts));
  }
}

TEST(CheckTest, IsNoPassThatTheReportDoesNotSupport) {
  Report newer = ReportOf(PASS);
  newer.set_schema_version(kReportSchemaVersion + 1);
  Report unjudged = ReportOf(PASS);
  unjudged.clear_rules();
  Report wrong = ReportOf(PASS);
  wrong.set_error("the spec was removed");
  const struct {
    Report report;
    testing::Matcher<ProgramOutput> says = testing::_;
    Arguments line = {};
  } kCases[] = {
      {PassingReport({"server0"}),
       Out(Tells("ctl-report-leaves-out", 1, "server1")),
       {"server[0-1]"}},
      {unjudged},
      {PassingReport({})},
      {newer, Out(Tells("msg-report-schema-differs", kReportSchemaVersion + 1,
                        kReportSchemaVersion))},
      {wrong, Err(HasSubstr("the spec was removed"))}};
  for (const auto& each : kCases) {
    EXPECT_THAT(Check(each.line, WorldWith(each.report)), Ends(2, each.says));
  }
}

TEST(CheckMistakeTest, ExitsWithThreeNamesEveryMistakeAndChecksNothing) {
  const std::vector<Mistake> mistakes = {
      {"UnknownHost",
       {"server9"},
       {Say("msg-host-not-in-spec", "server9",
            DidYouMeanWords("server9", {"server0"}))}},
      {"EmptyHosts", {""}, {Say("msg-hosts-empty", "HOSTS")}},
      {"NobodyLeft", {"-x", "server[0-1]"}, {Say("msg-no-host-left")}},
      {"Group", {"@gpu"}, {"\"@gpu\""}},
      {"NoHostfile",
       {"--hostfile", "/nonexistent/h"},
       {"--hostfile " + NoSuchFile("/nonexistent/h")}},
      {"UnknownRule", {"--only", "lnik"}, {"lnik", "link"}},
      {"UnknownFormat", {"-o", "xml"}, {"--output: \"xml\""}},
      {"UnknownColor", {"--color", "alway"}, {"\"always\"?"}},
      {"UnknownLine",
       {"--fail-on", "error"},
       {Say("msg-choice-not-known", "--fail-on", "error", "warn, unknown, fail",
            "")}},
      {"NoDuration",
       {"--timeout", "90"},
       {Say("msg-duration-not-valid", "--timeout", "90", "1ms", "24h")}},
      {"NegativeDuration",
       {"--timeout", "-3s"},
       {Say("msg-duration-out-of-range", "--timeout", "-3s", "1ms", "24h")}},
      {"Everything",
       {"server7", "--skip", "net-helth", "--fail-on", "x", "--timeout", "y"},
       {"server7", "net-helth", "--fail-on", "--timeout"}},
      {"LocalWithHosts",
       {"--local", "server0"},
       {"--local: ", Say("ctl-local-one-host")}},
      {"LocalWithRules",
       {"--local", "--only", "link"},
       {"--local: ", Say("ctl-local-all-rules")}}};
  ExpectMistakes({"check"}, mistakes, WorldWith(ReportOf(PASS)),
                 &WatchedController::check_request);
}

TEST(CheckTest, NamesMissingSettingsTogetherWithOtherMistakes) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.environment.erase("CLUSTERD_CA");
  EXPECT_THAT(
      Check({"--fail-on", "x"}, world),
      Ends(3, Err(HasSubstr("no setting \"ca\"")), Err(HasSubstr("--fail-on")),
           Err(EndsWith("see: clusterctl check --help\n"))));
}

TEST(CheckTest, NamesLocalMistakesAlsoWhenTheControllerIsAway) {
  ProgramWorld world;
  world.script.spec_status = Away();
  EXPECT_THAT(Check({"--fail-on", "x"}, world),
              Ends(3, Err(HasSubstr("--fail-on"))));
}

TEST(CheckBrokenTest, HasNoVerdictAndSaysWhy) {
  const struct {
    const char* name;
    grpc::Status spec;
    grpc::Status check;
    int status;
    std::string message;
  } kCases[] = {
      {"ControllerAway", Away(), {}, 2, ValueText(FromController("away"))},
      {"StreamBroken",
       {},
       {grpc::StatusCode::UNAVAILABLE, "Socket closed"},
       2,
       Say("msg-call-broken", "Socket closed")},
      {"NotAllowed",
       {},
       {grpc::StatusCode::PERMISSION_DENIED, "ann may not"},
       2,
       "ann may not"},
      {"ControllerRefuses",
       {},
       {grpc::StatusCode::INVALID_ARGUMENT, "no rule \"x\""},
       3,
       "no rule \"x\""},
      {"NoReport", {}, {}, 2, Say("msg-call-answer-missing", "check", 0)}};
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.name);
    ProgramWorld world;
    *world.script.spec.mutable_spec() = SpecOfServers(2);
    world.script.spec_status = each.spec;
    world.script.check_events = {EventOf(Progress())};
    world.script.check_status = each.check;
    for (const char* line : {"--fail-on=fail", "--fail-on=warn"}) {
      EXPECT_THAT(Check({line}, world),
                  Ends(each.status, Err(HasSubstr(each.message))));
    }
  }
}

TEST(CheckTest, GivesUpAtTheTimeoutAndPrintsWhatIsKnown) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.script.check_events.pop_back();
  world.script.check_hangs = true;
  EXPECT_THAT(Check({"--timeout", "200ms"}, world),
              Ends(2, Err(Tells("msg-call-no-answer", "200ms"))));
}

TEST(CheckTest, PrintsWhatIsKnownOnCtrlC) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.script.check_events.pop_back();
  world.script.check_hangs = true;
  world.terminal.err_is_terminal = true;
  world.interrupt_at = "awaiting server1";
  EXPECT_THAT(Check({}, world),
              Ends(2, Err(HasSubstr("clusterctl check: interrupted")),
                   Out(Tells("ctl-when-ended", Awaiting())),
                   Out(HasSubstr("NO VERDICT (partial): interrupted"))));
}

// A check that awaits server1 when Ctrl-C is pressed, and has found a failure.
ProgramWorld InterruptedWorld() {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.script.check_events = {EventOf(Progress())};
  world.script.check_events[0].mutable_progress()->set_run_id("feed");
  world.script.check_hangs = true;
  Report so_far = ReportOf(FAIL);
  so_far.set_partial(true);
  so_far.add_awaited("server1");
  world.script.so_far = so_far;
  world.terminal.err_is_terminal = true;
  world.interrupt_at = "awaiting server1";
  return world;
}

TEST(CheckCtrlCTest, PrintsTheControllersPartialReportInEveryFormat) {
  const ProgramWorld world = InterruptedWorld();
  EXPECT_THAT(Check({}, world),
              Ends(2,
                   Out(Tells("note", Worded("msg-check-partial",
                                            Counted(1, "host"), 2, "server1"))),
                   Out(HasSubstr("× fail     link")),
                   Out(HasSubstr("FAIL (partial): 1 failed"))));

  EXPECT_THAT(Check({"-o", "short"}, world),
              Ends(2, Out(StartsWith("demo: FAIL (partial) on server1: "))));

  const std::string path = TestFile("report.json", "");
  const ProgramOutput json = Check({"-o", "json", "--report", path}, world);
  EXPECT_EQ(json.status, 2);
  EXPECT_TRUE(FromJson<Report>(json.out).partial());
  EXPECT_EQ(FromJson<Report>(json.out).awaited(0), "server1");
  EXPECT_TRUE(FromJson<Report>(FileContent(path)).partial());
}

TEST(CheckCtrlCTest, AsksForTheCheckThatIsUnderWay) {
  ProgramWorld world = InterruptedWorld();
  WatchedController controller(world);
  Check({}, world);
  EXPECT_EQ(controller.asked_so_far(), "feed");
}

TEST(CheckCtrlCTest, LeavesAControllerThatKnowsNothingOfTheCheck) {
  ProgramWorld world = InterruptedWorld();
  world.script.so_far.reset();
  const ProgramOutput output = Check({"-o", "json"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(FromJson<Report>(output.out).partial());
  EXPECT_EQ(FromJson<Report>(output.out).error(), "interrupted");
}

TEST(CheckWaitTest, RepeatsRoundsUntilItPassesAndPrintsTheLastReportOnly) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.script.first_checks = {{EventOf(ReportOf(FAIL))},
                               {EventOf(ReportOf(UNKNOWN))}};
  WatchedController controller(world);
  EXPECT_THAT(Check({"--wait", "10ms", "-o", "short"}, world),
              Ends(0, Err(""), Out(StartsWith("demo: PASS: 1 passed;"))));
  EXPECT_EQ(controller.checks(), 3);
}

TEST(CheckWaitTest, EndsWithTheLastReportAndItsStatusWhenTheTimeIsOver) {
  ProgramWorld world = WorldWith(ReportOf(FAIL));
  world.clock_step = absl::Milliseconds(2);
  WatchedController controller(world);
  const ProgramOutput output = Check({"--wait", "20ms", "-o", "json"}, world);
  EXPECT_EQ(output.status, 1);
  EXPECT_GT(controller.checks(), 1);
  EXPECT_EQ(FromJson<Report>(output.out).verdict(), FAIL);
}

TEST(CheckWaitTest, WaitsForAControllerThatIsAway) {
  ProgramWorld world;
  world.script.spec_status = Away();
  world.clock_step = absl::Milliseconds(2);
  EXPECT_THAT(Check({"--wait", "20ms"}, world),
              Ends(2, Err(Line("check", FromController("away")))));
}

TEST(CheckWaitTest, DoesNotWaitForWrongUsageToHeal) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  WatchedController controller(world);
  EXPECT_EQ(Check({"--wait", "1h", "server9"}, world).status, 3);
  EXPECT_EQ(controller.checks(), 0);
  for (const Arguments& arguments :
       {Arguments{"check", "--wait", "2m", "--watch", "30s"},
        Arguments{"check", "--wait", "soon"},
        Arguments{"check", "--watch", "10ms"}}) {
    EXPECT_EQ(RunProgram(arguments, world).status, 3) << arguments[2];
  }
}

TEST(CheckWaitTest, PrintsWhatIsKnownOnCtrlC) {
  ProgramWorld world = InterruptedWorld();
  EXPECT_THAT(Check({"--wait", "1h", "-o", "short"}, world),
              Ends(2, Out(HasSubstr("FAIL (partial)"))));
}

TEST(CheckWatchTest, PrintsABlockPerRoundAndEndsWithTheStatusOfTheLast) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.script.first_checks = {{EventOf(ReportOf(FAIL))}};
  world.interrupt_at_flush = 2;
  const ProgramOutput output = Check({"--watch", "1s"}, world);
  EXPECT_EQ(output.status, 0);
  const size_t first = output.out.find("FAIL: 1 failed");
  const size_t second = output.out.find("PASS: 1 passed");
  EXPECT_THAT(output.out,
              StartsWith(absl::StrCat("2025-01-01 00:00:00 +00:00",
                                      Say("check-again", "1s"), "\n\n")));
  EXPECT_LT(first, second);
  EXPECT_NE(second, std::string::npos);
}

TEST(CheckWatchTest, RedrawsATerminal) {
  ProgramWorld world = WorldWith(ReportOf(FAIL));
  world.terminal = {/*out_is_terminal=*/true, /*err_is_terminal=*/false, 80};
  world.interrupt_at_flush = 1;
  EXPECT_THAT(Check({"--watch", "1s"}, world),
              Ends(1, Out(StartsWith("\x1b[H\x1b[J"))));
}

TEST(CheckWatchTest, PrintsADocumentPerLineWithJson) {
  ProgramWorld world = WorldWith(ReportOf(FAIL));
  world.script.first_checks = {{EventOf(ReportOf(PASS))}};
  world.interrupt_at_flush = 2;
  const ProgramOutput output = Check({"--watch", "1s", "-o", "json"}, world);
  EXPECT_EQ(output.status, 1);
  const std::vector<std::string> lines = absl::StrSplit(output.out, '\n');
  ASSERT_EQ(lines.size(), 3u) << output.out;
  EXPECT_EQ(FromJson<Report>(lines[0]).verdict(), PASS);
  EXPECT_EQ(FromJson<Report>(lines[1]).verdict(), FAIL);
  EXPECT_EQ(lines[2], "");
}

TEST(CheckWatchTest, PrintsADocumentPerRoundWithYaml) {
  ProgramWorld world = WorldWith(ReportOf(FAIL));
  world.script.first_checks = {{EventOf(ReportOf(PASS))}};
  world.interrupt_at_flush = 2;
  const std::string yaml = Check({"--watch", "1s", "-o", "yaml"}, world).out;
  const std::vector<std::string> rounds =
      absl::StrSplit(yaml, "---\n", absl::SkipEmpty());
  ASSERT_EQ(rounds.size(), 2u) << yaml;
  EXPECT_THAT(rounds[0], HasSubstr("\nverdict: PASS\n"));
  EXPECT_THAT(rounds[1], HasSubstr("\nverdict: FAIL\n"));
}

TEST(CheckWatchTest, LeavesOutARoundThatCtrlCInterrupts) {
  ProgramWorld world = InterruptedWorld();
  world.script.first_checks = {{EventOf(ReportOf(PASS))}};
  EXPECT_THAT(Check({"--watch", "1s", "-o", "short"}, world),
              Ends(0, Out(StartsWith("demo: PASS: 1 passed;"))));
}

TEST(CheckTest, WritesTheReportFileOnEveryExitPath) {
  const std::string path = TestFile("report.json", "old");
  const Arguments report = {"check", "--report", path};

  EXPECT_EQ(RunProgram(report, WorldWith(ReportOf(FAIL))).status, 1);
  EXPECT_EQ(FromJson<Report>(FileContent(path)).verdict(), FAIL);

  ProgramWorld away;
  away.script.spec_status = Away();
  EXPECT_EQ(RunProgram(report, away).status, 2);
  const auto unknown = FromJson<Report>(FileContent(path));
  EXPECT_EQ(unknown.verdict(), UNKNOWN);
  EXPECT_EQ(unknown.error(), ValueText(FromController("away")));
  EXPECT_EQ(unknown.schema_version(), kReportSchemaVersion);

  EXPECT_EQ(
      Check({"--report", path, "server9"}, WorldWith(ReportOf(PASS))).status,
      3);
  EXPECT_THAT(FromJson<Report>(FileContent(path)).error(),
              HasSubstr("server9"));

  ProgramWorld no_settings;
  no_settings.environment.clear();
  EXPECT_EQ(RunProgram(report, no_settings).status, 3);
  EXPECT_THAT(FromJson<Report>(FileContent(path)).error(),
              HasSubstr("no setting"));
}

TEST(CheckTest, IsNoPassWhenTheReportFileCannotBeWritten) {
  const std::string path = "/nonexistent/report.json";
  const Arguments report = {"check", "--report", path};
  // Not 3, which means that nothing was checked.
  EXPECT_THAT(RunProgram(report, WorldWith(ReportOf(PASS))),
              Ends(2, Err(HasSubstr("--report " + NoSuchFile(path)))));
  EXPECT_THAT(HelpOfStatus("check", 2), HasSubstr("--report could not"));
  EXPECT_EQ(RunProgram(report, WorldWith(ReportOf(FAIL))).status, 1);
}

TEST(CheckLocalTest, AsksThisHostsDaemonWithoutAnySetting) {
  ProgramWorld world;
  world.environment = {{"LC_ALL", "C.UTF-8"}};
  *world.script.self.mutable_report() = PassingReport({"server0"});
  WatchedController controller(world);
  EXPECT_THAT(Check({"--local"}, world),
              Ends(0, Out(HasSubstr("PASS: 1 passed"))));
  EXPECT_EQ(controller.socket_path(), "/run/clusterd/agent.sock");
}

TEST(CheckLocalTest, TakesTheSocketFromOptionThenEnvironment) {
  ProgramWorld world;
  *world.script.self.mutable_report() = PassingReport({"server0"});
  WatchedController controller(world);
  world.environment["CLUSTERD_SOCKET"] = "/env.sock";
  Check({"--local"}, world);
  EXPECT_EQ(controller.socket_path(), "/env.sock");
  Check({"--local", "--socket", "/flag.sock"}, world);
  EXPECT_EQ(controller.socket_path(), "/flag.sock");
}

TEST(CheckLocalTest, CallsItselfByTheHostsName) {
  ProgramWorld world;
  Report report = PassingReport({"server0"});
  report.clear_cluster();
  *world.script.self.mutable_report() = report;
  const Arguments local = {"check", "--local", "-o", "short"};
  EXPECT_THAT(RunProgram(local, world).out, StartsWith("server0: PASS: "));
  world.host_name = "server7";
  world.script.self_status = {grpc::StatusCode::FAILED_PRECONDITION, "why"};
  EXPECT_THAT(
      RunProgram(local, world),
      Ends(2, Err(HasSubstr("why")), Out(StartsWith("server7: NO VERDICT: "))));
}

}  // namespace
}  // namespace clusterd
