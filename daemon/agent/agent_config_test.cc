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
                                       "socket: /run/clusterd/agent.sock\n"
                                       "state: /srv/clusterd\n"
                                       "allow: [observe, sysctl]\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->controller, "head.example:7443");
  EXPECT_EQ(config->cluster, "demo");
  EXPECT_EQ(config->ca, "/etc/clusterd/ca.crt");
  EXPECT_EQ(config->certificate, "/etc/clusterd/host.crt");
  EXPECT_EQ(config->key, "/etc/clusterd/host.key");
  EXPECT_EQ(config->socket, "/run/clusterd/agent.sock");
  EXPECT_EQ(config->state, "/srv/clusterd");
  EXPECT_TRUE(config->veto.Allows(CHANGE_SYSCTL));
  EXPECT_FALSE(config->veto.Allows(CHANGE_FIREWALL));
}

TEST(ParseAgentConfigTest, LeavesOutWhatTheFileDoesNotSay) {
  const auto config = ParseAgentConfig("agent.yaml", "cluster: demo\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->controller, "");
  EXPECT_EQ(config->state, "");
  EXPECT_EQ(config->veto.ToString(), "observe");
}

TEST(ParseAgentConfigTest, NamesEveryMistakeWithItsPlace) {
  const auto config = ParseAgentConfig("agent.yaml",
                                       "controler: head:7443\n"
                                       "cluster: [demo]\n"
                                       "key: host.key\n"
                                       "state: var/lib\n"
                                       "allow: [sysctls]\n");
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(config.status().message());
  EXPECT_THAT(message, HasSubstr("agent.yaml:1:1: "));
  EXPECT_THAT(message, HasSubstr("\"controller\""));
  EXPECT_THAT(message, HasSubstr("agent.yaml:2:10: "));
  EXPECT_THAT(message, HasSubstr("agent.yaml:3:6: key: \"host.key\" is no "
                                 "absolute path"));
  EXPECT_THAT(message, HasSubstr("agent.yaml:4:8: state: \"var/lib\" is no "
                                 "absolute path"));
  EXPECT_THAT(message, HasSubstr("agent.yaml:5:9: allow is \"sysctls\""));
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

TEST(ParseAgentConfigTest, ReadsHowOftenToLookForDrift) {
  EXPECT_EQ(ParseAgentConfig("f", "cluster: demo\n")->drift_interval,
            std::nullopt);
  EXPECT_EQ(ParseAgentConfig("f", "drift_interval: 90s\n")->drift_interval,
            absl::Seconds(90));
  for (const char* zero : {"drift_interval: 0\n", "drift_interval: \"0\"\n"}) {
    EXPECT_EQ(ParseAgentConfig("f", zero)->drift_interval,
              absl::ZeroDuration());
  }
  for (const char* wrong : {"drift_interval: 5s\n", "drift_interval: 10\n",
                            "drift_interval: 25h\n", "drift_interval: []\n"}) {
    const auto config = ParseAgentConfig("f", wrong);
    EXPECT_THAT(std::string(config.status().message()),
                AllOf(HasSubstr("f:1:17: drift_interval (where it is not 0)"),
                      HasSubstr("10s to 24h")))
        << wrong;
  }
}

}  // namespace
}  // namespace clusterd
