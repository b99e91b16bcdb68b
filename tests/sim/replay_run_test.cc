// Tests replay's verdicts: tools here are shell scripts. The real one meets the
// real records in replay_test.sh.
#include "tests/sim/replay_run.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/host_folder.h"
#include "tests/sim/private_root.h"
#include "tests/sim/test_folder.h"

namespace clusterd::sim {
namespace {

using ::testing::HasSubstr;
using Verdict = ReplayResult::Verdict;

class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() {
    record_.name = "r";
    record_.product = "A2";
    record_.argv = {"hccn_tool", "-i", "0", "-netdetect", "-s"};
    record_.exit = 0;
    record_.conf_before = "a=1\n";
    record_.conf_after = "a=1\n";
    record_.standard_output = "one\ntwo\n";
  }

  ReplayResult With(const std::string& script) {
    EXPECT_TRUE(
        HostFolder(folder_.path())
            .Write("tool",
                   "#!/bin/sh\nCONF=$HCCN_SIM_ROOT/etc/hccn.conf\n" + script,
                   0755)
            .ok());
    ReplayOptions options;
    options.tool = folder_.path() + "/tool";
    options.privileged = MayEnterPrivately();
    return Replay(record_, options);
  }

  Verdict Of(const std::string& script) { return With(script).verdict; }

  const TestFolder folder_;
  CaptureRecord record_;
};

TEST_F(ReplayTest, SameStreamsStatusAndFileMatch) {
  EXPECT_EQ(Of("echo one; echo two"), Verdict::kMatched);
  EXPECT_THAT(With("echo one; echo two; rm $CONF").text,
              HasSubstr("+ <no file>"));
}

TEST_F(ReplayTest, EveryDifferenceIsShownAsADiff) {
  const ReplayResult result = With(
      "echo one; echo too; echo oops >&2; "
      "echo a=2 >$CONF; exit 3");
  EXPECT_EQ(result.verdict, Verdict::kDifferent);
  EXPECT_THAT(result.text, HasSubstr("stdout, from line 2\n      - two\n"
                                     "      + too\n"));
  EXPECT_THAT(result.text, HasSubstr("stderr"));
  EXPECT_THAT(result.text, HasSubstr("      + oops\n"));
  EXPECT_THAT(result.text, HasSubstr("      - 0\n      + 3\n"));
  EXPECT_THAT(result.text, HasSubstr("      - a=1\n      + a=2\n"));
}

TEST_F(ReplayTest, RunThatShouldBlockMustNotEndBeforeItsSignal) {
  record_.exit = std::nullopt;
  record_.standard_output.clear();
  EXPECT_EQ(Of("exec sleep 1000"), Verdict::kMatched);
  EXPECT_THAT(With("exit 0").text, HasSubstr("- still running"));
  record_.exit = -15;
  record_.precondition =
      "the stub call never returns (hang.set); SIGTERM after 3 s";
  EXPECT_EQ(Of("exec sleep 1000"), Verdict::kMatched);
  EXPECT_EQ(Of("exit 0"), Verdict::kDifferent);
}

TEST_F(ReplayTest, TextOfAnUndefinedHealthCodeIsNotCompared) {
  record_.standard_output = "net health status: rubbish\n";
  for (const char* code : {"-1", "0xffffffff"}) {
    record_.precondition = std::string("net_health.0=") + code;
    EXPECT_EQ(Of("echo net health status: else"), Verdict::kMatched);
    EXPECT_EQ(Of("echo no health: else"), Verdict::kDifferent);
  }
  record_.precondition = "net_health.0=0; res.0x5.0=-16";
  EXPECT_EQ(Of("echo net health status: else"), Verdict::kDifferent);
}

TEST_F(ReplayTest, RunsOfARoundMayWriteInAnyOrder) {
  record_.precondition = "2 devices set at the same time, 3 rounds";
  record_.argv = {"hccn_tool", "N", "round-K", "N+1"};
  record_.standard_output.clear();
  record_.conf_before = "";
  record_.conf_after =
      "0 round-0 1\n0 round-1 1\n0 round-2 1\n"
      "1 round-0 2\n1 round-1 2\n1 round-2 2\n";
  EXPECT_EQ(Of("echo $* >>$CONF"), Verdict::kMatched);
  EXPECT_EQ(Of("[ $1 = 1 ] || echo $* >>$CONF"), Verdict::kDifferent);
  EXPECT_EQ(Of("echo $* >>$CONF; exit $1"), Verdict::kDifferent);
}

TEST_F(ReplayTest, FileIsRenamedOverWhileTheToolWaits) {
  record_.precondition =
      "an editor locks hccn.conf, writes a new file and renames it over the "
      "old one while the tool waits for the lock";
  record_.conf_after = "a=1\nb=2\n";
  record_.standard_output = "";
  EXPECT_EQ(Of("exec 9>>$CONF; flock 9; echo lost >&9"), Verdict::kMatched);
  // One that opens the file again after the wait does not lose its key.
  EXPECT_EQ(Of("exec 9>>$CONF; flock 9; echo kept >>$CONF"),
            Verdict::kDifferent);
}

TEST_F(ReplayTest, FileThatIsReplacedIsNotEditedInPlace) {
  record_.precondition = "hccn.conf mode 0640";
  record_.standard_output = "";
  EXPECT_THAT(
      With("cd $HCCN_SIM_ROOT/etc; cp hccn.conf n; mv n hccn.conf").text,
      HasSubstr("inode and mode"));
}

TEST(ReasonToSkipTest, ComparesEveryCommandThatClusterdUses) {
  for (const char* command :
       {"-ip", "-gateway", "-netdetect", "-net_health", "-link", "-lldp",
        "-mtu", "-tls", "-cfg", "-ping", "-hccs_ping", "-vnic"}) {
    CaptureRecord record;
    record.argv = {"hccn_tool", "-i", "0", command, "-g"};
    EXPECT_EQ(ReasonToSkip(record), "") << command;
  }
}

}  // namespace
}  // namespace clusterd::sim
