// Finds another network namespace of this machine, to read and write there.
//
// The kernel shows under /proc/sys/net, and in /proc/thread-self/net, the
// network namespace of the opening thread, and the open file stays with that
// namespace. So a separate thread enters, opens, and ends; the caller's threads
// never move.
#ifndef DAEMON_HOST_NAMESPACE_NETWORK_NAMESPACE_H_
#define DAEMON_HOST_NAMESPACE_NETWORK_NAMESPACE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/values/owned_fd.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Keeps the namespace alive, even when its last process has ended. Safe for
// concurrent use after construction.
class OpenNetworkNamespace {
 public:
  // `path`: a file of the kernel's nsfs, e.g. /proc/4711/ns/net or
  // /run/netns/train. Errors begin with `name`, its displayed name. NotFound:
  // it does not exist (any more). FailedPrecondition: not a network namespace;
  // only the kernel's own files are ever opened. PermissionDenied: this process
  // may not open it.
  static absl::StatusOr<OpenNetworkNamespace> Open(const std::string& path,
                                                   const std::string& name);

  // Number of its nsfs file, as `ls -L -i` shows it. The kernel may reuse the
  // number of a namespace that has ended, but never its cookie.
  uint64_t inode() const { return inode_; }

  // Runs `work` to its end on a thread inside. PermissionDenied: this process
  // may not enter (CAP_SYS_ADMIN, or a sandbox without RestrictNamespaces=net);
  // Unavailable: no thread was available. After an error `work` did not run.
  absl::Status Run(const std::function<void()>& work) const;

 private:
  OpenNetworkNamespace(std::shared_ptr<const OwnedFd> file, uint64_t inode,
                       std::string name)
      : file_(std::move(file)), inode_(inode), name_(std::move(name)) {}

  std::shared_ptr<const OwnedFd> file_;  // Closed with the last copy.
  uint64_t inode_;
  std::string name_;
};

// Returns the kernel's cookie of the calling thread's network namespace, which
// is unique until the next boot. Unimplemented before Linux 5.14.
absl::StatusOr<uint64_t> ReadNetworkNamespaceCookie();

// Returns a container's first process, from this machine's container engines:
//   docker inspect --type container --format {{.State.Pid}} NAME     4711
//   podman inspect --type container --format {{.State.Pid}} NAME     4711
//   isula inspect -f {{.State.Pid}} NAME                             4711
//   crictl inspect --output go-template --template {{.info.pid}} ID  4711
// A container that does not run has 0. Sources: Docker CLI reference, `docker
// inspect`; Red Hat Enterprise Linux, building, running and managing containers
// (.State.Pid of podman); openEuler documentation, system containers (`isula
// inspect -f "{{json .State.Pid}}"`) and iSulad's own tests (the form above);
// Kubernetes blog, forensic container analysis (2023-03-10; crictl). For an
// unknown name engines print "No such object" or "No such container"
// (docker/cli cli/command/system/inspect.go, podman libpod/define/errors.go).
// Queries every engine installed below paths.root. Each error says how to
// name the namespace without an engine.
//   NotFound            no engine is installed, none knows the container, or it
//                       does not run
//   FailedPrecondition  two engines have a running container of that name; or
//                       an answer is not a process id
//   DeadlineExceeded    an engine gave no answer in time, and no other has it
//   Unavailable         an engine failed, quoted, and no other has it
//   PermissionDenied    an engine is a program that others than root can change
// REQUIRES: CheckNetworkNamespace of it as a container is OK.
absl::StatusOr<uint32_t> FindContainerPid(const HostAccess& host,
                                          const std::string& container);

// Finds and opens the namespace of `target` below paths.root: a container
// through its engine, a process through /proc, a path directly. The codes of
// OpenNetworkNamespace::Open and FindContainerPid; InvalidArgument without a
// target or for one that config/values/network_namespace.h refuses.
absl::StatusOr<OpenNetworkNamespace> FindNetworkNamespace(
    const HostAccess& host, const NetworkNamespace& target);

// Finds a namespace by its number, when its name leads elsewhere by now: a
// stopped container may have shared the namespace of the host or of a running
// pod, and a process may have ended before others in it. Checks all threads of
// all processes, and the files in /run/netns and docker's own folders, below
// paths.root. At most one namespace has the number at a time. The caller must
// check that it is the earlier one (ReadNetworkNamespaceCookie, the boot id).
//   NotFound     nothing holds it. Open descriptors and files bound elsewhere
//                are not checked.
//   Unavailable  not found, but the namespace of a process or file is unknown
// Errors begin with `name`, as the errors of the opened namespace do.
absl::StatusOr<OpenNetworkNamespace> FindNetworkNamespaceByInode(
    const HostPaths& paths, uint64_t inode, const std::string& name);

}  // namespace clusterd

#endif  // DAEMON_HOST_NAMESPACE_NETWORK_NAMESPACE_H_
