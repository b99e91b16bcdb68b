// The way into a network namespace for whoever changes kernel parameters there.
#ifndef DAEMON_HOST_CHANGE_NAMESPACE_DOOR_H_
#define DAEMON_HOST_CHANGE_NAMESPACE_DOOR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/host/change/file_system.h"
#include "proto/facts.pb.h"

namespace clusterd {

// One namespace, held open: all calls are about the same one, whatever its name
// leads to later.
class EnteredNamespace {
 public:
  virtual ~EnteredNamespace() = default;

  // /proc/sys below it is that of the namespace. Lives as long as this object.
  virtual FileSystem* files() = 0;
  // As an observation of it would give it (namespace_observer.h), without
  // sockets.
  virtual HostFacts Read() = 0;
};

class NamespaceDoor {
 public:
  virtual ~NamespaceDoor() = default;

  // Looks `target` up anew. NotFound: the name leads to none on this host now,
  // which is no proof that the namespace it led to has ended. Any other code:
  // it cannot be told, or not be entered.
  virtual absl::StatusOr<std::unique_ptr<EnteredNamespace>> Enter(
      const NetworkNamespace& target) = 0;

  // The namespace with that number, if any has it now, however it is reached;
  // `target` is what people call it. The codes of FindNetworkNamespaceByInode.
  virtual absl::StatusOr<std::unique_ptr<EnteredNamespace>> EnterInode(
      const NetworkNamespace& target, uint64_t inode) = 0;

  // Of this boot, which no namespace outlives; empty: not known.
  virtual std::string BootId() = 0;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_NAMESPACE_DOOR_H_
