// Reads files of the machine below a root folder: "/" in production, a folder
// in tests and in simulated servers. Never writes, and waits for nobody but in
// ReadShared: a FIFO or a device is refused, not opened for reading. And says
// why a fact has no value: readers return a status; here, and nowhere else, it
// becomes a reason in a fact.
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
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "proto/facts.pb.h"

namespace clusterd {

struct FileText {
  std::string text;
  uint32_t mode = 0;  // Permission bits.
};

// Paths are absolute, as on the machine: "/etc/hccn.conf". Below another root
// than "/", a link that leads out of the root is PermissionDenied.
// Safe for concurrent use.
class FileReader {
 public:
  static constexpr size_t kMaxFileBytes = 1 << 20;
  static constexpr size_t kMaxNames = 100'000;

  // `root`: an absolute path. `max_names`: how long the list of a folder is.
  explicit FileReader(std::string root, size_t max_names = kMaxNames);

  // Where `path` lies for this process: root and path.
  std::string Resolve(absl::string_view path) const;

  // NotFound: no such file. PermissionDenied: may not be read.
  // FailedPrecondition: a directory or another thing that is no regular file.
  // ResourceExhausted: over `max_bytes`. Unavailable: the read failed. Each
  // message begins with the path.
  absl::StatusOr<FileText> Read(absl::string_view path,
                                size_t max_bytes = kMaxFileBytes) const;

  // The same of a file that is rewritten in place under flock(LOCK_EX), which
  // is empty between the cut and the write: under flock(LOCK_SH), given back at
  // once, since it keeps writers out. Who holds the lock for more than `wait`
  // keeps nobody from reading: then two looks in a row must be the same.
  // Aborted if none are, or if they see an empty file.
  absl::StatusOr<FileText> ReadShared(absl::string_view path, Clock* clock,
                                      absl::Duration wait,
                                      size_t max_bytes = kMaxFileBytes) const;

  // The text without white space around it; the codes of Read.
  absl::StatusOr<std::string> ReadTrimmed(absl::string_view path) const;

  // Calls `visit` with each line, without newline, until it returns an error,
  // which then follows the path; for files too large to hold. A line over
  // 64 KiB is FailedPrecondition; else the codes of Read.
  absl::Status ReadLines(
      absl::string_view path,
      const std::function<absl::Status(absl::string_view)>& visit) const;

  // Names in a directory, sorted, without "." and "..". NotFound,
  // PermissionDenied, FailedPrecondition (not a directory), ResourceExhausted
  // (over `max_names`), or those beyond are left out: of what a user can make
  // long, so that nobody waits for it. /proc is listed whole: an undo must not
  // miss a namespace because a user has many processes.
  enum class Beyond { kRefused, kLeftOut };
  absl::StatusOr<std::vector<std::string>> List(
      absl::string_view path, Beyond beyond = Beyond::kRefused) const;

  // What a symbolic link says, wherever that leads. NotFound, PermissionDenied,
  // FailedPrecondition (no link).
  absl::StatusOr<std::string> ReadLink(absl::string_view path) const;

  // OK if something is there, also a link to nothing; NotFound;
  // PermissionDenied if a directory on the way may not be searched.
  absl::Status CheckExists(absl::string_view path) const;

  // Whether `path` lies on a mount that takes writes. The codes of Read.
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
  // Where the machine's files begin: "/" in production, a folder in tests.
  std::string root = "/";
};

// What an observation reaches a machine with: its files, its programs, and the
// time that is left. Both pointers outlive it.
struct HostAccess {
  HostPaths paths;
  CommandRunner* runner;
  const TimeBudget* budget;

  FileReader files() const { return FileReader(paths.root); }
};

// `detail` is made printable and cut at 500 bytes.
Missing MakeMissing(Missing::Reason reason, absl::string_view detail);

// The reason that fits the code, with the message as detail:
//   NotFound          ABSENT            PermissionDenied  NOT_PERMITTED
//   DeadlineExceeded  TIMED_OUT         Unavailable       TOOL_FAILED
//   Unimplemented     NOT_SUPPORTED     Cancelled         NOT_QUERIED
// Any other code is UNREADABLE.
Missing MissingFor(const absl::Status& status);

template <typename Fact>
void SetMissing(Missing missing, Fact* fact) {
  *fact->mutable_missing() = std::move(missing);
}

template <typename Fact>
void SetMissing(Missing::Reason reason, absl::string_view detail, Fact* fact) {
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

// The value, a number, text or message, or MissingFor the status.
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

// The same as a fact.
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

#endif  // DAEMON_HOST_FILES_FILE_READER_H_
