#include "daemon/host/command/orphans.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace clusterd {
namespace {

constexpr int kPollMs = 5;

std::atomic<bool> adopts{false};

struct StartedChildren {
  absl::Mutex mutex;
  std::set<pid_t> pids ABSL_GUARDED_BY(mutex);
  // An orphan outlived a whole wait, and none has ended since.
  bool cannot_end ABSL_GUARDED_BY(mutex) = false;
};

StartedChildren& Started() {
  static auto* const started = new StartedChildren;
  return *started;
}

// Returns the children that any thread of this process has started or adopted.
std::vector<pid_t> ListChildren() {
  std::vector<pid_t> children;
  std::error_code error;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(thread.path() / "children");
    children.insert(children.end(), std::istream_iterator<pid_t>(file), {});
  }
  return children;
}

// Kills orphans. True: check again, since an orphan existed, or ended and left
// us its own children, which are not listed. `children` may be outdated. Under
// the lock only this thread starts or reaps children, so waitpid shows whether
// a pid is still a child's, and no other process can get it.
bool KillOrphans(const std::vector<pid_t>& children, StartedChildren* started)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(started->mutex) {
  bool found = false;
  for (const pid_t pid : children) {
    if (started->pids.count(pid) > 0) continue;
    // Background processes of a running program end with its group.
    if (started->pids.count(getpgid(pid)) > 0) continue;
    const pid_t ended = waitpid(pid, nullptr, WNOHANG);
    if (ended < 0) continue;
    if (ended == 0) kill(pid, SIGKILL);
    found = true;
  }
  return found;
}

// Returns this process's version 2 group, or "": from "0::" of
// /proc/self/cgroup, below the mount of the hybrid or unified hierarchy.
std::string OwnGroup(const std::string& root = "") {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "0::/")) continue;
    for (const char* mount : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
      const std::string path = absl::StrCat(root, mount, line.substr(3));
      // Version 1 has no such file.
      const std::string mark = absl::StrCat(path, "/cgroup.controllers");
      if (access(mark.c_str(), F_OK) == 0) return path;
    }
  }
  return "";
}

struct LeftGroups {
  absl::Mutex mutex;
  std::set<std::string> paths ABSL_GUARDED_BY(mutex);
};

}  // namespace

absl::Status AdoptOrphans() {
  if (access(absl::StrCat("/proc/self/task/", getpid(), "/children").c_str(),
             R_OK) != 0 ||
      prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    return absl::UnimplementedError(
        "this kernel does not list the children of a process "
        "(CONFIG_PROC_CHILDREN): what a hanging tool has started in another "
        "process group is not ended with it");
  }
  adopts = true;
  return absl::OkStatus();
}

// Fork under the lock: a child that is not recorded looks like an orphan.
pid_t StartChild(const std::function<pid_t()>& fork) {
  StartedChildren& started = Started();
  absl::MutexLock lock(&started.mutex);
  const pid_t pid = fork();
  if (pid > 0) started.pids.insert(pid);
  return pid;
}

// Reap under the lock: once reaped, its pid may be that of a new child.
pid_t ReapChild(pid_t pid, int* status) {
  StartedChildren& started = Started();
  absl::MutexLock lock(&started.mutex);
  const pid_t reaped = waitpid(pid, status, WNOHANG);
  if (reaped != 0) started.pids.erase(pid);
  return reaped;
}

void EndOrphans(absl::Duration limit) {
  if (!adopts) return;
  StartedChildren& started = Started();
  const auto until =
      std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(limit);
  while (true) {
    const std::vector<pid_t> children = ListChildren();
    {
      absl::MutexLock lock(&started.mutex);
      if (!KillOrphans(children, &started)) {
        started.cannot_end = false;
        return;
      }
      if (std::chrono::steady_clock::now() > until) started.cannot_end = true;
      if (started.cannot_end) return;
    }
    poll(nullptr, 0, kPollMs);
  }
}

absl::Status CheckProgramGroups(const std::string& root) {
  const std::string own = OwnGroup(root);
  const std::string path = absl::StrCat(own, "/program-", getpid());
  std::string why = "this process is in no control group of version 2";
  if (!own.empty() && mkdir(path.c_str(), 0755) != 0) {
    why = absl::StrCat(own, ": ", strerror(errno));
  } else if (!own.empty()) {
    const bool can_kill =
        access(absl::StrCat(path, "/cgroup.kill").c_str(), F_OK) == 0;
    rmdir(path.c_str());
    if (can_kill) return absl::OkStatus();
    why = "there is no cgroup.kill, expected Linux 5.14 or later";
  }
  return absl::UnimplementedError(absl::StrCat(
      "programs that run as a user have no control group of their own: ", why,
      "; processes that such a program leaves behind, and that multiply faster "
      "than they are killed, survive it"));
}

ProgramGroup::ProgramGroup(bool makes) {
  static std::atomic<uint64_t> last{0};
  const std::string own = makes ? OwnGroup() : "";
  if (own.empty()) return;
  path_ = absl::StrCat(own, "/program-", getpid(), "-", ++last);
  if (mkdir(path_.c_str(), 0755) != 0) {
    path_.clear();
    return;
  }
  members_ =
      open(absl::StrCat(path_, "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
}

void ProgramGroup::Kill() const {
  if (path_.empty()) return;
  const int fd =
      open(absl::StrCat(path_, "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, "1", 1);
  close(fd);
}

ProgramGroup::~ProgramGroup() {
  if (members_ >= 0) close(members_);
  Kill();
  if (path_.empty()) return;
  // Retries groups of earlier programs that could not be removed yet.
  static auto* const left = new LeftGroups;
  absl::MutexLock lock(&left->mutex);
  left->paths.insert(path_);
  for (auto path = left->paths.begin(); path != left->paths.end();) {
    path = rmdir(path->c_str()) == 0 ? left->paths.erase(path) : next(path);
  }
}

// If this fails the program runs without a group, and its orphans are killed.
void ProgramGroup::Enter() const {
  if (members_ >= 0) (void)!write(members_, "0", 1);
}

}  // namespace clusterd
