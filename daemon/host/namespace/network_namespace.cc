#include "daemon/host/namespace/network_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <iterator>
#include <thread>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/network_namespace.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"

namespace clusterd {
namespace {

// SO_NETNS_COOKIE of asm-generic/socket.h (x86, ARM); older headers lack it.
constexpr int kNetnsCookie = 71;

bool HasEnded(int error) {
  return error == ENOENT || error == ENOTDIR || error == ESRCH;
}

absl::Status ErrnoStatus(const std::string& name, const std::string& path,
                         int error) {
  const FindingValue message =
      Worded("about", name, Worded("about", path, Term(strerror(error))));
  if (HasEnded(error)) {
    return NotFoundWords("fact-netns-ended", message);
  }
  if (error != EACCES && error != EPERM) {
    return WithWords(absl::UnavailableError(""), message);
  }
  return DeniedWords("fact-netns-no-rights", message);
}

absl::Status NoNamespace(const std::string& name, const std::string& path) {
  return PreconditionWords("fact-no-netns", name, path);
}

// Returns the same error for a requested path whatever exists there, so that
// its text does not reveal which files root sees.
absl::StatusOr<OpenNetworkNamespace> WithOneText(
    const std::string& name, absl::StatusOr<OpenNetworkNamespace> opened) {
  if (opened.ok()) return opened;
  return WithWords(opened.status(), Worded("fact-netns-not-entered", name));
}

absl::Status EnterError(const std::string& name, int error) {
  const FindingValue message =
      Worded("fact-not-entered", name, Term(strerror(error)));
  if (error != EPERM) {
    return WithWords(absl::FailedPreconditionError(""), message);
  }
  return DeniedWords("fact-netns-needs", message);
}

// Folders of `ip netns`, Kubernetes's CNI plugins, and docker, by both paths.
constexpr const char* kFolders[] = {"/run/netns", "/var/run/docker/netns",
                                    "/run/docker/netns"};
// A process may end after making a child whose pid is below those already
// checked: process ids wrap around.
constexpr int kPasses = 2;
// Only a process that sees the first process can see them all.
constexpr const char* kAlwaysThere[] = {"/proc/self/ns/net", "/proc/1/ns/net"};

// Returns the files of all current namespaces below the root. `unlisted` gets
// the first reason why there may be more.
std::vector<std::string> ListNamespaceFiles(const FileReader& files,
                                            FindingValue* unlisted) {
  const auto list = [&](absl::string_view folder) {
    // Lists only the first threads of a process with too many.
    const auto names = files.List(folder, FileReader::Beyond::kLeftOut);
    if (!names.ok() && !absl::IsNotFound(names.status()) &&
        !IsSaid(*unlisted)) {
      *unlisted = MessageWords(names.status());
    }
    return names.value_or(std::vector<std::string>());
  };
  std::vector<std::string> found(std::begin(kAlwaysThere),
                                 std::end(kAlwaysThere));
  for (const std::string& process : list("/proc")) {
    if (!absl::c_all_of(process, absl::ascii_isdigit)) continue;
    const std::string tasks = absl::StrCat("/proc/", process, "/task");
    for (const std::string& thread : list(tasks)) {
      found.push_back(absl::StrCat(tasks, "/", thread, "/ns/net"));
    }
  }
  for (const char* folder : kFolders) {
    for (const std::string& file : list(folder)) {
      found.push_back(absl::StrCat(folder, "/", file));
    }
  }
  return found;
}

struct Engine {
  const char* name;
  const char* arguments;  // Before the container's name.
};
constexpr Engine kEngines[] = {
    {"docker", "inspect --type container --format {{.State.Pid}}"},
    {"podman", "inspect --type container --format {{.State.Pid}}"},
    {"isula", "inspect -f {{.State.Pid}}"},
    {"crictl", "inspect --output go-template --template {{.info.pid}}"},
};

// Returns 0 if it does not run. NotFound: the engine does not know it.
absl::StatusOr<uint32_t> AskEngine(const Engine& engine,
                                   const std::string& program,
                                   const HostAccess& host,
                                   const std::string& container) {
  static const LazyRE2 kPid = {R"((\d+))"};
  // "container "train-1": `docker inspect …`".
  const std::string subject =
      absl::StrCat("container \"", container, "\": `", engine.name, " ",
                   engine.arguments, " ", container, "`");
  std::vector<std::string> argv = absl::StrSplit(engine.arguments, ' ');
  argv.insert(argv.begin(), program);
  argv.push_back(container);
  ASSIGN_OR_RETURN(
      const CommandResult result,
      RunWithin(*host.budget, host.runner, subject, std::move(argv)));
  const absl::string_view out =
      absl::StripAsciiWhitespace(result.standard_output);
  if (result.exit_status == 0 && result.signal == 0) {
    uint32_t pid = 0;
    if (HasForm(out, *kPid, &pid)) return pid;
    return PreconditionWords("fact-no-process-id", subject, QuotedText(out));
  }
  const absl::string_view said =
      result.standard_error.empty()
          ? out
          : absl::StripAsciiWhitespace(result.standard_error);
  const FindingValue message =
      Worded("about", subject,
             Worded("fact-status-and", result.exit_status, QuotedText(said)));
  const std::string lower = absl::AsciiStrToLower(said);
  const bool is_gone = absl::StrContains(lower, "no such object") ||
                       absl::StrContains(lower, "no such container");
  return WithWords(
      is_gone ? absl::NotFoundError("") : absl::UnavailableError(""), message);
}

}  // namespace

absl::StatusOr<OpenNetworkNamespace> OpenNetworkNamespace::Open(
    const std::string& path, const std::string& name) {
  // Checks the file before it opens it: an open may act on a device.
  const OwnedFd seen(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct statfs system;
  struct stat info;
  if (seen.get() < 0 || fstatfs(seen.get(), &system) != 0 ||
      fstat(seen.get(), &info) != 0) {
    return ErrnoStatus(name, path, errno);
  }
  if (system.f_type != NSFS_MAGIC) return NoNamespace(name, path);
  const auto file = std::make_shared<const OwnedFd>(
      open(absl::StrCat("/proc/self/fd/", seen.get()).c_str(),
           O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file->get() < 0) return ErrnoStatus(name, path, errno);
  const int type = ioctl(file->get(), NS_GET_NSTYPE);
  // Before Linux 4.11 the type is unknown; setns then refuses another one.
  if (type >= 0 && type != CLONE_NEWNET) return NoNamespace(name, path);
  return OpenNetworkNamespace(file, info.st_ino, name);
}

absl::Status OpenNetworkNamespace::Run(
    const std::function<void()>& work) const {
  int error = 0;
  try {
    std::thread inside([&] {
      if (setns(file_->get(), CLONE_NEWNET) != 0) {
        error = errno;
        return;
      }
      work();
    });
    inside.join();
  } catch (const std::system_error& no_thread) {
    return UnavailableWords("fact-no-thread", name_, no_thread.what());
  }
  return error == 0 ? absl::OkStatus() : EnterError(name_, error);
}

absl::StatusOr<uint64_t> ReadNetworkNamespaceCookie() {
  const OwnedFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  if (socket.get() >= 0 &&
      getsockopt(socket.get(), SOL_SOCKET, kNetnsCookie, &cookie, &size) == 0) {
    return cookie;
  }
  const int error = errno;
  return error == ENOPROTOOPT
             ? UnimplementedWords("fact-no-cookie", strerror(error))
             : UnavailableWords("about", "SO_NETNS_COOKIE",
                                Term(strerror(error)));
}

absl::StatusOr<OpenNetworkNamespace> FindNetworkNamespace(
    const HostAccess& host, const NetworkNamespace& target) {
  RETURN_IF_ERROR(CheckNetworkNamespace(target));
  const std::string name = NetworkNamespaceText(target);
  const FileReader files = host.files();
  const auto of_process = [&](uint32_t pid) {
    return OpenNetworkNamespace::Open(
        files.Resolve(absl::StrCat("/proc/", pid, "/ns/net")), name);
  };
  switch (target.target_case()) {
    case NetworkNamespace::kContainer: {
      ASSIGN_OR_RETURN(const uint32_t pid,
                       FindContainerPid(host, target.container()));
      return of_process(pid);
    }
    case NetworkNamespace::kPid:
      return of_process(target.pid());
    case NetworkNamespace::kPath: {
      // An undo uses this, too, and must not wait for a file system that a user
      // has mounted, such as below /run/user. A process's own file belongs to
      // the kernel, whatever the process's user.
      absl::Status safe;
      if (!absl::StartsWith(target.path(), "/proc/")) {
        safe = CheckFile(host.paths.root, target.path(),
                         /*sticky_guards=*/false);
      }
      return WithOneText(name, safe.ok()
                                   ? OpenNetworkNamespace::Open(
                                         files.Resolve(target.path()), name)
                                   : safe);
    }
    case NetworkNamespace::TARGET_NOT_SET:
      break;
  }
  return InvalidWords("fact-netns-none");
}

absl::StatusOr<OpenNetworkNamespace> FindNetworkNamespaceByInode(
    const HostPaths& paths, uint64_t inode, const std::string& name) {
  const FileReader files(paths.root);
  FindingValue unknown;  // First reason why one could not be checked.
  for (int pass = 0; pass < kPasses; ++pass) {
    for (const std::string& file : ListNamespaceFiles(files, &unknown)) {
      const std::string path = files.Resolve(file);
      struct stat info;
      if (stat(path.c_str(), &info) != 0) {
        const int error = errno;
        const bool must_be_there = absl::c_linear_search(kAlwaysThere, file);
        if (!IsSaid(unknown) && (must_be_there || !HasEnded(error))) {
          unknown = Worded("about", path, Term(strerror(error)));
        }
        continue;
      }
      if (info.st_ino != inode) continue;
      auto opened = OpenNetworkNamespace::Open(path, name);
      // If it differs, the file has changed meanwhile.
      if (opened.ok() && opened->inode() == inode) return opened;
      if (!opened.ok() && !absl::IsNotFound(opened.status()) &&
          !absl::IsFailedPrecondition(opened.status())) {
        unknown = MessageWords(opened.status());
      }
    }
  }
  if (IsSaid(unknown)) {
    return UnavailableWords("fact-netns-unknown", name, inode, unknown);
  }
  return NotFoundWords("fact-netns-gone", name, inode);
}

absl::StatusOr<uint32_t> FindContainerPid(const HostAccess& host,
                                          const std::string& container) {
  uint32_t found = 0;
  std::string found_by;
  std::vector<std::string> stopped;
  std::vector<std::string> asked;
  absl::Status worst;
  for (const Engine& engine : kEngines) {
    const std::string paths[] = {absl::StrCat("/usr/bin/", engine.name),
                                 absl::StrCat("/usr/local/bin/", engine.name)};
    const auto program = FindProgram(host.paths.root, {paths[0], paths[1]});
    if (absl::IsNotFound(program.status())) continue;
    asked.push_back(engine.name);
    const absl::StatusOr<uint32_t> pid =
        program.ok() ? AskEngine(engine, *program, host, container)
                     : absl::StatusOr<uint32_t>(program.status());
    if (absl::IsNotFound(pid.status())) continue;
    if (!pid.ok()) {
      if (worst.ok()) worst = pid.status();
      continue;
    }
    if (*pid == 0) {
      stopped.push_back(engine.name);
      continue;
    }
    // podman may answer to docker's name, too, with the same process.
    if (found != 0 && found != *pid) {
      return PreconditionWords("fact-two-engines", container, found_by, found,
                               engine.name, *pid);
    }
    found = *pid;
    found_by = engine.name;
  }
  if (found != 0) return found;
  if (!stopped.empty()) {
    return NotFoundWords("fact-container-stopped", container,
                         absl::StrJoin(stopped, " and "));
  }
  if (!worst.ok()) {
    return WithWords(worst, Worded("fact-without-engine", MessageWords(worst)));
  }
  if (asked.empty()) {
    return NotFoundWords("fact-no-engine", container);
  }
  return NotFoundWords("fact-no-container", container,
                       absl::StrJoin(asked, " and "));
}

}  // namespace clusterd
