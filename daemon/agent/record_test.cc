#include "daemon/agent/record.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "daemon/host/fake_clock.h"
#include "daemon/host/fake_command_runner.h"
#include "daemon/host/recording/recording.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RecordHostTest : public testing::Test {
 protected:
  RecordHostTest() {
    root_ = testing::TempDir() + "/record_" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/etc");
    path_ = root_ + "/runs.jsonl";
  }

  int Record() {
    FakeClock clock;
    FakeCommandRunner runner(&clock);
    return RecordHost(path_, root_, &runner, &clock, &out_, &err_);
  }

  std::string root_;
  std::string path_;
  std::stringstream out_;
  std::stringstream err_;
};

TEST_F(RecordHostTest, SaysWhenThereWasNothingToRecord) {
  EXPECT_EQ(Record(), 2);
  EXPECT_THAT(out_.str(), HasSubstr("0 runs of hccn_tool"));
  std::ifstream file(path_);
  const std::string text((std::istreambuf_iterator<char>(file)),
                         std::istreambuf_iterator<char>());
  ASSERT_TRUE(ParseRecords(text).ok());
  EXPECT_TRUE(ParseRecords(text)->empty());
}

TEST_F(RecordHostTest, NeverReplacesAFile) {
  std::ofstream(path_) << "precious";
  EXPECT_EQ(Record(), 1);
  EXPECT_THAT(err_.str(), HasSubstr(path_));
  EXPECT_THAT(out_.str(), Not(HasSubstr("runs")));
  std::ifstream file(path_);
  std::string kept;
  file >> kept;
  EXPECT_EQ(kept, "precious");
}

}  // namespace
}  // namespace clusterd
