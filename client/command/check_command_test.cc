// clusterctl check from command line to exit status, over real gRPC against a
// controller with scripted answers.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/version.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

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
  finding.set_observed("DOWN");
  Subject& subject = *finding.add_subjects();
  subject.set_host("server1");
  subject.add_devices(3);
  return report;
}

CheckProgress Progress() {
  CheckProgress progress;
  progress.set_answered(1);
  progress.set_pending(1);
  progress.add_awaited("server1");
  return progress;
}

// Two servers, one progress message, then this report.
ProgramWorld WorldWith(const Report& report) {
  ProgramWorld world;
  *world.script.spec.mutable_spec() = SpecOfServers(2);
  world.script.check_events = {EventOf(Progress()), EventOf(report)};
  return world;
}

Report ParseReport(const std::string& json) {
  Report report;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &report).ok())
      << json;
  return report;
}

struct ExitCase {
  State verdict;
  Arguments options;
  int status;
};

class CheckExitTest : public testing::TestWithParam<ExitCase> {};

TEST_P(CheckExitTest, FollowsVerdictAndLine) {
  Arguments arguments = {"check"};
  arguments.insert(arguments.end(), GetParam().options.begin(),
                   GetParam().options.end());
  const ProgramOutput output =
      RunProgram(arguments, WorldWith(ReportOf(GetParam().verdict)));
  EXPECT_EQ(output.status, GetParam().status) << output.err;
}

INSTANTIATE_TEST_SUITE_P(
    Verdicts, CheckExitTest,
    testing::Values(ExitCase{PASS, {}, 0}, ExitCase{WARN, {}, 0},
                    ExitCase{UNKNOWN, {}, 2}, ExitCase{FAIL, {}, 1},
                    ExitCase{PASS, {"--fail-on", "warn"}, 0},
                    ExitCase{WARN, {"--fail-on=warn"}, 1},
                    ExitCase{WARN, {"--fail-on=unknown"}, 0},
                    ExitCase{UNKNOWN, {"--fail-on=unknown"}, 1},
                    ExitCase{UNKNOWN, {"--fail-on=fail"}, 2},
                    ExitCase{SKIPPED, {}, 2}));

TEST(CheckTest, PrintsTheTableOnStdoutAndNothingElse) {
  const ProgramOutput output = RunProgram({"check"}, WorldWith(ReportOf(FAIL)));
  EXPECT_TRUE(
      absl::StrContains(output.out, "× fail     link\n  server1 device 3\n"))
      << output.out;
  EXPECT_TRUE(
      absl::StrContains(output.out, "FAIL: 1 failed of 1 rule; 2 hosts"));
  EXPECT_EQ(output.err, "");
}

TEST(CheckTest, PrintsOneLineOrJsonOnRequest) {
  const ProgramOutput brief =
      RunProgram({"check", "-o", "short"}, WorldWith(ReportOf(FAIL)));
  EXPECT_EQ(
      brief.out,
      "demo: FAIL on server1: 1 failed: link: server1 device 3: DOWN; 2 hosts "
      "in 1.3 s\n");
  const ProgramOutput json =
      RunProgram({"check", "-o", "json"}, WorldWith(ReportOf(FAIL)));
  EXPECT_EQ(ParseReport(json.out).verdict(), FAIL);
  EXPECT_EQ(ParseReport(json.out).rules(0).findings(0).observed(), "DOWN");
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
    const ProgramOutput output = RunProgram(
        {"check", "-o", each.format, "--color", "always", "--report", path},
        WorldWith(ReportOf(FAIL)));
    EXPECT_EQ(output.status, 1);
    EXPECT_EQ(output.err, "");
    EXPECT_TRUE(absl::StrContains(output.out, each.text)) << output.out;
    EXPECT_FALSE(absl::StrContains(output.out, "\x1b")) << output.out;
    EXPECT_EQ(ParseReport(FileContent(path)).verdict(), FAIL);
  }
}

TEST(CheckFormatTest, IsADocumentAlsoWithoutAVerdict) {
  ProgramWorld away;
  away.script.spec_status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  for (const FormatCase& each :
       {FormatCase{"yaml", "\nerror: \"controller head:7443: away\"\n"},
        {"jsonl", "\"error\": \"controller head:7443: away\""},
        {"junit", "<error message=\"controller head:7443: away\""},
        {"markdown",
         "## NO VERDICT: `demo` was not checked\n\n"
         "- `controller head:7443: away`"},
        {"html", "NO VERDICT: demo was not checked</h1>"}}) {
    const ProgramOutput output = RunProgram({"check", "-o", each.format}, away);
    EXPECT_EQ(output.status, 2);
    EXPECT_TRUE(absl::StrContains(output.out, each.text)) << output.out;
  }
}

TEST(CheckFormatTest, RefusesOneDocumentOfManyLooks) {
  const ProgramOutput output = RunProgram(
      {"check", "--watch", "1s", "-o", "junit"}, WorldWith(ReportOf(PASS)));
  EXPECT_EQ(output.status, 3);
  EXPECT_TRUE(
      absl::StrContains(output.err, "--watch: prints a report after each"))
      << output.err;
}

TEST(CheckReportTest, ShowsEveryFindingWithVerbose) {
  Report report = ReportOf(FAIL);
  RuleResult& rule = *report.mutable_rules(0);
  for (int i = 0; i < 9; ++i) *rule.add_findings() = rule.findings(0);
  rule.mutable_findings(9)->set_observed("the tenth");
  const ProgramOutput brief = RunProgram({"check"}, WorldWith(report));
  EXPECT_TRUE(absl::StrContains(
      brief.out, "and 6 more findings (--verbose has all): server1\n"))
      << brief.out;
  const ProgramOutput all =
      RunProgram({"check", "--verbose"}, WorldWith(report));
  EXPECT_TRUE(absl::StrContains(all.out, "the tenth")) << all.out;
}

TEST(CheckTest, ShowsProgressOnATerminalOnly) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.terminal = {/*out_is_terminal=*/true, /*err_is_terminal=*/true, 80};
  EXPECT_TRUE(
      absl::StrContains(RunProgram({"check"}, world).err,
                        "1 answered, 0 failed, 1 pending; awaiting server1"));
  world.environment["TERM"] = "dumb";
  EXPECT_EQ(RunProgram({"check"}, world).err, "");
}

TEST(CheckTest, ColoursATerminalUnlessToldOtherwise) {
  ProgramWorld world = WorldWith(ReportOf(FAIL));
  world.terminal = {/*out_is_terminal=*/true, /*err_is_terminal=*/false, 80};
  EXPECT_TRUE(absl::StrContains(RunProgram({"check"}, world).out, "\x1b[31m"));
  EXPECT_FALSE(absl::StrContains(
      RunProgram({"check", "--color=never"}, world).out, "\x1b"));
  world.environment["NO_COLOR"] = "1";
  EXPECT_FALSE(absl::StrContains(RunProgram({"check"}, world).out, "\x1b"));
}

TEST(CheckTest, AsksForAllHostsByNamingNone) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  FakeController controller(world.script);
  world.controller = &controller;
  EXPECT_EQ(RunProgram({"check"}, world).status, 0);
  EXPECT_TRUE(controller.check_request().value().hosts().empty());
}

TEST(CheckTest, SendsSelectedHostsAndRules) {
  ProgramWorld world = WorldWith(PassingReport({"server1"}));
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram(
      {"check", "server[0-1]", "-x", "server0", "--only", "link,lldp", "--only",
       "mtu-uniform", "--skip", "lldp", "--downgrade", "link"},
      world);
  EXPECT_EQ(output.status, 0) << output.err;
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
  const ProgramOutput output = RunProgram({"check"}, world);
  EXPECT_EQ(output.status, 0);
  EXPECT_EQ(output.err,
            "clusterctl check: judges slurm:17.0 on server1, the job that this "
            "runs in (--all checks every host)\n");
}

TEST(CheckTest, SaysThatTheControllerJudgesByAnOlderSpecAndItsFirstMistake) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.script.spec.set_refused("c.yaml:3:1: wrong\nc.yaml:4:1: too");
  const ProgramOutput output = RunProgram({"check"}, world);
  EXPECT_EQ(output.status, 0);
  const std::string text =
      "the controller refused a newer cluster.yaml and judges by the one "
      "before: c.yaml:3:1: wrong; clusterctl config show has every mistake";
  EXPECT_EQ(output.err, "");
  EXPECT_TRUE(
      absl::StrContains(output.out, absl::StrCat("note: ", text, "\n")));
  const ProgramOutput json = RunProgram({"check", "-o", "json"}, world);
  EXPECT_EQ(ParseReport(json.out).notes(0), text);
  // The short format has no notes.
  EXPECT_EQ(RunProgram({"check", "-o", "short"}, world).err,
            absl::StrCat("clusterctl check: ", text, "\n"));
}

TEST(CheckTest, TakesSeveralExclusionsAndHostsBehindThem) {
  ProgramWorld world = WorldWith(PassingReport({"server2"}));
  *world.script.spec.mutable_spec() = SpecOfServers(4);
  FakeController controller(world.script);
  world.controller = &controller;
  EXPECT_EQ(RunProgram({"check", "-x", "server0", "-x", "server1", "server0",
                        "server[1-2]"},
                       world)
                .status,
            0);
  ASSERT_EQ(controller.check_request().value().hosts_size(), 1);
  EXPECT_EQ(controller.check_request().value().hosts(0), "server2");
}

TEST(CheckTest, TakesAHostBehindARuleForAHost) {
  ProgramWorld world = WorldWith(PassingReport({"server1"}));
  FakeController controller(world.script);
  world.controller = &controller;
  EXPECT_EQ(RunProgram({"check", "--only", "link", "server1"}, world).status,
            0);
  EXPECT_EQ(controller.check_request().value().selection().only_size(), 1);
  EXPECT_EQ(controller.check_request().value().hosts_size(), 1);
}

TEST(CheckTest, IsNoPassWhenTheReportLeavesOutAHost) {
  const ProgramOutput output = RunProgram(
      {"check", "server[0-1]"}, WorldWith(PassingReport({"server0"})));
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(
      output.out, "leaves out 1 of the hosts asked for: server1"));
}

TEST(CheckTest, IsNoPassWhenNothingWasJudged) {
  Report report = ReportOf(PASS);
  report.clear_rules();
  EXPECT_EQ(RunProgram({"check"}, WorldWith(report)).status, 2);
  Report no_host = PassingReport({});
  EXPECT_EQ(RunProgram({"check"}, WorldWith(no_host)).status, 2);
}

TEST(CheckTest, DoesNotTrustAReportOfANewerSchema) {
  Report report = ReportOf(PASS);
  report.set_schema_version(kReportSchemaVersion + 1);
  const ProgramOutput output = RunProgram({"check"}, WorldWith(report));
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(
      output.out, absl::StrCat("report schema ", kReportSchemaVersion + 1)))
      << output.out;
}

struct BadCase {
  const char* name;
  Arguments arguments;
  std::vector<std::string> messages;
};

class CheckMistakeTest : public testing::TestWithParam<BadCase> {};

TEST_P(CheckMistakeTest, ExitsWithThreeNamesEveryMistakeAndChecksNothing) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  FakeController controller(world.script);
  world.controller = &controller;
  Arguments arguments = {"check"};
  arguments.insert(arguments.end(), GetParam().arguments.begin(),
                   GetParam().arguments.end());
  const ProgramOutput output = RunProgram(arguments, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_FALSE(controller.check_request().has_value());
  for (const std::string& message : GetParam().messages) {
    EXPECT_TRUE(absl::StrContains(output.err, message)) << message << "\n"
                                                        << output.err;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, CheckMistakeTest,
    testing::Values(
        BadCase{
            "UnknownHost",
            {"server9"},
            {"host \"server9\" is not in the spec, did you mean \"server0\"?"}},
        BadCase{"EmptyHosts", {""}, {"HOSTS: is empty"}},
        BadCase{"NobodyLeft", {"-x", "server[0-1]"}, {"--exclude leaves none"}},
        BadCase{"Group",
                {"@gpu"},
                {"host groups (\"@gpu\") are not supported yet"}},
        BadCase{"NoHostfile",
                {"--hostfile", "/nonexistent/h"},
                {"--hostfile /nonexistent/h: No such file or directory"}},
        BadCase{"UnknownRule", {"--only", "lnik"}, {"lnik", "link"}},
        BadCase{
            "UnknownFormat",
            {"-o", "xml"},
            {"--output: \"xml\" is not known, expected table, short, json"}},
        BadCase{
            "UnknownColor", {"--color", "alway"}, {"did you mean \"always\"?"}},
        BadCase{"UnknownLine",
                {"--fail-on", "error"},
                {"--fail-on: \"error\" is not known, expected warn, unknown, "
                 "fail"}},
        BadCase{"NoDuration",
                {"--timeout", "90"},
                {"--timeout: \"90\" is not a valid duration"}},
        BadCase{"NegativeDuration",
                {"--timeout", "-3s"},
                {"--timeout: \"-3s\" is out of range"}},
        BadCase{"Everything",
                {"server7", "--skip", "net-helth", "--fail-on", "x",
                 "--timeout", "y"},
                {"server7", "net-helth", "--fail-on", "--timeout"}},
        BadCase{"LocalWithHosts",
                {"--local", "server0"},
                {"--local: checks this host only"}},
        BadCase{"LocalWithRules",
                {"--local", "--only", "link"},
                {"--local: the host's daemon runs all its rules"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(CheckTest, NamesMissingSettingsTogetherWithOtherMistakes) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.environment.erase("CLUSTERD_CA");
  const ProgramOutput output = RunProgram({"check", "--fail-on", "x"}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_TRUE(absl::StrContains(output.err, "no setting \"ca\""));
  EXPECT_TRUE(absl::StrContains(output.err, "--fail-on"));
  EXPECT_TRUE(absl::EndsWith(output.err, "see: clusterctl check --help\n"));
}

TEST(CheckTest, NamesLocalMistakesAlsoWhenTheControllerIsAway) {
  ProgramWorld world;
  world.script.spec_status =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  const ProgramOutput output = RunProgram({"check", "--fail-on", "x"}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_TRUE(absl::StrContains(output.err, "--fail-on"));
}

struct BrokenCase {
  const char* name;
  grpc::Status spec;
  grpc::Status check;
  int status;
  std::string message;
};

class CheckBrokenTest : public testing::TestWithParam<BrokenCase> {};

TEST_P(CheckBrokenTest, HasNoVerdictAndSaysWhy) {
  ProgramWorld world;
  *world.script.spec.mutable_spec() = SpecOfServers(2);
  world.script.spec_status = GetParam().spec;
  world.script.check_events = {EventOf(Progress())};
  world.script.check_status = GetParam().check;
  for (const char* line : {"--fail-on=fail", "--fail-on=warn"}) {
    const ProgramOutput output = RunProgram({"check", line}, world);
    EXPECT_EQ(output.status, GetParam().status);
    EXPECT_TRUE(absl::StrContains(output.err, GetParam().message))
        << output.err;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, CheckBrokenTest,
    testing::Values(
        BrokenCase{
            "ControllerAway",
            grpc::Status(grpc::StatusCode::UNAVAILABLE, "another reason"),
            grpc::Status::OK, 2, "controller head:7443: another reason"},
        BrokenCase{"StreamBroken", grpc::Status::OK,
                   grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed"),
                   2,
                   "controller head:7443: the connection broke: Socket closed"},
        BrokenCase{
            "NotAllowed", grpc::Status::OK,
            grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "ann may not"), 2,
            "ann may not"},
        BrokenCase{
            "ControllerRefuses", grpc::Status::OK,
            grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no rule \"x\""),
            3, "no rule \"x\""},
        BrokenCase{"NoReport", grpc::Status::OK, grpc::Status::OK, 2,
                   "ended the check with 0 answers"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(CheckTest, GivesUpAtTheTimeoutAndPrintsWhatIsKnown) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.script.check_events.pop_back();
  world.script.check_hangs = true;
  const ProgramOutput output =
      RunProgram({"check", "--timeout", "200ms"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(output.err, "no answer in 200ms (--timeout)"))
      << output.err;
}

TEST(CheckTest, PrintsWhatIsKnownOnCtrlC) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.script.check_events.pop_back();
  world.script.check_hangs = true;
  world.terminal.err_is_terminal = true;
  world.interrupt_at = "awaiting server1";
  const ProgramOutput output = RunProgram({"check"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(output.err, "clusterctl check: interrupted"));
  EXPECT_TRUE(absl::StrContains(
      output.out,
      "when the run ended: 1 answered, 0 failed, 1 pending; awaiting server1"))
      << output.out;
  EXPECT_TRUE(
      absl::StrContains(output.out, "NO VERDICT (partial): interrupted"));
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
  const ProgramOutput table = RunProgram({"check"}, world);
  EXPECT_EQ(table.status, 2);
  EXPECT_TRUE(absl::StrContains(
      table.out,
      "note: partial: stopped while 1 host of 2 had not answered: server1"))
      << table.out;
  EXPECT_TRUE(absl::StrContains(table.out, "× fail     link"));
  EXPECT_TRUE(absl::StrContains(table.out, "FAIL (partial): 1 failed"));

  const ProgramOutput brief = RunProgram({"check", "-o", "short"}, world);
  EXPECT_EQ(brief.status, 2);
  EXPECT_TRUE(absl::StartsWith(brief.out, "demo: FAIL (partial) on server1: "))
      << brief.out;

  const std::string path = TestFile("report.json", "");
  const ProgramOutput json =
      RunProgram({"check", "-o", "json", "--report", path}, world);
  EXPECT_EQ(json.status, 2);
  EXPECT_TRUE(ParseReport(json.out).partial());
  EXPECT_EQ(ParseReport(json.out).awaited(0), "server1");
  EXPECT_TRUE(ParseReport(FileContent(path)).partial());
}

TEST(CheckCtrlCTest, AsksForTheCheckThatIsUnderWay) {
  ProgramWorld world = InterruptedWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  RunProgram({"check"}, world);
  EXPECT_EQ(controller.asked_so_far(), "feed");
}

TEST(CheckCtrlCTest, LeavesAControllerThatKnowsNothingOfTheCheck) {
  ProgramWorld world = InterruptedWorld();
  world.script.so_far.reset();
  const ProgramOutput output = RunProgram({"check", "-o", "json"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(ParseReport(output.out).partial());
  EXPECT_EQ(ParseReport(output.out).error(), "interrupted");
}

TEST(CheckWaitTest, LooksAgainUntilItPassesAndPrintsTheLastReportOnly) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.script.first_checks = {{EventOf(ReportOf(FAIL))},
                               {EventOf(ReportOf(UNKNOWN))}};
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output =
      RunProgram({"check", "--wait", "10ms", "-o", "short"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(controller.checks(), 3);
  EXPECT_EQ(output.out, "demo: PASS: 1 passed; 2 hosts in 1.3 s\n");
  EXPECT_EQ(output.err, "");
}

TEST(CheckWaitTest, EndsWithTheLastReportAndItsStatusWhenTheTimeIsOver) {
  ProgramWorld world = WorldWith(ReportOf(FAIL));
  world.clock_step = absl::Milliseconds(2);
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output =
      RunProgram({"check", "--wait", "20ms", "-o", "json"}, world);
  EXPECT_EQ(output.status, 1);
  EXPECT_GT(controller.checks(), 1);
  EXPECT_EQ(ParseReport(output.out).verdict(), FAIL);
}

TEST(CheckWaitTest, WaitsForAControllerThatIsAway) {
  ProgramWorld world;
  world.script.spec_status =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  world.clock_step = absl::Milliseconds(2);
  const ProgramOutput output = RunProgram({"check", "--wait", "20ms"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_EQ(output.err, "clusterctl check: controller head:7443: away\n");
}

TEST(CheckWaitTest, DoesNotWaitForWrongUsageToHeal) {
  FakeController controller(WorldWith(ReportOf(PASS)).script);
  ProgramWorld world;
  world.controller = &controller;
  EXPECT_EQ(RunProgram({"check", "--wait", "1h", "server9"}, world).status, 3);
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
  const ProgramOutput output =
      RunProgram({"check", "--wait", "1h", "-o", "short"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(output.out, "FAIL (partial)")) << output.out;
}

TEST(CheckWatchTest, PrintsABlockPerLookAndEndsWithTheStatusOfTheLast) {
  ProgramWorld world = WorldWith(ReportOf(PASS));
  world.script.first_checks = {{EventOf(ReportOf(FAIL))}};
  world.interrupt_at_flush = 2;
  const ProgramOutput output = RunProgram({"check", "--watch", "1s"}, world);
  EXPECT_EQ(output.status, 0);
  const size_t first = output.out.find("FAIL: 1 failed");
  const size_t second = output.out.find("PASS: 1 passed");
  EXPECT_TRUE(absl::StartsWith(
      output.out, "2025-01-01 00:00:00 +00:00, again 1s after it\n\n"))
      << output.out;
  EXPECT_LT(first, second);
  EXPECT_NE(second, std::string::npos);
}

TEST(CheckWatchTest, RedrawsATerminal) {
  ProgramWorld world = WorldWith(ReportOf(FAIL));
  world.terminal = {/*out_is_terminal=*/true, /*err_is_terminal=*/false, 80};
  world.interrupt_at_flush = 1;
  const ProgramOutput output = RunProgram({"check", "--watch", "1s"}, world);
  EXPECT_EQ(output.status, 1);
  EXPECT_TRUE(absl::StartsWith(output.out, "\x1b[H\x1b[J"));
}

TEST(CheckWatchTest, PrintsADocumentPerLineWithJson) {
  ProgramWorld world = WorldWith(ReportOf(FAIL));
  world.script.first_checks = {{EventOf(ReportOf(PASS))}};
  world.interrupt_at_flush = 2;
  const ProgramOutput output =
      RunProgram({"check", "--watch", "1s", "-o", "json"}, world);
  EXPECT_EQ(output.status, 1);
  const std::vector<std::string> lines = absl::StrSplit(output.out, '\n');
  ASSERT_EQ(lines.size(), 3u) << output.out;
  EXPECT_EQ(ParseReport(lines[0]).verdict(), PASS);
  EXPECT_EQ(ParseReport(lines[1]).verdict(), FAIL);
  EXPECT_EQ(lines[2], "");
}

TEST(CheckWatchTest, PrintsADocumentPerLookWithYaml) {
  ProgramWorld world = WorldWith(ReportOf(FAIL));
  world.script.first_checks = {{EventOf(ReportOf(PASS))}};
  world.interrupt_at_flush = 2;
  const std::string yaml =
      RunProgram({"check", "--watch", "1s", "-o", "yaml"}, world).out;
  const std::vector<std::string> looks =
      absl::StrSplit(yaml, "---\n", absl::SkipEmpty());
  ASSERT_EQ(looks.size(), 2u) << yaml;
  EXPECT_TRUE(absl::StrContains(looks[0], "\nverdict: PASS\n"));
  EXPECT_TRUE(absl::StrContains(looks[1], "\nverdict: FAIL\n"));
}

TEST(CheckWatchTest, LeavesALookThatCtrlCCutsShortOut) {
  ProgramWorld world = InterruptedWorld();
  world.script.first_checks = {{EventOf(ReportOf(PASS))}};
  const ProgramOutput output =
      RunProgram({"check", "--watch", "1s", "-o", "short"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.out, "demo: PASS: 1 passed; 2 hosts in 1.3 s\n");
}

TEST(CheckTest, WritesTheReportFileOnEveryExitPath) {
  const std::string path = TestFile("report.json", "old");
  const Arguments report = {"check", "--report", path};

  EXPECT_EQ(RunProgram(report, WorldWith(ReportOf(FAIL))).status, 1);
  EXPECT_EQ(ParseReport(FileContent(path)).verdict(), FAIL);

  ProgramWorld away;
  away.script.spec_status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  EXPECT_EQ(RunProgram(report, away).status, 2);
  EXPECT_EQ(ParseReport(FileContent(path)).verdict(), UNKNOWN);
  EXPECT_EQ(ParseReport(FileContent(path)).error(),
            "controller head:7443: away");
  EXPECT_EQ(ParseReport(FileContent(path)).schema_version(),
            kReportSchemaVersion);

  EXPECT_EQ(RunProgram({"check", "--report", path, "server9"},
                       WorldWith(ReportOf(PASS)))
                .status,
            3);
  EXPECT_TRUE(
      absl::StrContains(ParseReport(FileContent(path)).error(), "server9"));

  ProgramWorld no_settings;
  no_settings.environment.clear();
  EXPECT_EQ(RunProgram(report, no_settings).status, 3);
  EXPECT_TRUE(
      absl::StrContains(ParseReport(FileContent(path)).error(), "no setting"));
}

TEST(CheckTest, IsNoPassWhenTheReportFileCannotBeWritten) {
  const Arguments report = {"check", "--report", "/nonexistent/report.json"};
  const ProgramOutput passed = RunProgram(report, WorldWith(ReportOf(PASS)));
  // Not 3, which means that nothing was checked.
  EXPECT_EQ(passed.status, 2);
  EXPECT_TRUE(absl::StrContains(HelpOfStatus("check", 2),
                                "--report could not be written"));
  EXPECT_TRUE(absl::StrContains(
      passed.err,
      "--report /nonexistent/report.json: No such file or directory"));
  EXPECT_EQ(RunProgram(report, WorldWith(ReportOf(FAIL))).status, 1);
}

TEST(CheckTest, GivesJsonAlsoWithoutAVerdict) {
  ProgramWorld away;
  away.script.spec_status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  const ProgramOutput output = RunProgram({"check", "-o", "json"}, away);
  EXPECT_EQ(ParseReport(output.out).error(), "controller head:7443: away");
  EXPECT_EQ(RunProgram({"check", "-o", "short"}, away).out,
            "demo: NO VERDICT: controller head:7443: away\n");
}

TEST(CheckTest, ReportsWhatTheControllerCallsAnError) {
  Report report = ReportOf(PASS);
  report.set_error("the spec was removed");
  const ProgramOutput output = RunProgram({"check"}, WorldWith(report));
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(output.err, "the spec was removed"));
}

TEST(CheckLocalTest, AsksThisHostsDaemonWithoutAnySetting) {
  ProgramWorld world;
  world.environment = {{"LC_ALL", "C.UTF-8"}};
  *world.script.self.mutable_report() = PassingReport({"server0"});
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram({"check", "--local"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(controller.socket_path(), "/run/clusterd/agent.sock");
  EXPECT_TRUE(absl::StrContains(output.out, "PASS: 1 passed"));
}

TEST(CheckLocalTest, TakesTheSocketFromOptionThenEnvironment) {
  ProgramWorld world;
  *world.script.self.mutable_report() = PassingReport({"server0"});
  FakeController controller(world.script);
  world.controller = &controller;
  world.environment["CLUSTERD_SOCKET"] = "/env.sock";
  RunProgram({"check", "--local"}, world);
  EXPECT_EQ(controller.socket_path(), "/env.sock");
  RunProgram({"check", "--local", "--socket", "/flag.sock"}, world);
  EXPECT_EQ(controller.socket_path(), "/flag.sock");
}

TEST(CheckLocalTest, CallsItselfByTheHostsName) {
  ProgramWorld world;
  Report report = PassingReport({"server0"});
  report.clear_cluster();
  *world.script.self.mutable_report() = report;
  EXPECT_EQ(RunProgram({"check", "--local", "-o", "short"}, world).out,
            "server0: PASS: 1 passed; 1 host in 1.3 s\n");
  world.host_name = "server7";
  world.script.self_status =
      grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no spec yet");
  EXPECT_TRUE(absl::StartsWith(
      RunProgram({"check", "--local", "-o", "short"}, world).out,
      "server7: NO VERDICT: "));
}

TEST(CheckLocalTest, HasNoVerdictWhenTheDaemonHasNone) {
  ProgramWorld world;
  world.script.self_status =
      grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no spec yet");
  const ProgramOutput output = RunProgram({"check", "--local"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(output.err, "no spec yet"));
}

}  // namespace
}  // namespace clusterd
