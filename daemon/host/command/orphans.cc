#include "daemon/host/command/orphans.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace clusterd {
namespace {

constexpr int kLookAgainMs = 5;

std::atomic<bool> adopts{false};
std::atomic<uint64_t> last_command{0};

struct StartedChildren {
  absl::Mutex mutex;
  std::set<pid_t> pids ABSL_GUARDED_BY(mutex);
};

StartedChildren& Started() {
  static auto* const started = new StartedChildren;
  return *started;
}

// Children that any thread of this process has started or taken over.
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

bool HasWord(pid_t pid, const std::string& word) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/environ"), std::ios::binary);
  std::string variable;
  while (std::getline(file, variable, '\0')) {
    if (variable == word) return true;
  }
  return false;
}

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

std::string NewCommandWord() {
  return adopts
             ? absl::StrCat("CLUSTERD_COMMAND=", getpid(), ".", ++last_command)
             : "";
}

// Under one lock: a child that is not noted yet would pass for an orphan.
pid_t StartChild(const std::function<pid_t()>& fork) {
  StartedChildren& started = Started();
  absl::MutexLock lock(&started.mutex);
  const pid_t pid = fork();
  if (pid > 0) started.pids.insert(pid);
  return pid;
}

void ForgetChild(pid_t pid) {
  StartedChildren& started = Started();
  absl::MutexLock lock(&started.mutex);
  started.pids.erase(pid);
}

void EndOrphans(const std::string& word, absl::Duration limit) {
  if (!adopts || word.empty()) return;
  StartedChildren& started = Started();
  const auto until =
      std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(limit);
  while (true) {
    bool found = false;
    {
      absl::MutexLock lock(&started.mutex);
      for (const pid_t pid : ListChildren()) {
        // A child that has not been waited for keeps its pid.
        if (started.pids.count(pid) > 0 ||
            waitpid(pid, nullptr, WNOHANG) != 0 || !HasWord(pid, word)) {
          continue;
        }
        found = true;
        kill(pid, SIGKILL);
      }
    }
    if (!found || std::chrono::steady_clock::now() > until) return;
    poll(nullptr, 0, kLookAgainMs);
  }
}

}  // namespace clusterd
