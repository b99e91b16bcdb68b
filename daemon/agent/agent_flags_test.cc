#include "daemon/agent/agent_flags.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// "observe, sysctl".
std::string KindsOf(const HostAllows& allows) {
  return absl::StrJoin(allows.kinds(), ", ");
}

std::optional<int> Parse(std::vector<const char*> arguments,
                         AgentFlags* flags) {
  arguments.insert(arguments.begin(), "clusterd");
  const std::optional<int> status = ParseAgentFlags(
      static_cast<int>(arguments.size()), arguments.data(), flags);
  return status.has_value() ? status : AddAgentConfig(flags);
}

// Returns the error of a command line that is refused with status 3.
std::string Refused(const std::vector<const char*>& arguments) {
  AgentFlags flags;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Parse(arguments, &flags), 3);
  return testing::internal::GetCapturedStderr();
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

// A root with /etc/clusterd and these files in it; without a slash at the end.
std::string RootWith(const std::map<std::string, std::string>& files) {
  const std::string root = absl::StrCat(
      testing::TempDir(), "/root-",
      testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root + "/etc/clusterd");
  for (const auto& [name, text] : files) {
    std::ofstream(absl::StrCat(root, "/etc/clusterd/", name)) << text;
  }
  return root;
}

TEST(ParseAgentFlagsTest, HasADefaultPlaceForEachFile) {
  const std::string root =
      RootWith({{"agent.yaml", "controller: c:1\nallow: [observe, sysctl]\n"}});
  AgentFlags flags;
  ASSERT_EQ(Parse({"--root", root.c_str()}, &flags), std::nullopt);
  EXPECT_EQ(flags.config, root + "/etc/clusterd/agent.yaml");
  EXPECT_EQ(flags.controller, "c:1");
  EXPECT_EQ(KindsOf(ReadHostAllows(flags.config)), "observe, sysctl");
  EXPECT_EQ(flags.cluster, "");
  EXPECT_EQ(flags.tls.ca, root + "/etc/clusterd/ca.crt");
  EXPECT_EQ(flags.tls.certificate, root + "/etc/clusterd/host.crt");
  EXPECT_EQ(flags.tls.key, root + "/etc/clusterd/host.key");
  EXPECT_EQ(flags.socket, "/run/clusterd/agent.sock");
  EXPECT_EQ(flags.state, "/var/lib/clusterd");
}

TEST(ParseAgentFlagsTest, NamedFileIsReadInPlaceOfTheDefaultOne) {
  const std::string root = RootWith(
      {{"agent.yaml", "controller: usual:1\n"}, {"b.yaml", "cluster: demo\n"}});
  const std::string named = root + "/etc/clusterd/b.yaml";
  EXPECT_THAT(Refused({"--root", root.c_str(), "--config", named.c_str()}),
              HasSubstr("not set: --controller;"));
  // A recording reads only files that were named.
  AgentFlags flags;
  EXPECT_EQ(Parse({"--root", root.c_str(), "--record"}, &flags), std::nullopt);
  EXPECT_EQ(flags.config, "");
}

TEST(ParseAgentFlagsTest, HostAloneTakesItsCertificateWhereItHasOne) {
  const std::map<std::string, std::string> whole = {
      {"agent.yaml", "controller: c:1\n"},
      {"ca.crt", ""},
      {"host.crt", ""},
      {"host.key", ""}};
  std::string root = RootWith(whole);
  AgentFlags flags;
  ASSERT_EQ(Parse({"--root", root.c_str(), "--once"}, &flags), std::nullopt);
  EXPECT_EQ(flags.tls.certificate, root + "/etc/clusterd/host.crt");
  std::filesystem::remove(root + "/etc/clusterd/host.crt");
  flags = AgentFlags();
  ASSERT_EQ(Parse({"--root", root.c_str(), "--once"}, &flags), std::nullopt);
  EXPECT_EQ(flags.tls.certificate, "");
}

TEST(ParseAgentFlagsTest, PrintsMistakesOfTheFile) {
  const std::string path = testing::TempDir() + "/agent.yaml";
  std::ofstream(path) << "clutser: demo\n";
  EXPECT_THAT(Refused({"--config", path.c_str()}), HasSubstr("agent.yaml:1:1"));
}

TEST(ParseAgentFlagsTest, NeedsNothingForOnce) {
  AgentFlags flags;
  EXPECT_EQ(Parse({"--once", "--format", "json"}, &flags), std::nullopt);
  EXPECT_TRUE(flags.once);
  EXPECT_EQ(flags.format, "json");
  testing::internal::CaptureStdout();
  EXPECT_EQ(Parse({"--version"}, &flags), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("clusterd "));
}

TEST(ParseAgentFlagsTest, RefusesWhatItDoesNotKnowOrLacks) {
  Refused({"--onec"});
  Refused({"--once", "--format", "xml"});
  Refused({"--format", "json"});
  EXPECT_THAT(Refused({"--root", "/nowhere", "--ca", "/ca"}),
              HasSubstr("not set: --controller;"));
  EXPECT_THAT(
      Refused({"--controller", "c:1", "--cluster", "demo", "--ca", "/ca",
               "--cert", "/cert", "--key", "/key", "--state", "state"}),
      HasSubstr("--state: \"state\" is "));
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

TEST(ParseAgentConfigTest, ReadsEveryKeyThatTheFileHas) {
  const auto rest = ParseAgentConfig("agent.yaml", "cluster: demo\n").value();
  EXPECT_EQ(rest.controller, "");
  EXPECT_EQ(rest.state, "");
  EXPECT_EQ(KindsOf(rest.allows), "observe");
  const auto config = ParseAgentConfig("agent.yaml",
                                       "# of this host\n"
                                       "controller: head.example:7443\n"
                                       "cluster: demo\n"
                                       "ca: /etc/clusterd/ca.crt\n"
                                       "cert: /etc/clusterd/host.crt\n"
                                       "key: /etc/clusterd/host.key\n"
                                       "socket: /run/clusterd/agent.sock\n"
                                       "state: /srv/clusterd\n"
                                       "allow: [observe, sysctl]\n")
                          .value();
  EXPECT_EQ(config.controller, "head.example:7443");
  EXPECT_EQ(config.cluster, "demo");
  EXPECT_EQ(config.tls.ca, "/etc/clusterd/ca.crt");
  EXPECT_EQ(config.tls.certificate, "/etc/clusterd/host.crt");
  EXPECT_EQ(config.tls.key, "/etc/clusterd/host.key");
  EXPECT_EQ(config.socket, "/run/clusterd/agent.sock");
  EXPECT_EQ(config.state, "/srv/clusterd");
  EXPECT_EQ(KindsOf(config.allows), "observe, sysctl");
}

TEST(ParseAgentConfigTest, NamesEveryMistakeWithItsPlace) {
  const auto config = ParseAgentConfig("agent.yaml",
                                       "controler: head:7443\n"
                                       "cluster: [demo]\n"
                                       "key: /k\n"
                                       "key: host.key\n"
                                       "state: var/lib\n"
                                       "allow: [sysctls]\n");
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(config.status().message());
  for (const char* mistake :
       {"agent.yaml:1:1: ", "\"controller\"",
        "agent.yaml:2:10: ", "agent.yaml:4:", "key: \"host.key\" is ",
        "agent.yaml:5:8: state: \"var/lib\" is ",
        "agent.yaml:6:9: allow is \"sysctls\""}) {
    EXPECT_THAT(message, HasSubstr(mistake));
  }
}

TEST(ParseAgentConfigTest, RefusesWhatIsNoMapping) {
  EXPECT_FALSE(ParseAgentConfig("agent.yaml", "").ok());
  EXPECT_FALSE(ParseAgentConfig("agent.yaml", "- a\n").ok());
  EXPECT_FALSE(ParseAgentConfig("agent.yaml", "cluster: [demo\n").ok());
}

TEST(ReadAgentConfigTest, NamesFileThatIsMissing) {
  EXPECT_THAT(
      ReadAgentConfig("/nowhere/agent.yaml"),
      Fails(absl::StatusCode::kNotFound, HasText("/nowhere/agent.yaml: ")));
}

TEST(ParseAgentConfigTest, WritesMetricsOnlyIfConfigured) {
  EXPECT_EQ(ParseAgentConfig("f", "cluster: demo\n")->metrics_file, "");
  EXPECT_EQ(
      ParseAgentConfig("f", "metrics_file: /m/clusterd.prom\n")->metrics_file,
      "/m/clusterd.prom");
  for (const char* wrong :
       {"metrics_file: m/clusterd.prom\n", "metrics_file: /m/clusterd.txt\n",
        "metrics_file: /m/../etc/clusterd.prom\n"}) {
    EXPECT_THAT(std::string(ParseAgentConfig("f", wrong).status().message()),
                AllOf(HasSubstr("f:1:15: metrics_file: "), HasSubstr("*.prom")))
        << wrong;
  }
}

TEST(ParseAgentConfigTest, ReadsHowOftenToCheckForDrift) {
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
    EXPECT_THAT(
        std::string(ParseAgentConfig("f", wrong).status().message()),
        AllOf(HasSubstr("f:1:17: drift_interval "), HasSubstr("10s to 24h")))
        << wrong;
  }
}

constexpr char kMistaken[] = "allow: [observe, sysctl]\nclutser: demo\nke: x\n";

class HostVetoTest : public ::testing::Test {
 protected:
  ~HostVetoTest() override { std::remove(path_.c_str()); }

  std::string Allowed(const std::string& text) {
    std::ofstream(path_) << text;
    return KindsOf(ReadHostAllows(path_, &log_));
  }

  const std::string path_ = testing::TempDir() + "/host_veto.yaml";
  CapturedLog log_;
};

TEST_F(HostVetoTest, ObeysTheFileAsItIsAtEachCall) {
  EXPECT_EQ(Allowed("allow: [observe, sysctl]\n"), "observe, sysctl");
  EXPECT_EQ(Allowed("allow: [observe]\n"), "observe");
  EXPECT_EQ(Allowed("cluster: demo\n"), "observe");
  EXPECT_THAT(log_.Lines(), IsEmpty());
}

TEST_F(HostVetoTest, AllowsObservingAloneWithoutAFileThatIsRight) {
  EXPECT_EQ(KindsOf(ReadHostAllows("", &log_)), "observe");
  EXPECT_THAT(log_.Lines(), IsEmpty());
  EXPECT_EQ(KindsOf(ReadHostAllows("/nowhere/agent.yaml", &log_)), "observe");
  EXPECT_THAT(log_.Lines(), HasSubstr("/nowhere/agent.yaml"));
  EXPECT_EQ(Allowed(kMistaken), "observe");
  EXPECT_THAT(log_.Lines(), HasSubstr("host_veto.yaml:2:1"));
}

TEST_F(HostVetoTest, TellsFileKindsAndTheMistakeThatAPlanNames) {
  std::ofstream(path_) << "allow: [tls, sysctl]\n";
  HostAllows allows = ReadHostAllows(path_);
  EXPECT_THAT(allows.kinds(), ElementsAre("sysctl", "tls"));
  EXPECT_EQ(allows.file(), path_);
  EXPECT_EQ(allows.mistake(), "");
  EXPECT_EQ(ReadHostAllows("").file(), "");
  std::ofstream(path_) << kMistaken;
  allows = ReadHostAllows(path_);
  EXPECT_THAT(allows.kinds(), ElementsAre("observe"));
  EXPECT_EQ(allows.file(), path_);
  // The first one, in one line.
  EXPECT_THAT(allows.mistake(),
              AllOf(HasSubstr("host_veto.yaml:2:1"), Not(HasSubstr(":3:1")),
                    Not(HasSubstr("\n"))));
  EXPECT_EQ(EnglishText(allows.mistake_words()), allows.mistake());
  {
    const InLanguage chinese(Language::kChinese);
    EXPECT_NE(ValueText(allows.mistake_words()), allows.mistake());
  }
  // Text that is not UTF-8 would make the facts unreadable.
  std::ofstream(path_) << "\xca\xa7: 1\n";
  EXPECT_THAT(ReadHostAllows(path_).mistake(), Not(HasSubstr("\xca")));
  EXPECT_THAT(ReadHostAllows("/nowhere/agent.yaml").mistake(),
              HasSubstr("/nowhere/agent.yaml"));
}

TEST(ReadHooksTest, AnswersByTheDefaultsAndDrainsNobodyWithAMistakenFile) {
  const std::string root = RootWith(
      {{"agent.yaml", "controller: c:1\nhooks: {fail_open: [lldp]}\n"},
       {"bad.yaml", "controller: c:1\nhooks: {fail_open: [lldpp]}\n"}});
  CapturedLog log;
  EXPECT_THAT(ReadHooks(root + "/etc/clusterd/agent.yaml", &log).fail_open,
              ElementsAre("lldp"));
  EXPECT_EQ(log.Lines(), "");
  const HookSettings defaults =
      ReadHooks(root + "/etc/clusterd/bad.yaml", &log);
  EXPECT_THAT(defaults.fail_open, IsEmpty());
  EXPECT_FALSE(defaults.drain);
  EXPECT_THAT(log.Lines(), AllOf(HasSubstr("\"lldpp\""), HasSubstr("2:21")));
  EXPECT_TRUE(ReadHooks("", &log).drain);
}

}  // namespace
}  // namespace clusterd
