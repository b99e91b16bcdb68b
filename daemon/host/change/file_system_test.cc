#include "daemon/host/change/file_system.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/host/change/fake_file_system.h"

namespace clusterd {
namespace {

TEST(FolderOfTest, IsEverythingBeforeTheLastSlash) {
  EXPECT_EQ(FolderOf("/etc/hccn.conf"), "/etc");
  EXPECT_EQ(FolderOf("/x"), "/");
}

TEST(WriteFullyTest, GoesOnWhereAShortWriteStopped) {
  FakeFileSystem files;
  std::string got;
  FakeFileSystem::Special special;
  special.read = [&got] { return got; };
  special.write = [&got](uint64_t offset, absl::string_view bytes) {
    EXPECT_EQ(offset, got.size());
    got += std::string(bytes.substr(0, 3));
    return absl::StatusOr<size_t>(std::min<size_t>(3, bytes.size()));
  };
  files.PutSpecial("/proc/x", special);
  auto file = files.Open("/proc/x", OpenMode::kReadWrite);
  EXPECT_TRUE(WriteFully(file->get(), 0, "abcdefgh").ok());
  EXPECT_EQ(got, "abcdefgh");
}

TEST(WriteFullyTest, GivesUpOnAWriteThatTakesNothing) {
  FakeFileSystem files;
  FakeFileSystem::Special special;
  special.read = [] { return std::string(); };
  special.write = [](uint64_t, absl::string_view) {
    return absl::StatusOr<size_t>(size_t{0});
  };
  files.PutSpecial("/proc/x", special);
  auto file = files.Open("/proc/x", OpenMode::kReadWrite);
  EXPECT_TRUE(absl::IsDataLoss(WriteFully(file->get(), 0, "a")));
}

TEST(ReadWholeFileTest, RefusesWhatIsLargerThanAskedFor) {
  FakeFileSystem files;
  files.Put("/etc/x", "12345");
  EXPECT_EQ(*ReadWholeFile(&files, "/etc/x", 5), "12345");
  EXPECT_TRUE(absl::IsOutOfRange(ReadWholeFile(&files, "/etc/x", 4).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadWholeFile(&files, "/etc/y", 4).status()));
}

}  // namespace
}  // namespace clusterd
