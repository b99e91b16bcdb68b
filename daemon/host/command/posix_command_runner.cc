#include "daemon/host/command/posix_command_runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "absl/base/attributes.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/owned_fd.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"
#include "daemon/host/command/orphans.h"
#include "daemon/host/command/private_view.h"
#include "daemon/host/command/program_path.h"

namespace clusterd {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Poll interval before Linux 5.3, which has no descriptor for a child's end.
constexpr absl::Duration kPollStep = absl::Milliseconds(10);
// A user with this many unkillable programs gets no further one.
constexpr int kMaxLeftOfUser = 8;
// Limit of what a grandchild may still write to a pipe after the child's end.
constexpr size_t kMaxDrainBytes = 2 * kMaxStreamBytes;
// Stack of a child in our memory; closefrom(3) alone needs 1 KiB.
constexpr size_t kChildStackBytes = 64 << 10;
#if defined(_GLIBCXX_TSAN)
// This sanitizer keeps records of a thread, which such a child would change.
constexpr bool kSharesMemory = false;
#else
constexpr bool kSharesMemory = true;
#endif

absl::Status ResourceStatus(absl::string_view program, absl::string_view what) {
  return UnavailableWords("about", program,
                          Worded("about", Term(what), Term(strerror(errno))));
}

// Moves `fd` above 0 to 2, which the child's own streams would overwrite.
OwnedFd AboveStandardStreams(OwnedFd fd) {
  if (!fd.is_open() || fd.get() > STDERR_FILENO) return fd;
  return OwnedFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

struct Pipe {
  OwnedFd read_end;
  OwnedFd write_end;
};

bool MakePipe(Pipe* made) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  made->read_end = AboveStandardStreams(OwnedFd(ends[0]));
  made->write_end = AboveStandardStreams(OwnedFd(ends[1]));
  return made->read_end.is_open() && made->write_end.is_open();
}

// A pipe for a child's stream; reads from it do not block.
bool MakeStreamPipe(Pipe* made) {
  return MakePipe(made) &&
         fcntl(made->read_end.get(), F_SETFL, O_NONBLOCK) == 0;
}

// One of the child's streams and what was read from it.
struct Stream {
  OwnedFd fd;
  std::string* text;
  bool* cut;
  size_t most;  // Limit of the bytes kept.
};

// Reads the available bytes, at most `limit`; closes the stream at its end.
void ReadAvailable(Stream& stream, size_t limit) {
  char buffer[16384];
  size_t total = 0;
  while (stream.fd.is_open() && total < limit) {
    const ssize_t got = read(stream.fd.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      stream.fd = OwnedFd();
      return;
    }
    total += got;
    const size_t fits = stream.most - stream.text->size();
    const size_t kept = std::min<size_t>(got, fits);
    stream.text->append(buffer, kept);
    if (kept < static_cast<size_t>(got)) *stream.cut = true;
  }
}

// Reason why a child has not become its program.
struct StartFailure {
  int error = 0;
  // Literal name of what was missing; null: the program itself failed.
  const char* lacked = nullptr;
};

absl::Status StartStatus(const std::string& program,
                         const StartFailure& failure) {
  if (failure.lacked != nullptr) {
    return PreconditionWords("about", Term(failure.lacked),
                             Term(strerror(failure.error)));
  }
  const FindingValue message =
      Worded("about", program, Term(strerror(failure.error)));
  switch (failure.error) {
    case ENOENT:
    case ENOTDIR:
      return WithWords(absl::NotFoundError(""), message);
    case EACCES:
    case EPERM:
    case ENOEXEC:
    case ELOOP:
      return WithWords(absl::PermissionDeniedError(""), message);
    case E2BIG:
    case EINVAL:
    case ENAMETOOLONG:
      return WithWords(absl::InvalidArgumentError(""), message);
    default:
      return WithWords(absl::UnavailableError(""), message);
  }
}

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) {
    pointers.push_back(const_cast<char*>(word.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Data that a child needs to become its program, made before it starts. A child
// in our memory reads it and has its stack in it, so this must exist until
// then.
struct Launch {
  // True: the child starts in our memory. Copying that (fork(2)) and giving the
  // copy back (execve(2)) takes several times as long as all the rest. A child
  // that becomes another user gets a copy: its rights must not reach our
  // memory.
  bool SharesMemory() const { return kSharesMemory && !user; }

  std::vector<std::string> words;
  std::vector<std::string> environment;
  std::optional<PrivateView> view;  // None: the program sees what we see.
  std::optional<RunAs> user;        // None: our own.
  const ProgramGroup* group;        // A user's program's.
  pid_t parent;
  std::vector<char*> argv;       // Point to `words`.
  std::vector<char*> variables;  // Point to `environment`.
  int standard_input;
  int standard_output;
  int standard_error;
  // Receives the StartFailure; closed by a program that started.
  int failure;
  std::unique_ptr<char[]> stack;
};

// Returns false with errno set.
bool TakeDescriptors(const Launch& launch, int failure) {
  if (dup2(launch.standard_input, STDIN_FILENO) < 0 ||
      dup2(launch.standard_output, STDOUT_FILENO) < 0 ||
      dup2(launch.standard_error, STDERR_FILENO) < 0) {
    return false;
  }
  if (launch.failure != failure &&
      dup3(launch.failure, failure, O_CLOEXEC) < 0) {
    return false;
  }
  // Closes what a library opened without O_CLOEXEC.
  closefrom(failure + 1);
  return true;
}

// Runs in the child of a process with threads, perhaps in that one's memory, so
// it takes no lock and changes nothing there but errno. AddressSanitizer would
// look for the end of the parent's stack.
[[noreturn]] ABSL_ATTRIBUTE_NO_SANITIZE_ADDRESS void BecomeProgram(
    const Launch& launch) {
  if (!launch.user) {
    setpgid(0, 0);
  } else {
    launch.group->Enter();
    // If memory runs out, the kernel kills the program before this daemon.
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) (void)!write(fd, "1000", 4);
  }
  // If the daemon ends, the tool must end too: otherwise it would change the
  // machine while the next start cannot know or undo that.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launch.parent) _exit(127);
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    sigaction(signal, &by_default, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  constexpr int kFailure = STDERR_FILENO + 1;
  int failure = launch.failure;
  StartFailure why;
  if (TakeDescriptors(launch, kFailure)) {
    failure = kFailure;
    if (launch.view) why.lacked = EnterPrivateView(*launch.view);
    if (why.lacked == nullptr && launch.user) {
      why.lacked = BecomeUser(*launch.user, launch.parent);
    }
    if (why.lacked == nullptr) {
      execve(launch.argv[0], launch.argv.data(), launch.variables.data());
    }
  }
  why.error = errno;
  // If this fails the parent sees a program that ended with 127.
  (void)!write(failure, &why, sizeof(why));
  _exit(127);
}

ABSL_ATTRIBUTE_NO_SANITIZE_ADDRESS int BecomeProgramOf(void* launch) {
  BecomeProgram(*static_cast<const Launch*>(launch));
}

// Returns the pid, or -1 with errno set. Signals are blocked meanwhile, so that
// no handler runs in the child.
pid_t StartBlocked(Launch& launch) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t pid;
  if (launch.SharesMemory()) {
    pid = clone(&BecomeProgramOf, launch.stack.get() + kChildStackBytes,
                CLONE_VM | SIGCHLD, &launch);
  } else {
    pid = fork();
    if (pid == 0) BecomeProgram(launch);
  }
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

// Rounds up, so that the last millisecond is not spent spinning.
int PollMilliseconds(absl::Duration wait) {
  return static_cast<int>(
      std::min<int64_t>(absl::ToInt64Milliseconds(wait) + 1, 60 * 60 * 1000));
}

// Returns the child's failure. No result: it has become its program, or has not
// by `end`, e.g. while that program's file system does not answer.
std::optional<StartFailure> ReadFailure(int fd, SteadyClock::time_point end) {
  while (true) {
    const absl::Duration left = absl::FromChrono(end - SteadyClock::now());
    if (left <= absl::ZeroDuration()) return std::nullopt;
    pollfd ready = {fd, POLLIN, 0};
    if (poll(&ready, 1, PollMilliseconds(left)) <= 0) continue;
    StartFailure failure;
    const ssize_t got = read(fd, &failure, sizeof(failure));
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof(failure)) return std::nullopt;
    return failure;
  }
}

// The SIGKILL is needed, since the new user may have stopped the child.
void ReapFailed(pid_t pid) {
  kill(pid, SIGKILL);
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  ReapChild(pid, nullptr);
}

// A started child until it has ended or is given up.
class Child {
 public:
  explicit Child(pid_t pid)
      : pid_(pid), pidfd_(OwnedFd(syscall(SYS_pidfd_open, pid, 0))) {}

  pid_t pid() const { return pid_; }

  // Reads both streams until the child has ended or `end` is reached. True: it
  // has ended and, unless it is lost, its pid is still its own (not reaped).
  bool Follow(Stream& out, Stream& err, SteadyClock::time_point end) {
    while (true) {
      if (HasEnded()) return true;
      const absl::Duration left = absl::FromChrono(end - SteadyClock::now());
      if (left <= absl::ZeroDuration()) return false;
      pollfd fds[3];
      int count = 0;
      for (const Stream* stream : {&out, &err}) {
        if (stream->fd.is_open()) fds[count++] = {stream->fd.get(), POLLIN, 0};
      }
      if (pidfd_.is_open()) fds[count++] = {pidfd_.get(), POLLIN, 0};
      const absl::Duration wait =
          pidfd_.is_open() ? left : std::min(left, kPollStep);
      poll(fds, count, PollMilliseconds(wait));
      ReadAvailable(out, kMaxStreamBytes);
      ReadAvailable(err, kMaxStreamBytes);
      // A user's tracer hides the program's end until it calls wait(2), and
      // meanwhile poll(2) returns at once for this descriptor.
      if (pidfd_.is_open() && fds[count - 1].revents != 0 && !HasEnded()) {
        pidfd_ = OwnedFd();
      }
    }
  }

  // Kills the child and those descendants that stayed in its group.
  void KillGroup() {
    if (is_lost_) return;
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
  }

  // REQUIRES: HasEnded(). False if the child is lost.
  bool Reap(CommandResult* result) {
    int status = 0;
    if (ReapChild(pid_, &status) != pid_) return false;
    if (WIFEXITED(status)) result->exit_status = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result->signal = WTERMSIG(status);
    return true;
  }

 private:
  bool HasEnded() {
    siginfo_t info = {};
    if (waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
      is_lost_ = errno == ECHILD;
      return is_lost_;
    }
    return info.si_pid == pid_;
  }

  const pid_t pid_;
  OwnedFd pidfd_;  // Closed before Linux 5.3.
  // Other code reaped the child: the pid may be another process's by now.
  bool is_lost_ = false;
};

absl::Status CheckWords(const Command& command) {
  if (command.argv.empty()) {
    return absl::InvalidArgumentError("command: no words");
  }
  if (!absl::StartsWith(command.argv[0], "/")) {
    return InvalidArgument("command: program \"", command.argv[0],
                           "\", expected an absolute path");
  }
  for (const std::string& word : command.argv) {
    if (word.find('\0') != std::string::npos) {
      return InvalidArgument(command.argv[0], ": a word contains a NUL");
    }
  }
  return absl::OkStatus();
}

// Returns the program's input as a file, which its descriptor can reopen.
OwnedFd OpenInput(const std::string& text) {
  if (text.empty()) return OwnedFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  OwnedFd file(
      static_cast<int>(syscall(SYS_memfd_create, "input", 1U /* CLOEXEC */)));
  if (!file.is_open() || pwrite(file.get(), text.data(), text.size(), 0) !=
                             static_cast<ssize_t>(text.size())) {
    return OwnedFd();
  }
  return file;
}

absl::StatusOr<std::shared_ptr<Launch>> MakeLaunch(
    const Command& command, const std::vector<std::string>& environment,
    const ProgramGroup& group) {
  auto launch = std::make_shared<Launch>();
  launch->words = command.argv;
  launch->environment = environment;
  if (command.instead.has_value()) {
    ASSIGN_OR_RETURN(launch->view, MakePrivateView(*command.instead));
  }
  if (command.as.has_value()) launch->user = *command.as;
  launch->group = &group;
  launch->parent = getpid();
  launch->argv = Pointers(launch->words);
  launch->variables = Pointers(launch->environment);
  // Not make_unique, which would write to all of it.
  if (launch->SharesMemory()) launch->stack.reset(new char[kChildStackBytes]);
  return launch;
}

// Returns the pid, with the read ends in `out` and `err`. `launch` must exist
// until that child has ended.
absl::StatusOr<pid_t> Start(const Command& command, Launch& launch,
                            SteadyClock::time_point end, Stream& out,
                            Stream& err) {
  const std::string& program = command.argv[0];
  const OwnedFd input = AboveStandardStreams(OpenInput(command.input));
  if (!input.is_open()) return ResourceStatus(program, "standard input");
  Pipe out_pipe;
  Pipe err_pipe;
  Pipe failure;
  if (!MakeStreamPipe(&out_pipe) || !MakeStreamPipe(&err_pipe) ||
      !MakePipe(&failure)) {
    return ResourceStatus(program, "pipe");
  }
  launch.standard_input = input.get();
  launch.standard_output = out_pipe.write_end.get();
  launch.standard_error = err_pipe.write_end.get();
  launch.failure = failure.write_end.get();
  const pid_t pid = StartChild([&launch] { return StartBlocked(launch); });
  if (pid < 0) return StartStatus(program, {errno, nullptr});
  failure.write_end = OwnedFd();
  if (const auto why = ReadFailure(failure.read_end.get(), end)) {
    ReapFailed(pid);
    return StartStatus(program, *why);
  }
  out.fd = std::move(out_pipe.read_end);
  err.fd = std::move(err_pipe.read_end);
  return pid;
}

}  // namespace

PosixCommandRunner::PosixCommandRunner(absl::string_view driver_libraries,
                                       absl::Duration kill_grace)
    : driver_libraries_(
          absl::StrSplit(driver_libraries, ':', absl::SkipEmpty())),
      kill_grace_(kill_grace) {}

absl::StatusOr<std::vector<std::string>> PosixCommandRunner::EnvironmentOf(
    const Command& command) const {
  std::vector<std::string> environment = {kSearchPath, "LC_ALL=C"};
  if (command.as.has_value()) {
    const auto& [name, home] = std::tie(command.as->name, command.as->home);
    environment.insert(environment.end(), {absl::StrCat("HOME=", home),
                                           absl::StrCat("USER=", name),
                                           absl::StrCat("LOGNAME=", name)});
    return environment;
  }
  if (!command.needs_driver) return environment;
  std::vector<std::string> folders;
  for (const std::string& folder : driver_libraries_) {
    const absl::Status checked = CheckFolder(folder);
    if (absl::IsNotFound(checked)) continue;
    RETURN_IF_ERROR(checked);
    folders.push_back(folder);
  }
  if (!folders.empty()) {
    environment.push_back(
        absl::StrCat("LD_LIBRARY_PATH=", absl::StrJoin(folders, ":")));
  }
  return environment;
}

absl::StatusOr<CommandResult> PosixCommandRunner::Run(const Command& command) {
  RETURN_IF_ERROR(CheckWords(command));
  // Reaps children that were left behind and have ended since.
  {
    absl::MutexLock lock(&mutex_);
    DropIf(&left_behind_,
           [](const auto& each) { return ReapChild(each.pid, nullptr) != 0; });
  }
  CommandResult result;
  if (command.deadline <= absl::ZeroDuration()) {
    result.timed_out = true;
    return result;
  }
  const SteadyClock::time_point begin = SteadyClock::now();
  const size_t most = command.max_stream_bytes;
  Stream out = {OwnedFd(), &result.standard_output, &result.output_cut, most};
  Stream err = {OwnedFd(), &result.standard_error, &result.output_cut, most};
  ASSIGN_OR_RETURN(const std::vector<std::string> environment,
                   EnvironmentOf(command));
  RETURN_IF_ERROR(CheckLeftBehind(command));
  const ProgramGroup group(/*makes=*/command.as.has_value());
  const SteadyClock::time_point end =
      begin + absl::ToChronoNanoseconds(
                  std::min<absl::Duration>(command.deadline, absl::Hours(24)));
  ASSIGN_OR_RETURN(const std::shared_ptr<Launch> launch,
                   MakeLaunch(command, environment, group));
  ASSIGN_OR_RETURN(const pid_t pid, Start(command, *launch, end, out, err));
  Child child(pid);
  result.pid = pid;
  bool ended = child.Follow(out, err, end);
  result.timed_out = !ended;
  child.KillGroup();
  if (!ended) {
    ended = child.Follow(
        out, err, SteadyClock::now() + absl::ToChronoNanoseconds(kill_grace_));
  }
  ReadAvailable(out, kMaxDrainBytes);
  ReadAvailable(err, kMaxDrainBytes);
  result.elapsed = absl::FromChrono(SteadyClock::now() - begin);
  if (!ended) {
    result.left_running = true;
    absl::MutexLock lock(&mutex_);
    left_behind_.push_back(
        {pid, command.as ? std::make_optional(command.as->uid) : std::nullopt,
         launch});
    return result;
  }
  const bool reaped = child.Reap(&result);
  group.Kill();
  EndOrphans(kill_grace_);
  if (reaped) return result;
  return InFront(command.argv[0], UnavailableWords("msg-step-status-taken"));
}

// A user's unresponsive file system keeps its readers alive, and a tracer its
// traced programs until wait(2). Each counts among the tasks of the service.
absl::Status PosixCommandRunner::CheckLeftBehind(const Command& command) {
  if (!command.as.has_value()) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  const auto left = std::count_if(
      left_behind_.begin(), left_behind_.end(),
      [&](const auto& each) { return each.uid == command.as->uid; });
  if (left < kMaxLeftOfUser) return absl::OkStatus();
  return InFront(command.argv[0], UnavailableWords("msg-step-left-behind", left,
                                                   command.as->name));
}

}  // namespace clusterd
