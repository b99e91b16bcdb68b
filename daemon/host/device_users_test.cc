#include "daemon/host/device_users.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/has_fields.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

constexpr uint32_t kNobody = 0;

// A descriptor of this process; the destructor closes it.
class OpenNode {
 public:
  explicit OpenNode(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    EXPECT_GE(fd_, 0) << path;
  }
  ~OpenNode() { close(fd_); }

 private:
  const int fd_;
};

// A child that inherits this process's descriptors and waits to be killed.
class Child {
 public:
  Child() {
    EXPECT_EQ(pipe2(pipe_, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ != 0) return;
    close(pipe_[1]);
    char byte;
    while (read(pipe_[0], &byte, 1) > 0) continue;
    _exit(0);
  }
  ~Child() {
    close(pipe_[1]);
    waitpid(pid_, nullptr, 0);
    close(pipe_[0]);
  }
  pid_t pid() const { return pid_; }

 private:
  int pipe_[2] = {-1, -1};
  pid_t pid_ = -1;
};

class DeviceUsersTest : public ::testing::Test {
 protected:
  DeviceUsersTest() {
    for (const char* node : {"davinci0", "davinci3", "davinci_manager"}) {
      root_.Write(absl::StrCat("/dev/", node), "");
    }
  }

  // "3:4711 0:4712"
  std::string Users(uint32_t self = kNobody) {
    const auto users = ReadDeviceUsers(root_.paths(), self, budget_);
    EXPECT_TRUE(users.ok()) << users.status();
    if (!users.ok()) return "";
    return absl::StrJoin(*users, " ", [](std::string* out, const auto& user) {
      absl::StrAppend(out, user.device, ":", user.pid);
    });
  }
  std::string Path(const std::string& path) { return root_.path() + path; }

  ScratchRoot root_;
  FakeClock clock_;
  const TimeBudget budget_{&clock_, absl::Hours(1), absl::Hours(1)};
};

TEST_F(DeviceUsersTest, FindsNobodyWhereNoNodeIsOpen) {
  const OpenNode manager(Path("/dev/davinci_manager"));
  EXPECT_EQ(Users(), "");
}

TEST_F(DeviceUsersTest, NamesTheProcessThatHoldsANodeOpen) {
  const OpenNode node(Path("/dev/davinci3"));
  const auto users = ReadDeviceUsers(root_.paths(), kNobody, budget_).value();
  ASSERT_EQ(users.size(), 1u);
  EXPECT_EQ(users[0].device, 3u);
  EXPECT_EQ(users[0].pid, static_cast<uint32_t>(getpid()));
  std::string own_name;
  std::getline(std::ifstream("/proc/self/comm"), own_name);
  EXPECT_EQ(users[0].command, own_name);
}

TEST_F(DeviceUsersTest, CountsAProcessOnceForEachDevice) {
  const OpenNode first(Path("/dev/davinci3"));
  const OpenNode again(Path("/dev/davinci3"));
  const OpenNode other(Path("/dev/davinci0"));
  EXPECT_EQ(Users(), absl::StrCat("0:", getpid(), " 3:", getpid()));
}

// A user's process may have more files open than the 100,000 that are read.
TEST_F(DeviceUsersTest, FindsANodeOfAProcessWithMoreFilesThanItReads) {
  constexpr rlim_t kFiles = 101'000;
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit wanted = {kFiles, std::max(kFiles, before.rlim_max)};
  if (setrlimit(RLIMIT_NOFILE, &wanted) != 0) {
    GTEST_SKIP() << "the limit of open files cannot be raised";
  }
  const OpenNode node(Path("/dev/davinci3"));
  const int last = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, kFiles - 1);
  for (int fd = 1000; fd < last; ++fd) dup3(STDIN_FILENO, fd, O_CLOEXEC);
  const std::string users = Users();
  close_range(1000, last, 0);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(last, static_cast<int>(kFiles) - 1);
  EXPECT_EQ(users, absl::StrCat("3:", getpid()));
}

TEST_F(DeviceUsersTest, FindsANodeThatWasOpenedThroughAnotherName) {
  root_.Link("/dev/davinci_link", Path("/dev/davinci3"));
  const OpenNode linked(Path("/dev/davinci_link"));
  EXPECT_EQ(Users(), absl::StrCat("3:", getpid()));
}

TEST_F(DeviceUsersTest, LeavesOutOneselfAndWhatOneStarted) {
  const OpenNode node(Path("/dev/davinci3"));
  const Child child;
  const auto self = static_cast<uint32_t>(getpid());
  EXPECT_EQ(Users(self), "");
  EXPECT_EQ(Users(static_cast<uint32_t>(child.pid())),
            absl::StrCat("3:", self));
  EXPECT_THAT(Users(), HasSubstr(absl::StrCat("3:", child.pid())));
}

TEST_F(DeviceUsersTest, KnowsNodesOfAnotherServerApart) {
  ScratchRoot other;
  other.Write("/dev/davinci3", "");
  const OpenNode node(other.path() + "/dev/davinci3");
  EXPECT_EQ(Users(), "");
}

TEST_F(DeviceUsersTest, TellsWhoStartedAProcess) {
  const OpenNode node(Path("/dev/davinci3"));
  const Child child;
  const auto users = ReadDeviceUsers(root_.paths(), kNobody, budget_).value();
  for (const DeviceUser& user : users) {
    const bool is_child = user.pid == static_cast<uint32_t>(child.pid());
    EXPECT_EQ(user.parent,
              static_cast<uint32_t>(is_child ? getpid() : getppid()));
  }
}

TEST_F(DeviceUsersTest, EndsWithTheHostsTime) {
  const TimeBudget budget(&clock_, absl::Seconds(1), absl::Seconds(2));
  clock_.Advance(absl::Seconds(3));
  const Missing missing = ReadNpuProcesses(root_.paths(), budget).missing();
  EXPECT_EQ(missing.reason(), Missing::TIMED_OUT);
  EXPECT_THAT(missing.detail(), HasSubstr("deadlines.host"));
}

// Two seconds pass at each reading.
class HastyClock final : public Clock {
 public:
  absl::Time Now() override { return absl::UnixEpoch() + passed_; }
  absl::Duration Monotonic() override { return passed_ += absl::Seconds(2); }
  void SleepFor(absl::Duration duration) override { passed_ += duration; }

 private:
  absl::Duration passed_;
};

// Unprivileged users determine how many processes and open files there are.
TEST_F(DeviceUsersTest, EndsAfterFiveSecondsAndNamesWhoHasMost) {
  const Child first;
  const Child second;
  HastyClock clock;
  const TimeBudget budget(&clock, absl::Hours(1), absl::Hours(1));
  const NpuProcessesFact fact = ReadNpuProcesses(root_.paths(), budget);
  EXPECT_EQ(fact.missing().reason(), Missing::TIMED_OUT);
  EXPECT_THAT(
      fact.missing().detail(),
      MatchesRegex(
          "processes that use NPUs: not found within 5s, or the "
          "host's .*; user [0-9]+ has most of the open files, [0-9]+ of those "
          "looked at"));
}

TEST_F(DeviceUsersTest, IsNotAskedByWhoChangesTheHost) {
  const TimeBudget budget(&clock_, absl::Hours(1), absl::Hours(1),
                          {nullptr, /*changes_host=*/true});
  EXPECT_EQ(ReadNpuProcesses(root_.paths(), budget).missing().reason(),
            Missing::NOT_QUERIED);
}

// The process is neither this one nor its child: an orphan.
TEST_F(DeviceUsersTest, NamesEachProcessOnceWithItsDevices) {
  int pids[2];
  ASSERT_EQ(pipe2(pids, O_CLOEXEC), 0);
  int hold[2];
  ASSERT_EQ(pipe2(hold, O_CLOEXEC), 0);
  const pid_t middle = fork();
  if (middle == 0) {
    const pid_t orphan = fork();
    if (orphan == 0) {
      close(hold[1]);
      open(Path("/dev/davinci0").c_str(), O_RDONLY);
      open(Path("/dev/davinci3").c_str(), O_RDONLY);
      const pid_t own = getpid();
      if (write(pids[1], &own, sizeof(own)) < 0) _exit(1);
      char byte;
      while (read(hold[0], &byte, 1) > 0) continue;
    }
    _exit(0);
  }
  waitpid(middle, nullptr, 0);
  pid_t orphan = 0;
  ASSERT_EQ(read(pids[0], &orphan, sizeof(orphan)),
            static_cast<ssize_t>(sizeof(orphan)));
  FakeClock clock;
  const TimeBudget budget(&clock, absl::Minutes(1), absl::Minutes(1));
  const NpuProcessesFact fact = ReadNpuProcesses(root_.paths(), budget);
  ASSERT_EQ(fact.value().processes_size(), 1) << fact.ShortDebugString();
  const NpuProcess& process = fact.value().processes(0);
  EXPECT_EQ(process.pid(), static_cast<uint32_t>(orphan));
  ASSERT_THAT(process, HasFields("devices: 0 devices: 3"));
  for (const int fd : {pids[0], pids[1], hold[0], hold[1]}) close(fd);
}

TEST_F(DeviceUsersTest, CannotTellWithoutNodes) {
  root_.Remove("/dev/davinci0");
  root_.Remove("/dev/davinci3");
  EXPECT_EQ(ReadNpuProcesses(root_.paths(), budget_).missing().reason(),
            Missing::NOT_SUPPORTED);
  const auto users = ReadDeviceUsers(root_.paths(), kNobody, budget_);
  EXPECT_EQ(users.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(users.status().message()),
              HasSubstr("no node /dev/davinci<N>"));
}

constexpr char kTable[] = "/proc/uda/namespace_node";

std::string Entry(int space, const std::string& identity, int pid,
                  const std::string& rest, const std::string& devices) {
  return "ns_id " + std::to_string(space) + " identify " + identity +
         " root_tgid " + std::to_string(pid) + " " + rest +
         ", udev list:\nlogic_devid udevid\n" + devices + "\n\n";
}

const std::string kHost =
    Entry(128, "0", 1, "dev_num 2 namespace 00000000a1b2c3d4(#)",
          "       0        0\n       1        1\n");
const std::string kIdle =
    Entry(0, "5b0c7e21d9f4", 731804, "dev_num 2 namespace 00000000d4c3b2a1",
          "       0        6\n       1        3\n");

TEST(ParseNamespaceNodeTest, ReadsContainersAndLeavesTheHostOut) {
  const auto owners = ParseNamespaceNode(kIdle + kHost).value();
  ASSERT_THAT(owners,
              HasFields("owners { pid: 731804 identity: '5b0c7e21d9f4' }"));
  EXPECT_THAT(owners.owners(0).devices(), ElementsAre(3, 6));
  EXPECT_THAT(ParseNamespaceNode(kHost)->owners(), IsEmpty());
  EXPECT_THAT(ParseNamespaceNode("")->owners(), IsEmpty());
}

TEST(ParseNamespaceNodeTest, ReadsTwoContainersAHiddenPointerAndNoDevices) {
  const std::string hidden =
      Entry(1, "0", 77, "dev_num 1 namespace (____ptrval____)",
            "       0        5\r\n");
  const std::string none = Entry(2, "ab", 78, "dev_num 0 namespace (null)", "");
  const auto owners = ParseNamespaceNode(none + kIdle + hidden).value();
  ASSERT_EQ(owners.owners_size(), 2);
  EXPECT_EQ(owners.owners(1).identity(), "");
  EXPECT_THAT(owners.owners(1).devices(), ElementsAre(5));
}

TEST(ParseNamespaceNodeTest, QuotesWhatItDoesNotKnowOrWasCut) {
  for (const std::string& text :
       {std::string("rubbish\n"), kIdle.substr(0, kIdle.size() - 22),
        kIdle + "       0        9\n", "ns_id 1 identify\n" + kIdle}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseNamespaceNode(text).status()))
        << text;
  }
}

class DeviceOwnersTest : public ::testing::Test {
 protected:
  DeviceOwnersTest() {
    root_.Write(kTable, kIdle);
    root_.Write("/proc/731804/comm", "bash\n");
    // At 100 ticks a second it began 36000 s after the boot.
    root_.Write("/proc/731804/stat",
                "731804 (a) b) S 1 1 1 0 -1 4194560 1 1 0 0 0 0 0 0 20 0 1 0 "
                "3600000 9 9\n");
    root_.Write("/proc/uptime", "122400.50 9.0\n");
    root_.Write("/proc/731804/status",
                "Name:\tbash\nCapEff:\t00000000a80425fb\n");
    root_.Write("/proc/1/status", "Name:\tinit\nCapEff:\t000001ffffffffff\n");
    root_.Link("/proc/731804/ns/mnt", "mnt:[4026532001]");
    root_.Link("/proc/4711/ns/mnt", "mnt:[4026532002]");
    users_.mutable_value()->add_processes()->set_pid(4711);
  }

  DeviceOwner Owner() {
    return ReadDeviceOwners(FileReader(root_.path()), users_).value().owners(0);
  }

  ScratchRoot root_;
  NpuProcessesFact users_;
};

TEST_F(DeviceOwnersTest, TellsWhatTheOwnerIsAndThatItUsesNothing) {
  const DeviceOwner owner = Owner();
  EXPECT_THAT(owner, HasFields(R"(
      command: "bash" age_s: 86400 privileged: false uses_device: false)"));
}

TEST_F(DeviceOwnersTest, KnowsAContainerThatComputes) {
  root_.Remove("/proc/4711/ns/mnt");
  root_.Link("/proc/4711/ns/mnt", "mnt:[4026532001]");
  EXPECT_TRUE(Owner().uses_device());
}

TEST_F(DeviceOwnersTest, KnowsAContainerWithEveryCapability) {
  root_.Write("/proc/731804/status",
              "Name:\tbash\nCapEff:\t000001ffffffffff\n");
  EXPECT_TRUE(Owner().privileged());
}

TEST_F(DeviceOwnersTest, SaysWhyItDoesNotKnow) {
  root_.Write(kTable, "rubbish\n");
  EXPECT_EQ(
      ReadDeviceOwners(FileReader(root_.path()), users_).missing().reason(),
      Missing::UNREADABLE);
  root_.Remove(kTable);
  const auto fact = ReadDeviceOwners(FileReader(root_.path()), users_);
  EXPECT_EQ(fact.missing().reason(), Missing::NOT_SUPPORTED);
  EXPECT_THAT(fact.missing().detail(), HasSubstr(kTable));
}

}  // namespace
}  // namespace clusterd
