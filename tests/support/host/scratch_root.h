// A machine's files in a folder of the test's own, deleted at the end.
#ifndef TESTS_SUPPORT_HOST_SCRATCH_ROOT_H_
#define TESTS_SUPPORT_HOST_SCRATCH_ROOT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "daemon/host/files/file_reader.h"

namespace clusterd {

// Paths are those on the machine: "/etc/hccn.conf". Folders are made as needed.
// If the test's own file system refuses a step, the test program ends.
class ScratchRoot {
 public:
  // Made in the test's own folder, private to its user, or in `base`.
  explicit ScratchRoot(const char* base = nullptr);
  ~ScratchRoot();
  ScratchRoot(const ScratchRoot&) = delete;
  ScratchRoot& operator=(const ScratchRoot&) = delete;

  const std::string& path() const { return path_; }
  HostPaths paths() const { return HostPaths{path_}; }

  void Write(absl::string_view path, absl::string_view text, int mode = 0644);
  // An executable file, e.g. a shell script.
  void WriteProgram(absl::string_view path, absl::string_view text) {
    Write(path, text, 0755);
  }
  void MakeFolder(absl::string_view path, int mode = 0755);
  void Link(absl::string_view path, const std::string& target);
  void SetMode(absl::string_view path, int mode);
  void Remove(absl::string_view path);

 private:
  std::string Full(absl::string_view path) const;

  std::string path_;
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_HOST_SCRATCH_ROOT_H_
