#include "tests/e2e/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

void Drain(int* fd, std::string* into) {
  char buffer[65536];
  const ssize_t got = read(*fd, buffer, sizeof(buffer));
  if (got > 0) {
    into->append(buffer, static_cast<size_t>(got));
    return;
  }
  close(*fd);
  *fd = -1;
}

}  // namespace

Process::Process(std::vector<std::string> argv,
                 std::vector<std::string> environment) {
  environment.push_back("PATH=/usr/sbin:/usr/bin:/sbin:/bin");
  std::vector<char*> arguments = Pointers(argv);
  std::vector<char*> variables = Pointers(environment);
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
    std::perror("pipe2");
    std::abort();
  }
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execve(arguments[0], arguments.data(), variables.data());
    std::perror(arguments[0]);
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  out_ = out[0];
  err_ = err[0];
  if (pid_ < 0) {
    std::perror("fork");
    std::abort();
  }
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) close(out_);
  if (err_ >= 0) close(err_);
}

bool Process::Pump(absl::Time until) {
  pollfd fds[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  if (out_ < 0 && err_ < 0) return false;
  const absl::Duration left = until - absl::Now();
  if (left <= absl::ZeroDuration()) return false;
  const int ready =
      poll(fds, 2, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
  if (ready <= 0) return ready < 0;
  if (fds[0].revents != 0) Drain(&out_, &result_.standard_output);
  if (fds[1].revents != 0) Drain(&err_, &result_.standard_error);
  return true;
}

absl::Status Process::WaitForError(const std::string& text,
                                   absl::Duration limit) {
  const absl::Time until = absl::Now() + limit;
  while (true) {
    const size_t found = result_.standard_error.find(text, searched_);
    if (found != std::string::npos) {
      searched_ = found + text.size();
      return absl::OkStatus();
    }
    if (Pump(until)) continue;
    const std::string said =
        absl::StrCat("\"", text, "\" never came; it said:\n",
                     result_.standard_error, result_.standard_output);
    return err_ < 0 ? absl::UnavailableError(said)
                    : absl::DeadlineExceededError(said);
  }
}

void Process::ExpectError(const std::string& text, absl::Duration limit) {
  const absl::Status found = WaitForError(text, limit);
  EXPECT_TRUE(found.ok()) << found;
}

absl::Status Process::WaitForErrorLine(const std::string& text,
                                       std::string* rest,
                                       absl::Duration limit) {
  absl::Status found = WaitForError(text, limit);
  if (!found.ok()) return found;
  const size_t begin = searched_;
  found = WaitForError("\n", limit);
  if (!found.ok()) return found;
  *rest = result_.standard_error.substr(begin, searched_ - 1 - begin);
  return found;
}

void Process::Signal(int signal) {
  if (pid_ > 0) kill(pid_, signal);
}

ProcessResult Process::Wait(absl::Duration limit) {
  const absl::Time until = absl::Now() + limit;
  while (Pump(until)) {
  }
  if (pid_ < 0) return result_;
  if (out_ >= 0 || err_ >= 0) {
    absl::StrAppend(&result_.standard_error, "\n(killed by the test after ",
                    absl::FormatDuration(limit), ")\n");
    kill(pid_, SIGKILL);
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  if (WIFEXITED(status)) result_.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result_.signal = WTERMSIG(status);
  return result_;
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", pid, "/task"), error)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child; children >> child;) found.push_back(child);
  }
  return found;
}

ProcessResult RunProgram(std::vector<std::string> argv,
                         std::vector<std::string> environment,
                         absl::Duration limit) {
  return Process(std::move(argv), std::move(environment)).Wait(limit);
}

}  // namespace clusterd
