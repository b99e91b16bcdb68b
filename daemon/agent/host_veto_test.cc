#include "daemon/agent/host_veto.h"

#include <cstdio>
#include <fstream>
#include <string>

#include "daemon/log/recording_log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class HostVetoTest : public ::testing::Test {
 protected:
  ~HostVetoTest() override { std::remove(path_.c_str()); }

  std::string Allowed(const std::string& text) {
    std::ofstream(path_) << text;
    return ReadHostVeto(path_, &log_).ToString();
  }

  const std::string path_ = testing::TempDir() + "/host_veto.yaml";
  RecordingLog log_;
};

TEST_F(HostVetoTest, ObeysTheFileAsItIsAtEachCall) {
  EXPECT_EQ(Allowed("allow: [observe, sysctl]\n"), "observe, sysctl");
  EXPECT_EQ(Allowed("allow: [observe]\n"), "observe");
  EXPECT_EQ(Allowed("cluster: demo\n"), "observe");
  EXPECT_THAT(log_.Lines(), IsEmpty());
}

TEST_F(HostVetoTest, AllowsObservingAloneWhenTheFileHasAnyMistake) {
  EXPECT_EQ(Allowed("allow: [observe, sysctl]\nclutser: demo\n"), "observe");
  EXPECT_THAT(log_.Lines(), HasSubstr("host_veto.yaml:2:1"));
}

TEST_F(HostVetoTest, NamesTheLineThatLetsAnObservationWrite) {
  const auto why = [this](const std::string& text) {
    std::ofstream(path_) << text;
    return WhyNoConfWrite(path_);
  };
  EXPECT_EQ(why("allow: [observe, sysctl]\n"),
            "this host does not allow that; to permit it, put \"allow: "
            "[observe, sysctl, tls]\" into " +
                path_ + " there");
  EXPECT_THAT(why("cluster: demo\n"), HasSubstr("\"allow: [observe, tls]\""));
  EXPECT_EQ(why("allow: [observe, tls]\n"), "");
  EXPECT_EQ(why("allow: [observe, hccn-conf]\n"), "");
  EXPECT_THAT(why("allow: [observe, tls]\nclutser: demo\n"),
              HasSubstr("host_veto.yaml:2:1"));
  EXPECT_THAT(WhyNoConfWrite(""), HasSubstr("--config"));
}

TEST_F(HostVetoTest, AllowsObservingAloneWhenTheFileIsGone) {
  EXPECT_EQ(ReadHostVeto("/nowhere/agent.yaml", &log_).ToString(), "observe");
  EXPECT_THAT(log_.Lines(), HasSubstr("/nowhere/agent.yaml"));
}

TEST_F(HostVetoTest, AllowsObservingAloneWithoutAFile) {
  EXPECT_EQ(ReadHostVeto("", &log_).ToString(), "observe");
  EXPECT_THAT(log_.Lines(), IsEmpty());
}

TEST_F(HostVetoTest, RefusesWithTheFileAndTheMistakeThatAPlanNames) {
  HostPlan plan;
  plan.set_host("node-07");
  PlanStep& step = *plan.add_steps();
  step.set_id(1);
  step.set_kind(CHANGE_SYSCTL);
  const auto refusal = [&](const std::string& text) {
    std::ofstream(path_) << text;
    return std::string(ReadHostVeto(path_, &log_).Check(plan).message());
  };
  EXPECT_THAT(
      refusal("allow: [observe]\n"),
      HasSubstr("put \"allow: [observe, sysctl]\" into " + path_ + " there"));
  const std::string broken =
      refusal("allow: [observe, sysctll]\nclutser: demo\n");
  EXPECT_THAT(broken, HasSubstr("(" + ReadHostAllows(path_).mistake() + ")"));
  EXPECT_THAT(broken, HasSubstr("host_veto.yaml:1:18"));
  EXPECT_THAT(broken, HasSubstr("did you mean \"sysctl\""));
  EXPECT_THAT(broken, Not(HasSubstr("\n")));
}

TEST_F(HostVetoTest, TellsWhatTheFileAllows) {
  std::ofstream(path_) << "allow: [tls, sysctl]\n";
  HostAllows allows = ReadHostAllows(path_);
  EXPECT_THAT(allows.kinds(), ElementsAre("sysctl", "tls"));
  EXPECT_EQ(allows.file(), path_);
  EXPECT_EQ(allows.mistake(), "");
  allows = ReadHostAllows("");
  EXPECT_THAT(allows.kinds(), ElementsAre("observe"));
  EXPECT_EQ(allows.file(), "");
}

TEST_F(HostVetoTest, TellsTheMistakeOfAFileThatIsNotObeyed) {
  std::ofstream(path_) << "allow: [observe, sysctl]\nclutser: demo\nke: x\n";
  HostAllows allows = ReadHostAllows(path_);
  EXPECT_THAT(allows.kinds(), ElementsAre("observe"));
  EXPECT_THAT(allows.mistake(), HasSubstr("host_veto.yaml:2:1"));
  EXPECT_THAT(allows.mistake(), Not(HasSubstr(":3:1")));
  // Text that is not UTF-8 would make the facts unreadable.
  std::ofstream(path_) << "\xca\xa7: 1\n";
  EXPECT_THAT(ReadHostAllows(path_).mistake(), Not(HasSubstr("\xca")));
  EXPECT_THAT(ReadHostAllows("/nowhere/agent.yaml").mistake(),
              HasSubstr("/nowhere/agent.yaml"));
}

}  // namespace
}  // namespace clusterd
