#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/namespace/network_namespace.h"

namespace clusterd {
namespace {

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

absl::StatusOr<OpenNetworkNamespace> FindNetworkNamespaceByInode(
    const HostPaths& paths, uint64_t inode, const std::string& name) {
  return Search(paths, inode, name).Run();
}

}  // namespace clusterd
