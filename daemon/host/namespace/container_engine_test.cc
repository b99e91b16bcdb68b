#include <string>

#include "config/words/words.h"
#include "daemon/host/namespace/network_namespace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kDocker[] =
    "docker inspect --type container --format {{.State.Pid}} train-1";
constexpr char kPodman[] =
    "podman inspect --type container --format {{.State.Pid}} train-1";
constexpr char kIsula[] = "isula inspect -f {{.State.Pid}} train-1";
constexpr char kCrictl[] =
    "crictl inspect --output go-template --template {{.info.pid}} train-1";

class ContainerEngineTest : public ::testing::Test {
 protected:
  ContainerEngineTest()
      : runner_(&clock_),
        budget_(&clock_, absl::Seconds(10), absl::Seconds(30)) {}

  void Install(const std::string& engine) {
    root_.WriteProgram("/usr/bin/" + engine, "");
  }
  absl::StatusOr<uint32_t> Find() {
    return FindContainerPid({root_.paths(), &runner_, &budget_}, "train-1");
  }
  std::string Why(absl::StatusCode code) {
    const auto found = Find();
    EXPECT_EQ(found.status().code(), code) << found.status();
    return std::string(found.status().message());
  }

  FakeClock clock_;
  FakeCommandRunner runner_;
  TimeBudget budget_;
  ScratchRoot root_;
};

TEST_F(ContainerEngineTest, AsksEachEngineInItsOwnWords) {
  const struct {
    const char* engine;
    const char* command;
  } engines[] = {{"docker", kDocker},
                 {"podman", kPodman},
                 {"isula", kIsula},
                 {"crictl", kCrictl}};
  uint32_t pid = 4711;
  for (const auto& [engine, command] : engines) {
    Install(engine);
    runner_.Answers(command, std::to_string(++pid) + "\n");
    const auto found = Find().value();
    EXPECT_EQ(found, pid) << engine;
    root_.Remove(std::string("/usr/bin/") + engine);
  }
  EXPECT_THAT(runner_.commands(),
              ElementsAre(kDocker, kPodman, kIsula, kCrictl));
}

TEST_F(ContainerEngineTest, SaysWhatItLookedForWhereThereIsNoEngine) {
  EXPECT_EQ(Why(absl::StatusCode::kNotFound), Say("fact-no-engine", "train-1"));
}

TEST_F(ContainerEngineTest, TellsAStoppedContainerFromNone) {
  Install("docker");
  runner_.Answers(kDocker, "0\n");
  EXPECT_EQ(Why(absl::StatusCode::kNotFound),
            Say("fact-container-stopped", "train-1", "docker"));
  runner_.NowFails(kDocker, 1,
                   "Error response from daemon: No such container: train-1\n",
                   "\n");
  EXPECT_EQ(Why(absl::StatusCode::kNotFound),
            Say("fact-no-container", "train-1", "docker"));
}

TEST_F(ContainerEngineTest, ComparesTheAnswersOfTwoEngines) {
  Install("docker");
  Install("podman");
  runner_.Fails(kDocker, 1, "Error: No such object: train-1\n");
  runner_.Answers(kPodman, "4711\n");
  EXPECT_EQ(*Find(), 4711u);
  // Two names of one engine.
  runner_.NowAnswers(kDocker, "4711\n");
  EXPECT_EQ(*Find(), 4711u);
  runner_.NowAnswers(kPodman, "4712\n");
  EXPECT_THAT(Why(absl::StatusCode::kFailedPrecondition),
              HasSubstr("runs in docker (process 4711) and in podman (process "
                        "4712); name a process"));
  // A failure is not "no such container".
  runner_.NowFails(kDocker, 1, "Cannot connect to the Docker daemon\n");
  runner_.NowFails(kPodman, 125, "Error: no such container train-1\n");
  EXPECT_THAT(Why(absl::StatusCode::kUnavailable),
              HasSubstr("status 1 and \"Cannot connect to the Docker daemon\"; "
                        "name a process"));
}

TEST_F(ContainerEngineTest, EndsWithTheDeadline) {
  Install("docker");
  runner_.Hangs(kDocker);
  EXPECT_THAT(Why(absl::StatusCode::kDeadlineExceeded),
              HasSubstr("no answer in 10s (deadlines.command)"));
}

TEST_F(ContainerEngineTest, BelievesOnlyNumbers) {
  Install("docker");
  for (const char* answer : {"", "<no value>\n", "-1\n", "4711 4712\n",
                             "99999999999\n", "\x1b[2J\n"}) {
    runner_.NowAnswers(kDocker, answer);
    EXPECT_THAT(Why(absl::StatusCode::kFailedPrecondition),
                HasSubstr("is not a process id"));
  }
}

TEST_F(ContainerEngineTest, RunsNoProgramThatOthersCanChange) {
  Install("docker");
  root_.SetMode("/usr/bin/docker", 0777);
  EXPECT_THAT(Why(absl::StatusCode::kPermissionDenied), HasSubstr("docker"));
  EXPECT_TRUE(runner_.commands().empty());
}

}  // namespace
}  // namespace clusterd
