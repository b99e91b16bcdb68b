#include "client/command/host_selection.h"

#include <fstream>

#include "absl/strings/str_cat.h"
#include "config/words/message.h"
#include "gmock/gmock.h"

namespace clusterd {
namespace {

using ::testing::StartsWith;

using Names = std::vector<std::string>;

const Names kSpec = {"node1", "node2", "node3", "node4"};

// These hosts, at 10.0.0.1 to 10.0.0.4, in the domain dc1.example.com.
ClusterSpec Spec() {
  ClusterSpec spec;
  spec.set_domain("dc1.example.com");
  for (const std::string& host : kSpec) {
    ServerSpec& server = *spec.add_servers();
    server.set_host(host);
    server.set_address(absl::StrCat("10.0.0.", host.substr(4)));
  }
  return spec;
}

std::string Hostfile(const std::string& text) {
  const std::string path = absl::StrCat(
      testing::TempDir(), "/",
      testing::UnitTest::GetInstance()->current_test_info()->name());
  std::ofstream(path) << text;
  return path;
}

// The result of expanding and resolving, and the mistakes of both.
struct Selected {
  Names hosts;
  Names mistakes;
  HostSelection selection;
};

Selected Select(const HostSelection& arguments,
                const Environment& environment = {}) {
  Selected selected;
  selected.selection = arguments;
  std::vector<FindingValue> mistakes;
  ExpandHosts(environment, selected.selection, mistakes);
  if (mistakes.empty()) {
    selected.hosts = ResolveHosts(selected.selection, Spec(), mistakes);
  }
  for (const FindingValue& mistake : mistakes) {
    selected.mistakes.push_back(EnglishText(mistake));
  }
  return selected;
}

HostSelection Hosts(const Names& hosts, const Names& exclude = {}) {
  HostSelection arguments;
  arguments.hosts = hosts;
  arguments.exclude = exclude;
  return arguments;
}

TEST(HostSelectionTest, TakesAllHostsWhenNoneIsNamed) {
  const Selected selected = Select({});
  EXPECT_TRUE(selected.selection.all);
  EXPECT_EQ(selected.hosts, kSpec);
}

TEST(HostSelectionTest, TakesTheNamedHostsWithoutTheExcludedOnes) {
  const Names two_and_three = {"node2", "node3"};
  const struct {
    Names hosts;
    Names exclude;
    Names taken;
  } kCases[] = {// In the order of the spec, each once.
                {{"node3", "node[1,3]"}, {}, {"node1", "node3"}},
                {{"10.0.0.[2-3]", "node1.dc1.example.com"},
                 {},
                 {"node1", "node2", "node3"}},
                {{"node[1-2]"}, {"10.0.0.1"}, {"node2"}},
                {{"node[1-3]"}, two_and_three, {"node1"}},
                {{}, two_and_three, {"node1", "node4"}}};
  for (const auto& each : kCases) {
    EXPECT_EQ(Select(Hosts(each.hosts, each.exclude)).hosts, each.taken);
  }
}

TEST(HostSelectionTest, ReadsAHostfileWithComments) {
  HostSelection arguments;
  arguments.hostfile = Hostfile("# rack 1\nnode[1-2]  # two\n\n node4\n");
  EXPECT_EQ(Select(arguments).hosts, (Names{"node1", "node2", "node4"}));
}

TEST(HostSelectionTest, NamesFileAndLineOfAMistakeInAHostfile) {
  HostSelection arguments;
  arguments.hostfile = Hostfile("node1\nnode[2\n@gpu\n");
  const Names mistakes = Select(arguments).mistakes;
  ASSERT_EQ(mistakes.size(), 2u);
  EXPECT_THAT(mistakes[0],
              StartsWith(absl::StrCat(arguments.hostfile, ":2: ")));
  EXPECT_EQ(mistakes[1],
            Say("msg-host-group", arguments.hostfile + ":3", "@gpu"));
}

TEST(HostSelectionTest, NamesEveryUnknownHostWithTheNearest) {
  EXPECT_EQ(Select(Hosts({"nod1,node2,elsewhere"}, {"node44"})).mistakes,
            (Names{Say("msg-host-not-in-spec", "nod1",
                       Worded("did-you-mean", "node1")),
                   Say("msg-host-not-in-spec", "elsewhere", ""),
                   Say("msg-host-not-in-spec", "node44",
                       Worded("did-you-mean", "node4"))}));
  EXPECT_EQ(Select(Hosts({"10.0.0.9"})).mistakes,
            (Names{Say("msg-host-not-in-spec", "10.0.0.9", "")}));
}

TEST(HostSelectionTest, NeverTakesAnEmptyListForAllHosts) {
  const Environment job = {{"SLURM_JOB_ID", "17"}, {"SLURM_JOB_NODELIST", ""}};
  EXPECT_EQ(Select({}, job).mistakes,
            (Names{Say("msg-hosts-empty", "SLURM_JOB_NODELIST")}));
  EXPECT_EQ(Select(Hosts({""})).mistakes,
            (Names{Say("msg-hosts-empty", "HOSTS")}));
  EXPECT_EQ(Select(Hosts({" "})).mistakes.size(), 1u);
  HostSelection arguments;
  arguments.hostfile = Hostfile("# nobody\n");
  EXPECT_EQ(Select(arguments).mistakes,
            (Names{Say("msg-hostfile-empty", arguments.hostfile)}));
}

TEST(HostSelectionTest, FoldsTheRestOfManyUnknownHosts) {
  const Names mistakes = Select(Hosts({"other[0-499]"})).mistakes;
  ASSERT_EQ(mistakes.size(), 11u);
  EXPECT_EQ(mistakes.back(),
            Say("msg-more-hosts-not-in-spec", 490, "other[10-499]"));
}

TEST(HostSelectionTest, RefusesASelectionThatLeavesNobodyAndAllWithNames) {
  HostSelection both = Hosts({"node1"});
  both.all = true;
  EXPECT_EQ(Select(both).mistakes.size(), 1u);
  EXPECT_EQ(Select(Hosts({}, {"node[1-4]"})).mistakes,
            Names{Say("msg-no-host-left")});
  std::vector<FindingValue> mistakes;
  EXPECT_TRUE(ResolveHosts({}, {}, mistakes).empty());
  ASSERT_EQ(mistakes.size(), 1u);
  EXPECT_EQ(mistakes[0].words(), "msg-no-host-in-spec");
}

TEST(HostSelectionTest, TakesTheNodesOfTheSlurmJobByDefault) {
  const Environment job = {{"SLURM_JOB_ID", "17"},
                           {"SLURM_JOB_NODELIST", "node[2-3]"}};
  const Selected selected = Select({}, job);
  EXPECT_EQ(selected.hosts, (Names{"node2", "node3"}));
  EXPECT_EQ(selected.selection.slurm_job, "17");
  EXPECT_EQ(Select(Hosts({"node4"}), job).hosts, (Names{"node4"}));
  HostSelection all;
  all.all = true;
  EXPECT_EQ(Select(all, job).hosts, kSpec);
}

}  // namespace
}  // namespace clusterd
