// The network namespace of a command of clusterctl, as people write it and as
// reports name it:
//   container:train-1   the container engine's name or id
//   pid:4711            the namespace of that process
//   path:/run/netns/x   a file of the namespace, as `ip netns` makes it
// Text and message only; daemon/host finds the namespace on a machine.
#ifndef CONFIG_VALUES_NETWORK_NAMESPACE_H_
#define CONFIG_VALUES_NETWORK_NAMESPACE_H_

#include <deque>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/facts.pb.h"

namespace clusterd {

// The text above; "" if no target is set: the host's own. Makes a peer's target
// printable, so that it fits a line of a terminal.
std::string NetworkNamespaceText(const NetworkNamespace& target);

// InvalidArgument, naming the mistake and the expected form: no kind in front,
// an unknown one (with the nearest), or the error of CheckNetworkNamespace.
absl::StatusOr<NetworkNamespace> ParseNetworkNamespace(absl::string_view text);

// OK for a target that a root daemon may look up; also for none. A container is
// a letter or digit and then letters, digits, '_', '.' and '-', at most 128 of
// them: what the engines allow, and never an option. A pid is 1 to 4194304, the
// kernel's largest. A path is /proc/PID/ns/net or below /run or /var/run, where
// `ip netns` and the engines keep theirs: a viewer must not learn through a
// root daemon which files exist. No "..", no control characters, at most 1 KiB.
absl::Status CheckNetworkNamespace(const NetworkNamespace& target);

// Facts about the requested network namespace only: an older clusterd sends its
// host's own facts, which must not be judged or planned by.
class NamespaceFacts {
 public:
  // `network_namespace`: as NetworkNamespaceText has it; "" the hosts' own.
  // `hosts` must outlive it.
  NamespaceFacts(absl::string_view network_namespace,
                 absl::Span<const HostFacts* const> hosts);
  NamespaceFacts(const NamespaceFacts&) = delete;
  NamespaceFacts& operator=(const NamespaceFacts&) = delete;

  // One for each of `hosts`, in their order: the same, or, if the facts are of
  // another namespace, those of an unknown host, with the reason.
  const std::vector<const HostFacts*>& hosts() const { return hosts_; }

 private:
  std::vector<const HostFacts*> hosts_;
  std::deque<HostFacts> replaced_;
};

// True if the facts are of a target that shares the host's own network.
bool SharesHostNetwork(const HostFacts& facts);

}  // namespace clusterd

#endif  // CONFIG_VALUES_NETWORK_NAMESPACE_H_
