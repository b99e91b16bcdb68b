#include "tests/sim/run_setup.h"

#include <signal.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

RunSetup Of(const std::string& precondition, const std::string& out = "") {
  CaptureRecord record;
  record.product = "A2";
  record.precondition = precondition;
  record.standard_output = out;
  return SetupOf(record);
}

TEST(SetupOfTest, KeysBecomeState) {
  const RunSetup setup = Of("ip.0=10.0.0.1; res.0x5.0=-16; tls_end=a b:c");
  EXPECT_EQ(setup.state.Find("product"), "A2");
  EXPECT_EQ(setup.state.Find("ip.0"), "10.0.0.1");
  EXPECT_EQ(setup.state.Find("res.0x5.0"), "-16");
  EXPECT_EQ(setup.state.Find("tls_end"), "a b:c");
  EXPECT_FALSE(setup.NeedsPrivilege());
}

TEST(SetupOfTest, WordsBecomeUserAndPermissions) {
  const RunSetup nobody = Of("user nobody, hccn.conf 0640; ip.0=10.0.0.1");
  EXPECT_THAT(nobody.uid, Optional(65534u));
  EXPECT_THAT(nobody.conf_mode, Optional(0640u));
  EXPECT_TRUE(nobody.NeedsPrivilege());
  const RunSetup stranger = Of("uid 777, not in passwd (as in containers)");
  EXPECT_THAT(stranger.uid, Optional(777u));
  EXPECT_FALSE(stranger.in_passwd);
}

TEST(SetupOfTest, WordsBecomeFilesOfEveryKind) {
  EXPECT_TRUE(Of("root, hccn.conf on a read-only mount").conf_read_only);
  EXPECT_EQ(Of("/etc/hccn.conf is a directory, as runtimes do").conf_kind,
            RunSetup::ConfKind::kDirectory);
  EXPECT_EQ(Of("hccn.conf is a symlink").conf_kind,
            RunSetup::ConfKind::kSymlink);
  EXPECT_FALSE(Of("/etc/ascend_install.info absent").install_info);
  EXPECT_EQ(Of("/var/log/hccn_tool is a regular file").log_folder,
            RunSetup::LogFolder::kRegularFile);
  const RunSetup log = Of("/var/log read-only, no hccn_tool in it");
  EXPECT_TRUE(log.log_read_only);
  EXPECT_EQ(log.log_folder, RunSetup::LogFolder::kAbsent);
}

TEST(SetupOfTest, WordsBecomeCompany) {
  EXPECT_EQ(Of("another process holds flock on hccn.conf for 2 s").lock,
            RunSetup::Lock::kExclusive);
  const RunSetup shared = Of("it holds a shared flock on hccn.conf for ever");
  EXPECT_EQ(shared.lock, RunSetup::Lock::kShared);
  EXPECT_TRUE(shared.lock_for_ever);
  const RunSetup two =
      Of("two runs started together, the stub device needs 1 s per set call");
  EXPECT_TRUE(two.with_partner);
  EXPECT_EQ(two.state.Find("delay.set.ms"), "600");
  const RunSetup hang =
      Of("the stub call never returns (hang.get_ip); SIGTERM after 3 s");
  EXPECT_EQ(hang.state.Find("hang.get_ip"), "1");
  EXPECT_THAT(hang.signal, Optional(SIGTERM));
}

TEST(SetupOfTest, WordsBecomeDevicesThatTakeTheirTime) {
  const RunSetup boots =
      Of("health call fails for 2.5 s, then succeeds (device booting)");
  EXPECT_EQ(boots.state.Find("booting.0"), "3");
  EXPECT_EQ(boots.state.Find("ip.0"), "10.0.0.1");
  EXPECT_EQ(
      Of("health call always fails (device reset)").state.Find("rc.health"),
      "1");
  const RunSetup lock =
      Of("another process never releases its flock; killed after 8 s");
  EXPECT_EQ(lock.lock, RunSetup::Lock::kExclusive);
  EXPECT_TRUE(lock.lock_for_ever);
  const RunSetup rounds = Of("8 devices set at the same time, 25 rounds");
  EXPECT_EQ(rounds.devices_at_once, 8);
  EXPECT_EQ(rounds.rounds, 25);
  EXPECT_EQ(Of("/etc/hccn.conf -> /etc/real.conf").conf_kind,
            RunSetup::ConfKind::kSymlink);
}

TEST(SetupOfTest, NameMayTellTheUser) {
  CaptureRecord record;
  record.name = "hccs-ping-superpod-nonroot";
  record.product = "A3-superpod";
  EXPECT_THAT(SetupOf(record).uid, Optional(65534u));
}

TEST(SetupOfTest, WhoRunsItSaysNothingAboutTheRest) {
  EXPECT_THAT(Of("root, hccn.conf immutable").not_understood,
              ElementsAre("root, hccn.conf immutable"));
  EXPECT_THAT(Of("root").not_understood, IsEmpty());
  EXPECT_TRUE(Of("root, hccn.conf on a read-only mount").conf_read_only);
}

TEST(SetupOfTest, KeysWithoutAMeaningAreNamedAndKept) {
  const RunSetup setup = Of("ip.0=10.0.0.1; moon.0=full; rc.tides=4");
  EXPECT_THAT(setup.unknown_keys, ElementsAre("moon.0", "rc.tides"));
  EXPECT_THAT(setup.not_understood, IsEmpty());
  EXPECT_EQ(setup.state.Find("moon.0"), "full");
  EXPECT_THAT(Of("res.0x5.0=-16;rc.get_ip.0=4;hang.0x21=1;tls_end=x;ls_n.0=1")
                  .unknown_keys,
              IsEmpty());
}

TEST(SetupOfTest, ProductThatNobodyKnowsCannotBeArranged) {
  CaptureRecord record;
  record.product = "A7";
  EXPECT_THAT(SetupOf(record).not_understood, ElementsAre("product A7"));
}

TEST(SetupOfTest, DevicesReportInitByDefault) {
  EXPECT_EQ(Of("netdetect.0=10.0.0.9").state.Find("net_health.0"), "6");
  EXPECT_EQ(Of("net_health.0=2").state.Find("net_health.0"), "2");
}

TEST(SetupOfTest, SaysWhatItDoesNotUnderstand) {
  EXPECT_THAT(Of("the moon is full; ip.0=10.0.0.1").not_understood,
              ElementsAre("the moon is full"));
  EXPECT_THAT(Of("two cards, ids 1 and 4").not_understood, IsEmpty());
}

TEST(SetupOfTest, CutTextIsCompletedFromTheOutput) {
  const std::string cut(120, 'x');
  EXPECT_EQ(Of("lldp.0=" + cut, cut + "yz\n").state.Find("lldp.0"), cut + "yz");
  EXPECT_EQ(Of("lldp.0=" + cut, "other\n").state.Find("lldp.0"), cut);
  EXPECT_EQ(Of("lldp.0=short", "shorter\n").state.Find("lldp.0"), "short");
  const std::string half = std::string(119, 'x') + "\\";
  EXPECT_EQ(Of("lldp.0=" + half, std::string(119, 'x') + "\nend\n")
                .state.Find("lldp.0"),
            std::string(119, 'x') + "\nend");
}

}  // namespace
}  // namespace clusterd::sim
