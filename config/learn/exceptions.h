// What hosts have instead of what a cluster.yaml that was written from them
// says: what a check against it finds, and an apply changes.
#ifndef CONFIG_LEARN_EXCEPTIONS_H_
#define CONFIG_LEARN_EXCEPTIONS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "config/learn/seen_cluster.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Hosts, or the same devices of each, that have something else than planned.
struct SpecException {
  std::vector<std::string> hosts;
  std::string devices;  // "device 3"; empty: it is about the host.
  std::string what;     // e.g. "mtu 1500, planned 4200".
};

// Equal ones folded together. What is about the host itself is in the words of
// the rules, and needs its facts. REQUIRES: `hosts` are the servers of `spec`,
// in their order.
std::vector<SpecException> FindExceptions(
    const ClusterSpec& spec, absl::Span<const SeenHost* const> hosts);

}  // namespace clusterd

#endif  // CONFIG_LEARN_EXCEPTIONS_H_
