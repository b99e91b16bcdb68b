// A controller's start with its history, and without one.
#include <sys/stat.h>

#include <fstream>

#include "config/words/words.h"
#include "daemon/controller/history/history_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(OpenHistoryTest, OpensNewOneInSilence) {
  CapturedLog log;
  EXPECT_TRUE(OpenHistory(NewStateFolder(), &log).value()->List({}).ok());
  EXPECT_THAT(log.Lines(), IsEmpty());
}

TEST(OpenHistoryTest, GoesOnWithoutDamagedOne) {
  const std::string folder = NewStateFolder();
  std::ofstream(folder + "/" + kHistoryFile) << std::string(8192, 'x');
  CapturedLog log;
  const auto store = OpenHistory(folder, &log).value();
  EXPECT_THAT(log.Lines(), HasSubstr(folder + "/history.db: is damaged"));
  EXPECT_THAT(log.Lines(), HasSubstr("no apply or rollback is taken"));
  EXPECT_EQ(store->Add({}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(OpenHistoryTest, RefusesFolderOfAnotherController) {
  const std::string folder = NewStateFolder();
  const auto other = HistoryStore::Open(folder);
  ASSERT_TRUE(other.ok());
  CapturedLog log;
  EXPECT_TRUE(absl::IsUnavailable(OpenHistory(folder, &log).status()));
}

TEST(OpenHistoryTest, MakesFolderForItsOwnerAloneAndKeepsOneThatIsThere) {
  CapturedLog log;
  const std::string path = NewStateFolder() + "/made";
  ASSERT_TRUE(OpenHistory(path, &log).ok());
  struct stat info = {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  ASSERT_EQ(chmod(path.c_str(), 0750), 0);
  ASSERT_TRUE(OpenHistory(path, &log).ok());
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0750u);
}

TEST(OpenHistoryTest, SaysWhatIsInTheWayOfTheFolder) {
  CapturedLog log;
  EXPECT_THAT(OpenHistory("/nowhere/state", &log),
              Fails(absl::StatusCode::kNotFound, HasText("(--state)")));
  const std::string file = NewStateFolder() + "/file";
  std::ofstream(file) << "text";
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenHistory(file, &log).status()));
}

void ExpectReason(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              Tells("msg-hub-no-history", "history.db: is damaged"));
}

TEST(ClosedHistoryTest, GivesReasonForEveryCall) {
  const auto store =
      HistoryStore::Closed(absl::DataLossError("history.db: is damaged"));
  ExpectReason(store->Add({}));
  ExpectReason(store->Update({}));
  ExpectReason(store->List({}).status());
  ExpectReason(store->Get("0123456789abcdef").status());
  ExpectReason(store->FindApply("0123456789abcdef").status());
  ExpectReason(store->FindOpen().status());
}

}  // namespace
}  // namespace clusterd
