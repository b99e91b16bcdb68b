// Facts that are about the network namespace that was asked for, and no other:
// a clusterd that does not know how to look into one sends its host's own
// facts, and nobody may judge or plan by them.
#ifndef CONFIG_VALUES_NAMESPACE_FACTS_H_
#define CONFIG_VALUES_NAMESPACE_FACTS_H_

#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/facts.pb.h"

namespace clusterd {

class NamespaceFacts {
 public:
  // `network_namespace`: as NetworkNamespaceText has it; "" the hosts' own.
  // `hosts` must outlive it.
  NamespaceFacts(absl::string_view network_namespace,
                 absl::Span<const HostFacts* const> hosts);
  NamespaceFacts(const NamespaceFacts&) = delete;
  NamespaceFacts& operator=(const NamespaceFacts&) = delete;

  // One for each of `hosts`, in their order: the same, or, where the facts are
  // of another namespace, those of a host of which nothing is known, with the
  // reason.
  const std::vector<const HostFacts*>& hosts() const { return hosts_; }

 private:
  std::vector<const HostFacts*> hosts_;
  std::deque<HostFacts> replaced_;
};

// Whether the facts are of a container, process or file that shares the host's
// own network.
bool SharesHostNetwork(const HostFacts& facts);

// "container train-1 on node[01-02] uses the host's network: host and container
// are one". REQUIRES: hosts is not empty.
std::string HostNetworkNote(absl::string_view network_namespace,
                            absl::Span<const std::string> hosts);

}  // namespace clusterd

#endif  // CONFIG_VALUES_NAMESPACE_FACTS_H_
