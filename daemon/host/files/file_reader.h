// Reads files of the machine below a root folder: "/" in production, a folder
// in tests and in simulated servers. It never writes and, except in ReadShared,
// never waits: a FIFO or a device is refused, not opened for reading. Readers
// return a status; only here it becomes the reason why a fact is missing.
#ifndef DAEMON_HOST_FILES_FILE_READER_H_
#define DAEMON_HOST_FILES_FILE_READER_H_

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/words/words.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "proto/facts.pb.h"

namespace clusterd {

struct FileText {
  std::string text;
  uint32_t mode = 0;  // Permission bits.
};

// Paths are absolute, as on the machine: "/etc/hccn.conf". Below another root
// than "/", a link that leads out of the root is PermissionDenied. Safe for
// concurrent use.
class FileReader {
 public:
  static constexpr size_t kMaxFileBytes = 1 << 20;
  static constexpr size_t kMaxNames = 100'000;

  // `root`: an absolute path. `max_names`: limit of a folder's list.
  explicit FileReader(std::string root, size_t max_names = kMaxNames);

  // Returns the path that this process opens: root and path.
  std::string Resolve(absl::string_view path) const {
    return absl::StrCat(root_, path);
  }

  // NotFound: no such file. PermissionDenied: not readable. FailedPrecondition:
  // not a regular file. ResourceExhausted: over `max_bytes`. Unavailable: the
  // read failed. Each message begins with the path.
  absl::StatusOr<FileText> Read(absl::string_view path,
                                size_t max_bytes = kMaxFileBytes) const;

  // Reads a file that is rewritten in place under flock(LOCK_EX), and is empty
  // between truncation and write. Takes flock(LOCK_SH) and releases it at once,
  // since it blocks writers. If another process holds the lock longer than
  // `wait`, two consecutive reads must agree. Aborted if none do, or if they
  // are empty.
  absl::StatusOr<FileText> ReadShared(absl::string_view path, Clock* clock,
                                      absl::Duration wait,
                                      size_t max_bytes = kMaxFileBytes) const;

  // Returns the text without surrounding white space; the codes of Read.
  absl::StatusOr<std::string> ReadTrimmed(absl::string_view path) const;

  // Calls `visit` with each line, without newline, until it returns an error,
  // which is prefixed with the path; for files too large to hold. A line over
  // 64 KiB is FailedPrecondition; otherwise the codes of Read.
  absl::Status ReadLines(
      absl::string_view path,
      const std::function<absl::Status(absl::string_view)>& visit) const;

  // Returns the names in a directory, sorted, without "." and "..". NotFound,
  // PermissionDenied, FailedPrecondition (not a directory). Over `max_names` it
  // fails with ResourceExhausted, or omits the rest: for folders that users can
  // fill. /proc is listed whole: an undo must not miss a namespace because a
  // user has many processes.
  enum class Beyond { kRefused, kLeftOut };
  absl::StatusOr<std::vector<std::string>> List(
      absl::string_view path, Beyond beyond = Beyond::kRefused) const;

  // Returns a symbolic link's target text. NotFound, PermissionDenied,
  // FailedPrecondition (not a link).
  absl::StatusOr<std::string> ReadLink(absl::string_view path) const;

  // OK if the path exists, even as a dangling link; NotFound; PermissionDenied
  // if a directory on the way may not be searched.
  absl::Status CheckExists(absl::string_view path) const;

  // Returns whether `path` is on a writable mount. The codes of Read.
  absl::StatusOr<bool> IsOnWritableMount(absl::string_view path) const;

 private:
  absl::StatusOr<int> OpenRegularFile(absl::string_view path,
                                      uint32_t* mode) const;
  absl::Status CheckInsideRoot(absl::string_view path) const;
  absl::StatusOr<FileText> ReadTwice(absl::string_view path, Clock* clock,
                                     size_t max_bytes) const;

  // Without a slash at the end; "" for "/".
  const std::string root_;
  const size_t max_names_;
};

struct HostPaths {
  // Root of the machine's files: "/" in production, a folder in tests.
  std::string root = "/";
};

// An observation's access to a machine: files, programs and the time left. Both
// pointers must outlive it.
struct HostAccess {
  HostPaths paths;
  CommandRunner* runner;
  const TimeBudget* budget;

  FileReader files() const { return FileReader(paths.root); }
};

// `detail`, a text or words, is made printable and cut at 500 bytes.
Missing MakeMissing(Missing::Reason reason, const FindingValue& detail);
inline Missing MakeMissing(Missing::Reason reason, absl::string_view detail) {
  return MakeMissing(reason, ToFindingValue(detail));
}

// The reason that fits the code, with the message, or its words, as detail:
//   NotFound          ABSENT            PermissionDenied  NOT_PERMITTED
//   DeadlineExceeded  TIMED_OUT         Unavailable       TOOL_FAILED
//   Unimplemented     NOT_SUPPORTED     Cancelled         NOT_QUERIED
// Any other code is UNREADABLE.
Missing MissingFor(const absl::Status& status);

template <typename Fact>
void SetMissing(Missing missing, Fact* fact) {
  *fact->mutable_missing() = std::move(missing);
}

template <typename Detail, typename Fact>
void SetMissing(Missing::Reason reason, const Detail& detail, Fact* fact) {
  SetMissing(MakeMissing(reason, detail), fact);
}

template <typename Fact>
Fact MissingFact(Missing missing) {
  Fact fact;
  SetMissing(std::move(missing), &fact);
  return fact;
}

template <typename... Facts>
void SetAllMissing(const Missing& missing, Facts*... facts) {
  (SetMissing(missing, facts), ...);
}

// Sets the value, a number, text or message, or MissingFor the status.
template <typename Value, typename Fact>
void SetFact(absl::StatusOr<Value> value, Fact* fact) {
  if (!value.ok()) {
    SetMissing(MissingFor(value.status()), fact);
  } else if constexpr (std::is_base_of_v<google::protobuf::MessageLite,
                                         Value>) {
    *fact->mutable_value() = *std::move(value);
  } else {
    fact->set_value(*std::move(value));
  }
}

// Returns the same as a fact.
template <typename Fact, typename Value>
Fact MakeFact(absl::StatusOr<Value> value) {
  Fact fact;
  SetFact(std::move(value), &fact);
  return fact;
}

// Files of `Key=value` lines that say what is installed:
//   /etc/ascend_install.info      Driver_Install_Path_Param=/usr/local/Ascend
//   .../driver/version.info       Version=23.0.7
//   /etc/os-release               PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"

// Returns the driver's install path; /usr/local/Ascend if no line has it.
// InvalidArgument, quoting it, unless it is an absolute path without "..".
absl::StatusOr<std::string> ParseInstallPath(absl::string_view text);

// Reads it from the machine's file; /usr/local/Ascend if that is unreadable.
absl::StatusOr<std::string> ReadInstallPath(const FileReader& files);

// Returns the value of the first line of `key`, without quotes; printable.
// InvalidArgument if there is no such line, or for an empty value.
absl::StatusOr<std::string> ParseInfoValue(absl::string_view text,
                                           absl::string_view key);

// Returns `value` without enclosing quotes of either kind.
absl::string_view WithoutQuotes(absl::string_view value);

}  // namespace clusterd

#endif  // DAEMON_HOST_FILES_FILE_READER_H_
