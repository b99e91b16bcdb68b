#include "daemon/controller/history/history_schema.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using testing::HasSubstr;

std::unique_ptr<SqliteDatabase> NewDatabase() {
  auto database = SqliteDatabase::Open(":memory:");
  EXPECT_TRUE(database.ok()) << database.status();
  return *std::move(database);
}

TEST(HistorySchemaTest, AcceptsWhatItMade) {
  const auto database = NewDatabase();
  ASSERT_EQ(CreateHistoryTables(*database), absl::OkStatus());
  ASSERT_EQ(SetHistoryPragmas(*database), absl::OkStatus());
  EXPECT_EQ(CheckHistoryTables(*database), absl::OkStatus());
}

TEST(HistorySchemaTest, SetsWhatDurabilityRestsOn) {
  const auto database = NewDatabase();
  ASSERT_EQ(CreateHistoryTables(*database), absl::OkStatus());
  ASSERT_EQ(SetHistoryPragmas(*database), absl::OkStatus());
  constexpr int kFull = 2;
  constexpr int kIncremental = 2;
  EXPECT_EQ(*database->ReadNumber("PRAGMA synchronous"), kFull);
  EXPECT_EQ(*database->ReadNumber("PRAGMA auto_vacuum"), kIncremental);
  EXPECT_EQ(*database->ReadNumber("PRAGMA foreign_keys"), 1);
}

TEST(HistorySchemaTest, RefusesWhatNewerControllerMade) {
  const auto database = NewDatabase();
  ASSERT_EQ(CreateHistoryTables(*database), absl::OkStatus());
  ASSERT_EQ(database->Execute("PRAGMA user_version = 2"), absl::OkStatus());
  const absl::Status status = CheckHistoryTables(*database);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("made by a newer controller (format 2), expected "
                        "format 1"));
}

TEST(HistorySchemaTest, RefusesOtherDatabase) {
  const auto database = NewDatabase();
  ASSERT_EQ(database->Execute("CREATE TABLE entry (place INTEGER)"),
            absl::OkStatus());
  const absl::Status status = CheckHistoryTables(*database);
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("is no history of clusterd-controller"));
}

TEST(HistorySchemaTest, TablesTakeNoOtherTypes) {
  const auto database = NewDatabase();
  ASSERT_EQ(CreateHistoryTables(*database), absl::OkStatus());
  EXPECT_FALSE(database
                   ->Execute("INSERT INTO entry (id, kind, running, bytes, "
                             "sha256, entry) VALUES ('a', 'x', 0, 0, x'', x'')")
                   .ok());
}

}  // namespace
}  // namespace clusterd
