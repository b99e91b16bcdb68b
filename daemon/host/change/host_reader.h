// Reads the machine back, changing nothing. Apply compares the result with its
// plan before the first step, and with the set value after every command.
#ifndef DAEMON_HOST_CHANGE_HOST_READER_H_
#define DAEMON_HOST_CHANGE_HOST_READER_H_

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "daemon/host/host_observer.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

class HostReader {
 public:
  virtual ~HostReader() = default;

  // Returns every fact that config/plan/named_facts.h names, as an observation
  // for this spec would: without host name, by the installed tool.
  virtual HostFacts ReadHost() = 0;

  // Returns what a change of one device can set (ObserveDeviceSettings), as the
  // tool reports now in the classic command line, the only one in which
  // clusterd sets things. An unreadable fact is missing, with its reason. tls
  // must not be queried while hccn.conf has no tls_enable key: that query
  // writes the key.
  virtual DeviceFacts ReadDevice(uint32_t device) = 0;

  // Returns the current state and, if active, the allowed ports.
  virtual FirewallFacts ReadFirewall(FirewallProgram program) = 0;
};

// The observer of the machine at `paths` is shared, and with it the same
// parsers and the same device locks, since hccn_tool does not support two runs
// on one device. All must outlive the reader.
struct HostReaderParts {
  HostObserver* observer;
  DeviceLocks* locks;  // The observer's.
  HostPaths paths;
  CommandRunner* runner;
  Clock* clock;
  // Longer than a check's: no user waits, and a late fact would undo an apply.
  absl::Duration command_deadline = absl::Seconds(30);
  absl::Duration host_deadline = absl::Minutes(2);
};

// Safe for concurrent use:
//   MachineObserver observer(paths, &runner, &clock);
//   const auto reader = MakeHostReader(
//       {&observer, observer.locks(), paths, &runner, &clock});
std::unique_ptr<HostReader> MakeHostReader(HostReaderParts parts);

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_HOST_READER_H_
