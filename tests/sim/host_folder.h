// The files of one simulated server below its root folder, and the state of its
// devices. Paths are relative: "etc/hccn.conf".
#ifndef TESTS_SIM_HOST_FOLDER_H_
#define TESTS_SIM_HOST_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tests/sim/tool/device_state.h"

namespace clusterd::sim {

inline constexpr char kStateFile[] = "var/lib/hccn_sim/state";

// Below /usr/local/Ascend: CANN of the architecture that clusterd runs on.
std::string CannInfoFile();

// Every change returns FailedPrecondition or the error of errno, with the path
// in front.
class HostFolder {
 public:
  explicit HostFolder(std::string root);

  const std::string& root() const { return root_; }
  std::string Path(absl::string_view relative) const;
  StateFile state() const { return StateFile(Path(kStateFile)); }

  bool Exists(absl::string_view relative) const;
  // Empty if it cannot be read.
  std::string Read(absl::string_view relative) const;
  // Makes missing folders; replaces the content in place.
  absl::Status Write(absl::string_view relative, absl::string_view content,
                     int mode = 0644) const;
  // Removes a file, a link or an empty folder; OK if it does not exist.
  absl::Status Remove(absl::string_view relative) const;
  absl::Status MakeFolder(absl::string_view relative) const;
  absl::Status Link(absl::string_view relative, absl::string_view target) const;
  // A character device if this user may make one (it is /dev/null's), otherwise
  // an empty file.
  absl::Status MakeNode(absl::string_view relative) const;
  // A hard link if that is possible, otherwise a copy.
  absl::Status Adopt(absl::string_view relative, const std::string& file) const;

 private:
  std::string root_;
};

}  // namespace clusterd::sim

#endif  // TESTS_SIM_HOST_FOLDER_H_
