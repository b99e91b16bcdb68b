// A history survives a killed controller, and damage by other programs.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/history/sqlite_database.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/telling.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string FileIn(const std::string& folder) {
  return absl::StrCat(folder, "/", kHistoryFile);
}

void WriteWhole(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
}

// Makes a closed history with `entries` checks.
std::string FolderWith(int entries, size_t bytes) {
  const std::string folder = NewStateFolder();
  const auto store = OpenStore(folder);
  for (int i = 1; i <= entries; ++i) {
    EXPECT_EQ(store->Add(TestCheck(TestId(i), bytes)), absl::OkStatus());
  }
  return folder;
}

// The file stays as it was: damage is evidence, and a person may repair it.
void ExpectRefusedAsDamaged(const std::string& folder) {
  const std::string before = TextOfFile(FileIn(folder));
  const absl::Status status = HistoryStore::Open(folder).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(FileIn(folder) + ": is damaged"),
                    HasSubstr("backup"), HasSubstr("move it away")));
  EXPECT_EQ(TextOfFile(FileIn(folder)), before);
}

TEST(HistoryCrashTest, HalfWrittenTransactionIsTakenBack) {
  const std::string folder = FolderWith(20, 20000);
  const std::string crashed = NewStateFolder();
  {
    const auto database = SqliteDatabase::Open(FileIn(folder)).value();
    // So little memory makes SQLite write before the commit.
    ASSERT_EQ(database->Execute(
                  "PRAGMA cache_size = 2; PRAGMA journal_mode = TRUNCATE;"
                  "BEGIN IMMEDIATE; UPDATE detail SET record = zeroblob(20000);"
                  "DELETE FROM entry WHERE position < 10"),
              absl::OkStatus());
    for (const char* suffix : {"", "-journal"}) {
      std::filesystem::copy(FileIn(folder) + suffix, FileIn(crashed) + suffix);
    }
  }
  ASSERT_NE(TextOfFile(FileIn(crashed)), TextOfFile(FileIn(folder)));
  const auto store = OpenStore(crashed);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->List({})->entries_size(), 20);
  for (int i = 1; i <= 20; ++i) {
    EXPECT_EQ(store->Get(TestId(i)).value().SerializeAsString(),
              TestCheck(TestId(i), 20000).SerializeAsString());
  }
}

// Adds entries endlessly; reports each one through the pipe.
[[noreturn]] void AddUntilKilled(const std::string& folder, int tell) {
  HistoryLimits limits;
  limits.max_entries = 30;
  const auto store = HistoryStore::Open(folder, limits);
  if (!store.ok()) _exit(1);
  for (uint64_t i = 1;; ++i) {
    if (!(*store)->Add(TestCheck(TestId(i), 50000)).ok()) _exit(2);
    if (write(tell, &i, sizeof(i)) != sizeof(i)) _exit(3);
  }
}

TEST(HistoryCrashTest, WhatWasAddedSurvivesKilling) {
  const std::string folder = NewStateFolder();
  for (uint64_t after = 5; after <= 60; after += 11) {
    std::filesystem::remove(FileIn(folder));
    int tell[2];
    ASSERT_EQ(pipe(tell), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) AddUntilKilled(folder, tell[1]);
    close(tell[1]);
    uint64_t added = 0;
    while (added < after) {
      ASSERT_EQ(read(tell[0], &added, sizeof(added)), sizeof(added));
    }
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    while (read(tell[0], &added, sizeof(added)) == sizeof(added)) {
    }
    close(tell[0]);
    const auto store = OpenStore(folder);
    ASSERT_NE(store, nullptr);
    // The next one may have been added without a report.
    const auto list = store->List({}).value();
    EXPECT_THAT(list.entries(0).id(),
                testing::AnyOf(TestId(added), TestId(added + 1)));
    for (const HistoryEntry& entry : list.entries()) {
      EXPECT_TRUE(store->Get(entry.id()).ok()) << entry.id();
    }
    EXPECT_EQ(list.entries_size(),
              std::min<uint64_t>(
                  30, added + (list.entries(0).id() != TestId(added))));
  }
}

TEST(HistoryCrashTest, LeftoverOfMakingTheFileIsMadeAgain) {
  const std::string folder = NewStateFolder();
  WriteWhole(FileIn(folder) + ".new", "half");
  EXPECT_NE(OpenStore(folder), nullptr);
  EXPECT_FALSE(std::filesystem::exists(FileIn(folder) + ".new"));
}

TEST(HistoryDamageTest, RefusesGarbageAndAnEmptyFile) {
  for (const std::string& text : {std::string(20000, 'x'), std::string()}) {
    const std::string folder = NewStateFolder();
    WriteWhole(FileIn(folder), text);
    ExpectRefusedAsDamaged(folder);
  }
}

TEST(HistoryDamageTest, RefusesTruncatedFileOfAnyLength) {
  const std::string whole = TextOfFile(FileIn(FolderWith(5, 20000)));
  const std::string folder = NewStateFolder();
  for (size_t size = 1; size < whole.size(); size += 4001) {
    SCOPED_TRACE(size);
    WriteWhole(FileIn(folder), whole.substr(0, size));
    ExpectRefusedAsDamaged(folder);
  }
}

TEST(HistoryDamageTest, RefusesOverwrittenTables) {
  const std::string folder = FolderWith(5, 20000);
  std::string bytes = TextOfFile(FileIn(folder));
  // Damage the tables' pages, after the page with the header.
  bytes.replace(4096, 4 * 4096, std::string(4 * 4096, '\xff'));
  WriteWhole(FileIn(folder), bytes);
  ExpectRefusedAsDamaged(folder);
}

TEST(HistoryDamageTest, RefusesFolderInPlaceOfFile) {
  const std::string folder = NewStateFolder();
  std::filesystem::create_directory(FileIn(folder));
  const absl::Status status = HistoryStore::Open(folder).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("not a regular file"));
}

TEST(HistoryDamageTest, FlippedByteOfDetailIsNoticedAndCostsOneEntry) {
  const std::string folder = FolderWith(3, 20000);
  std::string bytes = TextOfFile(FileIn(folder));
  const std::string second = TestCheck(TestId(2), 20000).report().notes(0);
  const size_t place = bytes.find(second.substr(9000, 1000));
  ASSERT_NE(place, std::string::npos);
  bytes[place] ^= 1;
  WriteWhole(FileIn(folder), bytes);
  const auto store = OpenStore(folder);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->List({})->entries_size(), 3);
  EXPECT_THAT(store->Get(TestId(2)),
              Fails(absl::StatusCode::kDataLoss,
                    HasText(absl::StrCat("what is kept of \"", TestId(2),
                                         "\" is damaged"))));
  EXPECT_TRUE(store->Get(TestId(1)).ok());
  EXPECT_TRUE(store->Get(TestId(3)).ok());
}

}  // namespace
}  // namespace clusterd
