// Reads a job's logs as the users who wrote them, and finds the codes in them.
//
// `find` and `tail` run as the user (RunAs), so that a link, wherever it leads,
// and whoever moves it meanwhile, shows no more than the user may read anyway;
// of what is no regular file nothing is opened. Root's own folder is read only
// while nobody but root can change anything on the way to it or in it.
//
// Bounds: folders and users (FindLogFolders), 200 files, the newest first, each
// by its last 8 MiB, 64 MiB of one host or what the query says if that is less,
// 512 KiB that are sent, 200 hits, and the time of `host.budget`.
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
// With paths, hits and notes under the 1 MiB that a controller takes.
inline constexpr uint64_t kMaxLogBytesSent = 512u << 10;

// What was left out for a bound, or could not be read, is in `notes` and in
// LogFile.cut; `missing` is set where nothing could be had. That there are no
// logs is an answer without files. All texts are UTF-8
// and may hold control characters.
HostLogs ReadHostLogs(const HostAccess& host, const LogsQuery& query);

// Whose logs lie where on this host. CANN writes them to the first of
//   $ASCEND_PROCESS_LOG_PATH   $ASCEND_WORK_PATH/log   $HOME/ascend/log
// (hiascend.com, CANN 9.0, environment variables, ASCEND_PROCESS_LOG_PATH), so
// the environment of a running process tells its folder, and that of one that
// has ended is only known if it was the last.
//
// A job's processes are those with its id in SLURM_JOB_ID, PBS_JOBID or
// LSB_JOBID. Everything here is what users wrote: it decides which folder is
// read, and whose environment it was decides as whom.

struct LogFolder {
  RunAs user;
  std::string path;  // Absolute, as the user or his process calls it.
  // "/proc/4711/root" where the process sees other files than we do, in a
  // container for example; path then begins there.
  std::string process_root;
  std::string view;  // Then its mount namespace, "mnt:[4026531841]".
  std::string from;  // Where the word came from, printable.
};

struct LogFolders {
  std::vector<LogFolder> folders;
  std::vector<std::string> notes;
};

// By what the query asks for:
//   user alone        his processes that use an NPU, and his own folder
//   job alone         the job's processes
//   both              the user's processes of the job; none: his own folder
//   neither           all processes that use an NPU, and the own folders of
//                     those whose homes lie in /home
// Folders of root are only found if root is the user asked for; of root, only
// the own one. InvalidArgument: a malformed user or job. NotFound: no such
// user, or no process has the job and no user is named. The codes of FindUser.
absl::StatusOr<LogFolders> FindLogFolders(const HostAccess& host,
                                          const LogsQuery& query);

// Finds in a log what HCCL and its kin call an error:
//   [ERROR] HCCL(4711,python3):2026-03-01-10:11:12.131.415 [hccl_socket.cc:88]
//   [4712]...Communication_Error_Get_Socket(EI0006): Getting socket times out.
// by code, and by the texts of errors that the log itself writes without one.
// Rows of LINK_ERROR_INFO and lists of ranks become details of the hit:
//   |  10.20.0.29(27)  |  16666  |  10.20.0.2(0)  |  0  | server | time out | …
//   List of unconnected ranks: "[1,7,]"
// A text that leads to no code has the name of the rule that is about it.
// Text in, value out; the text is a stranger's and may be anything.

inline constexpr size_t kMaxHitTextBytes = 400;
inline constexpr size_t kMaxCodesPerFile = 32;

// `text` as valid UTF-8 of at most `max_bytes`.
std::string BoundedUtf8(absl::string_view text, size_t max_bytes);

// One hit for each code, in the order in which they first stand there, with
// that line and its text, and the number of lines that have it; no file. Lines
// begin at `first_line`; 0: they are not known, and each is 0. Codes beyond
// kMaxCodesPerFile are left out, and *left_out is set.
std::vector<LogHit> ScanLog(absl::string_view text, uint64_t first_line,
                            bool* left_out);

}  // namespace clusterd

#endif  // DAEMON_HOST_LOGS_READ_LOGS_H_
