// Reads the optical module of one device from what
// `hccn_tool -i <n> -optical -g` prints:
//   optical info:
//   present              : present
//   temperature          : 47 C
//   high power enable reg: enabled
//   vendor name          : Hisense
//   Tx Power0            : 4.4035 mW
//   Rx Los Flag          : 0xff
//   Host SNR Lane0       : not supported
// Which rows there are depends on module and build (hccn_tool source,
// hicann/driver ef377e95), so only the first is required. Text in, value out:
// runs nothing. "Control link unreachable." is a failure, see hccn_error.h.
#ifndef DAEMON_HOST_HCCN_QUERY_HCCN_OPTICAL_H_
#define DAEMON_HOST_HCCN_QUERY_HCCN_OPTICAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// A row that measures: temperatures and their bounds in C, voltages in mV,
// powers in mW, bias currents in mA, SNR in dB, the wave length in nm.
struct HccnMeasurement {
  std::string name;  // "Tx Power0"
  // Why it has none, in the tool's words: "NA", "not supported", "get failed".
  std::string no_number;
  double number = 0;  // Only if no_number is empty.
  std::string unit;   // The same.
};

// "Tx Los Flag", "Rx LoL Flag" and their like: loss of signal or of lock.
// Anything but 0 is a fault in the vendor's diagnosis tool.
struct HccnOpticalFlag {
  std::string name;
  std::string no_number;  // As above.
  uint32_t mask = 0;      // Only if no_number is empty.
};

// Any other row, as the module or the tool wrote it: the vendor's names, date
// codes, the identifier. Printable; may be empty.
struct HccnOpticalText {
  std::string name;
  std::string value;
};

// Each list in the tool's order.
struct HccnOptical {
  bool present = false;
  std::optional<bool> high_power;  // "high power enable reg".
  std::vector<HccnMeasurement> measurements;
  std::vector<HccnOpticalFlag> flags;
  std::vector<HccnOpticalText> texts;
};

// InvalidArgument, quoting the line, if the heading or the row "present" is
// missing, a name stands there twice, or a row that measures has another form
// or unit. Never a number for a row that has none.
absl::StatusOr<HccnOptical> ParseHccnOptical(absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_HCCN_OPTICAL_H_
