#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/command/command.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "re2/re2.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using Arguments = std::vector<std::string>;

// Every command, as typed.
const std::vector<Arguments>& Commands() {
  static const auto& commands = *new std::vector<Arguments>{
      {"check"},
      {"hook"},
      {"plan"},
      {"apply"},
      {"rollback"},
      {"cancel"},
      {"confirm"},
      {"extend"},
      {"history"},
      {"show"},
      {"diff"},
      {"watch"},
      {"hosts"},
      {"describe"},
      {"lock"},
      {"unlock"},
      {"locks"},
      {"logs"},
      {"bundle"},
      {"audit"},
      {"audit", "verify"},
      {"audit", "head"},
      {"config"},
      {"config", "validate"},
      {"config", "show"},
      {"config", "learn"},
      {"config", "import"},
      {"generate"},
      {"generate", "ranktable"},
      {"generate", "launch"},
      {"token"},
      {"token", "create"},
      {"token", "list"},
      {"token", "revoke"},
      {"certificates"},
      {"explain"},
      {"anonymise"},
      {"version"},
      {"completion"},
      {"help"},
  };
  return commands;
}

TEST(HelpTest, IsThereForEveryCommandWithUsageAndExitStatuses) {
  for (Arguments arguments : Commands()) {
    const std::string name = absl::StrJoin(arguments, " ");
    arguments.push_back("--help");
    const ProgramOutput output = RunProgram(arguments);
    EXPECT_EQ(output.status, 0) << name;
    EXPECT_EQ(output.err, "") << name;
    EXPECT_TRUE(
        absl::StrContains(output.out, absl::StrCat("clusterctl ", name)))
        << output.out;
    if (name != "audit" && name != "config" && name != "generate" &&
        name != "token") {
      EXPECT_TRUE(absl::StrContains(output.out, "Exit status:")) << output.out;
    }
  }
}

TEST(HelpTest, ListsEveryCommandAndTheConnectionSettings) {
  const ProgramOutput output = RunProgram({"--help"});
  EXPECT_EQ(output.status, 0);
  for (const char* text :
       {"check",        "hook",    "plan",         "apply",
        "rollback",     "cancel",  "history",      "show",
        "report",       "hosts",   "describe",     "lock",
        "unlock",       "locks",   "logs",         "bundle",
        "audit",        "config",  "generate",     "token",
        "certificates", "explain", "anonymise",    "version",
        "completion",   "help",    "--controller", "CLUSTERD_CONTROLLER",
        "client.yaml",  "confirm", "extend"}) {
    EXPECT_TRUE(absl::StrContains(output.out, text)) << text << "\n"
                                                     << output.out;
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
    EXPECT_TRUE(absl::StrContains(output.out, option)) << option << "\n"
                                                       << output.out;
  }
}

TEST(HelpTest, NamesEveryOptionOfPlanAndApply) {
  const std::string plan = RunProgram({"plan", "--help"}).out;
  for (const char* option :
       {"HOSTS", "-x,--exclude", "--hostfile", "--all", "--out", "--netns",
        "--detailed-exitcode", "--verbose", "-o,--output", "--timeout"}) {
    EXPECT_TRUE(absl::StrContains(plan, option)) << option << "\n" << plan;
  }
  const std::string apply = RunProgram({"apply", "--help"}).out;
  const std::string rollback = RunProgram({"rollback", "--help"}).out;
  for (const char* option :
       {"--wave", "--yes", "--force", "--verbose", "--report", "--timeout"}) {
    EXPECT_TRUE(absl::StrContains(apply, option)) << option << "\n" << apply;
    EXPECT_TRUE(absl::StrContains(rollback, option)) << option << rollback;
  }
  EXPECT_TRUE(absl::StrContains(apply, "PLANFILE"));
  EXPECT_TRUE(absl::StrContains(apply, "--netns"));
  EXPECT_TRUE(absl::StrContains(rollback, "APPLY_ID"));
}

TEST(HelpTest, FitsEightyColumns) {
  for (Arguments arguments : Commands()) {
    arguments.push_back("--help");
    for (const absl::string_view line :
         absl::StrSplit(RunProgram(arguments).out, '\n')) {
      EXPECT_LE(line.size(), 80u) << line;
    }
  }
}

struct WrongLine {
  const char* name;
  Arguments arguments;
  std::string message;  // A part of stderr.
};

class WrongLineTest : public testing::TestWithParam<WrongLine> {};

TEST_P(WrongLineTest, ExitsWithThreeAndSaysWhatIsWrong) {
  const ProgramOutput output = RunProgram(GetParam().arguments);
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.out, "");
  EXPECT_TRUE(absl::StrContains(output.err, GetParam().message)) << output.err;
}

INSTANTIATE_TEST_SUITE_P(
    Lines, WrongLineTest,
    testing::Values(
        WrongLine{"NoCommand", {}, "Usage: clusterctl"},
        WrongLine{
            "UnknownCommand",
            {"chekc"},
            "clusterctl: command \"chekc\" does not exist, expected check, "
            "hook, plan, apply, rollback, cancel, confirm, extend, history, "
            "show, diff, report, watch, hosts, describe, waive, maintenance, "
            "waivers, unwaive, lock, unlock, locks, logs, bundle, audit, "
            "config, generate, token, certificates, "
            "explain, anonymise, version, completion, help, did you mean "
            "\"check\"?"},
        WrongLine{
            "UnknownOption",
            {"check", "--onyl", "link"},
            "clusterctl check: option \"--onyl\" does not exist, did you mean "
            "\"--only\"?"},
        WrongLine{"UnknownOptionWithValue",
                  {"check", "--hostfiel=x"},
                  "did you mean \"--hostfile\"?"},
        WrongLine{"OptionWithoutValue", {"check", "--report"}, "--report"},
        WrongLine{"ConfigAlone",
                  {"config"},
                  "clusterctl config: no command, expected validate, show, "
                  "learn, import"},
        WrongLine{"UnknownConfigCommand",
                  {"config", "shwo", "f"},
                  "did you mean \"show\"?"},
        WrongLine{"NoFile",
                  {"config", "validate"},
                  "clusterctl config validate: FILE"},
        WrongLine{"NoHost", {"describe"}, "clusterctl describe: HOST"},
        WrongLine{"TooMany",
                  {"describe", "server0", "server1"},
                  "\"server1\" was not expected"},
        WrongLine{
            "TwoCommands", {"version", "hosts"}, "\"hosts\" was not expected"},
        WrongLine{"TooManyRules",
                  {"explain", "link", "lldp"},
                  "\"lldp\" was not expected"},
        WrongLine{
            "Escape", {"\x1b[2J"}, "command \"\\x1b[2J\" does not exist"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ClusterctlTest, RefusesAnEmptyValueOfAnyOption) {
  for (const char* option :
       {"--only", "--skip", "--downgrade", "--exclude", "--hostfile",
        "--fail-on", "--output", "--color", "--report", "--timeout", "--socket",
        "--controller", "--cluster", "--ca", "--cert", "--key"}) {
    const std::string message = absl::StrCat("clusterctl check: ", option,
                                             ": is empty, expected a value\n");
    for (const Arguments& arguments :
         {Arguments{"check", absl::StrCat(option, "="), "--all"},
          Arguments{"check", option, "", "--all"}}) {
      const ProgramOutput output = RunProgram(arguments);
      EXPECT_EQ(output.status, 3) << option;
      EXPECT_TRUE(absl::StrContains(output.err, message)) << option << "\n"
                                                          << output.err;
    }
  }
}

TEST(ClusterctlTest, TakesConnectionOptionsBeforeAndAfterTheCommand) {
  for (const Arguments& arguments :
       {Arguments{"--controller", "other:1", "hosts"},
        Arguments{"hosts", "--controller", "other:1"}}) {
    FakeController controller({});
    ProgramWorld world;
    world.controller = &controller;
    EXPECT_EQ(RunProgram(arguments, world).status, 0);
    EXPECT_EQ(controller.settings().value().controller, "other:1");
  }
}

TEST(ClusterctlTest, WritesAReportFileForALineThatCannotBeParsed) {
  const std::string path = TestFile("report.json", "old");
  EXPECT_EQ(RunProgram({"check", "--report", path, "--onyl"}).status, 3);
  EXPECT_TRUE(absl::StrContains(FileContent(path),
                                "option \\\"--onyl\\\" does not exist"))
      << FileContent(path);
}

struct JsonCase {
  const char* name;
  std::vector<std::string> arguments;
  int status;  // If the controller answers.
};

class JsonTest : public testing::TestWithParam<JsonCase> {};

// Checks the document, not its content. The fields of a Struct are a map, whose
// layout differs between Debian's library and a build for TSan.
std::string TopLevelField(const std::string& json, const char* name) {
  google::protobuf::Struct document;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &document).ok())
      << json;
  std::string value;
  RE2::PartialMatch(json, absl::StrCat("(?m)^(?:\\{| )\"", name, "\": ?(.+)"),
                    &value);
  return value;
}

TEST_P(JsonTest, EveryDocumentHasASchemaVersion) {
  const ProgramOutput output = RunProgram(GetParam().arguments);
  EXPECT_EQ(output.status, GetParam().status) << output.err;
  EXPECT_GE(atoi(TopLevelField(output.out, "schema_version").c_str()), 1)
      << output.out;
}

TEST_P(JsonTest, ErrorIsADocumentToo) {
  ProgramWorld world;
  world.script.spec_status = world.script.hosts_status =
      world.script.describe_status = world.script.history_status =
          world.script.record_status = world.script.trust_status =
              world.script.record_status = world.script.audit_status =
                  grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  std::vector<std::string> wrong = GetParam().arguments;
  wrong.push_back("--nonsense");
  for (const ProgramOutput& output :
       {RunProgram(GetParam().arguments, world), RunProgram(wrong, world)}) {
    EXPECT_GE(output.status, 2);
    EXPECT_GE(atoi(TopLevelField(output.out, "schema_version").c_str()), 1)
        << output.out;
    const std::string error = TopLevelField(output.out, "error");
    EXPECT_TRUE(absl::StrContains(error, "away") ||
                absl::StrContains(error, "nonsense"))
        << output.out;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Commands, JsonTest,
    testing::Values(
        JsonCase{"Hosts", {"hosts", "-o", "json"}, 0},
        JsonCase{"Describe", {"describe", "server0", "--output=json"}, 2},
        JsonCase{"History", {"history", "-ojson"}, 0},
        JsonCase{"Show", {"show", "3fa2", "--output", "json"}, 0},
        // The controller has another kind of run under that id.
        JsonCase{"Diff", {"diff", "3fa2", "-o", "json"}, 3},
        JsonCase{"AuditHead", {"audit", "head", "-o", "json"}, 0},
        JsonCase{"ConfigShow", {"config", "show", "-o", "json"}, 0},
        JsonCase{"TokenCreate", {"token", "create", "-o", "json"}, 0},
        JsonCase{"TokenList", {"token", "list", "-o", "json"}, 0},
        JsonCase{"TokenRevoke", {"token", "revoke", "a", "-o", "json"}, 0},
        JsonCase{"Certificates", {"certificates", "-o", "json"}, 0},
        JsonCase{
            "Approve", {"certificates", "approve", "a", "01ab", "-ojson"}, 0},
        JsonCase{
            "Refuse", {"certificates", "refuse", "a", "01ab", "-ojson"}, 0},
        JsonCase{"Reset", {"certificates", "reset", "a", "-ojson"}, 0},
        JsonCase{"Check", {"check", "-o", "json"}, 3},
        JsonCase{"Plan", {"plan", "-o", "json"}, 3},
        JsonCase{"Rollback", {"rollback", "3fa2", "--yes", "-o", "json"}, 3}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace clusterd
