// Writes running kernel parameters to /proc/sys directly and reads them back.
// Traps of the kernel that `sysctl -w` falls into (seen on Linux 6.18): a write
// to net.ipv4.ip_local_reserved_ports takes about one page and returns its
// size; more on the same descriptor adds to the set. A write of no bytes
// changes nothing, so an empty list is written as a newline. Every write
// replaces the whole set. 060000 is read as octal.
#ifndef DAEMON_HOST_CHANGE_SYSCTL_WRITER_H_
#define DAEMON_HOST_CHANGE_SYSCTL_WRITER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/change/mutation_token.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Returns whether two texts of one parameter mean the same: ports as sets,
// others as text without surrounding white space.
bool SameSysctlValue(absl::string_view key, absl::string_view a,
                     absl::string_view b);

class SysctlWriter {
 public:
  // Opens like FileSystem::Open; for another network namespace, like a thread
  // inside it (EnteredNamespace).
  using OpenFunction = std::function<absl::StatusOr<std::unique_ptr<OpenFile>>(
      const std::string& path, OpenMode mode)>;

  // All that `open` uses must outlive it.
  explicit SysctlWriter(OpenFunction open) : open_(std::move(open)) {}

  // Returns the kernel's text without the newline. NotFound: the kernel has no
  // such parameter in this namespace. InvalidArgument: not in
  // config/plan/kernel_parameters.h.
  absl::StatusOr<std::string> Read(absl::string_view key) const;

  // Writes `value` in the kernel's own spelling and always reads it back.
  // FailedPrecondition, with both values, if the parameter then differs.
  // NotFound and InvalidArgument as Read; a read-only /proc/sys is the error of
  // the write.
  absl::Status Write(const MutationToken& token, absl::string_view key,
                     absl::string_view value);

 private:
  const OpenFunction open_;
};

// Access to a network namespace for code that changes kernel parameters there:
// one open namespace for both functions, whatever its name refers to later.
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

#endif  // DAEMON_HOST_CHANGE_SYSCTL_WRITER_H_
