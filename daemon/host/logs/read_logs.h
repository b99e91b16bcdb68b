// Reads a job's logs as the users who wrote them, and finds error codes.
//
// `find` and `tail` run as the user (RunAs): any link, even one moved
// meanwhile, shows only what the user may read anyway. Only regular files are
// opened. Root's own folder is read only while root alone can change the way to
// it and its content.
//
// Bounds: folders and users (FindLogFolders); 200 files, newest first; 8 MiB at
// the end of each; 64 MiB of one host, or the query's lower limit; 512 KiB
// sent; 200 hits; and the time of `host.budget`.
#ifndef DAEMON_HOST_LOGS_READ_LOGS_H_
#define DAEMON_HOST_LOGS_READ_LOGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/file_reader.h"
#include "proto/logs.pb.h"

namespace clusterd {

inline constexpr size_t kMaxLogFiles = 200;
inline constexpr size_t kMaxLogHits = 200;
inline constexpr uint64_t kMaxLogBytesPerFile = 8u << 20;
inline constexpr uint64_t kMaxLogBytesRead = 64u << 20;
// With paths, hits and notes below the controller's limit of 1 MiB.
inline constexpr uint64_t kMaxLogBytesSent = 512u << 10;

// `notes` and LogFile.cut name data that is unreadable or exceeds a bound;
// `missing` is set if nothing was readable. If there are no logs, the answer
// has no files. All texts are UTF-8 and may hold control characters.
HostLogs ReadHostLogs(const HostAccess& host, const LogsQuery& query);

// Finds the log folders of users on this host. CANN writes to the first of
//   $ASCEND_PROCESS_LOG_PATH   $ASCEND_WORK_PATH/log   $HOME/ascend/log
// (hiascend.com, CANN 9.0, environment variables, ASCEND_PROCESS_LOG_PATH). So
// a running process's environment determines its folder; that of an ended one
// is known only for the last form.
//
// A job's processes have its id in SLURM_JOB_ID, PBS_JOBID or LSB_JOBID. Users
// control all of this data. It determines which folder is read, as the user
// whose environment named it.

struct LogFolder {
  RunAs user;
  std::string path;  // Absolute, as the user or his process sees it.
  // "/proc/4711/root" where the process sees other files than this one, in a
  // container for example; path then begins there.
  std::string process_root;
  std::string view;  // Then its mount namespace, "mnt:[4026531841]".
  std::string from;  // Source of the path, printable.
  // A folder that may have files "slurm-4711.out" of the user's jobs: where the
  // job was submitted, or the home. Empty: unknown.
  std::string outputs = {};
};

struct LogFolders {
  std::vector<LogFolder> folders;
  std::vector<FindingValue> notes;
};

// Finds folders by the query:
//   user alone        his processes that use an NPU, and his own folder
//   job alone         the job's processes
//   both              the user's processes of the job; none: his own folder
//   neither           all processes that use an NPU, and the own folders of
//                     those whose homes lie in /home
// Root's folders are found only if root is requested, and then only its own.
// InvalidArgument: a malformed user or job. NotFound: no such user, or no
// process has the job and no user is named. The codes of FindUser.
absl::StatusOr<LogFolders> FindLogFolders(const HostAccess& host,
                                          const LogsQuery& query);

// Finds the errors of config/codes in a log:
//   [ERROR] HCCL(4711,python3):2026-03-01-10:11:12.131.415 [hccl_socket.cc:88]
//   [4712]...Communication_Error_Get_Socket(EI0006): Getting socket times out.
// Matches codes, and texts of errors that the log writes without a code, with
// or without a terminal's colours. Advice that HCCL prints for every failure is
// not a hit. Rows of LINK_ERROR_INFO and lists of ranks become details of it:
//   |  10.20.0.29(27)  |  16666  |  10.20.0.2(0)  |  0  | server | time out | …
//   List of unconnected ranks: "[1,7,]"
// Runs nothing; the text is untrusted.

inline constexpr size_t kMaxHitTextBytes = 400;
inline constexpr size_t kMaxCodesPerFile = 32;

// Returns `text` as valid UTF-8 of at most `max_bytes`.
std::string BoundedUtf8(absl::string_view text, size_t max_bytes);

// Returns the last line that is not blank, at most kMaxHitTextBytes of it.
std::string LastLine(absl::string_view text);

// Returns one hit for each code, in order of first occurrence, with that line
// and its text, and the number of lines that have it; no file. Lines begin at
// `first_line`; 0: they are unknown, and each is 0. Codes beyond
// kMaxCodesPerFile are omitted, and *left_out is set.
std::vector<LogHit> ScanLog(absl::string_view text, uint64_t first_line,
                            bool* left_out);

}  // namespace clusterd

#endif  // DAEMON_HOST_LOGS_READ_LOGS_H_
