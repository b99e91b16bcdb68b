#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "config/values/status_macros.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "daemon/controller/notify/news_sender.h"

namespace clusterd {
namespace {

using Steady = std::chrono::steady_clock;

constexpr size_t kKeptOutput = 4096;
// The wait after SIGKILL; a process that the kernel still holds is left behind.
constexpr absl::Duration kReapGrace = absl::Seconds(1);
// How often to check if the kernel cannot report a child's end through a
// descriptor (before Linux 5.3).
constexpr absl::Duration kAskStep = absl::Milliseconds(10);

absl::Status NothingToHave(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno)));
}

// An unnamed file with `text`, positioned at its start.
absl::StatusOr<OwnedFd> FileOf(absl::string_view text) {
  OwnedFd file(memfd_create("news", MFD_CLOEXEC));
  if (file.get() < 0) return NothingToHave("memory");
  if (!WriteAll(file.get(), text) || lseek(file.get(), 0, SEEK_SET) != 0) {
    return NothingToHave("memory");
  }
  return file;
}

absl::Status StartError(const std::string& program, int error) {
  const std::string message = absl::StrCat(program, ": ", strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return absl::UnavailableError(message);
    default:
      return absl::PermissionDeniedError(message);
  }
}

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& argv, int input,
                            int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  const auto freed = absl::MakeCleanup([&] {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  });
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  // Descriptors that a library opened without O_CLOEXEC are not inherited.
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawn_file_actions_addchdir_np(&actions, "/");
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF |
                                            POSIX_SPAWN_SETPGROUP);
  std::vector<char*> words;
  for (const std::string& word : argv) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  char path[] =
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  char language[] = "LC_ALL=C.UTF-8";
  char* const environment[] = {path, language, nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, words[0], &actions, &attributes,
                                words.data(), environment);
  if (error != 0) return StartError(argv[0], error);
  return pid;
}

// Reads the available output, and keeps its beginning.
void ReadSome(int fd, std::string* output) {
  char buffer[4096];
  ssize_t got;
  // Bounded, since a program may write endlessly.
  for (int times = 0; times < 16; ++times) {
    got = read(fd, buffer, sizeof(buffer));
    if (got <= 0) return;
    output->append(buffer, std::min(static_cast<size_t>(got),
                                    kKeptOutput - output->size()));
  }
}

bool HasExited(pid_t pid) {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(pid), &info,
                WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == pid;
}

enum class Ended { kItself, kDeadline, kStop };

// Watches the child until one of these happens.
Ended Follow(pid_t pid, int output, int stop, absl::Duration deadline,
             std::string* text) {
  const OwnedFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  const auto end = Steady::now() + absl::ToChronoNanoseconds(deadline);
  while (!HasExited(pid)) {
    const absl::Duration left = absl::FromChrono(end - Steady::now());
    if (left <= absl::ZeroDuration()) return Ended::kDeadline;
    // poll() ignores descriptors of -1.
    pollfd fds[] = {
        {output, POLLIN, 0}, {stop, POLLIN, 0}, {pidfd.get(), POLLIN, 0}};
    const absl::Duration wait =
        pidfd.get() >= 0 ? left : std::min(left, kAskStep);
    poll(fds, 3, static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1);
    if (fds[1].revents != 0) return Ended::kStop;
    if ((fds[0].revents & POLLIN) != 0) ReadSome(output, text);
    if ((fds[0].revents & ~POLLIN) != 0) output = -1;  // Its writers are gone.
  }
  return Ended::kItself;
}

// Its exit status from waitpid; nullopt if it still runs.
std::optional<int> Reap(pid_t pid) {
  int status = 0;
  const auto end = Steady::now() + absl::ToChronoNanoseconds(kReapGrace);
  // Checks at least once, however late: most children have already ended.
  while (true) {
    const bool last = Steady::now() >= end;
    const pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) return status;
    if (last || (got < 0 && errno != EINTR)) return std::nullopt;
    poll(nullptr, 0, static_cast<int>(absl::ToInt64Milliseconds(kAskStep)));
  }
}

}  // namespace

absl::StatusOr<std::string> RunNotifierCommand(
    const std::vector<std::string>& argv, absl::string_view input,
    absl::Duration deadline, int stop) {
  ASSIGN_OR_RETURN(const OwnedFd news, FileOf(input));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return NothingToHave("pipe");
  const OwnedFd output(ends[0]);
  OwnedFd written(ends[1]);
  if (fcntl(output.get(), F_SETFL, O_NONBLOCK) != 0) {
    return NothingToHave("pipe");
  }
  ASSIGN_OR_RETURN(const pid_t pid, Spawn(argv, news.get(), written.get()));
  written = OwnedFd();
  std::string text;
  const Ended ended = Follow(pid, output.get(), stop, deadline, &text);
  // Also kills its children: the group id is valid until the child is reaped.
  kill(-pid, SIGKILL);
  const std::optional<int> status = Reap(pid);
  ReadSome(output.get(), &text);
  const absl::string_view said = absl::StripAsciiWhitespace(text);
  const std::string line = PrintableText(said.substr(0, said.find('\n')));
  const auto failed = [&line](const absl::AlphaNum& how) {
    return absl::StrCat(how, Part(": ", line));
  };
  if (ended == Ended::kStop) {
    return absl::CancelledError("the controller is stopping");
  }
  if (ended == Ended::kDeadline) {
    return absl::DeadlineExceededError(failed(absl::StrCat(
        "not done in ", absl::FormatDuration(deadline), " and killed")));
  }
  if (status.has_value() && WIFEXITED(*status)) {
    const int code = WEXITSTATUS(*status);
    if (code == 0) return line;
    return absl::Status(code == EX_TEMPFAIL
                            ? absl::StatusCode::kUnavailable
                            : absl::StatusCode::kFailedPrecondition,
                        failed(absl::StrCat("exit status ", code)));
  }
  return absl::FailedPreconditionError(failed(
      status.has_value() ? absl::StrCat("ended by signal ", WTERMSIG(*status))
                         : "its end is not known"));
}

}  // namespace clusterd
