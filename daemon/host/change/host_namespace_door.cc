#include "daemon/host/change/host_namespace_door.h"

#include <utility>

#include "config/spec/network_namespace.h"
#include "daemon/host/change/namespace_file_system.h"
#include "daemon/host/file_reader.h"
#include "daemon/host/identity_observer.h"
#include "daemon/host/namespace_observer.h"
#include "daemon/host/network_namespace.h"
#include "daemon/host/network_namespace_search.h"
#include "daemon/host/time_budget.h"

namespace clusterd {
namespace {

// All engines together.
constexpr absl::Duration kSearchDeadline = absl::Seconds(30);

class Entered final : public EnteredNamespace {
 public:
  Entered(OpenNetworkNamespace place, NetworkNamespace target,
          const HostPaths& paths, Clock* clock, FileSystem* files)
      : place_(std::move(place)),
        target_(std::move(target)),
        reader_(paths.root),
        clock_(clock),
        files_(&place_, files) {}

  FileSystem* files() override { return &files_; }
  HostFacts Read() override {
    return ReadOpenNamespace(
        place_, target_, reader_, PortSet(),
        TimeBudget(clock_, HostNamespaceDoor::kEngineDeadline,
                   kSearchDeadline));
  }

 private:
  const OpenNetworkNamespace place_;
  const NetworkNamespace target_;
  const FileReader reader_;
  Clock* const clock_;
  NamespaceFileSystem files_;
};

}  // namespace

HostNamespaceDoor::HostNamespaceDoor(HostPaths paths, CommandRunner* runner,
                                     Clock* clock, FileSystem* files)
    : paths_(std::move(paths)), runner_(runner), clock_(clock), files_(files) {}

absl::StatusOr<std::unique_ptr<EnteredNamespace>> HostNamespaceDoor::Enter(
    const NetworkNamespace& target) {
  const TimeBudget budget(clock_, kEngineDeadline, kSearchDeadline);
  absl::StatusOr<OpenNetworkNamespace> place =
      FindNetworkNamespace(paths_, runner_, budget, target);
  if (!place.ok()) return place.status();
  return Hold(*std::move(place), target);
}

absl::StatusOr<std::unique_ptr<EnteredNamespace>> HostNamespaceDoor::EnterInode(
    const NetworkNamespace& target, uint64_t inode) {
  absl::StatusOr<OpenNetworkNamespace> place =
      FindNetworkNamespaceByInode(paths_, inode, NetworkNamespaceText(target));
  if (!place.ok()) return place.status();
  return Hold(*std::move(place), target);
}

std::string HostNamespaceDoor::BootId() {
  return ReadBootId(FileReader(paths_.root)).value();
}

std::unique_ptr<EnteredNamespace> HostNamespaceDoor::Hold(
    OpenNetworkNamespace place, const NetworkNamespace& target) {
  return std::make_unique<Entered>(std::move(place), target, paths_, clock_,
                                   files_);
}

}  // namespace clusterd
