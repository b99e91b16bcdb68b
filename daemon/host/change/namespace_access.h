// The way into a network namespace for whoever changes kernel parameters there.
#ifndef DAEMON_HOST_CHANGE_NAMESPACE_ACCESS_H_
#define DAEMON_HOST_CHANGE_NAMESPACE_ACCESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/change/sysctl_writer.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// One namespace, held open by both functions: all calls are about the same one,
// whatever its name leads to later.
struct EnteredNamespace {
  // As a thread inside sees it: /proc/sys is that of the namespace. The file
  // stays with it and is used from any thread. The errors of
  // OpenNetworkNamespace::Run besides those of FileSystem::Open.
  SysctlWriter::OpenFunction open;
  // As an observation of it would give it (machine_observer.h), without
  // sockets.
  std::function<HostFacts()> read;
};

class NamespaceAccess {
 public:
  virtual ~NamespaceAccess() = default;

  // Looks `target` up anew. NotFound: the name leads to none on this host now,
  // which is no proof that the namespace it led to has ended. Any other code:
  // it cannot be told, or not be entered.
  virtual absl::StatusOr<EnteredNamespace> Enter(
      const NetworkNamespace& target) = 0;

  // The namespace with that number, if any has it now, however it is reached;
  // `target` is what people call it. The codes of FindNetworkNamespaceByInode.
  virtual absl::StatusOr<EnteredNamespace> EnterInode(
      const NetworkNamespace& target, uint64_t inode) = 0;

  // Of this boot, which no namespace outlives; empty: not known.
  virtual std::string BootId() = 0;
};

// To the namespaces of this machine. A container engine may take 10 s to
// answer, all of them 30 s. Safe for concurrent use if `files` is, which has
// the same root as `paths`. All must outlive it, and what it returns.
std::unique_ptr<NamespaceAccess> MakeNamespaceAccess(HostPaths paths,
                                                     CommandRunner* runner,
                                                     Clock* clock,
                                                     FileSystem* files);

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_NAMESPACE_ACCESS_H_
