#include "daemon/agent/run_daemon.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "daemon/agent/agent_flags.h"
#include "daemon/agent/identity/enrolment_call.h"
#include "gtest/gtest.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

TEST(ReadMachineIdsTest, ReadsBothWithoutTheirNewline) {
  const std::string root = testing::TempDir() + "/machine";
  std::filesystem::create_directories(root + "/etc");
  std::filesystem::create_directories(root + "/proc/sys/kernel/random");
  std::ofstream(root + "/etc/machine-id")
      << "0123456789abcdef0123456789abcdef\n";
  std::ofstream(root + "/proc/sys/kernel/random/boot_id")
      << "6c6b3c1e-0000-4000-8000-000000000001\n";
  std::ofstream(root + "/proc/stat")
      << "cpu  10 20\nctxt 5\nbtime 1735689600\nprocesses 7\n";
  const Hello ids = ReadMachineIds(root);
  EXPECT_EQ(ids.machine_id(), "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(ids.boot_id(), "6c6b3c1e-0000-4000-8000-000000000001");
  EXPECT_EQ(ids.booted_at_s(), 1735689600);
}

TEST(ReadMachineIdsTest, TakesNothingFromFilesThatHoldSomethingElse) {
  const std::string root = testing::TempDir() + "/odd";
  std::filesystem::create_directories(root + "/etc");
  std::ofstream(root + "/etc/machine-id") << "not an id\x1b[2J";
  EXPECT_EQ(ReadMachineIds(root).machine_id(), "");
  EXPECT_EQ(ReadMachineIds(root).boot_id(), "");
  EXPECT_EQ(ReadMachineIds(root).booted_at_s(), 0);
}

TEST(ReadMachineIdsTest, TellsTheSimulationAsTheFactsDo) {
  const std::string root = testing::TempDir() + "/simulated";
  std::filesystem::create_directories(root + "/etc/clusterd");
  std::ofstream(root + "/etc/clusterd/simulation") << "simhost\nmore\n";
  EXPECT_EQ(ReadMachineIds(root).simulation(), "simhost");
  EXPECT_EQ(ReadMachineIds("/nonexistent").simulation(), "");
}

TEST(VerdictInTest, IsTheVerdictOrTheControllersErrorInItsWords) {
  HubMessage answer;
  answer.mutable_job_answer()->mutable_verdict()->set_verdict("v");
  EXPECT_EQ(VerdictIn(answer).value().verdict(), "v");
  TaskError& error = *answer.mutable_job_answer()->mutable_error();
  EXPECT_THAT(VerdictIn(answer), Fails(absl::StatusCode::kUnknown,
                                       Tells("agent-error-without-code")));
  error.set_code(static_cast<int>(absl::StatusCode::kNotFound));
  error.set_message("gone\x1b");
  EXPECT_THAT(VerdictIn(answer),
              Fails(absl::StatusCode::kNotFound, HasText("gone\\x1b")));
  *error.mutable_message_words() = Worded("count-device", 3);
  EXPECT_THAT(VerdictIn(answer),
              Fails(absl::StatusCode::kNotFound, Tells("count-device", 3)));
  EXPECT_THAT(
      VerdictIn(HubMessage()),
      Fails(absl::StatusCode::kUnknown, Tells("agent-answer-without-verdict")));
}

TEST(DrainAnswerInTest, IsTheAnswerOrAnError) {
  HubMessage answer;
  EXPECT_THAT(
      DrainAnswerIn(answer),
      Fails(absl::StatusCode::kUnknown, Tells("agent-answer-without-drain")));
  answer.mutable_drain_answer()->set_may(true);
  EXPECT_TRUE(DrainAnswerIn(answer).value().may());
}

TEST(JoinedAgentConfigTest, HasTheControllerAndClusterOfJoin) {
  for (const char* controller :
       {"10.0.0.5:7443", "head:7443", "[fd00::1]:7443", "it's # odd:7443"}) {
    JoinFlags flags;
    flags.controller = controller;
    const std::string path = testing::TempDir() + "/joined.yaml";
    std::ofstream(path) << AgentConfigText(flags, "null");
    const auto config = ReadAgentConfig(path).value();
    EXPECT_EQ(config.controller, controller);
    EXPECT_EQ(config.cluster, "null");
    EXPECT_EQ(config.allows.mistake(), "");
  }
}

}  // namespace
}  // namespace clusterd
