#include "daemon/agent/agent_config.h"

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

TEST(ParseAgentConfigTest, ReadsEveryKey) {
  const auto config = ParseAgentConfig("agent.yaml",
                                       "# of this host\n"
                                       "controller: head.example:7443\n"
                                       "cluster: demo\n"
                                       "ca: /etc/clusterd/ca.crt\n"
                                       "cert: /etc/clusterd/host.crt\n"
                                       "key: /etc/clusterd/host.key\n"
                                       "socket: /run/clusterd/agent.sock\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->controller, "head.example:7443");
  EXPECT_EQ(config->cluster, "demo");
  EXPECT_EQ(config->ca, "/etc/clusterd/ca.crt");
  EXPECT_EQ(config->certificate, "/etc/clusterd/host.crt");
  EXPECT_EQ(config->key, "/etc/clusterd/host.key");
  EXPECT_EQ(config->socket, "/run/clusterd/agent.sock");
}

TEST(ParseAgentConfigTest, LeavesOutWhatTheFileDoesNotSay) {
  const auto config = ParseAgentConfig("agent.yaml", "cluster: demo\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->controller, "");
}

TEST(ParseAgentConfigTest, NamesEveryMistakeWithItsPlace) {
  const auto config = ParseAgentConfig("agent.yaml",
                                       "controler: head:7443\n"
                                       "cluster: [demo]\n"
                                       "key: host.key\n");
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(config.status().message());
  EXPECT_THAT(message, HasSubstr("agent.yaml:1:1: "));
  EXPECT_THAT(message, HasSubstr("\"controller\""));
  EXPECT_THAT(message, HasSubstr("agent.yaml:2:10: "));
  EXPECT_THAT(message, HasSubstr("agent.yaml:3:6: key: \"host.key\" is no "
                                 "absolute path"));
}

TEST(ParseAgentConfigTest, RefusesWhatIsNoMapping) {
  EXPECT_FALSE(ParseAgentConfig("agent.yaml", "").ok());
  EXPECT_FALSE(ParseAgentConfig("agent.yaml", "- a\n").ok());
  EXPECT_FALSE(ParseAgentConfig("agent.yaml", "cluster: [demo\n").ok());
}

TEST(ReadAgentConfigTest, NamesFileThatIsMissing) {
  const absl::Status status = ReadAgentConfig("/nowhere/agent.yaml").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("/nowhere/agent.yaml: No such file"));
}

TEST(ReadAgentConfigTest, ReadsFile) {
  const std::string path = testing::TempDir() + "/agent.yaml";
  std::ofstream(path) << "cluster: demo\n";
  const auto config = ReadAgentConfig(path);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->cluster, "demo");
}

}  // namespace
}  // namespace clusterd
