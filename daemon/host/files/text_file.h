// Writes a file for another program, such as node_exporter's textfile
// collector. The machine's settings are written by daemon/host/change.
#ifndef DAEMON_HOST_FILES_TEXT_FILE_H_
#define DAEMON_HOST_FILES_TEXT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// Replaces the whole file, mode 0644: readers get the old text or the new one.
// `path` is absolute, below `root`. Only this process's user and root may be
// able to write to its folder, since this process may be root:
//   NotFound            it is not there
//   PermissionDenied    it or a folder above is a link, it is another user's,
//                       or its group or others may write it; or the system
//                       refuses
//   Unavailable         the disk does not take it
// A link in place of the file is replaced, not followed.
absl::Status ReplaceTextFile(const std::string& root, const std::string& path,
                             absl::string_view text);

}  // namespace clusterd

#endif  // DAEMON_HOST_FILES_TEXT_FILE_H_
