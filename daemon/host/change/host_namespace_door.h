// The namespaces of this machine.
#ifndef DAEMON_HOST_CHANGE_HOST_NAMESPACE_DOOR_H_
#define DAEMON_HOST_CHANGE_HOST_NAMESPACE_DOOR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/change/namespace_door.h"
#include "daemon/host/clock.h"
#include "daemon/host/command_runner.h"
#include "daemon/host/host_observer.h"

namespace clusterd {

// Safe for concurrent use if `files` is.
class HostNamespaceDoor final : public NamespaceDoor {
 public:
  // How long one container engine may take to answer.
  static constexpr absl::Duration kEngineDeadline = absl::Seconds(10);

  // `files` has the same root as `paths`. All must outlive it, and what it
  // returns.
  HostNamespaceDoor(HostPaths paths, CommandRunner* runner, Clock* clock,
                    FileSystem* files);

  // The codes of FindNetworkNamespace.
  absl::StatusOr<std::unique_ptr<EnteredNamespace>> Enter(
      const NetworkNamespace& target) override;
  absl::StatusOr<std::unique_ptr<EnteredNamespace>> EnterInode(
      const NetworkNamespace& target, uint64_t inode) override;
  std::string BootId() override;

 private:
  std::unique_ptr<EnteredNamespace> Hold(class OpenNetworkNamespace place,
                                         const NetworkNamespace& target);

  const HostPaths paths_;
  CommandRunner* const runner_;
  Clock* const clock_;
  FileSystem* const files_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_HOST_NAMESPACE_DOOR_H_
