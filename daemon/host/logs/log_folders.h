// Whose logs lie where on this host. CANN writes them to the first of
//   $ASCEND_PROCESS_LOG_PATH   $ASCEND_WORK_PATH/log   $HOME/ascend/log
// (hiascend.com, CANN 9.0, environment variables, ASCEND_PROCESS_LOG_PATH), so
// the environment of a running process tells its folder, and that of one that
// has ended is only known if it was the last.
//
// A job's processes are those with its id in SLURM_JOB_ID, PBS_JOBID or
// LSB_JOBID. Everything here is what users wrote: it decides which folder is
// read, and whose environment it was decides as whom.
#ifndef DAEMON_HOST_LOGS_LOG_FOLDERS_H_
#define DAEMON_HOST_LOGS_LOG_FOLDERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/file_reader.h"
#include "proto/logs.pb.h"

namespace clusterd {

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

}  // namespace clusterd

#endif  // DAEMON_HOST_LOGS_LOG_FOLDERS_H_
