#include "daemon/controller/history/sqlite_database.h"

#include <cerrno>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using testing::AllOf;

std::unique_ptr<SqliteDatabase> NewDatabase() {
  auto database = SqliteDatabase::Open(":memory:");
  EXPECT_TRUE(database.ok()) << database.status();
  EXPECT_EQ((*database)->Execute("CREATE TABLE t (n INTEGER, s TEXT, b BLOB)"),
            absl::OkStatus());
  return *std::move(database);
}

TEST(SqliteDatabaseTest, GivesBackWhatWasBound) {
  const auto database = NewDatabase();
  const std::string blob("\0\xff'\n", 4);
  ASSERT_EQ(database->Run(
                "INSERT INTO t VALUES (?1, ?2, ?3)",
                {int64_t{1} << 40, "x'); DROP TABLE t; --", SqliteBlob{blob}}),
            absl::OkStatus());
  int rows = 0;
  ASSERT_EQ(database->Run("SELECT n, s, b FROM t", {},
                          [&](const SqliteRow& row) {
                            ++rows;
                            EXPECT_EQ(row.Int(0), int64_t{1} << 40);
                            EXPECT_EQ(row.Text(1), "x'); DROP TABLE t; --");
                            EXPECT_EQ(row.Blob(2), blob);
                          }),
            absl::OkStatus());
  EXPECT_EQ(rows, 1);
}

TEST(SqliteDatabaseTest, EmptyTextAndBlobAreNotNull) {
  const auto database = NewDatabase();
  ASSERT_EQ(database->Run("INSERT INTO t VALUES (0, ?1, ?2)",
                          {absl::string_view(), SqliteBlob{}}),
            absl::OkStatus());
  EXPECT_EQ(*database->ReadNumber(
                "SELECT count(*) FROM t WHERE s IS NULL OR b IS NULL"),
            0);
}

TEST(SqliteDatabaseTest, WrongStatementIsInternalAndSaysWhat) {
  EXPECT_THAT(NewDatabase()->Run("SELECT x FROM nowhere"),
              Fails(absl::StatusCode::kInternal, HasText("no such table")));
  // A value too many.
  EXPECT_TRUE(absl::IsInternal(NewDatabase()->Run("SELECT 1", {1})));
}

TEST(SqliteDatabaseTest, TransactionOfWorkThatFailsIsTakenBack) {
  const auto database = NewDatabase();
  const auto insert = [&] {
    return database->Execute("INSERT INTO t (n) VALUES (1)");
  };
  const absl::Status failed = database->Transact([&]() -> absl::Status {
    EXPECT_EQ(insert(), absl::OkStatus());
    return absl::AbortedError("no more");
  });
  EXPECT_EQ(failed, absl::AbortedError("no more"));
  EXPECT_EQ(*database->ReadNumber("SELECT count(*) FROM t"), 0);
  EXPECT_EQ(database->Transact(insert), absl::OkStatus());
  EXPECT_EQ(*database->ReadNumber("SELECT count(*) FROM t"), 1);
}

TEST(SqliteDatabaseTest, MakesNoFile) {
  EXPECT_THAT(SqliteDatabase::Open(testing::TempDir() + "/none.db"),
              Fails(absl::StatusCode::kPermissionDenied,
                    AllOf(HasText("/none.db: cannot be written"),
                          HasText("No such file"))));
}

TEST(SqliteStatusTest, TellsWhoIsToBlame) {
  const auto code = [](int sqlite, int system) {
    return SqliteStatus(sqlite, system, "history.db", "text").code();
  };
  EXPECT_EQ(code(SQLITE_OK, 0), absl::StatusCode::kOk);
  EXPECT_EQ(code(SQLITE_CORRUPT_INDEX, 0), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(SQLITE_NOTADB, 0), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(SQLITE_FULL, 0), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code(SQLITE_IOERR_WRITE, EDQUOT),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code(SQLITE_IOERR_READ, EIO), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code(SQLITE_BUSY, 0), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code(SQLITE_READONLY, 0), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(SQLITE_CONSTRAINT, 0), absl::StatusCode::kInternal);
}

TEST(SqliteStatusTest, DamageNamesFileAndWhatToDo) {
  EXPECT_THAT(SqliteStatus(SQLITE_CORRUPT, 0, "/s/history.db", "why").message(),
              Tells("msg-hub-file-damaged", "/s/history.db", "why"));
}

}  // namespace
}  // namespace clusterd
