#include "daemon/agent/host_veto.h"

#include <cstdio>
#include <fstream>
#include <string>

#include "daemon/log/recording_log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST_F(HostVetoTest, AllowsObservingAloneWhenTheFileIsGone) {
  EXPECT_EQ(ReadHostVeto("/nowhere/agent.yaml", &log_).ToString(), "observe");
  EXPECT_THAT(log_.Lines(), HasSubstr("/nowhere/agent.yaml"));
}

TEST_F(HostVetoTest, AllowsObservingAloneWithoutAFile) {
  EXPECT_EQ(ReadHostVeto("", &log_).ToString(), "observe");
  EXPECT_THAT(log_.Lines(), IsEmpty());
}

}  // namespace
}  // namespace clusterd
