// Loads the machine while tests run beside it (tests/steady.sh): busy
// processors, thousands of sockets, hundreds of processes and mounts that come
// and go, and a page cache that is full. It does not know the tests.
//   load FOLDER SECONDS
// Prints "loaded" once all of it is there. SIGTERM, SIGINT, the end of the time
// or of its parent ends it: children by their pid, mounts by their path. FOLDER
// is its own and must exist; its mounts and its one file are below it. The exit
// status is 1 if a part of the load could not begin or has ended early.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace clusterd {
namespace {

// The bounds. More sockets than any limit of the product that counts them.
constexpr size_t kConnections = 6000;
constexpr size_t kDescriptorsKept = 200;
constexpr int kProcesses = 300;
constexpr int kMounts = 200;
constexpr uint64_t kMaxFileBytes = uint64_t{32} << 30;

volatile sig_atomic_t must_end = 0;

void EndSoon(int) { must_end = 1; }

// Runs `work` in a process of its own, which ends with this one.
pid_t Start(const std::function<void()>& work) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  work();
  _exit(0);
}

void Spin() {
  volatile uint64_t count = 0;
  while (true) count = count + 1;
}

// A listener on loopback at a port that the kernel chooses.
int Listen(sockaddr_in* address) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  *address = {};
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(*address);
  auto* const any = reinterpret_cast<sockaddr*>(address);
  if (bind(fd, any, size) != 0 || listen(fd, 128) != 0 ||
      getsockname(fd, any, &size) != 0) {
    std::perror("load: listener");
  }
  return fd;
}

// Both ends of as many connections as the descriptor limit allows, some of
// which end and begin again all the time. Reports it through `ready`.
void HoldSockets(int ready) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const size_t most = limit.rlim_cur > 2 * kDescriptorsKept
                          ? (limit.rlim_cur - kDescriptorsKept) / 2
                          : kDescriptorsKept;
  sockaddr_in address;
  const int listener = Listen(&address);
  std::vector<std::pair<int, int>> held(std::min(kConnections, most), {-1, -1});
  bool full = false;
  for (size_t at = 0;; at = (at + 1) % held.size()) {
    auto& [ours, theirs] = held[at];
    close(ours);
    close(theirs);
    theirs = -1;
    ours = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(ours, reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) != 0) {
      absl::SleepFor(absl::Milliseconds(10));
      continue;
    }
    theirs = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (full) absl::SleepFor(absl::Milliseconds(20));
    if (!full && at + 1 == held.size()) {
      full = true;
      if (write(ready, "s", 1) != 1) return;
    }
  }
}

// Short-lived processes, beside those that stay.
void StartPrograms() {
  while (true) {
    const pid_t pid = Start([] { execl("/bin/true", "true", nullptr); });
    if (pid > 0) waitpid(pid, nullptr, 0);
    absl::SleepFor(absl::Milliseconds(5));
  }
}

std::string MountPath(const std::string& folder, int number) {
  return absl::StrCat(folder, "/mount", number);
}

// The rest of the machine sees them, as it would those of containers.
void HoldMounts(const std::string& folder, int ready) {
  for (int at = 0;; at = (at + 1) % kMounts) {
    static bool full = false;
    const std::string path = MountPath(folder, at);
    if (full) umount2(path.c_str(), MNT_DETACH);
    mkdir(path.c_str(), 0700);
    if (mount("load", path.c_str(), "tmpfs", 0, "size=64k") != 0 && at == 0) {
      std::perror("load: mount (needs root)");
    }
    if (full) absl::SleepFor(absl::Milliseconds(50));
    if (!full && at + 1 == kMounts) {
      full = true;
      if (write(ready, "m", 1) != 1) return;
    }
  }
}

// A file as large as the memory, or half of the free disk at most, written once
// and then read forever. Every other page makes room for it.
void FillPageCache(const std::string& folder, int ready) {
  struct sysinfo memory = {};
  sysinfo(&memory);
  struct statvfs disk = {};
  statvfs(folder.c_str(), &disk);
  const uint64_t bytes =
      std::min({kMaxFileBytes, uint64_t{memory.totalram} * memory.mem_unit,
                uint64_t{disk.f_bavail} * disk.f_frsize / 2});
  const std::string path = absl::StrCat(folder, "/pages");
  const int fd = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return std::perror(path.c_str());
  unlink(path.c_str());  // Removed now, so that it ends with this process.
  std::vector<char> block(1 << 20, 'x');
  uint64_t written = 0;
  while (written < bytes && write(fd, block.data(), block.size()) > 0) {
    written += block.size();
  }
  if (write(ready, "p", 1) != 1) return;
  while (true) {
    lseek(fd, 0, SEEK_SET);
    do {
      absl::SleepFor(absl::Milliseconds(1));
    } while (read(fd, block.data(), block.size()) > 0);
  }
}

// Children never end on their own; a signal to all of the group ends them, too.
// Leaves one that has ended to be waited for, so that its pid stays its own.
bool AllRun() {
  siginfo_t ended = {};
  const bool known = waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0;
  return must_end != 0 || (known && ended.si_pid == 0);
}

// Waits until this many children have written to `ready`, or the load ends.
void WaitReady(int ready, int count) {
  while (count > 0 && must_end == 0 && AllRun()) {
    pollfd readable = {ready, POLLIN, 0};
    char byte;
    if (poll(&readable, 1, 100) > 0 && read(ready, &byte, 1) == 1) --count;
  }
}

// Adds nothing if fork fails: kill(-1) would signal every process.
bool StartInto(std::vector<pid_t>* children,
               const std::function<void()>& work) {
  const pid_t pid = Start(work);
  if (pid < 0) {
    std::perror("load: fork");
    return false;
  }
  children->push_back(pid);
  return true;
}

bool StartAll(const std::string& folder, int ready,
              std::vector<pid_t>* children) {
  bool started = StartInto(children, [&] { HoldSockets(ready); }) &&
                 StartInto(children, [&] { HoldMounts(folder, ready); }) &&
                 StartInto(children, [&] { FillPageCache(folder, ready); }) &&
                 StartInto(children, StartPrograms);
  for (int i = 0; i < kProcesses && started; ++i) {
    started = StartInto(children, [] {
      while (true) pause();
    });
  }
  for (unsigned i = 0; i < std::thread::hardware_concurrency() && started;
       ++i) {
    started = StartInto(children, Spin);
  }
  return started;
}

int Run(const std::string& folder, absl::Duration time) {
  const pid_t parent = getppid();
  signal(SIGTERM, EndSoon);
  signal(SIGINT, EndSoon);
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return 1;
  const absl::Time until = absl::Now() + time;
  std::vector<pid_t> children;
  bool whole = StartAll(folder, ready[1], &children);
  if (whole) WaitReady(ready[0], 3);
  whole = whole && AllRun();
  if (whole && must_end == 0) std::cout << "loaded" << std::endl;
  while (whole && must_end == 0 && getppid() == parent && absl::Now() < until) {
    absl::SleepFor(absl::Milliseconds(100));
    whole = AllRun();
  }
  for (const pid_t pid : children) kill(pid, SIGKILL);
  for (const pid_t pid : children) waitpid(pid, nullptr, 0);
  for (int i = 0; i < kMounts; ++i) {
    umount2(MountPath(folder, i).c_str(), MNT_DETACH);
    rmdir(MountPath(folder, i).c_str());
  }
  if (!whole) std::cerr << "load: a part of it has ended\n";
  return whole ? 0 : 1;
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  int seconds = 0;
  if (argc != 3 || !absl::SimpleAtoi(argv[2], &seconds) || seconds <= 0) {
    std::cerr << "usage: load FOLDER SECONDS\n";
    return 2;
  }
  return clusterd::Run(argv[1], absl::Seconds(seconds));
}
