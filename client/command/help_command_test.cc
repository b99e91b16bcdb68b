#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty,
    ::testing::Not, ::testing::StartsWith;

using Arguments = std::vector<std::string>;

TEST(HelpCommandTest, SaysTheSameAsTheOptionOfTheCommand) {
  for (const Arguments& command :
       {Arguments{"check"}, Arguments{"apply"}, Arguments{"help"},
        Arguments{"config"}, Arguments{"config", "show"}}) {
    Arguments by_option = command;
    by_option.push_back("--help");
    Arguments by_command = command;
    by_command.insert(by_command.begin(), "help");
    EXPECT_THAT(RunProgram(by_command),
                Ends(0, Err(""), Out(RunProgram(by_option).out)));
  }
  EXPECT_EQ(RunProgram({"help"}).out, RunProgram({"--help"}).out);
}

TEST(HelpCommandTest, NamesTheNearestForACommandThatDoesNotExist) {
  EXPECT_THAT(RunProgram({"help", "chekc"}),
              Ends(3, Err(HasSubstr("command \"chekc\"")),
                   Err(Tells("did-you-mean", "check")), Out("")));
  EXPECT_THAT(RunProgram({"help", "config", "shwo"}).err,
              Tells("did-you-mean", "show"));
  EXPECT_THAT(RunProgram({"help", "check", "node01"}).err,
              Tells("msg-argument-not-expected", "node01"));
}

TEST(CompletionCommandTest, PrintsAScriptForEachShellAndRefusesOthers) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(
        RunProgram({"completion", shell}),
        Ends(0, Out(HasSubstr(absl::StrCat("clusterctl completion ", shell)))));
  }
  EXPECT_THAT(RunProgram({"completion", "fihs"}),
              Ends(3, Err(Tells("did-you-mean", "fish"))));
}

TEST(CompleteTest, OffersWhatMayFollowInTheLine) {
  using Words = std::vector<std::string>;
  const struct {
    const char*
        line;  // Words that a blank parts; a blank at the end: a new one.
    Words offered;
  } kCases[] = {// Commands that a list of them has.
                {"co", {"confirm", "config", "completion"}},
                {"config ", {"validate", "show", "learn", "import"}},
                {"help config s", {"show"}},
                {"help check ", {}},
                // Options of the command before them.
                {"check node01 --on", {"--only"}},
                {"rollback --wa", {"--wave"}},
                {"history --si", {"--since"}},
                {"history --wh", {"--who"}},
                {"explain --wa", {}},
                // Words that the help names.
                {"check -o ",
                 {"table", "short", "json", "yaml", "jsonl", "junit",
                  "markdown", "html"}},
                {"plan -o ", {"table", "short", "json"}},
                {"check --color=n", {"--color=never"}},
                {"check --fail-on ", {"warn", "unknown", "fail"}},
                {"history --kind apply,ch", {"apply,check"}},
                {"check --timeout ", {}},
                {"check --method torchr", {"torchrun"}},
                {"hook slurm-ta", {"slurm-task-prolog"}},
                {"hook plain -o ", {"text", "json"}},
                // Rules, also behind the comma of a list.
                {"explain net-", {"net-health"}},
                {"check --only link,net-", {"link,net-health"}},
                // Kinds, and rules that a plan has steps of.
                {"plan --only sys", {"sysctl", "sysctl-persistent"}},
                {"plan --only tls,firew", {"tls,firewall"}},
                {"plan --only net-h", {}},
                // Files where a file belongs.
                {"apply pl", {":files"}},
                {"check --report ", {":files"}}};
  for (const auto& each : kCases) {
    EXPECT_EQ(Offered(absl::StrSplit(each.line, ' ')), each.offered)
        << each.line;
  }
  EXPECT_THAT(RunProgram({"--help"}).out, Not(HasSubstr("  complete ")));
}

// Offered words must be accepted.
TEST(CompleteTest, OffersOnlyWordsThatTheOptionTakes) {
  for (const char* option : {"--output", "--color", "--fail-on"}) {
    const std::vector<std::string> words = Offered({"check", option, ""});
    EXPECT_THAT(words, Not(IsEmpty())) << option;
    for (const std::string& word : words) {
      EXPECT_THAT(RunProgram({"check", option, word}).err,
                  Not(HasSubstr("is not known")));
    }
  }
}

TEST(CompleteTest, OffersHostsThatTheControllerNames) {
  ProgramWorld world;
  for (const char* host : {"node01", "node02", "login"}) {
    world.script.hosts.add_hosts()->set_host(host);
  }
  EXPECT_THAT(Offered({"describe", "node"}, world),
              ElementsAre("node01", "node02"));
  EXPECT_THAT(Offered({"check", "node01", "lo"}, world), ElementsAre("login"));
  EXPECT_THAT(Offered({"check", "-x", "login,node01,"}, world),
              ElementsAre("login,node01,node01", "login,node01,node02",
                          "login,node01,login"));
  EXPECT_THAT(Offered({"check", "node[01-02],lo"}, world),
              ElementsAre("node[01-02],login"));
  EXPECT_THAT(Offered({"check", "node[01,"}, world), IsEmpty());
  EXPECT_THAT(Offered({"describe", "node01", ""}, world), IsEmpty());
}

TEST(CompleteTest, OffersRunsOfTheKindThatTheCommandTakes) {
  ProgramWorld world;
  ListHistoryResponse& page = world.script.history.emplace_back();
  page.add_entries()->set_id("3fa2c4d5e6f70812");
  page.mutable_entries(0)->set_actor("ann");
  page.mutable_entries(0)->set_summary("2 hosts");
  WatchedController controller(world);
  EXPECT_EQ(RunProgram({"complete", "rollback", "3f"}, world).out,
            "3fa2c4d5e6f70812\tann, 2 hosts\n");
  ASSERT_EQ(controller.history_requests().size(), 1u);
  EXPECT_THAT(controller.history_requests()[0].kinds(),
              ElementsAre(HISTORY_APPLY));
  Offered({"show", ""}, world);
  EXPECT_THAT(controller.history_requests()[1].kinds(), IsEmpty());
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"diff", ""}, {"diff", "3fa2", ""}}) {
    Offered(line, world);
    EXPECT_THAT(controller.history_requests().back().kinds(),
                ElementsAre(HISTORY_CHECK));
  }
  EXPECT_EQ(controller.history_requests().size(), 4u);
}

TEST(CompleteTest, AsksTheControllerThatTheLineNames) {
  ProgramWorld world;
  WatchedController controller(world);
  Offered({"--controller", "a:1", "check", "--cluster=other", ""}, world);
  ASSERT_TRUE(controller.settings().has_value());
  EXPECT_EQ(controller.settings()->controller, "a:1");
  EXPECT_EQ(controller.settings()->cluster, "other");
}

TEST(CompleteTest, IsSilentWithoutAController) {
  ProgramWorld away;
  away.script.hosts_status = Away();
  away.script.history_status = away.script.hosts_status;
  EXPECT_THAT(Offered({"check", ""}, away), IsEmpty());
  EXPECT_THAT(Offered({"show", ""}, away), IsEmpty());
  ProgramWorld unset;
  unset.environment = {};
  EXPECT_THAT(Offered({"check", ""}, unset), IsEmpty());
}

TEST(CompleteTest, OffersNothingThatAShellWouldRun) {
  ProgramWorld world;
  for (const char* host : {"$(reboot)", "`id`", "a;b", "a b", "a\nb", "\x1b[2J",
                           "-rf", ":files", "node01"}) {
    world.script.hosts.add_hosts()->set_host(host);
  }
  ListHistoryResponse& page = world.script.history.emplace_back();
  page.add_entries()->set_id("$(reboot)");
  page.add_entries()->set_id("3fa2");
  page.mutable_entries(1)->set_actor("ann\nreboot\x1b[2J");
  EXPECT_THAT(Offered({"check", ""}, world), ElementsAre("node01"));
  EXPECT_THAT(RunProgram({"complete", "show", ""}, world).out,
              Not(HasSubstr("reboot\x1b")));
  world.script.history.resize(1);
  EXPECT_THAT(Offered({"show", ""}, world), ElementsAre("3fa2"));
}

TEST(CompleteTest, EndsWithOfferingNothingOnLinesThatMakeNoSense) {
  EXPECT_THAT(Offered({"chekc", "--onyl", "=", "--=x", ""}),
              Not(IsEmpty()));  // Still before any command.
  EXPECT_THAT(Offered({"check", "--onyl="}), IsEmpty());
  EXPECT_THAT(Offered({"version", "x"}), IsEmpty());
  EXPECT_THAT(Offered({""}), Not(IsEmpty()));
  EXPECT_THAT(RunProgram({"complete"}).out, StartsWith("check\t"));
}

}  // namespace
}  // namespace clusterd
