#include "daemon/controller/controller_server.h"

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(WritePortFileTest, ReplacesWhatWasThere) {
  const std::string path = testing::TempDir() + "/port";
  ASSERT_TRUE(WritePortFile(path, 1).ok());
  ASSERT_TRUE(WritePortFile(path, 54321).ok());
  std::string line;
  std::ifstream file(path);
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_EQ(line, "54321");
}

TEST(WritePortFileTest, NamesFileThatCannotBeWritten) {
  const absl::Status status = WritePortFile("/nowhere/port", 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("/nowhere/port: No such file"));
}

}  // namespace
}  // namespace clusterd
