#include "daemon/host/change/namespace_access.h"

#include <utility>

#include "config/values/network_namespace.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/identity_observer.h"
#include "daemon/host/machine_observer.h"
#include "daemon/host/namespace/network_namespace.h"

namespace clusterd {
namespace {

constexpr absl::Duration kEngineDeadline = absl::Seconds(10);
constexpr absl::Duration kSearchDeadline = absl::Seconds(30);

class HostEnteredNamespace final : public EnteredNamespace {
 public:
  HostEnteredNamespace(OpenNetworkNamespace inside, NetworkNamespace target,
                       const HostPaths& paths, Clock* clock, FileSystem* files)
      : inside_(std::move(inside)),
        target_(std::move(target)),
        reader_(paths.root),
        clock_(clock),
        files_(files) {}

  absl::StatusOr<std::unique_ptr<OpenFile>> Open(const std::string& path,
                                                 OpenMode mode) override {
    absl::StatusOr<std::unique_ptr<OpenFile>> file =
        absl::UnknownError("not run");
    const absl::Status entered =
        inside_.Run([&] { file = files_->Open(path, mode); });
    if (!entered.ok()) return entered;
    return file;
  }
  HostFacts Read() override {
    return ReadOpenNamespace(
        inside_, target_, reader_, PortSet(),
        TimeBudget(clock_, kEngineDeadline, kSearchDeadline));
  }

 private:
  const OpenNetworkNamespace inside_;
  const NetworkNamespace target_;
  const FileReader reader_;
  Clock* const clock_;
  FileSystem* const files_;
};

class HostNamespaceAccess final : public NamespaceAccess {
 public:
  HostNamespaceAccess(HostPaths paths, CommandRunner* runner, Clock* clock,
                      FileSystem* files)
      : paths_(std::move(paths)),
        runner_(runner),
        clock_(clock),
        files_(files) {}

  absl::StatusOr<std::unique_ptr<EnteredNamespace>> Enter(
      const NetworkNamespace& target) override {
    const TimeBudget budget(clock_, kEngineDeadline, kSearchDeadline);
    return Hold(FindNetworkNamespace({paths_, runner_, &budget}, target),
                target);
  }

  absl::StatusOr<std::unique_ptr<EnteredNamespace>> EnterInode(
      const NetworkNamespace& target, uint64_t inode) override {
    return Hold(FindNetworkNamespaceByInode(paths_, inode,
                                            NetworkNamespaceText(target)),
                target);
  }

  std::string BootId() override {
    return ReadBootId(FileReader(paths_.root)).value();
  }

 private:
  absl::StatusOr<std::unique_ptr<EnteredNamespace>> Hold(
      absl::StatusOr<OpenNetworkNamespace> inside,
      const NetworkNamespace& target) {
    if (!inside.ok()) return inside.status();
    return std::unique_ptr<EnteredNamespace>(
        std::make_unique<HostEnteredNamespace>(*std::move(inside), target,
                                               paths_, clock_, files_));
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
