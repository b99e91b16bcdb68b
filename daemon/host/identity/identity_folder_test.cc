#include "daemon/host/identity/identity_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

std::string NewFolder() {
  std::string folder = testing::TempDir() + "/identity.XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder + "/etc/clusterd";
}

mode_t ModeOf(const std::string& path) {
  struct stat found = {};
  EXPECT_EQ(stat(path.c_str(), &found), 0) << path;
  return found.st_mode & 07777;
}

TlsPem PairOf(const std::string& mark) {
  return {"ca " + mark, "certificate " + mark, "key " + mark};
}

TEST(IdentityFolderTest, InstallsWhereThereWasNothing) {
  const IdentityFolder folder(NewFolder());
  EXPECT_FALSE(folder.HasJoined());
  ASSERT_TRUE(folder.Install(PairOf("1")).ok());
  EXPECT_TRUE(folder.HasJoined());
  EXPECT_EQ(TextOfFile(folder.PathOf("ca.crt")), "ca 1");
  EXPECT_EQ(TextOfFile(folder.PathOf("host.crt")), "certificate 1");
  EXPECT_EQ(TextOfFile(folder.PathOf("host.key")), "key 1");
  EXPECT_EQ(ModeOf(folder.PathOf("host.key")), 0600u);
  // Users of this host verify the controller with it.
  EXPECT_EQ(ModeOf(folder.PathOf("ca.crt")), 0644u);
  EXPECT_EQ(ModeOf(folder.PathOf("identity")) & 0055, 0055u);
}

TEST(IdentityFolderTest, BundleOfTheRootsComesAndGoesWithThePair) {
  const IdentityFolder folder(NewFolder());
  ASSERT_TRUE(folder.Install(PairOf("1")).ok());
  EXPECT_EQ(folder.ReadRootsBundle().value_or("unread"), "");
  TlsPem pair = PairOf("2");
  pair.roots_bundle = "bundle 2";
  ASSERT_TRUE(folder.Install(pair).ok());
  EXPECT_EQ(folder.ReadRootsBundle().value_or("unread"), "bundle 2");
  ASSERT_TRUE(folder.Install(PairOf("3")).ok());
  EXPECT_EQ(folder.ReadRootsBundle().value_or("unread"), "");
}

TEST(IdentityFolderTest, KeepsTheOneBeforeAndNoMore) {
  const IdentityFolder folder(NewFolder());
  for (const char* mark : {"1", "2", "3"}) {
    ASSERT_TRUE(folder.Install(PairOf(mark)).ok());
  }
  EXPECT_EQ(TextOfFile(folder.PathOf("host.crt")), "certificate 3");
  EXPECT_FALSE(fs::exists(folder.PathOf("identity/000001")));
  EXPECT_EQ(TextOfFile(folder.PathOf("identity/000002/host.key")), "key 2");
}

TEST(IdentityFolderTest, ReplacesWhatWasPutThereByHand) {
  const IdentityFolder folder(NewFolder());
  fs::create_directories(folder.PathOf(""));
  for (const char* name : {"ca.crt", "host.crt", "host.key"}) {
    std::ofstream(folder.PathOf(name)) << "by hand";
  }
  EXPECT_FALSE(folder.HasJoined());
  ASSERT_TRUE(folder.Install(PairOf("1")).ok());
  EXPECT_TRUE(folder.HasJoined());
  EXPECT_EQ(TextOfFile(folder.PathOf("host.key")), "key 1");
}

// Power was lost halfway: before the one rename nothing has changed.
TEST(IdentityFolderTest, InterruptedInstallDoesNotCount) {
  const IdentityFolder folder(NewFolder());
  ASSERT_TRUE(folder.Install(PairOf("1")).ok());
  fs::create_directories(folder.PathOf("identity/new"));
  std::ofstream(folder.PathOf("identity/new/host.key")) << "half a k";
  fs::create_directories(folder.PathOf("identity/000002"));
  std::ofstream(folder.PathOf("identity/000002/host.key")) << "key 2";
  fs::create_symlink("000002", folder.PathOf("identity/current.new"));
  EXPECT_EQ(TextOfFile(folder.PathOf("host.key")), "key 1");
  ASSERT_TRUE(folder.Install(PairOf("3")).ok());
  EXPECT_EQ(TextOfFile(folder.PathOf("host.key")), "key 3");
  EXPECT_EQ(TextOfFile(folder.PathOf("host.crt")), "certificate 3");
  EXPECT_FALSE(fs::exists(folder.PathOf("identity/000002")));
}

std::string LinkOf(const std::string& path) {
  std::error_code error;
  return fs::read_symlink(path, error).string();
}

// Returns no value if the file is missing.
std::optional<std::string> TextIn(int folder, const char* name) {
  const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  char text[100];
  const ssize_t size = read(fd, text, sizeof(text));
  close(fd);
  return std::string(text, size < 0 ? 0 : static_cast<size_t>(size));
}

// Everything that a reader saw which opened the link again and again.
struct SeenPairs {
  int whole = 0;
  std::set<std::string> marks;  // Those of whole pairs.
  std::vector<std::string> mistakes;
};

// Opens the current folder once, and reads both files in it. A pair may only be
// missing if the link has moved on: the previous one stays until then.
void ReadPair(const IdentityFolder& folder, SeenPairs* seen) {
  const std::string link = folder.PathOf("identity/current");
  const std::string before = LinkOf(link);
  const int current = open(link.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::optional<std::string> key = TextIn(current, "host.key");
  const std::optional<std::string> certificate = TextIn(current, "host.crt");
  if (current >= 0) close(current);
  if (!key.has_value() || !certificate.has_value()) {
    if (LinkOf(link) == before) seen->mistakes.push_back("gone: " + before);
    return;
  }
  const std::string mark = key->substr(std::min<size_t>(4, key->size()));
  if (*key != PairOf(mark).key || *certificate != PairOf(mark).certificate) {
    seen->mistakes.push_back(*key + " and " + *certificate);
    return;
  }
  ++seen->whole;
  seen->marks.insert(mark);
}

// A reader that resolves the link once sees one pair, despite any swaps.
TEST(IdentityFolderTest, NobodySeesHalfOfAPair) {
  constexpr int kSwaps = 50;
  constexpr size_t kPairsSeen = 10;
  const IdentityFolder folder(NewFolder());
  ASSERT_TRUE(folder.Install(PairOf("0")).ok());
  std::atomic<bool> done{false};
  std::atomic<size_t> pairs_seen{0};
  SeenPairs seen;
  std::thread reader([&] {
    while (!done) {
      ReadPair(folder, &seen);
      pairs_seen = seen.marks.size();
    }
  });
  // Ends once the reader has seen several of them, however seldom it runs.
  int swaps = 0;
  EXPECT_TRUE(WaitUntil([&] {
    for (int i = 0; i < kSwaps; ++i) {
      EXPECT_TRUE(folder.Install(PairOf(std::to_string(++swaps))).ok());
    }
    return pairs_seen >= kPairsSeen;
  }));
  done = true;
  reader.join();
  EXPECT_THAT(seen.mistakes, IsEmpty());
  EXPECT_GE(seen.whole, static_cast<int>(kPairsSeen));
}

TEST(IdentityFolderTest, KeyOfAJoinWaitsUntilItsEnd) {
  const IdentityFolder folder(NewFolder());
  EXPECT_TRUE(absl::IsNotFound(folder.ReadPendingKey().status()));
  ASSERT_TRUE(folder.WritePendingKey("a key").ok());
  EXPECT_EQ(*folder.ReadPendingKey(), "a key");
  EXPECT_EQ(ModeOf(folder.PathOf("identity/pending.key")), 0600u);
  ASSERT_TRUE(folder.Install(PairOf("1")).ok());
  EXPECT_TRUE(absl::IsNotFound(folder.ReadPendingKey().status()));
}

TEST(IdentityFolderTest, FolderThatOthersMayWriteIsRefused) {
  const IdentityFolder folder(NewFolder());
  fs::create_directories(folder.PathOf(""));
  ASSERT_EQ(chmod(folder.PathOf("").c_str(), 0777), 0);
  const absl::Status status = folder.Install(PairOf("1"));
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_FALSE(folder.HasJoined());
}

TEST(IdentityFolderTest, LinkInAFoldersPlaceIsRefusedAndLeftAlone) {
  for (const char* name : {"", "/identity"}) {
    const std::string path = NewFolder();
    const std::string elsewhere = path + "/elsewhere";
    fs::create_directories(elsewhere);
    ASSERT_EQ(chmod(elsewhere.c_str(), 0700), 0);
    const std::string link = name[0] == '\0' ? path + "/link" : path + name;
    fs::create_directory_symlink(elsewhere, link);
    const IdentityFolder folder(name[0] == '\0' ? link : path);
    for (const absl::Status& status :
         {folder.Install(PairOf("1")), folder.WritePendingKey("a key")}) {
      EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
      EXPECT_EQ(status.message(), Say("msg-trust-not-a-folder", link));
    }
    EXPECT_EQ(ModeOf(elsewhere), 0700u);
    EXPECT_TRUE(fs::is_empty(elsewhere));
  }
}

TEST(IdentityFolderTest, FolderOfSomebodyElseIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const IdentityFolder folder(NewFolder());
  fs::create_directories(folder.PathOf("identity"));
  if (chown(folder.PathOf("identity").c_str(), 65534, 65534) != 0) {
    GTEST_SKIP() << "there is no other user here";
  }
  const absl::Status status = folder.Install(PairOf("1"));
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_EQ(status.message(),
            folder.PathOf("identity") + ": belongs to user 65534, expected 0");
}

TEST(IdentityFolderTest, TwoWritersTakeTurns) {
  const std::string path = NewFolder();
  std::atomic<int> mistakes{0};
  const auto write = [&](const std::string& mark) {
    const IdentityFolder folder(path);
    for (int i = 0; i < 25; ++i) {
      if (!folder.Install(PairOf(mark)).ok()) ++mistakes;
      if (!folder.WritePendingKey(mark).ok()) ++mistakes;
    }
  };
  std::thread other([&] { write("1"); });
  write("2");
  other.join();
  EXPECT_EQ(mistakes, 0);
  const std::string key = TextOfFile(path + "/host.key");
  EXPECT_EQ(TextOfFile(path + "/host.crt"), "certificate " + key.substr(4));
  EXPECT_FALSE(fs::exists(path + "/identity/new"));
}

TEST(IdentityFolderTest, AgentYamlThatIsThereStays) {
  const IdentityFolder folder(NewFolder());
  EXPECT_TRUE(*folder.WriteAgentConfig("allow: [observe]\n"));
  EXPECT_FALSE(*folder.WriteAgentConfig("allow: [sysctl]\n"));
  EXPECT_EQ(TextOfFile(folder.PathOf("agent.yaml")), "allow: [observe]\n");
}

}  // namespace
}  // namespace clusterd
