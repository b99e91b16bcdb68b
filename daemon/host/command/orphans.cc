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
#include <string>
#include <system_error>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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

// Whether the process has no variables at all, as the kernel says. A program
// that is being started has none that can be read until it has its own; then
// this is false.
bool HasNoVariables(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // Behind the name, which may hold anything, come the words from the third on
  // of proc(5): begin and end of the variables are the 50th and the 51st.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return true;  // It has ended.
  const std::vector<std::string> words =
      absl::StrSplit(text.substr(name_end + 1), ' ', absl::SkipWhitespace());
  constexpr size_t kBegin = 50 - 3;
  return words.size() <= kBegin + 1 ||
         (words[kBegin] == words[kBegin + 1] && words[kBegin] != "0");
}

enum class Search { kFound, kNotFound, kTooEarly };

Search FindWord(pid_t pid, const std::string& word) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/environ"), std::ios::binary);
  if (!file.is_open()) return Search::kNotFound;
  bool is_empty = true;
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable == word) return Search::kFound;
    is_empty = false;
  }
  return is_empty && !HasNoVariables(pid) ? Search::kTooEarly
                                          : Search::kNotFound;
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
    bool look_again = false;
    {
      absl::MutexLock lock(&started.mutex);
      for (const pid_t pid : ListChildren()) {
        if (started.pids.count(pid) > 0) continue;
        const pid_t ended = waitpid(pid, nullptr, WNOHANG);
        // Its own children became ours with its end, and are not in the list.
        if (ended > 0) look_again = true;
        if (ended != 0) continue;
        // A child that has not been waited for keeps its pid.
        const Search search = FindWord(pid, word);
        if (search == Search::kFound) kill(pid, SIGKILL);
        if (search != Search::kNotFound) look_again = true;
      }
    }
    if (!look_again || std::chrono::steady_clock::now() > until) return;
    poll(nullptr, 0, kLookAgainMs);
  }
}

}  // namespace clusterd
