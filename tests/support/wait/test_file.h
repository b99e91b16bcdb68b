// Texts of files and of programs, for tests.
#ifndef TESTS_SUPPORT_WAIT_TEST_FILE_H_
#define TESTS_SUPPORT_WAIT_TEST_FILE_H_

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace clusterd {

// Empty if there is no such file.
inline std::string TextOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The file must be there.
inline std::string TestData(const std::string& path) {
  EXPECT_TRUE(std::ifstream(path).is_open()) << path;
  return TextOfFile(path);
}

// The same without lines that begin with "#".
inline std::string GoldenText(const std::string& path) {
  std::istringstream file(TestData(path));
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] != '#') text += line + "\n";
  }
  return text;
}

// The output of a shell's command, which succeeds.
inline std::string OutputOf(const std::string& command) {
  std::string said;
  FILE* const pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (const size_t got = fread(buffer, 1, sizeof(buffer), pipe)) {
    said.append(buffer, got);
  }
  EXPECT_EQ(pclose(pipe), 0) << command;
  return said;
}

}  // namespace clusterd

#endif  // TESTS_SUPPORT_WAIT_TEST_FILE_H_
