// Faults of a simulated server, as people write them on a command line:
//   3:link=DOWN          device 3
//   host:somaxconn=128   the server itself
// FaultKeys() is the list of what can be wrong.
#ifndef TESTS_SIM_FAULT_H_
#define TESTS_SIM_FAULT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tests/sim/host_folder.h"

namespace clusterd {
namespace sim {

// One kind of fault, for people: `simhost fault-keys` prints these.
struct FaultKey {
  std::string key;
  bool of_device;
  // What may stand behind `=`, e.g. "UP|DOWN".
  std::string values;
  std::string meaning;
};

struct Fault {
  // -1: the server.
  int device = -1;
  std::string key;
  std::string value;
};

const std::vector<FaultKey>& FaultKeys();

// InvalidArgument with every mistake of every fault, one a line: not of the
// form, no such device among `devices`, unknown key (with the nearest one), a
// value that the key does not take.
absl::StatusOr<std::vector<Fault>> ParseFaults(
    absl::Span<const std::string> texts, absl::Span<const int> devices);

// Makes the server below `folder` so. A host that runs in namespaces of its own
// takes kernel values from its kernel, not from these files.
absl::Status ApplyFault(const Fault& fault, const HostFolder& folder);

}  // namespace sim
}  // namespace clusterd

#endif  // TESTS_SIM_FAULT_H_
