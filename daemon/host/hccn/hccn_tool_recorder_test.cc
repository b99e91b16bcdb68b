#include "daemon/host/hccn/hccn_tool_recorder.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/status/status.h"

namespace clusterd {
namespace {

// Answers every command with its own text; `missing` programs do not exist.
class EchoRunner : public CommandRunner {
 public:
  absl::StatusOr<CommandResult> Run(const Command& command) override {
    if (command.argv[0] == missing) return absl::NotFoundError("no such file");
    CommandResult result;
    result.exit_status = 13;
    for (const std::string& word : command.argv) {
      result.standard_output += word + " ";
    }
    result.elapsed = absl::Milliseconds(34);
    return result;
  }

  std::string missing;
};

Command HccnTool(const std::vector<std::string>& arguments) {
  Command command{{"/usr/local/Ascend/driver/tools/hccn_tool"},
                  absl::Seconds(10)};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  return command;
}

TEST(HccnToolRecorderTest, PassesTheAnswerOnAndNotesItDown) {
  EchoRunner echo;
  HccnToolRecorder recorder(
      &echo, [] { return std::optional<std::string>("address_0=10.0.0.1\n"); });

  const absl::StatusOr<CommandResult> result =
      recorder.Run(HccnTool({"-i", "0", "-ip", "-g"}));

  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->exit_status, 13);
  const std::vector<HostRecording::Run> runs = recorder.runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].argv(3), "-ip");
  EXPECT_EQ(runs[0].standard_output(), result->standard_output);
  EXPECT_EQ(runs[0].elapsed_us(), 34000);
  EXPECT_EQ(runs[0].hccn_conf_before(), "address_0=10.0.0.1\n");
}

TEST(HccnToolRecorderTest, SeesWhatARunDidToTheFile) {
  EchoRunner echo;
  int reads = 0;
  HccnToolRecorder recorder(&echo, [&reads] {
    return ++reads == 1 ? std::nullopt
                        : std::optional<std::string>("tls_enable_0=0\n");
  });
  ASSERT_TRUE(recorder.Run(HccnTool({"-i", "0", "-tls", "-g"})).ok());
  EXPECT_FALSE(recorder.runs()[0].has_hccn_conf_before());
  EXPECT_EQ(recorder.runs()[0].hccn_conf_after(), "tls_enable_0=0\n");
}

TEST(HccnToolRecorderTest, NotesNpuSmiWithoutTheFile) {
  EchoRunner echo;
  HccnToolRecorder recorder(
      &echo, [] { return std::optional<std::string>("address_0=10.0.0.1\n"); });
  ASSERT_TRUE(
      recorder.Run({{"/usr/local/sbin/npu-smi", "info"}, absl::Seconds(1)})
          .ok());
  const std::vector<HostRecording::Run> runs = recorder.runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].standard_output(), "/usr/local/sbin/npu-smi info ");
  EXPECT_FALSE(runs[0].has_hccn_conf_before());
  EXPECT_FALSE(runs[0].has_hccn_conf_after());
}

TEST(HccnToolRecorderTest, LeavesOtherProgramsFailuresAndRunsOverACopyOut) {
  EchoRunner echo;
  HccnToolRecorder recorder(&echo, [] { return std::nullopt; });
  EXPECT_TRUE(
      recorder.Run({{"/opt/hccn_tool/wrapper"}, absl::Seconds(1)}).ok());
  // The machine's file before and after such a run is unrelated to it.
  Command over_copy = HccnTool({"-i", "0", "-tls", "-g"});
  over_copy.instead = PrivateFile{"/etc/hccn.conf", "", 0644};
  EXPECT_TRUE(recorder.Run(over_copy).ok());
  // Nothing ran.
  echo.missing = "/usr/local/Ascend/driver/tools/hccn_tool";
  EXPECT_TRUE(absl::IsNotFound(recorder.Run(HccnTool({"-v"})).status()));
  EXPECT_TRUE(recorder.runs().empty());
}

TEST(HccnToolRecorderTest, KeepsEveryRunOfSeveralThreads) {
  EchoRunner echo;
  HccnToolRecorder recorder(&echo, [] { return std::nullopt; });
  std::vector<std::thread> threads;
  for (int device = 0; device < 8; ++device) {
    threads.emplace_back([&recorder, device] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(
            recorder.Run(HccnTool({"-i", std::to_string(device)})).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(recorder.runs().size(), 400u);
}

}  // namespace
}  // namespace clusterd
