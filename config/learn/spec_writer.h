// Writes the cluster.yaml of an existing cluster: the address pattern that most
// devices follow, and the settings that most have. Comments list where hosts
// differ, as a check against the file would report them.
#ifndef CONFIG_LEARN_SPEC_WRITER_H_
#define CONFIG_LEARN_SPEC_WRITER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/learn/seen_cluster.h"

namespace clusterd {

// Hosts, or the same devices of each, whose values differ from the written
// cluster.yaml: a check reports them, and an apply changes them.
struct SpecException {
  std::vector<std::string> hosts;
  std::string devices;  // "device 3"; empty: it is about the host.
  std::string what;     // e.g. "mtu 1500, planned 4200".
};

struct WrittenSpec {
  std::string yaml;
  // The pattern in the user's language; empty: no device's address is known,
  // and the user has to complete `devices` in the file.
  std::string pattern;
  size_t servers = 0;
  std::vector<SpecException> exceptions;
  // Settings missing from the file, and messages of `config validate`.
  std::vector<FindingValue> notes;
};

// "node[03,07] device 3: mtu 1500, planned 4200".
std::string ExceptionText(const SpecException& exception);

// LoadSpec accepts the file, unless its pattern is empty. Leaves out hosts
// without an address of their own, with a note. InvalidArgument, naming them,
// if two hosts share a name or address, or if no host is left.
absl::StatusOr<WrittenSpec> WriteSpec(const SeenCluster& seen);

}  // namespace clusterd

#endif  // CONFIG_LEARN_SPEC_WRITER_H_
