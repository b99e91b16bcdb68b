// A file that this host writes for another program to read, such as
// node_exporter's textfile collector. Nothing of the machine's settings: those
// are daemon/host/change.
#ifndef DAEMON_HOST_FILES_TEXT_FILE_H_
#define DAEMON_HOST_FILES_TEXT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// Replaces the file as a whole, mode 0644: who reads gets the old text or the
// new one. `path` is absolute, below `root`. Its folder must be such that
// nobody but this process's user and root can put anything into it, for we may
// be root:
//   NotFound            it is not there
//   PermissionDenied    it or a folder above is a link, it is somebody else's,
//                       or its group or others may write it; or the system
//                       refuses
//   Unavailable         the disk does not take it
// A link in place of the file is replaced, not followed.
absl::Status ReplaceTextFile(const std::string& root, const std::string& path,
                             absl::string_view text);

}  // namespace clusterd

#endif  // DAEMON_HOST_FILES_TEXT_FILE_H_
