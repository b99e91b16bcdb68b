#include "tests/sim/tool_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace clusterd::sim {
namespace {

// The child's status for "could not become the tool".
constexpr int kNotStarted = 126;

// Data that is needed after fork, made before it.
struct Launch {
  int tool = -1;
  std::vector<char*> argv;
  std::vector<char*> environment;
  int in = -1;
  int out = -1;
  int err = -1;
};

std::vector<char*> Pointers(std::vector<std::string>* texts) {
  std::vector<char*> pointers;
  for (std::string& text : *texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void BecomeTool(const std::string& path, const Launch& launch,
                             const PrivateRoot& root, const RunSetup& setup) {
  dup2(launch.in, STDIN_FILENO);
  dup2(launch.out, STDOUT_FILENO);
  dup2(launch.err, STDERR_FILENO);
  if (chdir("/") == 0 && EnterPrivateRoot(root, setup)) {
    // Another user may not see the folder that the tool is in.
    if (setup.uid) {
      fexecve(launch.tool, launch.argv.data(), launch.environment.data());
    } else {
      execve(path.c_str(), launch.argv.data(), launch.environment.data());
    }
  }
  _exit(kNotStarted);
}

// A file, so that the tool can read without a writer.
int InputFile(const std::string& folder, const std::string& text) {
  const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  const ssize_t wrote = write(fd, text.data(), text.size());
  if (wrote != static_cast<ssize_t>(text.size()) ||
      lseek(fd, 0, SEEK_SET) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

// False at the end of the stream.
bool ReadSome(int fd, std::string* text) {
  char buffer[4096];
  const ssize_t got = read(fd, buffer, sizeof(buffer));
  if (got > 0) text->append(buffer, got);
  return got > 0 || (got < 0 && errno == EINTR);
}

void CloseIfOpen(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

}  // namespace

ToolProcess::~ToolProcess() {
  if (pid_ > 0 && !exit_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  CloseIfOpen(&out_);
  CloseIfOpen(&err_);
}

absl::Status ToolProcess::Start(const std::string& tool,
                                const std::vector<std::string>& argv,
                                const std::string& standard_input,
                                const PrivateRoot& root,
                                const RunSetup& setup) {
  std::vector<std::string> words = argv;
  std::vector<std::string> variables = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "LANG=C", "TZ=UTC", absl::StrCat("HCCN_SIM_ROOT=", root.path())};
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  if (pipe2(err, O_CLOEXEC) != 0) {
    const int error = errno;
    close(out[0]);
    close(out[1]);
    return absl::ErrnoToStatus(error, "pipe");
  }
  Launch launch;
  launch.argv = Pointers(&words);
  launch.environment = Pointers(&variables);
  launch.out = out[1];
  launch.err = err[1];
  launch.in = InputFile(root.path(), standard_input);
  launch.tool = open(tool.c_str(), O_RDONLY);
  pid_ = launch.in < 0 || launch.tool < 0 ? -1 : fork();
  if (pid_ == 0) BecomeTool(tool, launch, root, setup);
  const int error = errno;
  CloseIfOpen(&launch.in);
  CloseIfOpen(&launch.tool);
  close(out[1]);
  close(err[1]);
  out_ = out[0];
  err_ = err[0];
  if (pid_ < 0) return absl::ErrnoToStatus(error, tool);
  return absl::OkStatus();
}

bool ToolProcess::TryReap() {
  if (exit_) return true;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return true;
}

void ToolProcess::Pump(absl::Duration time) {
  const absl::Time until = absl::Now() + time;
  while (!exit_) {
    const absl::Duration left = until - absl::Now();
    if (left <= absl::ZeroDuration()) return;
    if (out_ < 0 && err_ < 0) {
      // Both streams have ended, so the end is near; it has no descriptor.
      if (TryReap()) return;
      absl::SleepFor(absl::Milliseconds(1));
      continue;
    }
    pollfd streams[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
    const int wait_ms = static_cast<int>(absl::ToInt64Milliseconds(left)) + 1;
    if (poll(streams, 2, wait_ms) <= 0) continue;
    if (streams[0].revents && !ReadSome(out_, &result_.standard_output)) {
      CloseIfOpen(&out_);
    }
    if (streams[1].revents && !ReadSome(err_, &result_.standard_error)) {
      CloseIfOpen(&err_);
    }
  }
}

// The state follows the name, which may hold anything:
//   4711 (sh) S 4710 …
bool ToolProcess::IsAsleep() const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/stat"));
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.size() > name_end + 2 &&
         stat[name_end + 2] == 'S';
}

void ToolProcess::PumpUntilAsleep(absl::Duration limit) {
  const absl::Time until = absl::Now() + limit;
  while (!exit_ && !IsAsleep() && absl::Now() < until) {
    Pump(absl::Milliseconds(5));
  }
  // Earlier output is in the pipes.
  Pump(absl::Milliseconds(5));
}

ToolResult ToolProcess::Finish(absl::Duration limit) {
  Pump(limit);
  result_.exit = exit_;
  return result_;
}

}  // namespace clusterd::sim
