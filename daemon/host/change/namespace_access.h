// Access to a network namespace for code that changes kernel parameters there.
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

// One open namespace for both functions, whatever its name refers to later.
struct EnteredNamespace {
  // Opens a file as a thread inside would: /proc/sys is that of the namespace.
  // The file stays with it and any thread may use it. Errors are those of
  // OpenNetworkNamespace::Run and FileSystem::Open.
  SysctlWriter::OpenFunction open;
  // Reads it as an observation would (machine_observer.h), without sockets.
  std::function<HostFacts()> read;
};

class NamespaceAccess {
 public:
  virtual ~NamespaceAccess() = default;

  // Resolves `target` again. NotFound: the name currently refers to none on
  // this host, which does not prove that the earlier namespace has ended. Any
  // other code: the namespace is unknown or cannot be entered.
  virtual absl::StatusOr<EnteredNamespace> Enter(
      const NetworkNamespace& target) = 0;

  // Enters the namespace that currently has that number, however it is reached.
  // `target` is its displayed name. The codes of FindNetworkNamespaceByInode.
  virtual absl::StatusOr<EnteredNamespace> EnterInode(
      const NetworkNamespace& target, uint64_t inode) = 0;

  // The id of this boot, after which no namespace exists; empty: not known.
  virtual std::string BootId() = 0;
};

// Enters the namespaces of this machine. A container engine may take 10 s to
// answer, all of them 30 s. Safe for concurrent use if `files` is, whose root
// is that of `paths`. All must outlive it and its results.
std::unique_ptr<NamespaceAccess> MakeNamespaceAccess(HostPaths paths,
                                                     CommandRunner* runner,
                                                     Clock* clock,
                                                     FileSystem* files);

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_NAMESPACE_ACCESS_H_
