// One run of the tool as a process, in its private root.
#ifndef TESTS_SIM_TOOL_PROCESS_H_
#define TESTS_SIM_TOOL_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/sim/private_root.h"
#include "tests/sim/run_setup.h"

namespace clusterd::sim {

struct ToolResult {
  // Negative: ended by that signal. nullopt: it was killed at the limit.
  std::optional<int> exit;
  std::string standard_output;
  std::string standard_error;
};

// Kills and reaps the process if it still runs when it goes.
class ToolProcess {
 public:
  ToolProcess() = default;
  ~ToolProcess();
  ToolProcess(const ToolProcess&) = delete;
  ToolProcess& operator=(const ToolProcess&) = delete;

  // Runs `tool` with `argv`, which begins with the program's name.
  absl::Status Start(const std::string& tool,
                     const std::vector<std::string>& argv,
                     const std::string& standard_input, const PrivateRoot& root,
                     const RunSetup& setup);
  pid_t pid() const { return pid_; }
  // Reads both streams for `time`, or until the process has ended.
  void Pump(absl::Duration time);
  // The same until it sleeps: waits for a lock or a device, or is idle. `limit`
  // at most.
  void PumpUntilAsleep(absl::Duration limit);
  bool ended() const { return exit_.has_value(); }
  ToolResult Finish(absl::Duration limit);

 private:
  bool TryReap();
  bool IsAsleep() const;

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::optional<int> exit_;
  ToolResult result_;
};

}  // namespace clusterd::sim

#endif  // TESTS_SIM_TOOL_PROCESS_H_
