#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "re2/re2.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

using Arguments = std::vector<std::string>;

TEST(HelpTest, IsThereForEveryCommandWithUsageAndExitStatuses) {
  const auto help_of = [](const Arguments& command) {
    const std::string name = absl::StrJoin(command, " ");
    const ProgramOutput output = RunProgram(With(command, {"--help"}));
    EXPECT_THAT(
        output,
        Ends(0, Err(""), Out(HasSubstr(absl::StrCat("clusterctl ", name)))));
    for (const absl::string_view line : absl::StrSplit(output.out, '\n')) {
      EXPECT_LE(line.size(), 80u) << line;
    }
    return output.out;
  };
  for (const Arguments& command : EveryCommand()) {
    EXPECT_THAT(help_of(command), HasSubstr("Exit status:"));
  }
  for (const char* group : kCommandGroups) help_of({group});
}

TEST(HelpTest, ListsEveryCommandAndTheConnectionSettings) {
  const ProgramOutput output = RunProgram({"--help"});
  EXPECT_THAT(output,
              Ends(0, Out(HasSubstr("--controller")),
                   Out(HasSubstr("CLUSTERD_CONTROLLER")),
                   Out(HasSubstr("client.yaml")), Out(HasSubstr("report"))));
  for (const Arguments& command : EveryCommand()) {
    EXPECT_THAT(output.out, HasSubstr(command[0]));
  }
}

TEST(HelpTest, NamesEveryOptionOfCheck) {
  const ProgramOutput output = RunProgram({"check", "--help"});
  for (const char* option :
       {"HOSTS",        "-x,--exclude", "--hostfile",  "--all",
        "--only",       "--skip",       "--downgrade", "--fail-on",
        "--netns",      "-o,--output",  "--color",     "--report",
        "--timeout",    "--local",      "--socket",    "--controller",
        "--cluster",    "--ca",         "--cert",      "--key",
        "--verbose",    "--job",        "--nodes",     "--devices",
        "--product",    "--dtype",      "--method",    "--job-id",
        "--rank-table", "--max-age"}) {
    EXPECT_THAT(output.out, HasSubstr(option));
  }
}

TEST(HelpTest, NamesEveryOptionOfPlanAndApply) {
  const std::string plan = RunProgram({"plan", "--help"}).out;
  for (const char* option :
       {"HOSTS", "-x,--exclude", "--hostfile", "--all", "--out", "--netns",
        "--detailed-exitcode", "--verbose", "-o,--output", "--timeout"}) {
    EXPECT_THAT(plan, HasSubstr(option));
  }
  const std::string apply = RunProgram({"apply", "--help"}).out;
  const std::string rollback = RunProgram({"rollback", "--help"}).out;
  for (const char* option :
       {"--wave", "--yes", "--force", "--verbose", "--report", "--timeout"}) {
    EXPECT_THAT(apply, HasSubstr(option));
    EXPECT_THAT(rollback, HasSubstr(option));
  }
  EXPECT_THAT(apply, HasSubstr("PLANFILE"));
  EXPECT_THAT(apply, HasSubstr("--netns"));
  EXPECT_THAT(rollback, HasSubstr("APPLY_ID"));
}

struct WrongLine {
  const char* name;
  Arguments arguments;
  std::string message;  // A part of stderr.
};

TEST(WrongLineTest, ExitsWithThreeAndSaysWhatIsWrong) {
  const WrongLine kWrongLines[] = {
      {"NoCommand", {}, "Usage: clusterctl"},
      {"UnknownCommand",
       {"chekc"},
       Say("msg-command-not-known", "chekc",
           "check, hook, plan, apply, rollback, cancel, confirm, extend, "
           "history, show, diff, report, watch, hosts, describe, waive, "
           "maintenance, waivers, unwaive, lock, unlock, locks, logs, "
           "bundle, audit, config, generate, token, certificates, "
           "explain, anonymise, version, completion, help",
           Worded("did-you-mean", "check"))},
      {"UnknownOption",
       {"check", "--onyl", "link"},
       Line("check", Worded("msg-option-not-known", "--onyl",
                            Worded("did-you-mean", "--only")))},
      {"UnknownOptionWithValue",
       {"check", "--hostfiel=x"},
       Say("did-you-mean", "--hostfile")},
      {"OptionWithoutValue", {"check", "--report"}, "--report"},
      {"ConfigAlone",
       {"config"},
       Line("config",
            Worded("msg-command-missing", "validate, show, learn, import"))},
      {"UnknownConfigCommand",
       {"config", "shwo", "f"},
       Say("did-you-mean", "show")},
      {"NoFile", {"config", "validate"}, "clusterctl config validate: FILE"},
      {"NoHost", {"describe"}, "clusterctl describe: HOST"},
      {"TooMany",
       {"describe", "server0", "server1"},
       Say("msg-argument-not-expected", "server1")},
      {"TwoCommands",
       {"version", "hosts"},
       Say("msg-argument-not-expected", "hosts")},
      {"TooManyRules",
       {"explain", "link", "lldp"},
       Say("msg-argument-not-expected", "lldp")},
      {"Escape", {"\x1b[2J"}, "command \"\\x1b[2J\" does"}};
  for (const WrongLine& each : kWrongLines) {
    SCOPED_TRACE(each.name);
    EXPECT_THAT(RunProgram(each.arguments),
                Ends(3, Err(HasSubstr(each.message)), Out("")));
  }
}

TEST(ClusterctlTest, RefusesAnEmptyValueOfAnyOption) {
  for (const char* option :
       {"--only", "--skip", "--downgrade", "--exclude", "--hostfile",
        "--fail-on", "--output", "--color", "--report", "--timeout", "--socket",
        "--controller", "--cluster", "--ca", "--cert", "--key"}) {
    const std::string message =
        Line("check", Worded("msg-option-value-empty", option));
    for (const Arguments& arguments :
         {Arguments{"check", absl::StrCat(option, "="), "--all"},
          Arguments{"check", option, "", "--all"}}) {
      EXPECT_THAT(RunProgram(arguments), Ends(3, Err(HasSubstr(message))))
          << option;
    }
  }
}

TEST(ClusterctlTest, TakesConnectionOptionsBeforeAndAfterTheCommand) {
  for (const Arguments& arguments :
       {Arguments{"--controller", "other:1", "hosts"},
        Arguments{"hosts", "--controller", "other:1"}}) {
    ProgramWorld world;
    WatchedController controller(world);
    EXPECT_EQ(RunProgram(arguments, world).status, 0);
    EXPECT_EQ(controller.settings().value().controller, "other:1");
  }
}

TEST(ClusterctlTest, WritesAReportFileForALineThatCannotBeParsed) {
  const std::string path = TestFile("report.json", "old");
  EXPECT_EQ(RunProgram({"check", "--report", path, "--onyl"}).status, 3);
  EXPECT_THAT(FileContent(path), HasSubstr("option \\\"--onyl\\\" does not"));
}

// Words of the controller that a command passes on with the status that they
// mean.
struct Refusal {
  const char* line;
  grpc::Status ControllerScript::*answer;
  grpc::StatusCode code;
  int status;
  const char* help = "";  // Words of the command's help about that status.
  testing::Matcher<std::string> out = testing::_;
};

TEST(RefusalTest, IsPassedOnWithItsStatus) {
  using Code = grpc::StatusCode;
  using Script = ControllerScript;
  const Refusal kRefusals[] = {
      {"cancel 3fa2", &Script::cancel_status, Code::NOT_FOUND, 3, "", ""},
      {"cancel 3fa2", &Script::cancel_status, Code::INVALID_ARGUMENT, 3,
       "that is already over", ""},
      {"cancel 3fa2", &Script::cancel_status, Code::PERMISSION_DENIED, 2,
       "role is not sufficient"},
      {"apply --abort 3fa2", &Script::abort_status, Code::PERMISSION_DENIED, 2},
      {"apply --abort 3fa2", &Script::abort_status, Code::INVALID_ARGUMENT, 3},
      {"confirm 3fa2", &Script::confirm_status, Code::FAILED_PRECONDITION, 2,
       "", ""},
      {"confirm 3fa2", &Script::confirm_status, Code::NOT_FOUND, 3},
      {"lock noed07", &Script::lock_status, Code::NOT_FOUND, 3},
      {"lock noed07", &Script::lock_status, Code::INVALID_ARGUMENT, 3},
      {"lock noed07", &Script::lock_status, Code::PERMISSION_DENIED, 2},
      {"unlock noed07", &Script::lock_status, Code::NOT_FOUND, 3},
      {"unlock noed07", &Script::lock_status, Code::INVALID_ARGUMENT, 3},
      {"unlock noed07", &Script::lock_status, Code::PERMISSION_DENIED, 2},
      {"waive link n1 --until 2h --reason x", &Script::waive_status,
       Code::PERMISSION_DENIED, 2},
      {"unwaive 3fa2c4d5", &Script::waive_status, Code::PERMISSION_DENIED, 2},
      {"hosts --forget server0", &Script::forget_status,
       Code::FAILED_PRECONDITION, 2, "", ""},
      {"token create", &Script::trust_status, Code::FAILED_PRECONDITION, 2},
      {"rollback 3fa2 --yes", &Script::record_status, Code::NOT_FOUND, 3}};
  for (const Refusal& each : kRefusals) {
    SCOPED_TRACE(each.line);
    const Arguments line = absl::StrSplit(each.line, ' ');
    ProgramWorld world;
    world.script.*each.answer = grpc::Status(each.code, "not like this");
    EXPECT_THAT(RunProgram(line, world), Ends(each.status, Out(each.out),
                                              Err(HasSubstr("not like this"))));
    if (*each.help == 0) continue;
    EXPECT_THAT(HelpOfStatus(line[0], each.status), HasSubstr(each.help));
  }
}

TEST(RefusalTest, OfAControllerThatIsAwayIsStatus2) {
  ProgramWorld world;
  world.script.spec_status = world.script.hosts_status =
      world.script.history_status = Away();
  for (const char* command : {"history", "hosts"}) {
    EXPECT_THAT(RunProgram({command}, world),
                Ends(2, Err(Line(command, FromController("away")))));
  }
  EXPECT_EQ(RunProgram({"config", "show"}, world).status, 2);
}

struct JsonCase {
  const char* name;
  std::vector<std::string> arguments;
  int status;  // If the controller answers.
};

// Checks the document, not its content. The fields of a Struct are a map, whose
// layout differs between Debian's library and a build for TSan.
std::string TopLevelField(const std::string& json, const char* name) {
  FromJson<google::protobuf::Struct>(json);
  std::string value;
  RE2::PartialMatch(json, absl::StrCat("(?m)^(?:\\{| )\"", name, "\": ?(.+)"),
                    &value);
  return value;
}

const JsonCase kJsonCases[] = {
    {"Hosts", {"hosts", "-o", "json"}, 0},
    {"Describe", {"describe", "server0", "--output=json"}, 2},
    {"History", {"history", "-ojson"}, 0},
    {"Show", {"show", "3fa2", "--output", "json"}, 0},
    // The controller has another kind of run under that id.
    {"Diff", {"diff", "3fa2", "-o", "json"}, 3},
    {"AuditHead", {"audit", "head", "-o", "json"}, 0},
    {"ConfigShow", {"config", "show", "-o", "json"}, 0},
    {"TokenCreate", {"token", "create", "-o", "json"}, 0},
    {"TokenList", {"token", "list", "-o", "json"}, 0},
    {"TokenRevoke", {"token", "revoke", "a", "-o", "json"}, 0},
    {"Certificates", {"certificates", "-o", "json"}, 0},
    {"Approve", {"certificates", "approve", "a", "01ab", "-ojson"}, 0},
    {"Refuse", {"certificates", "refuse", "a", "01ab", "-ojson"}, 0},
    {"Reset", {"certificates", "reset", "a", "-ojson"}, 0},
    {"Check", {"check", "-o", "json"}, 3},
    {"Plan", {"plan", "-o", "json"}, 3},
    {"Rollback", {"rollback", "3fa2", "--yes", "-o", "json"}, 3}};

TEST(JsonTest, EveryDocumentHasASchemaVersion) {
  for (const JsonCase& each : kJsonCases) {
    SCOPED_TRACE(each.name);
    const ProgramOutput output = RunProgram(each.arguments);
    EXPECT_EQ(output.status, each.status) << output.err;
    EXPECT_GE(atoi(TopLevelField(output.out, "schema_version").c_str()), 1)
        << output.out;
  }
}

TEST(JsonTest, ErrorIsADocumentToo) {
  for (const JsonCase& each : kJsonCases) {
    SCOPED_TRACE(each.name);
    ProgramWorld world;
    world.script.spec_status = world.script.hosts_status =
        world.script.describe_status = world.script.history_status =
            world.script.record_status = world.script.trust_status =
                world.script.record_status = world.script.audit_status = Away();
    std::vector<std::string> wrong = each.arguments;
    wrong.push_back("--nonsense");
    for (const ProgramOutput& output :
         {RunProgram(each.arguments, world), RunProgram(wrong, world)}) {
      EXPECT_GE(output.status, 2);
      EXPECT_GE(atoi(TopLevelField(output.out, "schema_version").c_str()), 1)
          << output.out;
      const std::string error = TopLevelField(output.out, "error");
      EXPECT_TRUE(absl::StrContains(error, "away") ||
                  absl::StrContains(error, "nonsense"))
          << output.out;
    }
  }
}

}  // namespace
}  // namespace clusterd
