#include "daemon/controller/history/open_history.h"

#include <cstdlib>
#include <fstream>

#include "daemon/controller/history/sqlite_history_store.h"
#include "daemon/log/recording_log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string NewFolder() {
  std::string path = testing::TempDir() + "/open.XXXXXX";
  EXPECT_NE(mkdtemp(path.data()), nullptr);
  return path;
}

TEST(OpenHistoryTest, OpensNewOneInSilence) {
  RecordingLog log;
  const auto store = OpenHistory(NewFolder(), &log);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE((*store)->List({}).ok());
  EXPECT_THAT(log.Lines(), IsEmpty());
}

TEST(OpenHistoryTest, GoesOnWithoutDamagedOne) {
  const std::string folder = NewFolder();
  std::ofstream(folder + "/" + kHistoryFile) << std::string(8192, 'x');
  RecordingLog log;
  const auto store = OpenHistory(folder, &log);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_THAT(log.Lines(), HasSubstr(folder + "/history.db: is damaged"));
  EXPECT_THAT(log.Lines(), HasSubstr("no apply or rollback is taken"));
  EXPECT_EQ((*store)->Add({}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(OpenHistoryTest, RefusesFolderOfAnotherController) {
  const std::string folder = NewFolder();
  const auto other = SqliteHistoryStore::Open(folder);
  ASSERT_TRUE(other.ok());
  RecordingLog log;
  EXPECT_TRUE(absl::IsUnavailable(OpenHistory(folder, &log).status()));
}

TEST(OpenHistoryTest, RefusesFolderThatIsNotThere) {
  RecordingLog log;
  EXPECT_TRUE(absl::IsNotFound(OpenHistory("/nowhere/state", &log).status()));
}

}  // namespace
}  // namespace clusterd
