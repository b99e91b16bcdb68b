#include "tests/support/config/ca_dir.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace clusterd {

void WriteTestFile(const std::string& path, const std::string& text,
                   unsigned mode) {
  std::filesystem::remove(path);
  std::ofstream file(path);
  file << text;
  file.close();
  EXPECT_TRUE(file && chmod(path.c_str(), mode) == 0) << path;
}

std::string MakeCaDir(const TestAuthority& root, const IssueOptions& options) {
  std::string folder = testing::TempDir() + "/ca.XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr) << folder;
  const auto intermediate =
      root.MakeBelow("clusterd test intermediate", options);
  WriteTestFile(folder + "/root.crt", root.certificate_pem(), 0644);
  WriteTestFile(folder + "/intermediate.crt", intermediate->certificate_pem(),
                0644);
  WriteTestFile(folder + "/intermediate.key", intermediate->KeyPem(), 0600);
  return folder;
}

}  // namespace clusterd
