#include "daemon/host/change/namespace_access.h"

#include <utility>

#include "config/values/network_namespace.h"
#include "config/values/status_macros.h"
#include "daemon/host/identity_observer.h"
#include "daemon/host/machine_observer.h"
#include "daemon/host/namespace/network_namespace.h"

namespace clusterd {
namespace {

constexpr absl::Duration kEngineDeadline = absl::Seconds(10);
constexpr absl::Duration kSearchDeadline = absl::Seconds(30);

class HostNamespaceAccess final : public NamespaceAccess {
 public:
  HostNamespaceAccess(HostPaths paths, CommandRunner* runner, Clock* clock,
                      FileSystem* files)
      : paths_(std::move(paths)),
        runner_(runner),
        clock_(clock),
        files_(files) {}

  absl::StatusOr<EnteredNamespace> Enter(
      const NetworkNamespace& target) override {
    const TimeBudget budget(clock_, kEngineDeadline, kSearchDeadline);
    return Hold(FindNetworkNamespace({paths_, runner_, &budget}, target),
                target);
  }

  absl::StatusOr<EnteredNamespace> EnterInode(const NetworkNamespace& target,
                                              uint64_t inode) override {
    return Hold(FindNetworkNamespaceByInode(paths_, inode,
                                            NetworkNamespaceText(target)),
                target);
  }

  std::string BootId() override {
    return ReadBootId(FileReader(paths_.root)).value();
  }

 private:
  absl::StatusOr<EnteredNamespace> Hold(
      absl::StatusOr<OpenNetworkNamespace> found,
      const NetworkNamespace& target) {
    RETURN_IF_ERROR(found.status());
    const auto inside =
        std::make_shared<const OpenNetworkNamespace>(*std::move(found));
    EnteredNamespace entered;
    entered.open = [inside, files = files_](const std::string& path,
                                            OpenMode mode) {
      absl::StatusOr<std::unique_ptr<OpenFile>> file;
      const absl::Status run =
          inside->Run([&] { file = files->Open(path, mode); });
      if (!run.ok()) file = run;
      return file;
    };
    entered.read = [inside, target, root = paths_.root, clock = clock_] {
      return ReadOpenNamespace(
          *inside, target, FileReader(root), PortSet(),
          TimeBudget(clock, kEngineDeadline, kSearchDeadline));
    };
    return entered;
  }

  const HostPaths paths_;
  CommandRunner* const runner_;
  Clock* const clock_;
  FileSystem* const files_;
};

}  // namespace

std::unique_ptr<NamespaceAccess> MakeNamespaceAccess(HostPaths paths,
                                                     CommandRunner* runner,
                                                     Clock* clock,
                                                     FileSystem* files) {
  return std::make_unique<HostNamespaceAccess>(std::move(paths), runner, clock,
                                               files);
}

}  // namespace clusterd
