#include "tests/sim/fault/simulated_process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <spawn.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

extern char** environ;

namespace clusterd::sim {
namespace {

// Descriptors that the caller may have passed on, e.g. a shell's pipe.
constexpr int kMaxInherited = 256;

// A descriptor of inotify for the folder around the server's, which reports
// removals; -1: "/" cannot be removed.
int WatchFor(const std::filesystem::path& folder) {
  if (folder == "/") return -1;
  const int watch = inotify_init1(IN_CLOEXEC);
  inotify_add_watch(watch, folder.parent_path().c_str(),
                    IN_DELETE | IN_MOVED_FROM);
  return watch;
}

// Returns once the folder is gone.
void WaitForEnd(const std::filesystem::path& folder, int watch) {
  alignas(inotify_event) char events[sizeof(inotify_event) + NAME_MAX + 1];
  std::error_code error;
  while (watch < 0 || std::filesystem::exists(folder, error)) {
    if (watch < 0) {
      pause();
    } else if (read(watch, events, sizeof(events)) < 0 && errno != EINTR) {
      return;
    }
  }
}

// The process itself. Writes 0, or the errno of `hold`, to `ready`.
[[noreturn]] void BeProcess(const std::filesystem::path& folder,
                            const std::string& name,
                            const std::function<int()>& hold, int ready) {
  setsid();
  prctl(PR_SET_NAME, name.c_str());
  const int held = hold();
  const int error = held < 0 ? errno : 0;
  const int watch = WatchFor(folder);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  if (chdir("/") != 0 || write(ready, &error, sizeof(error)) < 0) _exit(1);
  for (int fd = 3; fd < kMaxInherited; ++fd) {
    if (fd != held && fd != watch) close(fd);
  }
  if (error == 0) WaitForEnd(folder, watch);
  _exit(0);
}

absl::Status StartProcess(const HostFolder& server, const std::string& name,
                          const std::string& what,
                          const std::function<int()>& hold) {
  std::error_code unknown;
  const auto folder = std::filesystem::canonical(server.root(), unknown);
  int ready[2];
  if (unknown || pipe2(ready, O_CLOEXEC) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(server.root(), ": no process of this server"));
  }
  const pid_t child = fork();
  if (child == 0) BeProcess(folder, name, hold, ready[1]);
  close(ready[1]);
  int error = EAGAIN;
  if (child > 0 && read(ready[0], &error, sizeof(error)) < 0) error = errno;
  close(ready[0]);
  if (error == 0) return absl::OkStatus();
  if (child > 0) waitpid(child, nullptr, 0);
  return absl::ErrnoToStatus(error, what);
}

int ListenOn(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in any = {};
  any.sin_family = AF_INET;
  any.sin_port = htons(static_cast<uint16_t>(port));
  const bool listens =
      fd >= 0 &&
      bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof(any)) == 0 &&
      listen(fd, 1) == 0;
  return listens ? fd : -1;
}

}  // namespace

absl::Status StartListener(const HostFolder& server, int port) {
  return StartProcess(server, "simulated", absl::StrCat("TCP port ", port),
                      [port] { return ListenOn(port); });
}

absl::Status StartDeviceUser(const HostFolder& server, int device,
                             const std::string& name) {
  const std::string node = server.Path(absl::StrCat("dev/davinci", device));
  // A file system may forbid nodes; their users are visible anyway.
  return StartProcess(server, name, node, [&node] {
    return open(node.c_str(), O_PATH | O_CLOEXEC);
  });
}

absl::Status RunHere(const std::vector<std::string>& argv) {
  std::vector<char*> words;
  for (const std::string& word : argv) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY,
                                   0);
  pid_t child;
  const int error =
      posix_spawnp(&child, words[0], &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  int status = -1;
  if (error == 0) waitpid(child, &status, 0);
  if (error == 0 && status == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("`", absl::StrJoin(argv, " "), "`: ",
                   error != 0 ? std::string(strerror(error))
                              : absl::StrCat("status ", WEXITSTATUS(status))));
}

}  // namespace clusterd::sim
