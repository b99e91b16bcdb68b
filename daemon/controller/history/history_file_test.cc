#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "daemon/controller/history/history_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

TEST(LockFolderTest, IsOnePersonsAtATime) {
  const std::string folder = NewStateFolder();
  auto first = LockFolder(folder).value();
  const absl::Status second = LockFolder(folder).status();
  EXPECT_TRUE(absl::IsUnavailable(second));
  EXPECT_THAT(second.message(), Tells("msg-hub-folder-in-use", folder));
  first = OwnedFd();
  EXPECT_TRUE(LockFolder(folder).ok());
}

TEST(LockFolderTest, EndsWithItsProcess) {
  const std::string folder = NewStateFolder();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto lock = LockFolder(folder);
    _exit(lock.ok() ? 0 : 1);  // Without the destructor, as when killed.
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(LockFolder(folder).ok());
}

TEST(LockFolderTest, NamesFolderThatIsNotThere) {
  const absl::Status status = LockFolder("/nowhere/state").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(status.message(),
              Tells("msg-hub-folder-not-there", "/nowhere/state"));
  EXPECT_THAT(status, HasText("--state"));
}

TEST(LockFolderTest, RefusesFile) {
  const std::string path = NewStateFolder() + "/file";
  std::ofstream(path) << "x";
  EXPECT_TRUE(absl::IsNotFound(LockFolder(path).status()));
}

// The status of opening the folder's file after `sql` has changed it.
absl::Status StatusAfter(const std::string& sql) {
  const std::string folder = NewStateFolder();
  EXPECT_EQ(OpenHistoryFile(folder).status(), absl::OkStatus());
  {
    const auto file = SqliteDatabase::Open(folder + "/" + kHistoryFile);
    EXPECT_TRUE(file.ok()) << file.status();
    EXPECT_EQ((*file)->Execute(sql.c_str()), absl::OkStatus());
  }
  return OpenHistoryFile(folder).status();
}

TEST(HistoryFileTest, OpensWhatItMade) {
  EXPECT_EQ(StatusAfter("SELECT 1"), absl::OkStatus());
}

TEST(HistoryFileTest, SetsWhatDurabilityRestsOn) {
  const auto file = OpenHistoryFile(NewStateFolder());
  constexpr int kFull = 2;
  constexpr int kIncremental = 2;
  ASSERT_TRUE(file.ok()) << file.status();
  const SqliteDatabase& database = *file->database;
  EXPECT_EQ(*database.ReadNumber("PRAGMA synchronous"), kFull);
  EXPECT_EQ(*database.ReadNumber("PRAGMA auto_vacuum"), kIncremental);
  EXPECT_EQ(*database.ReadNumber("PRAGMA foreign_keys"), 1);
}

TEST(HistoryFileTest, RefusesWhatControllerOfAnotherFormatMade) {
  for (const char* other : {"4", "6"}) {
    const absl::Status status =
        StatusAfter(absl::StrCat("PRAGMA user_version = ", other).c_str());
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_THAT(status.message(), Tells("msg-hub-file-format", kAny, other, 5));
  }
}

TEST(HistoryFileTest, RefusesOtherDatabase) {
  const absl::Status status = StatusAfter("PRAGMA application_id = 0");
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(status, HasText("is not a history of clusterd-controller"));
}

TEST(HistoryFileTest, TablesTakeNoOtherTypes) {
  const auto file = OpenHistoryFile(NewStateFolder()).value();
  EXPECT_FALSE(
      file.database
          ->Execute("INSERT INTO entry (id, kind, running, open, bytes, "
                    "sha256, entry) "
                    "VALUES ('a', 'x', 0, 0, 0, x'', x'')")
          .ok());
}

}  // namespace
}  // namespace clusterd
