#include "daemon/controller/gate/lock_store.h"

#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

LockEntry LockOf(const std::string& identity, const std::string& reason = "") {
  LockEntry lock;
  lock.set_identity(identity);
  lock.set_by("spiffe://demo/user/ann/role/admin");
  lock.set_since_ms(1735689600000);
  lock.set_reason(reason);
  return lock;
}

TEST(LockStoreTest, KeepsLocksForWhoOpensItNext) {
  const std::string folder = NewStateFolder();
  {
    const auto store = LockStore::Open(folder).value();
    ASSERT_TRUE(store->Put(LockOf("user/bob")).ok());
    ASSERT_TRUE(store->Put(LockOf("host/node07", "lost")).ok());
    ASSERT_TRUE(store->Put(LockOf("host/node07", "stolen")).ok());
    ASSERT_TRUE(store->Put(LockOf("user/carl")).ok());
    ASSERT_TRUE(store->Remove("user/bob").ok());
  }
  const auto store = LockStore::Open(folder).value();
  const auto all = store->All().value();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].SerializeAsString(),
            LockOf("host/node07", "stolen").SerializeAsString());
  EXPECT_EQ(all[1].identity(), "user/carl");
}

TEST(LockStoreTest, KeepsHowNewListsAreForWhoOpensItNext) {
  const std::string folder = NewStateFolder();
  const std::string issuer("\x30\0\xff", 3);
  const absl::Time begins = absl::FromUnixSeconds(1735689600);
  {
    const auto store = LockStore::Open(folder).value();
    EXPECT_THAT(*store->AllListAges(), SizeIs(0));
    ASSERT_TRUE(store->PutListAge(issuer, {"9", begins, 1}).ok());
    ASSERT_TRUE(store->PutListAge(issuer, {"10ff", begins, 7}).ok());
    ASSERT_TRUE(store->PutListAge("other", {"", begins, 0}).ok());
  }
  const auto store = LockStore::Open(folder).value();
  const auto ages = store->AllListAges().value();
  ASSERT_THAT(ages, SizeIs(2));
  EXPECT_EQ(ages.at(issuer).number, "10ff");
  EXPECT_EQ(ages.at(issuer).begins, begins);
  EXPECT_EQ(ages.at(issuer).entries, 7u);
  EXPECT_EQ(ages.at("other").number, "");
}

TEST(LockStoreTest, FileIsItsOwnersAlone) {
  const std::string folder = NewStateFolder();
  const std::string path = folder + "/" + kLockFile;
  ASSERT_TRUE(LockStore::Open(folder).ok());
  struct stat info = {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  ASSERT_TRUE(LockStore::Open(folder).ok());
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

// A folder with two locked identities, and damage to its files.
class LockFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto store = LockStore::Open(folder_).value();
    ASSERT_TRUE(store->Put(LockOf("user/bob", "left")).ok());
    one_ = {Read(kLockFile), Read(kLockSumFile)};
    ASSERT_TRUE(store->Put(LockOf("user/carl", "stolen")).ok());
    two_ = {Read(kLockFile), Read(kLockSumFile)};
  }

  std::string Path(const std::string& name) const {
    return folder_ + "/" + name;
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(Path(name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }
  // The number of locks; or the error's text, after its code.
  std::string Opened() const {
    const auto store = LockStore::Open(folder_);
    if (!store.ok()) return store.status().ToString();
    return std::to_string((*store)->All()->size());
  }

  struct Files {
    std::string locks;
    std::string sum;
  };
  const std::string folder_ = NewStateFolder();
  Files one_;
  Files two_;
};

TEST_F(LockFilesTest, NoLockIsForgottenSilently) {
  const auto damaged = [this] {
    std::string locks = two_.locks;
    const size_t at = locks.find("stolen");
    EXPECT_NE(at, std::string::npos);
    locks[at] = 'S';
    return locks;
  };
  struct Row {
    const char* what;
    std::function<void()> attack;
  };
  const Row rows[] = {
      {"taken away", [&] { std::remove(Path(kLockFile).c_str()); }},
      {"emptied", [&] { Write(kLockFile, ""); }},
      {"of another program", [&] { Write(kLockFile, std::string(8192, 'x')); }},
      {"an older one", [&] { Write(kLockFile, one_.locks); }},
      {"a byte of a lock", [&] { Write(kLockFile, damaged()); }},
      {"cut off", [&] { Write(kLockFile, two_.locks.substr(0, 5000)); }},
      {"no sum", [&] { std::remove(Path(kLockSumFile).c_str()); }},
      {"an empty sum", [&] { Write(kLockSumFile, ""); }},
      {"an older sum", [&] { Write(kLockSumFile, one_.sum); }},
      {"both away, where a controller has run",
       [&] {
         std::remove(Path(kLockFile).c_str());
         std::remove(Path(kLockSumFile).c_str());
         std::remove(Path("trust.db").c_str());
         Write("audit.jsonl", "");
       }},
      {"both and the audit file away, where hosts have joined",
       [&] {
         std::remove(Path(kLockFile).c_str());
         std::remove(Path(kLockSumFile).c_str());
         std::remove(Path("audit.jsonl").c_str());
         Write("trust.db", "");
       }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    Write(kLockFile, two_.locks);
    Write(kLockSumFile, two_.sum);
    ASSERT_EQ(Opened(), "2");
    row.attack();
    for (int start = 0; start < 2; ++start) {
      EXPECT_THAT(Opened(), AllOf(HasSubstr(folder_ + "/locks."),
                                  Tells("msg-hub-locks-not-opened", kAny,
                                        "locks.db", "locks.sum", "accept")));
    }
  }
}

TEST_F(LockFilesTest, FolderWithAHistoryIsNotNew) {
  const std::string folder = NewStateFolder();
  for (int start = 0; start < 2; ++start) {
    EXPECT_THAT(LockStore::Open(folder, /*is_new=*/false).status().ToString(),
                HasSubstr("write the word accept"));
  }
  std::ofstream(folder + "/" + kLockSumFile) << "accept";
  EXPECT_TRUE(LockStore::Open(folder, /*is_new=*/false).ok());
}

TEST_F(LockFilesTest, AdminMayGoOnWithWhatIsLeft) {
  Write(kLockFile, one_.locks);
  Write(kLockSumFile, "accept\n");
  ASSERT_TRUE(LockStore::Open(folder_).value()->Settle().ok());
  EXPECT_EQ(Read(kLockSumFile), one_.sum);
  EXPECT_EQ(Opened(), "1");
  std::remove(Path(kLockFile).c_str());
  Write(kLockSumFile, "accept");
  EXPECT_EQ(Opened(), "0");
}

// Even without locks, the sum covers the lists.
TEST(LockStoreTest, NoAgeOfAListIsForgottenSilently) {
  const std::string folder = NewStateFolder();
  const std::string path = folder + "/" + kLockFile;
  const auto put = [&folder](const char* number) {
    const auto store = LockStore::Open(folder).value();
    ASSERT_TRUE(store->PutListAge("ca", {number, absl::UnixEpoch(), 0}).ok());
  };
  const auto code = [&folder] {
    return LockStore::Open(folder).status().code();
  };
  put("1");
  const std::string older = path + ".older";
  std::filesystem::copy_file(path, older);
  put("2");
  EXPECT_EQ(code(), absl::StatusCode::kOk);
  std::filesystem::rename(older, path);
  EXPECT_EQ(code(), absl::StatusCode::kDataLoss);
  ASSERT_EQ(std::remove(path.c_str()), 0);
  EXPECT_EQ(code(), absl::StatusCode::kDataLoss);
}

// The sum is written before and after the locks.
TEST_F(LockFilesTest, CrashWhileALockIsWrittenLeavesEither) {
  for (const Files& files : {one_, two_}) {
    Write(kLockSumFile, one_.sum + two_.sum);
    Write(kLockFile, files.locks);
    ASSERT_TRUE(LockStore::Open(folder_).value()->Settle().ok());
    EXPECT_EQ(Read(kLockSumFile), files.sum);
  }
}

TEST_F(LockFilesTest, FirstStartMayEndBetweenTheTwoFiles) {
  const std::string folder = NewStateFolder();
  ASSERT_TRUE(LockStore::Open(folder).ok());
  ASSERT_EQ(std::remove((folder + "/" + kLockFile).c_str()), 0);
  EXPECT_TRUE(LockStore::Open(folder).ok());
}

TEST_F(LockFilesTest, WriteThatFailsLeavesWhatWasThere) {
  const auto store = LockStore::Open(folder_).value();
  // Blocks the next write of the sum.
  const std::string blocked = Path(std::string(kLockSumFile) + ".new");
  ASSERT_EQ(mkdir(blocked.c_str(), 0700), 0);
  Write(std::string(kLockSumFile) + ".new/file", "");
  EXPECT_FALSE(store->Put(LockOf("user/dora")).ok());
  EXPECT_FALSE(store->Remove("user/bob").ok());
  EXPECT_THAT(*store->All(), SizeIs(2));
  std::filesystem::remove_all(blocked);
  EXPECT_TRUE(store->Put(LockOf("user/dora")).ok());
  EXPECT_THAT(*store->All(), SizeIs(3));
}

TEST(LockStoreTest, LockThatCannotBeReadIsAnError) {
  const std::string folder = NewStateFolder();
  ASSERT_TRUE(LockStore::Open(folder).ok());
  const auto other = SqliteDatabase::Open(folder + "/" + kLockFile).value();
  ASSERT_TRUE(other
                  ->Execute("INSERT INTO identity_lock VALUES ('user/bob', "
                            "x'ffff')")
                  .ok());
  EXPECT_TRUE(absl::IsDataLoss(LockStore::Open(folder).status()));
}

TEST(LockStoreTest, NamesFolderThatIsNotThere) {
  EXPECT_THAT(LockStore::Open("/nowhere/state"),
              Fails(absl::StatusCode::kNotFound, HasText("/nowhere/state/")));
}

}  // namespace
}  // namespace clusterd
