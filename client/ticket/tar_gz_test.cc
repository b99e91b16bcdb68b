#include <cstdio>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/ticket/bundle.h"
#include "gmock/gmock.h"

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

// The output of a program that reads the archive.
std::string Ask(const std::string& command) {
  std::string said;
  FILE* const pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (const size_t got = fread(buffer, 1, sizeof(buffer), pipe)) {
    said.append(buffer, got);
  }
  EXPECT_EQ(pclose(pipe), 0) << command;
  return said;
}

TEST(TarGzTest, IsReadByTheRealTar) {
  // Not a multiple of a block, and more than one buffer.
  std::string text;
  for (int i = 0; i < 50000; ++i) absl::StrAppend(&text, "line ", i, "\n");
  const std::string path = absl::StrCat(testing::TempDir(), "/t.tar.gz");
  std::ofstream(path, std::ios::binary) << Archive(text);
  const std::string list =
      Ask(absl::StrCat("TZ=UTC tar -tvzf '", path, "' 2>&1"));
  EXPECT_THAT(list, HasSubstr("-rw------- 0/0"));
  EXPECT_THAT(list, HasSubstr("2026-01-01 00:00 a/INDEX.txt"));
  EXPECT_THAT(list, HasSubstr("a/empty"));
  EXPECT_EQ(Ask(absl::StrCat("tar -xOzf '", path, "' a/log 2>&1")), text);
  EXPECT_EQ(Ask(absl::StrCat("tar -xOzf '", path, "' ", kLongName)), "long");
  EXPECT_EQ(Ask(absl::StrCat("gzip -t '", path, "' 2>&1")), "");
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
