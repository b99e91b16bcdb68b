#include "tests/support/host/fake_file_system.h"

#include <gtest/gtest.h>

namespace clusterd {
namespace {

TEST(FakeFileSystemTest, APowerCutKeepsOnlyWhatWasSynced) {
  FakeFileSystem files;
  files.PutFolder("/etc");
  auto file = files.Open("/etc/x", OpenMode::kCreate);
  ASSERT_TRUE(WriteFully(file->get(), 0, "one").ok());
  ASSERT_TRUE((*file)->Sync().ok());
  files.LosePower();
  EXPECT_FALSE(files.Content("/etc/x").has_value());

  file = files.Open("/etc/x", OpenMode::kCreate);
  ASSERT_TRUE(WriteFully(file->get(), 0, "one").ok());
  ASSERT_TRUE((*file)->Sync().ok());
  ASSERT_TRUE(files.SyncDirectory("/etc").ok());
  ASSERT_TRUE(WriteFully(file->get(), 3, "two").ok());
  files.LosePower();
  EXPECT_EQ(*files.Content("/etc/x"), "one");
}

TEST(FakeFileSystemTest, AFullDiskTakesWhatFitsAndThenNothing) {
  FakeFileSystem files;
  files.Put("/etc/x", "");
  files.SetFreeBytes(2);
  auto file = files.Open("/etc/x", OpenMode::kReadWrite);
  EXPECT_EQ(*(*file)->WriteAt(0, "abc"), 2u);
  EXPECT_TRUE(absl::IsResourceExhausted((*file)->WriteAt(2, "c").status()));
  EXPECT_EQ(*(*file)->WriteAt(0, "xy"), 2u);
}

TEST(FakeFileSystemTest, ALockIsForOneAtATime) {
  FakeFileSystem files;
  files.Put("/lock", "");
  auto first = files.Open("/lock", OpenMode::kReadWrite);
  auto second = files.Open("/lock", OpenMode::kReadWrite);
  EXPECT_TRUE(*(*first)->TryLock());
  EXPECT_FALSE(*(*second)->TryLock());
  first->reset();
  EXPECT_TRUE(*(*second)->TryLock());
}

TEST(FakeFileSystemTest, RefusesChangesWhereConfigured) {
  FakeFileSystem files;
  files.Put("/etc/x", "old");
  files.FailChanges("/etc", absl::FailedPreconditionError("read-only"));
  auto file = files.Open("/etc/x", OpenMode::kReadWrite);
  EXPECT_FALSE((*file)->WriteAt(0, "new").ok());
  EXPECT_FALSE(files.Open("/etc/y", OpenMode::kCreate).ok());
  EXPECT_FALSE(files.Remove("/etc/x").ok());
  files.FailChanges("/etc", absl::OkStatus());
  EXPECT_TRUE(files.Remove("/etc/x").ok());
}

}  // namespace
}  // namespace clusterd
