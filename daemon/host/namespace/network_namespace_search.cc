#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "daemon/host/namespace/network_namespace.h"

namespace clusterd {
namespace {

// `ip netns` and the CNI plugins of Kubernetes; docker, under both its paths.
constexpr absl::string_view kFolders[] = {"/run/netns", "/var/run/docker/netns",
                                          "/run/docker/netns"};
// A process may end after it has made one with a number that was looked at
// before: process ids start again at the lowest.
constexpr int kPasses = 2;

bool HasEnded(int error) {
  return error == ENOENT || error == ENOTDIR || error == ESRCH;
}

bool IsNumber(absl::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), absl::ascii_isdigit);
}

// One search.
class Search {
 public:
  Search(const HostPaths& paths, uint64_t inode, const std::string& name)
      : root_(paths.root == "/" ? "" : paths.root),
        inode_(inode),
        name_(name) {}

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
    TryFile(absl::StrCat(root_, "/proc/self/ns/net"), /*must_be_there=*/true);
    TryFile(absl::StrCat(root_, "/proc/1/ns/net"), /*must_be_there=*/true);
    const std::string proc = absl::StrCat(root_, "/proc");
    ForEach(proc, [&](absl::string_view process) {
      if (!IsNumber(process)) return;
      const std::string tasks = absl::StrCat(proc, "/", process, "/task");
      ForEach(tasks, [&](absl::string_view thread) {
        TryFile(absl::StrCat(tasks, "/", thread, "/ns/net"));
      });
    });
    for (const absl::string_view each : kFolders) {
      const std::string folder = absl::StrCat(root_, each);
      ForEach(folder, [&](absl::string_view file) {
        TryFile(absl::StrCat(folder, "/", file));
      });
    }
  }

  void ForEach(const std::string& folder,
               const std::function<void(absl::string_view)>& visit) {
    if (found_ != nullptr) return;
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(folder.c_str()),
                                                     closedir);
    if (stream == nullptr) {
      if (!HasEnded(errno)) CannotTell(folder, errno);
      return;
    }
    while (found_ == nullptr) {
      errno = 0;
      const dirent* const entry = readdir(stream.get());
      if (entry == nullptr) break;
      const absl::string_view name = entry->d_name;
      if (name != "." && name != "..") visit(name);
    }
    if (found_ == nullptr && errno != 0 && !HasEnded(errno)) {
      CannotTell(folder, errno);
    }
  }

  void TryFile(const std::string& path, bool must_be_there = false) {
    if (found_ != nullptr) return;
    struct stat info;
    if (stat(path.c_str(), &info) != 0) {
      if (must_be_there || !HasEnded(errno)) CannotTell(path, errno);
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

  void CannotTell(const std::string& path, int error) {
    if (untold_.empty()) untold_ = absl::StrCat(path, ": ", strerror(error));
  }

  const std::string root_;
  const uint64_t inode_;
  const std::string name_;
  std::unique_ptr<OpenNetworkNamespace> found_;
  std::string untold_;  // The first that could not be looked at.
};

}  // namespace

absl::StatusOr<OpenNetworkNamespace> FindNetworkNamespaceByInode(
    const HostPaths& paths, uint64_t inode, const std::string& name) {
  return Search(paths, inode, name).Run();
}

}  // namespace clusterd
