// Reads files of `Key=value` lines that say what is installed:
//   /etc/ascend_install.info      Driver_Install_Path_Param=/usr/local/Ascend
//   .../driver/version.info       Version=23.0.7
//   /etc/os-release               PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
// Text in, value out, but for ReadInstallPath.
#ifndef DAEMON_HOST_FILES_INFO_FILES_H_
#define DAEMON_HOST_FILES_INFO_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/files/file_reader.h"

namespace clusterd {

// Where the driver is installed; /usr/local/Ascend if no line says it.
// InvalidArgument, quoting it, unless it is an absolute path without "..".
absl::StatusOr<std::string> ParseInstallPath(absl::string_view text);

// The same, of the machine's own file; /usr/local/Ascend without one that can
// be read.
absl::StatusOr<std::string> ReadInstallPath(const FileReader& files);

// What stands in the first line of `key`, without quotes; printable.
// InvalidArgument if there is no such line, or nothing in it.
absl::StatusOr<std::string> ParseInfoValue(absl::string_view text,
                                           absl::string_view key);

// `value` without the quotes around it, of either kind.
absl::string_view WithoutQuotes(absl::string_view value);

}  // namespace clusterd

#endif  // DAEMON_HOST_FILES_INFO_FILES_H_
