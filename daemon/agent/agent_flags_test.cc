#include "daemon/agent/agent_flags.h"

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

std::optional<int> Parse(std::vector<const char*> arguments,
                         AgentFlags* flags) {
  arguments.insert(arguments.begin(), "clusterd");
  return ParseAgentFlags(static_cast<int>(arguments.size()), arguments.data(),
                         flags);
}

TEST(ParseAgentFlagsTest, ReadsFlags) {
  AgentFlags flags;
  ASSERT_EQ(Parse({"--controller", "c:1", "--cluster", "demo", "--ca", "/ca",
                   "--cert", "/cert", "--key", "/key", "--socket", "/s",
                   "--state", "/srv/state", "--root", "/tmp/r"},
                  &flags),
            std::nullopt);
  EXPECT_EQ(flags.controller, "c:1");
  EXPECT_EQ(flags.tls.certificate, "/cert");
  EXPECT_EQ(flags.socket, "/s");
  EXPECT_EQ(flags.state, "/srv/state");
  EXPECT_EQ(flags.root, "/tmp/r");
  EXPECT_FALSE(flags.once);
}

TEST(ParseAgentFlagsTest, LetsFlagBeatTheFile) {
  const std::string path = testing::TempDir() + "/agent.yaml";
  std::ofstream(path) << "controller: file:1\ncluster: demo\nca: /ca\n"
                         "cert: /cert\nkey: /key\n";
  AgentFlags flags;
  ASSERT_EQ(Parse({"--config", path.c_str(), "--controller", "flag:2"}, &flags),
            std::nullopt);
  EXPECT_EQ(flags.controller, "flag:2");
  EXPECT_EQ(flags.cluster, "demo");
  EXPECT_EQ(flags.socket, "/run/clusterd/agent.sock");
  EXPECT_EQ(flags.state, "/var/lib/clusterd");
}

TEST(ParseAgentFlagsTest, RefusesAStateFolderThatIsNoAbsolutePath) {
  AgentFlags flags;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Parse({"--controller", "c:1", "--cluster", "demo", "--ca", "/ca",
                   "--cert", "/cert", "--key", "/key", "--state", "state"},
                  &flags),
            3);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("--state: \"state\" is no absolute path"));
}

TEST(ParseAgentFlagsTest, NamesEverythingThatIsNotSet) {
  AgentFlags flags;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Parse({"--controller", "c:1", "--ca", "/ca"}, &flags), 3);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("not set: --cluster, --cert, --key;"));
}

TEST(ParseAgentFlagsTest, PrintsMistakesOfTheFile) {
  const std::string path = testing::TempDir() + "/agent.yaml";
  std::ofstream(path) << "clutser: demo\n";
  AgentFlags flags;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Parse({"--config", path.c_str()}, &flags), 3);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("agent.yaml:1:1"));
}

TEST(ParseAgentFlagsTest, NeedsNothingForOnce) {
  AgentFlags flags;
  EXPECT_EQ(Parse({"--once", "--format", "json"}, &flags), std::nullopt);
  EXPECT_TRUE(flags.once);
  EXPECT_EQ(flags.format, "json");
}

TEST(ParseAgentFlagsTest, RefusesWhatItDoesNotKnow) {
  AgentFlags flags;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Parse({"--onec"}, &flags), 3);
  EXPECT_EQ(Parse({"--once", "--format", "xml"}, &flags), 3);
  EXPECT_EQ(Parse({"--format", "json"}, &flags), 3);
  testing::internal::GetCapturedStderr();
}

TEST(ParseAgentFlagsTest, HelpFitsEightyColumnsAndNamesTheExitStatuses) {
  AgentFlags flags;
  testing::internal::CaptureStdout();
  EXPECT_EQ(Parse({"--help"}, &flags), 0);
  const std::string help = testing::internal::GetCapturedStdout();
  for (const absl::string_view line : absl::StrSplit(help, '\n')) {
    EXPECT_LE(line.size(), 80u) << line;
  }
  EXPECT_THAT(help, HasSubstr("Exit status:"));
  EXPECT_THAT(help, HasSubstr("drift_interval"));
}

TEST(ParseAgentFlagsTest, PrintsVersion) {
  AgentFlags flags;
  testing::internal::CaptureStdout();
  EXPECT_EQ(Parse({"--version"}, &flags), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("clusterd "));
}

}  // namespace
}  // namespace clusterd
