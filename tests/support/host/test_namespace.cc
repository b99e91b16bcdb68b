#include "tests/support/host/test_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "daemon/host/command/posix_command_runner.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

void RequireDone(bool good, const std::string& what) {
  if (good) return;
  fprintf(stderr, "%s: %s\n", what.c_str(), strerror(errno));
  abort();
}

std::string FileOf(const std::string& key) {
  return absl::StrCat("/proc/sys/", absl::StrReplaceAll(key, {{".", "/"}}));
}

CommandResult RunProgram(std::vector<std::string> argv) {
  PosixCommandRunner runner;
  absl::StatusOr<CommandResult> result =
      runner.Run({std::move(argv), kPatience});
  if (!result.ok() || result->timed_out) {
    fprintf(stderr, "%s\n",
            result.ok() ? "the program did not end in time"
                        : result.status().ToString().c_str());
    abort();
  }
  return *std::move(result);
}

std::string GetIn(const std::string& place, const std::string& key) {
  const CommandResult result =
      RunProgram({"/usr/bin/nsenter", absl::StrCat("--net=", place), "/bin/cat",
                  FileOf(key)});
  return std::string(absl::StripAsciiWhitespace(result.standard_output));
}

// The child of a test; makes only calls that are safe after fork().
[[noreturn]] void LiveInside(int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int error = unshare(CLONE_NEWNET) == 0 ? 0 : errno;
  (void)!write(ready, &error, sizeof(error));
  while (true) pause();
}

}  // namespace

std::unique_ptr<TestNamespace> TestNamespace::Make(std::string* why) {
  int ready[2];
  RequireDone(pipe2(ready, O_CLOEXEC) == 0, "pipe");
  const pid_t pid = fork();
  RequireDone(pid >= 0, "fork");
  if (pid == 0) LiveInside(ready[1]);
  close(ready[1]);
  std::unique_ptr<TestNamespace> made(new TestNamespace(pid));
  int error = EIO;
  const bool said = read(ready[0], &error, sizeof(error)) == sizeof(error);
  close(ready[0]);
  // Entering other namespaces needs the same right.
  const int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  int enter = EIO;
  std::thread([&] {
    enter = setns(own, CLONE_NEWNET) == 0 ? 0 : errno;
  }).join();
  close(own);
  if (said && error == 0 && enter == 0) return made;
  *why = absl::StrCat("a network namespace is not to be had: ",
                      strerror(error != 0 ? error : enter));
  return nullptr;
}

TestNamespace::~TestNamespace() {
  End();
  RequireDone(waitpid(pid_, nullptr, 0) == pid_, "waitpid");
}

void TestNamespace::End() {
  if (std::exchange(ended_, true)) return;
  kill(pid_, SIGKILL);
  siginfo_t info;
  RequireDone(
      waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) == 0,
      "waitid");
}

std::string TestNamespace::path() const {
  return absl::StrCat("/proc/", pid_, "/ns/net");
}

uint64_t TestNamespace::inode() const {
  struct stat info;
  RequireDone(stat(path().c_str(), &info) == 0, path());
  return info.st_ino;
}

std::string TestNamespace::Get(const std::string& key) const {
  return GetIn(path(), key);
}

void TestNamespace::Set(const std::string& key,
                        const std::string& value) const {
  const CommandResult result = RunProgram(
      {"/usr/bin/nsenter", absl::StrCat("--net=", path()), "/bin/sh", "-c",
       "printf '%s\\n' \"$1\" > \"$2\"", "sh", value, FileOf(key)});
  RequireDone(result.exit_status == 0, result.standard_error);
}

NamespaceGuest::NamespaceGuest(const TestNamespace& place)
    : thread_([this, there = place.path()] {
        const int descriptor = open(there.c_str(), O_RDONLY | O_CLOEXEC);
        RequireDone(setns(descriptor, CLONE_NEWNET) == 0, there);
        close(descriptor);
        path_ = absl::StrCat("/proc/", getpid(), "/task/", syscall(SYS_gettid),
                             "/ns/net");
        inside_.Notify();
        leave_.WaitForNotification();
      }) {
  inside_.WaitForNotification();
}

NamespaceGuest::~NamespaceGuest() {
  leave_.Notify();
  thread_.join();
}

std::string NamespaceGuest::Get(const std::string& key) const {
  return GetIn(path_, key);
}

std::string GetHere(const std::string& key) {
  const CommandResult result = RunProgram({"/bin/cat", FileOf(key)});
  return std::string(absl::StripAsciiWhitespace(result.standard_output));
}

bool WithOwnMounts(const std::function<void()>& work, std::string* why) {
  int error = 0;
  std::thread([&] {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      error = errno;
      return;
    }
    work();
  }).join();
  if (error == 0) return true;
  *why =
      absl::StrCat("mounts of one's own are not to be had: ", strerror(error));
  return false;
}

void MountOver(const std::string& source, const std::string& target) {
  RequireDone(mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC,
                    nullptr) == 0,
              target);
}

void MountReadOnly(const std::string& folder) {
  MountOver(folder, folder);
  RequireDone(mount("none", folder.c_str(), nullptr,
                    MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0,
              folder);
}

void MountEmptyOver(const std::string& folder) {
  RequireDone(mount("none", folder.c_str(), "tmpfs", 0, nullptr) == 0, folder);
}

}  // namespace clusterd
