// The rows behind FaultKeys(): each kind with the values that it takes and how
// it acts.
#ifndef TESTS_SIM_FAULT_FAULT_ROWS_H_
#define TESTS_SIM_FAULT_FAULT_ROWS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/sim/fault.h"
#include "tests/sim/host_folder.h"

namespace clusterd::sim {

using Valid = std::function<bool(const std::string&)>;
using Act = std::function<absl::Status(const HostFolder&, int device,
                                       const std::string& value)>;

struct FaultRow {
  FaultKey key;
  Valid valid;
  Act act;
};

FaultRow OfDevice(std::string key, std::string values, std::string meaning,
                  Noticed noticed, Valid valid, Act act,
                  Servers servers = Servers::kAll);
FaultRow OfServer(std::string key, std::string values, std::string meaning,
                  Noticed noticed, Valid valid, Act act,
                  Servers servers = Servers::kAll);

// The values that faults of both kinds take.
bool IsNumber(const std::string& value);
bool IsFilled(const std::string& value);
bool IsIpv4(const std::string& value);
Valid OneOf(std::vector<std::string> values);

// True if the classic tool, or that of an Ascend 950, reads the key of a
// device's state, e.g. "speed".
bool ReadsStateKey(bool is_950, const std::string& name);

absl::Status SetState(const HostFolder& folder, const std::string& key,
                      const std::string& value);

// Faults of a device or a chip, and of the answers about it.
std::vector<FaultRow> DeviceRows();
// Faults of the server around them.
std::vector<FaultRow> ServerRows();

const std::vector<FaultRow>& FaultRows();

}  // namespace clusterd::sim

#endif  // TESTS_SIM_FAULT_FAULT_ROWS_H_
