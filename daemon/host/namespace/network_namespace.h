// Another network namespace of this machine, and how to look and write there.
//
// The kernel shows under /proc/sys/net, and in /proc/thread-self/net, the
// network namespace of the thread that opens the file, and the open file stays
// with that namespace. So a thread of its own goes in, opens, and ends; no
// thread of the caller ever moves.
#ifndef DAEMON_HOST_NAMESPACE_NETWORK_NAMESPACE_H_
#define DAEMON_HOST_NAMESPACE_NETWORK_NAMESPACE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/host_access.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Keeps the namespace alive, even when its last process has ended. Safe for
// concurrent use once it is made.
class OpenNetworkNamespace {
 public:
  // `path`: a file of the kernel's nsfs, e.g. /proc/4711/ns/net or
  // /run/netns/train. Errors begin with `name`, which people know it by.
  // NotFound: there is none (any more). FailedPrecondition: it is no network
  // namespace; nothing but the kernel's own files is ever opened.
  // PermissionDenied: this process may not.
  static absl::StatusOr<OpenNetworkNamespace> Open(const std::string& path,
                                                   const std::string& name);
  OpenNetworkNamespace(OpenNetworkNamespace&& other) noexcept;
  OpenNetworkNamespace(const OpenNetworkNamespace&) = delete;
  OpenNetworkNamespace& operator=(const OpenNetworkNamespace&) = delete;
  ~OpenNetworkNamespace();

  // Of its nsfs file, as `ls -L -i` shows it. The kernel may give the number of
  // a namespace that has ended to a new one; a cookie it does not.
  uint64_t inode() const { return inode_; }

  // Runs `work` to its end on a thread that is inside. PermissionDenied: this
  // process may not enter (CAP_SYS_ADMIN, or a sandbox without
  // RestrictNamespaces=net); Unavailable: no thread was to be had; `work` was
  // then not run.
  absl::Status Run(const std::function<void()>& work) const;

 private:
  OpenNetworkNamespace(int descriptor, uint64_t inode, std::string name)
      : descriptor_(descriptor), inode_(inode), name_(std::move(name)) {}

  int descriptor_;  // -1: moved from.
  uint64_t inode_;
  std::string name_;
};

// The kernel's number of the network namespace that the calling thread is in,
// which no other gets until the next boot. Unimplemented before Linux 5.14.
absl::StatusOr<uint64_t> ReadNetworkNamespaceCookie();

// Finds and opens what `target` names below paths.root: a container through the
// engine (container_engine.h), a process through /proc, a path as it is. The
// codes of OpenNetworkNamespace::Open and FindContainerPid; InvalidArgument for
// a target that config/values/network_namespace.h refuses, or none.
absl::StatusOr<OpenNetworkNamespace> FindNetworkNamespace(
    const HostAccess& host, const NetworkNamespace& target);

// By its number, for when the name under which people knew it leads nowhere, or
// elsewhere, by now: a container that stopped may have shared the host's own
// namespace, or that of a pod which goes on; a process may have ended before
// the others in there. Looks at every thread of every process, and at the files
// in /run/netns and docker's own folders, below paths.root. At any moment one
// namespace at most has the number; whether it is still the one that had it
// before is for the caller to tell (ReadNetworkNamespaceCookie, the boot id).
//   NotFound     nothing holds it. Not seen is one that only an open
//                descriptor or a file bound elsewhere holds.
//   Unavailable  not found, and there is a process or file whose namespace
//                could not be told
// Errors begin with `name`, as the errors of the opened namespace do.
absl::StatusOr<OpenNetworkNamespace> FindNetworkNamespaceByInode(
    const HostPaths& paths, uint64_t inode, const std::string& name);

}  // namespace clusterd

#endif  // DAEMON_HOST_NAMESPACE_NETWORK_NAMESPACE_H_
