// Faults of a simulated server, as written on a command line:
//   3:link=DOWN          device 3
//   host:somaxconn=128   the server itself
// FaultKeys() is the one table of them: help, faults.md and the tests that each
// is noticed use it.
#ifndef TESTS_SIM_FAULT_H_
#define TESTS_SIM_FAULT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/finding.pb.h"
#include "tests/sim/host_folder.h"

namespace clusterd::sim {

// The server's place: in its folder, on this machine's kernel, or in
// namespaces, where namespaces.sh lays the folder over "/".
enum class Mode { kSideBySide, kNamespaces };

// The servers that show a fault; kChanged: if clusterd changes their devices.
enum class Servers { kAll, kNotAscend950, kChanged, kSuperPod };

// The injection of a kind's test into one of three servers of an Atlas A3 super
// pod, and the check's finding about that server.
struct Noticed {
  std::string value;
  std::string rule;
  State state;
  // A change of device 3 by hccn_tool: none, before the check, or not finished
  // when it begins.
  enum Change { kNoChange, kChanged, kChanging } change = kNoChange;
};

// One kind of fault.
struct FaultKey {
  std::string key;
  bool of_device;
  // Values after `=`, e.g. "UP|DOWN".
  std::string values;
  std::string meaning;
  Noticed noticed;
  Servers servers = Servers::kAll;
  // Why it cannot act there; empty: it acts.
  std::string not_side_by_side = "";
  std::string not_in_namespaces = "";
  // A program of this machine that it needs in namespaces; empty: none.
  std::string program = "";
};

const std::vector<FaultKey>& FaultKeys();

// "an Ascend 950: …", the servers on which the kind cannot act, with the
// reason; empty: none.
std::string NotOn(Servers servers);

struct Fault {
  // -1: the server.
  int device = -1;
  std::string key;
  std::string value;
};

// Properties that decide if a fault can act on a server.
struct ServerKind {
  std::vector<int> devices;
  std::string product;  // As tool/product.h has it, or "ascend-950".
  Mode mode = Mode::kSideBySide;
  std::vector<std::string> interfaces = {"eth0", "lo"};
};

// InvalidArgument with every mistake of every fault, one a line: a wrong form,
// a missing device, an unknown key (with the nearest one), a wrong value. Or
// the fault cannot act there, with the reason: the kind of server, or a part
// that the value names and the server lacks.
absl::StatusOr<std::vector<Fault>> ParseFaults(
    absl::Span<const std::string> texts, const ServerKind& server);

// Makes the server below `folder` so; "/" is a server in its namespaces, and
// ApplyFault runs there. REQUIRES: ParseFaults accepted the fault.
absl::Status ApplyFault(const Fault& fault, const HostFolder& folder);

Mode ModeOf(const HostFolder& folder);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_FAULT_H_
