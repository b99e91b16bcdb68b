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

#include <system_error>
#include <thread>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "config/values/network_namespace.h"
#include "config/values/status_macros.h"
#include "daemon/host/files/file_reader.h"

namespace clusterd {

// Closed with the last who has it.
class OpenDescriptor {
 public:
  explicit OpenDescriptor(int fd) : fd_(fd) {}
  ~OpenDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  OpenDescriptor(const OpenDescriptor&) = delete;
  OpenDescriptor& operator=(const OpenDescriptor&) = delete;

  int get() const { return fd_; }

 private:
  const int fd_;
};

namespace {

// SO_NETNS_COOKIE of the kernel's asm-generic/socket.h, which x86 and ARM use;
// older headers lack it.
constexpr int kNetnsCookie = 71;

absl::Status ErrnoStatus(const std::string& name, const std::string& path,
                         int error) {
  const std::string message =
      absl::StrCat(name, ": ", path, ": ", strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
      return absl::NotFoundError(
          absl::StrCat(message, "; it has ended, or never was on this host"));
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(
          absl::StrCat(message,
                       "; clusterd needs to run as root, with the "
                       "host's processes in view"));
    default:
      return absl::UnavailableError(message);
  }
}

absl::Status NoNamespace(const std::string& name, const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat(name, ": ", path,
                   " is no network namespace, expected a file such as "
                   "/run/netns/NAME or /proc/PID/ns/net"));
}

absl::Status EnterError(const std::string& name, int error) {
  const std::string message =
      absl::StrCat(name, ": may not be entered: ", strerror(error));
  if (error != EPERM) return absl::FailedPreconditionError(message);
  return absl::PermissionDeniedError(
      absl::StrCat(message,
                   "; clusterd needs CAP_SYS_ADMIN, and RestrictNamespaces=net "
                   "where systemd confines it"));
}

// `ip netns` and the CNI plugins of Kubernetes; docker, under both its paths.
constexpr const char* kFolders[] = {"/run/netns", "/var/run/docker/netns",
                                    "/run/docker/netns"};
// A process may end after it has made one with a number that was looked at
// before: process ids start again at the lowest.
constexpr int kPasses = 2;

bool HasEnded(int error) {
  return error == ENOENT || error == ENOTDIR || error == ESRCH;
}

// One search.
class Search {
 public:
  Search(const HostPaths& paths, uint64_t inode, const std::string& name)
      : files_(paths.root), inode_(inode), name_(name) {}

  absl::StatusOr<OpenNetworkNamespace> Run() {
    for (int pass = 0; pass < kPasses && found_ == nullptr; ++pass) LookOnce();
    if (found_ != nullptr) return std::move(*found_);
    if (!untold_.empty()) {
      return absl::UnavailableError(absl::StrCat(
          name_, ": whether network namespace ", inode_,
          " is still there cannot be told: ", untold_,
          "; clusterd needs to run as root, with the host's processes in "
          "view"));
    }
    return absl::NotFoundError(
        absl::StrCat(name_, ": no process is in network namespace ", inode_,
                     ", and no file in /run/netns or of docker's holds it"));
  }

 private:
  void LookOnce() {
    // Only who sees the first process can see them all.
    TryFile("/proc/self/ns/net", /*must_be_there=*/true);
    TryFile("/proc/1/ns/net", /*must_be_there=*/true);
    ForEach("/proc", [this](const std::string& process) {
      if (!absl::c_all_of(process, absl::ascii_isdigit)) return;
      const std::string tasks = absl::StrCat("/proc/", process, "/task");
      ForEach(tasks, [&](const std::string& thread) {
        TryFile(absl::StrCat(tasks, "/", thread, "/ns/net"));
      });
    });
    for (const char* folder : kFolders) {
      ForEach(folder, [&](const std::string& file) {
        TryFile(absl::StrCat(folder, "/", file));
      });
    }
  }

  void ForEach(const std::string& folder,
               absl::FunctionRef<void(const std::string&)> visit) {
    if (found_ != nullptr) return;
    const auto names = files_.List(folder);
    if (!names.ok() && !absl::IsNotFound(names.status())) {
      CannotTell(names.status().message());
    }
    if (!names.ok()) return;
    for (const std::string& name : *names) {
      if (found_ == nullptr) visit(name);
    }
  }

  void TryFile(const std::string& file, bool must_be_there = false) {
    if (found_ != nullptr) return;
    const std::string path = files_.Resolve(file);
    struct stat info;
    if (stat(path.c_str(), &info) != 0) {
      if (must_be_there || !HasEnded(errno)) {
        CannotTell(absl::StrCat(path, ": ", strerror(errno)));
      }
      return;
    }
    if (info.st_ino != inode_) return;
    absl::StatusOr<OpenNetworkNamespace> opened =
        OpenNetworkNamespace::Open(path, name_);
    if (opened.ok()) {
      // Else it has moved in between.
      if (opened->inode() != inode_) return;
      found_ = std::make_unique<OpenNetworkNamespace>(*std::move(opened));
    } else if (!absl::IsNotFound(opened.status()) &&
               !absl::IsFailedPrecondition(opened.status())) {
      untold_ = std::string(opened.status().message());
    }
  }

  void CannotTell(absl::string_view why) {
    if (untold_.empty()) untold_ = std::string(why);
  }

  const FileReader files_;
  const uint64_t inode_;
  const std::string name_;
  std::unique_ptr<OpenNetworkNamespace> found_;
  std::string untold_;  // The first that could not be looked at.
};

}  // namespace

absl::StatusOr<OpenNetworkNamespace> OpenNetworkNamespace::Open(
    const std::string& path, const std::string& name) {
  // Looks before it opens: a device would act on an open.
  const OpenDescriptor seen(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct statfs system;
  struct stat info;
  if (seen.get() < 0 || fstatfs(seen.get(), &system) != 0 ||
      fstat(seen.get(), &info) != 0) {
    return ErrnoStatus(name, path, errno);
  }
  if (system.f_type != NSFS_MAGIC) return NoNamespace(name, path);
  const auto file = std::make_shared<const OpenDescriptor>(
      open(absl::StrCat("/proc/self/fd/", seen.get()).c_str(),
           O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file->get() < 0) return ErrnoStatus(name, path, errno);
  const int type = ioctl(file->get(), NS_GET_NSTYPE);
  // Kernels before 4.11 do not tell; setns tells them apart then.
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
    return absl::UnavailableError(
        absl::StrCat(name_, ": no thread to enter it: ", no_thread.what()));
  }
  return error == 0 ? absl::OkStatus() : EnterError(name_, error);
}

absl::StatusOr<uint64_t> ReadNetworkNamespaceCookie() {
  const OpenDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  if (socket.get() >= 0 &&
      getsockopt(socket.get(), SOL_SOCKET, kNetnsCookie, &cookie, &size) == 0) {
    return cookie;
  }
  const int error = errno;
  const std::string message =
      absl::StrCat("SO_NETNS_COOKIE: ", strerror(error));
  if (error != ENOPROTOOPT) return absl::UnavailableError(message);
  return absl::UnimplementedError(
      absl::StrCat(message, ", expected Linux 5.14 or later"));
}

absl::StatusOr<OpenNetworkNamespace> FindNetworkNamespace(
    const HostAccess& host, const NetworkNamespace& target) {
  RETURN_IF_ERROR(CheckNetworkNamespace(target));
  const std::string name = NetworkNamespaceText(target);
  const std::string root = host.paths.root == "/" ? "" : host.paths.root;
  const auto of_process = [&](uint32_t pid) {
    return OpenNetworkNamespace::Open(
        absl::StrCat(root, "/proc/", pid, "/ns/net"), name);
  };
  switch (target.target_case()) {
    case NetworkNamespace::kContainer: {
      ASSIGN_OR_RETURN(const uint32_t pid,
                       FindContainerPid(host, target.container()));
      return of_process(pid);
    }
    case NetworkNamespace::kPid:
      return of_process(target.pid());
    case NetworkNamespace::kPath:
      return OpenNetworkNamespace::Open(absl::StrCat(root, target.path()),
                                        name);
    case NetworkNamespace::TARGET_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("network namespace: none is named");
}

absl::StatusOr<OpenNetworkNamespace> FindNetworkNamespaceByInode(
    const HostPaths& paths, uint64_t inode, const std::string& name) {
  return Search(paths, inode, name).Run();
}

}  // namespace clusterd
