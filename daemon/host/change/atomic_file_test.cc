#include "daemon/host/change/atomic_file.h"

#include <gtest/gtest.h>

#include "daemon/host/change/mutation_token_issuer.h"
#include "tests/support/host/effect_log.h"
#include "tests/support/host/fake_file_system.h"

namespace clusterd {
namespace {

constexpr char kPath[] = "/etc/sysctl.d/90-clusterd.conf";

TEST(SaveFileTest, KeepsContentOwnerAndMode) {
  FakeFileSystem files;
  files.Put(kPath, "text\n", 0640, 3, 4);
  const auto saved = SaveFile(&files, kPath);
  ASSERT_TRUE(saved.ok());
  EXPECT_TRUE(saved->existed());
  EXPECT_EQ(saved->content(), "text\n");
  EXPECT_EQ(saved->mode(), 0640u);
  EXPECT_EQ(saved->uid(), 3u);
  EXPECT_FALSE(SaveFile(&files, "/etc/none")->existed());
}

TEST(SaveFileTest, RefusesALinkBecauseARenameWouldReplaceIt) {
  FakeFileSystem files;
  files.PutLink(kPath);
  const absl::Status status = SaveFile(&files, kPath).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find(kPath), absl::string_view::npos);
}

TEST(ReplaceFileTest, WritesBesideSyncsRenamesAndSyncsTheFolder) {
  FakeFileSystem files;
  files.Put(kPath, "old", 0640, 3, 4);
  EffectLog log;
  EffectFileSystem logged(&files, &log);
  MutationTokenIssuer issuer;
  ASSERT_TRUE(ReplaceFile(issuer.token(), &logged, kPath, "new", 0644).ok());
  const std::string temporary = TemporaryOf(kPath);
  EXPECT_EQ(
      log.effects(),
      (std::vector<std::string>{
          "create " + temporary, "write " + temporary, "chown " + temporary,
          "chmod " + temporary, "sync " + temporary,
          std::string("rename to ") + kPath, "sync folder /etc/sysctl.d"}));
  EXPECT_EQ(files.Snapshot({}).at(kPath), "0640 3:4 new");
}

TEST(ReplaceFileTest, IsOldOrNewAfterAPowerCutAnywhere) {
  for (size_t effect = 0; effect < 7; ++effect) {
    for (const CrashPoint point :
         {CrashPoint::kBefore, CrashPoint::kDuring, CrashPoint::kAfter}) {
      FakeFileSystem files;
      files.Put(kPath, "old");
      EffectLog log;
      log.CrashAt(effect, point);
      EffectFileSystem logged(&files, &log);
      MutationTokenIssuer issuer;
      (void)ReplaceFile(issuer.token(), &logged, kPath, "new", 0644);
      ASSERT_TRUE(log.dead());
      files.LosePower();
      const std::string now = *files.Content(kPath);
      EXPECT_TRUE(now == "old" || now == "new") << effect << ": " << now;
    }
  }
}

TEST(ReplaceFileTest, LeavesTheOldFileAndNoTemporaryOnAFullDisk) {
  FakeFileSystem files;
  files.Put(kPath, "old");
  files.SetFreeBytes(2);
  MutationTokenIssuer issuer;
  EXPECT_TRUE(absl::IsResourceExhausted(
      ReplaceFile(issuer.token(), &files, kPath, "longer text", 0644)));
  EXPECT_EQ(*files.Content(kPath), "old");
  EXPECT_FALSE(files.Content(TemporaryOf(kPath)).has_value());
}

TEST(ReplaceFileTest, OverwritesATemporaryThatACrashLeft) {
  FakeFileSystem files;
  files.Put(TemporaryOf(kPath), "half");
  MutationTokenIssuer issuer;
  ASSERT_TRUE(ReplaceFile(issuer.token(), &files, kPath, "new", 0644).ok());
  EXPECT_EQ(files.Snapshot({}).at(kPath), "0644 0:0 new");
  EXPECT_FALSE(files.Content(TemporaryOf(kPath)).has_value());
}

TEST(RestoreFileTest, RemovesAFileThatWasNotThere) {
  FakeFileSystem files;
  files.PutFolder("/etc/sysctl.d");
  const SavedFile saved = *SaveFile(&files, kPath);
  files.Put(kPath, "new");
  MutationTokenIssuer issuer;
  ASSERT_TRUE(RestoreFile(issuer.token(), &files, saved).ok());
  EXPECT_FALSE(files.Content(kPath).has_value());
  ASSERT_TRUE(RestoreFile(issuer.token(), &files, saved).ok());
}

TEST(RestoreFileTest, BringsBackContentOwnerAndMode) {
  FakeFileSystem files;
  files.Put(kPath, "old", 0600, 1, 2);
  const SavedFile saved = *SaveFile(&files, kPath);
  files.Put(kPath, "new", 0644, 0, 0);
  MutationTokenIssuer issuer;
  ASSERT_TRUE(RestoreFile(issuer.token(), &files, saved).ok());
  EXPECT_EQ(files.Snapshot({}).at(kPath), "0600 1:2 old");
}

}  // namespace
}  // namespace clusterd
