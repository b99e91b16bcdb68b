#include "daemon/controller/gate/lock_store.h"

#include <sys/stat.h>

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/history_testing.h"

namespace clusterd {
namespace {

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
    const auto store = LockStore::Open(folder);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->Put(LockOf("user/bob")).ok());
    ASSERT_TRUE((*store)->Put(LockOf("host/node07", "lost")).ok());
    ASSERT_TRUE((*store)->Put(LockOf("host/node07", "stolen")).ok());
    ASSERT_TRUE((*store)->Put(LockOf("user/carl")).ok());
    ASSERT_TRUE((*store)->Remove("user/bob").ok());
  }
  const auto store = LockStore::Open(folder);
  ASSERT_TRUE(store.ok()) << store.status();
  const auto all = (*store)->All();
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_THAT(*all, SizeIs(2));
  EXPECT_EQ((*all)[0].SerializeAsString(),
            LockOf("host/node07", "stolen").SerializeAsString());
  EXPECT_EQ((*all)[1].identity(), "user/carl");
}

TEST(LockStoreTest, KeepsHowNewListsAreForWhoOpensItNext) {
  const std::string folder = NewStateFolder();
  const std::string issuer("\x30\0\xff", 3);
  const absl::Time begins = absl::FromUnixSeconds(1735689600);
  {
    const auto store = LockStore::Open(folder);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_THAT(*(*store)->AllListAges(), SizeIs(0));
    ASSERT_TRUE((*store)->PutListAge(issuer, {"9", begins, 1}).ok());
    ASSERT_TRUE((*store)->PutListAge(issuer, {"10ff", begins, 7}).ok());
    ASSERT_TRUE((*store)->PutListAge("other", {"", begins, 0}).ok());
  }
  const auto store = LockStore::Open(folder);
  ASSERT_TRUE(store.ok()) << store.status();
  const auto ages = (*store)->AllListAges();
  ASSERT_TRUE(ages.ok()) << ages.status();
  ASSERT_THAT(*ages, SizeIs(2));
  EXPECT_EQ(ages->at(issuer).number, "10ff");
  EXPECT_EQ(ages->at(issuer).begins, begins);
  EXPECT_EQ(ages->at(issuer).entries, 7u);
  EXPECT_EQ(ages->at("other").number, "");
}

TEST(LockStoreTest, SharesItsFileWithAnotherConnection) {
  const std::string folder = NewStateFolder();
  const auto store = LockStore::Open(folder);
  ASSERT_TRUE(store.ok()) << store.status();
  const auto other = SqliteDatabase::Open(folder + "/" + kLockFile);
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE((*other)->Execute("CREATE TABLE theirs (a TEXT) STRICT").ok());
  ASSERT_TRUE((*store)->Put(LockOf("user/bob")).ok());
  ASSERT_TRUE((*other)->Execute("INSERT INTO theirs VALUES ('x')").ok());
  EXPECT_THAT(*(*store)->All(), SizeIs(1));
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

TEST(LockStoreTest, DamagedFileIsAnErrorAndNeverAnEmptyOne) {
  const std::string folder = NewStateFolder();
  std::ofstream(folder + "/" + kLockFile) << std::string(8192, 'x');
  const auto store = LockStore::Open(folder);
  EXPECT_EQ(store.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(store.status().message()), HasSubstr(kLockFile));
}

TEST(LockStoreTest, LockThatCannotBeReadIsAnError) {
  const std::string folder = NewStateFolder();
  ASSERT_TRUE(LockStore::Open(folder).ok());
  const auto other = SqliteDatabase::Open(folder + "/" + kLockFile);
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE((*other)
                  ->Execute("INSERT INTO identity_lock VALUES ('user/bob', "
                            "x'ffff')")
                  .ok());
  EXPECT_EQ(LockStore::Open(folder).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST(LockStoreTest, NamesFolderThatIsNotThere) {
  const absl::Status status = LockStore::Open("/nowhere/state").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/state/"));
}

}  // namespace
}  // namespace clusterd
