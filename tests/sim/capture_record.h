// One recorded run of the vendor's hccn_tool, a line of captures.jsonl:
//   {"name": "ip-get-set", "group": "ip-get", "product": "A2", "argv":
//    ["hccn_tool", "-i", "0", "-ip", "-g"], "precondition": "ip.0=10.0.0.1; …",
//    "stdout": "ipaddr:10.0.0.1\n…", "stderr": "", "exit": 0, …}
// Text in, value out.
#ifndef TESTS_SIM_CAPTURE_RECORD_H_
#define TESTS_SIM_CAPTURE_RECORD_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd::sim {

struct CaptureRecord {
  std::string name;
  std::string group;
  std::string product;
  std::vector<std::string> argv;  // With the program's name.
  std::string standard_input;
  std::string precondition;
  std::string standard_output;
  std::string standard_error;
  // Negative: ended by that signal. nullopt: it had not ended.
  std::optional<int> exit;
  // nullopt: no such file. "<directory>" is one.
  std::optional<std::string> conf_before;
  std::optional<std::string> conf_after;
  // The device's state after the run, if the run changed it.
  std::map<std::string, std::string> device_changes;
};

// InvalidArgument, naming the field, if the line is not a JSON object or lacks
// one.
absl::StatusOr<CaptureRecord> ParseCaptureRecord(absl::string_view json);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_CAPTURE_RECORD_H_
