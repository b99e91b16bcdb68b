// Faults during an apply on real servers, with the real programs: a lying or
// hanging tool, files that cannot be written, a full disk. Each time the host
// must stay as it was, and report the reason.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/change_cluster.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The reason why this process may not make mounts of its own; empty: it may.
std::string WhyNoMounts() {
  const ProcessResult result =
      RunProgram({"/usr/bin/unshare", "--mount", "/bin/mount", "-t", "tmpfs",
                  "-o", "size=4k", "clusterd-e2e", "/mnt"});
  if (result.exit_status == 0) return "";
  return absl::StrCat("no mounts of one's own here: ", result.standard_error);
}

// Returns the host's result; fails unless the host was restored.
ApplyResult ExpectTakenBack(const ChangeCluster& cluster,
                            const ChangeOutcome& outcome,
                            const ServerState& before) {
  EXPECT_EQ(outcome.process.exit_status, 1) << outcome.process.standard_error;
  EXPECT_EQ(outcome.report.outcome(), ApplyReport::STOPPED);
  const ApplyResult result = outcome.Host("server0");
  EXPECT_THAT(result.residues(), IsEmpty());
  EXPECT_THAT(DifferencesFrom(before, cluster.Server("server0")), IsEmpty());
  EXPECT_EQ(cluster.Show(outcome.report.run_id()).hosts(0).outcome(),
            result.outcome());
  return result;
}

// True if this clusterd is running a tool that changes a device.
bool IsSetting(pid_t clusterd) {
  for (const pid_t child : ChildrenOf(clusterd)) {
    std::ifstream file(absl::StrCat("/proc/", child, "/cmdline"));
    for (std::string word; std::getline(file, word, '\0');) {
      if (word == "-s") return true;
    }
  }
  return false;
}

TEST(LyingToolTest, IsNotBelievedAndTheRestIsTakenBack) {
  ChangeCluster cluster(2);
  cluster.Break("server0", {"2:detect=none", "3:address=192.168.9.9",
                            "3:lies=1", "host:somaxconn=128"});
  cluster.Break("server1", {"3:address=192.168.9.9"});
  cluster.StartAllAndPlan();
  const ServerState before = cluster.Server("server0");
  const ChangeOutcome outcome = cluster.Apply();
  const ApplyResult result = ExpectTakenBack(cluster, outcome, before);
  EXPECT_EQ(result.outcome(), ApplyResult::UNDONE);
  EXPECT_THAT(result.error(),
              AllOf(HasSubstr("device 3"), HasSubstr("192.168.9.9")));
  EXPECT_EQ(outcome.Host("server1").outcome(), ApplyResult::APPLIED);
}

TEST(HangingToolTest, IsEndedAtItsDeadlineAndTheRestIsTakenBack) {
  ChangeCluster cluster(1, ChangeSpec(1, "10s"));
  cluster.Break("server0", {"2:detect=none", "3:address=192.168.9.9",
                            "3:state=hang.set=1"});
  cluster.StartAllAndPlan();
  const ServerState before = cluster.Server("server0");
  const ApplyResult result = ExpectTakenBack(cluster, cluster.Apply(), before);
  EXPECT_EQ(result.outcome(), ApplyResult::UNDONE);
  EXPECT_THAT(result.error(), AllOf(HasSubstr("device 3"), HasSubstr("10s")));
}

// The device has the new value, the file does not: the tool waits for the lock
// of hccn.conf until clusterd ends it.
TEST(HangingToolTest, IsTakenBackWhenTheDeviceIsSetAndTheFileIsNot) {
  ChangeCluster cluster(1, ChangeSpec(1, "10s"));
  cluster.Break("server0", {"3:detect=none"});
  cluster.StartAllAndPlan();
  const ServerState before = cluster.Server("server0");
  const pid_t clusterd = cluster.host("server0").pid();
  DeviceGate gate(cluster.Root("server0"));
  const auto apply = cluster.StartApply();
  const std::string id = WaitForRunId(apply.get());
  ASSERT_TRUE(cluster.WaitForJournal("server0", id, 2));
  // clusterd reads the file under the lock before it runs the tool.
  EXPECT_TRUE(WaitUntil([&] { return IsSetting(clusterd); }));
  const int file = open((cluster.Root("server0") + "/etc/hccn.conf").c_str(),
                        O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(file, LOCK_EX), 0);
  gate.Open();
  EXPECT_TRUE(WaitUntil([&] { return ChildrenOf(clusterd).empty(); }));
  close(file);
  const ApplyResult result =
      ExpectTakenBack(cluster, FinishChange(apply.get()), before);
  EXPECT_EQ(result.outcome(), ApplyResult::UNDONE);
  EXPECT_THAT(result.error(), AllOf(HasSubstr("device 3"), HasSubstr("10s")));
}

// One server whose clusterd has mounts of its own.
class MountTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = WhyNoMounts();
    if (!why.empty()) GTEST_SKIP() << why;
  }

  // Plans and applies. `script` makes the mounts; `$0` in it is the server's
  // root folder.
  ApplyResult ApplyWith(const std::string& script,
                        std::vector<std::string> faults = {}) {
    faults.insert(faults.begin(),
                  {"host:somaxconn=128", "3:address=192.168.9.9"});
    cluster_.Break("server0", faults);
    cluster_.LaunchWith("server0",
                        {"/usr/bin/unshare", "--mount", "/bin/sh", "-ec",
                         script + "\nexec \"$@\"", cluster_.Root("server0")});
    cluster_.StartAllAndPlan();
    before_ = cluster_.Server("server0");
    return Apply();
  }
  ApplyResult Apply() {
    return ExpectTakenBack(cluster_, cluster_.Apply(), before_);
  }

 private:
  ChangeCluster cluster_{1};
  ServerState before_;
};

std::string ReadOnly(const std::string& path) {
  return absl::StrReplaceAll(
      "mount --bind \"$0PATH\" \"$0PATH\"\n"
      "mount -o remount,bind,ro \"$0PATH\"",
      {{"PATH", path}});
}

using ReadOnlyFileTest = MountTest;

TEST_F(ReadOnlyFileTest, ThatIsHccnConfIsNamedAndTheRestIsTakenBack) {
  const ApplyResult result = ApplyWith(ReadOnly("/etc/hccn.conf"));
  EXPECT_EQ(result.outcome(), ApplyResult::UNDONE);
  EXPECT_THAT(result.error(),
              AllOf(HasSubstr("device 3"), HasSubstr("hccn.conf")));
}

TEST_F(ReadOnlyFileTest, ThatIsOurSysctlFileIsNamedAndTheRestIsTakenBack) {
  const ApplyResult result =
      ApplyWith(ReadOnly("/etc/sysctl.d"), {"host:persistent=none"});
  EXPECT_EQ(result.outcome(), ApplyResult::UNDONE);
  EXPECT_THAT(result.error(), AllOf(HasSubstr("/etc/sysctl.d"),
                                    HasSubstr("Read-only file system")));
}

// Mounts a file system of one page on a folder of /var/lib/clusterd.
std::string SmallDisk(const std::string& folder, bool is_full) {
  const std::string at = absl::StrCat("\"$0/var/lib/clusterd", folder, "\"");
  std::string script =
      absl::StrCat("mkdir -p -m 700 ", at,
                   "\nmount -t tmpfs -o size=4k,mode=0700 clusterd-e2e ", at);
  if (is_full) {
    absl::StrAppend(&script, "\nhead -c 4096 /dev/zero >", at, "/full");
  }
  return script;
}

using FullDiskTest = MountTest;

TEST_F(FullDiskTest, RefusesWhereTheAuditFileCannotGrow) {
  const ApplyResult result = ApplyWith(SmallDisk("", /*is_full=*/true));
  EXPECT_EQ(result.outcome(), ApplyResult::REFUSED);
  EXPECT_THAT(result.error(), AllOf(HasSubstr("audit.jsonl"),
                                    HasSubstr("No space left on device")));
}

TEST_F(FullDiskTest, RefusesWhereTheJournalCannotBegin) {
  const ApplyResult result = ApplyWith(SmallDisk("/apply", /*is_full=*/true));
  EXPECT_EQ(result.outcome(), ApplyResult::REFUSED);
  EXPECT_THAT(result.error(), AllOf(HasSubstr("No space left on device"),
                                    HasSubstr(".journal")));
  // Once more: a failed start must not block the next one.
  EXPECT_THAT(Apply().error(), HasSubstr("No space left on device"));
}

TEST_F(FullDiskTest, TakesBackWhatTheJournalHasNoRoomFor) {
  // Space for the beginning of the journal, but not for all steps.
  std::vector<std::string> faults;
  for (int device = 0; device < 8; ++device) {
    faults.push_back(absl::StrCat(device, ":detect=none"));
  }
  const ApplyResult result =
      ApplyWith(SmallDisk("/apply", /*is_full=*/false), faults);
  EXPECT_EQ(result.outcome(), ApplyResult::UNDONE);
  EXPECT_THAT(result.error(),
              AllOf(HasSubstr("journal"), HasSubstr("No space left")));
  ASSERT_GT(result.steps_size(), 0);
  EXPECT_EQ(result.steps(0).state(), StepOutcome::UNDONE);
}

}  // namespace
}  // namespace clusterd
