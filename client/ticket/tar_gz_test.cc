#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/ticket/bundle.h"
#include "gmock/gmock.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

const auto& kLongName =
    *new std::string(std::string(150, 'd') + "/" + std::string(100, 'f'));

std::string Archive(const std::string& text) {
  TarGz archive;
  EXPECT_TRUE(archive.Add("a/INDEX.txt", "index\n", 1767225600).ok());
  EXPECT_TRUE(archive.Add("a/log", text, -1).ok());
  EXPECT_TRUE(archive.Add("a/empty", "", 0).ok());
  EXPECT_TRUE(archive.Add(kLongName, "long", 0).ok());
  auto bytes = archive.Finish();
  EXPECT_TRUE(bytes.ok());
  return *bytes;
}

TEST(TarGzTest, IsReadByTheRealTar) {
  // Not a multiple of a block, and more than one buffer.
  std::string text;
  for (int i = 0; i < 50000; ++i) absl::StrAppend(&text, "line ", i, "\n");
  const std::string path = absl::StrCat(testing::TempDir(), "/t.tar.gz");
  std::ofstream(path, std::ios::binary) << Archive(text);
  const std::string list =
      OutputOf(absl::StrCat("TZ=UTC tar -tvzf '", path, "' 2>&1"));
  EXPECT_THAT(list, HasSubstr("-rw------- 0/0"));
  EXPECT_THAT(list, HasSubstr("2026-01-01 00:00 a/INDEX.txt"));
  EXPECT_THAT(list, HasSubstr("a/empty"));
  EXPECT_EQ(OutputOf(absl::StrCat("tar -xOzf '", path, "' a/log 2>&1")), text);
  EXPECT_EQ(OutputOf(absl::StrCat("tar -xOzf '", path, "' ", kLongName)),
            "long");
  EXPECT_EQ(OutputOf(absl::StrCat("gzip -t '", path, "' 2>&1")), "");
}

TEST(TarGzTest, MakesTheSameBytesOfTheSameEntries) {
  EXPECT_EQ(Archive("text"), Archive("text"));
}

TEST(TarGzTest, RefusesNamesThatLeadOut) {
  TarGz archive;
  for (const std::string& name :
       {std::string(), std::string("/etc/passwd"), std::string("a/../../b"),
        std::string(101, 'a'), std::string(160, 'd') + "/f",
        std::string("a\0b", 3)}) {
    EXPECT_EQ(archive.Add(name, "", 0).code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  }
}

}  // namespace
}  // namespace clusterd
