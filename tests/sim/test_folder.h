// A folder for one test, deleted with it.
#ifndef TESTS_SIM_TEST_FOLDER_H_
#define TESTS_SIM_TEST_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace clusterd::sim {

class TestFolder {
 public:
  TestFolder() {
    const char* where = getenv("TEST_TMPDIR");
    path_ = std::string(where == nullptr ? "/tmp" : where) + "/sim.XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) abort();
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace clusterd::sim

#endif  // TESTS_SIM_TEST_FOLDER_H_
