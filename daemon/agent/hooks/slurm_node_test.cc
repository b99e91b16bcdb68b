#include <string>

#include "absl/strings/str_cat.h"
#include "config/values/hostlist.h"
#include "daemon/agent/hooks/drainer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Recorded from `scontrol show node n1 -o` of Slurm 22.05.8, but for the fields
// in which these tests differ.
std::string Line(const std::string& state, const std::string& end) {
  return absl::StrCat(
      "NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=2 "
      "CPUTot=2 CPULoad=1.28 AvailableFeatures=(null) ActiveFeatures=(null) "
      "Gres=(null) NodeAddr=127.0.0.1 NodeHostName=vm Port=18001 "
      "Version=22.05.8 OS=Linux 6.1.0-9-amd64 #1 SMP PREEMPT_DYNAMIC @0  "
      "RealMemory=100 AllocMem=0 FreeMem=22138 Sockets=2 Boards=1 State=",
      state,
      " ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A "
      "Partitions=npu  BootTime=2026-11-23T22:22:27 "
      "SlurmdStartTime=2026-11-23T22:43:47 LastBusyTime=2026-11-23T22:43:48 "
      "CfgTRES=cpu=2,mem=100M,billing=2 AllocTRES= CapWatts=n/a "
      "CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 "
      "ExtSensorsTemp=n/s",
      end, "\n");
}

SlurmNode Parsed(const std::string& line) {
  return ParseSlurmNode(line).value();
}

TEST(ParseSlurmNodeTest, ReadsStatesAndSignsBehindThem) {
  const SlurmNode node = Parsed(Line("IDLE", ""));
  EXPECT_EQ(node.name, "n1");
  EXPECT_THAT(node.states, ElementsAre("IDLE"));
  EXPECT_EQ(node.reason, "");
  EXPECT_FALSE(node.IsDrained());
  EXPECT_FALSE(node.IsOfOthers());
  EXPECT_THAT(Parsed(Line("IDLE*+DRAIN", "")).states,
              ElementsAre("IDLE", "DRAIN"));
  EXPECT_TRUE(Parsed(Line("DOWN+DRAIN+NOT_RESPONDING", "")).IsDrained());
}

TEST(ParseSlurmNodeTest, ReadsOurDrainWhateverStandsInItsReason) {
  const SlurmNode node =
      Parsed(Line("IDLE+DRAIN",
                  " Reason=clusterd: link: device 3: DOWN = x State=IDLE "
                  "(until fixed) [root@2026-11-23T22:43:49]"));
  EXPECT_TRUE(node.IsDrained());
  EXPECT_TRUE(node.IsOurs());
  EXPECT_EQ(node.reason,
            "clusterd: link: device 3: DOWN = x State=IDLE (until fixed)");
  EXPECT_EQ(RuleOfReason(node.reason), "link");
}

TEST(ParseSlurmNodeTest, TakesNoCommentForAReason) {
  EXPECT_EQ(Parsed(Line("IDLE", " Comment=hello Reason=clusterd: x")).reason,
            "");
  EXPECT_EQ(Parsed(Line("IDLE+DRAIN",
                        " Reason=broken fan [ann@2026-11-23T22:44:25] "
                        "Comment=hello Reason=clusterd: link: x "
                        "[root@2026-11-23T22:44:25]"))
                .reason,
            "broken fan");
}

TEST(ParseSlurmNodeTest, KnowsWhoseReasonStandsThere) {
  const auto of_others = [](const std::string& reason) {
    return Parsed(
               Line("IDLE+DRAIN", absl::StrCat(" Reason=", reason,
                                               " [root@2026-11-23T22:44:25]")))
        .IsOfOthers();
  };
  EXPECT_TRUE(of_others("broken fan"));
  EXPECT_TRUE(of_others("my clusterd: link"));
  EXPECT_TRUE(of_others("Prolog error again"));
  EXPECT_TRUE(of_others("clusterd: link: x (until fixed), y"));
  EXPECT_FALSE(of_others("clusterd: link: x (until fixed)"));
  EXPECT_FALSE(of_others("clusterd: ip-unique: x (until RESUME)"));
  EXPECT_FALSE(of_others("Prolog error"));
}

TEST(ParseSlurmNodeTest, RefusesWhatHasAnotherForm) {
  for (const std::string& text :
       {std::string(), std::string("Node nope not found\n"),
        std::string("NodeName=n1 Arch=x86_64\n"),
        Line("IDLE", "") + Line("IDLE", ""), Line("idle", ""),
        Line("IDLE+DRAIN", " Reason=by nobody")}) {
    const auto node = ParseSlurmNode(text);
    EXPECT_EQ(node.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(std::string(ParseSlurmNode("\x1b[2J").status().message()),
              HasSubstr("\"\\x1b[2J\""));
}

TEST(IsHostNameTest, LeavesNoPlaceForMoreThanOneSlurmNode) {
  EXPECT_TRUE(IsHostName("node-07.rack1"));
  for (const char* name : {"", "n[1-9]", "n1,n2", "-a", "n1 State=DOWN", "ALL;",
                           "n1\nx", "../n1"}) {
    EXPECT_FALSE(IsHostName(name)) << name;
  }
}

TEST(RuleOfReasonTest, FindsTheRuleOrNothing) {
  EXPECT_EQ(RuleOfReason("clusterd: net-health: device 1: x"), "net-health");
  EXPECT_EQ(RuleOfReason("clusterd: broken"), "");
  EXPECT_EQ(RuleOfReason("clusterd: Link: x"), "");
  EXPECT_EQ(RuleOfReason("link: x"), "");
}

TEST(DrainReasonTest, IsOneLineThatReadsBackAsItWasWritten) {
  EXPECT_EQ(DrainReason("clusterd: link: device 3: DOWN"),
            "clusterd: link: device 3: DOWN (until fixed)");
  EXPECT_EQ(DrainReason("clusterd: link: \"a\" 'b' `c`\n"),
            "clusterd: link: a b c/n (until fixed)");
  EXPECT_EQ(DrainReason("other"), "clusterd: other (until RESUME)");
  EXPECT_EQ(DrainReason("clusterd: ip-unique: x"),
            "clusterd: ip-unique: x (until RESUME)");
  EXPECT_LE(DrainReason(std::string(9999, 'x')).size(), 235u);
}

}  // namespace
}  // namespace clusterd
