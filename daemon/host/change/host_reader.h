// Reads the machine back: what apply compares with its plan before the first
// step, and with what a step sets after every command. Changes nothing.
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

  // Every fact that config/plan/named_facts.h names, as an observation for this
  // spec would give it, under no host's name and in the command line of the
  // tool that is there.
  virtual HostFacts ReadHost() = 0;

  // What a change of one device can set (ObserveDeviceSettings), as the tool
  // says now, in the classic command line: the only one that clusterd sets
  // things in. A fact that could not be read is missing, with its reason. tls
  // must not be asked of the tool while hccn.conf has no tls_enable key: that
  // query writes the key.
  virtual DeviceFacts ReadDevice(uint32_t device) = 0;

  // Its state now, and what it lets in if it is active.
  virtual FirewallFacts ReadFirewall(FirewallProgram program) = 0;
};

// What a reader reads through: what observes the machine at `paths`, and so the
// same parsers, and the same lock of each device, since hccn_tool does not
// support two runs on one. All must outlive the reader.
struct HostReaderParts {
  HostObserver* observer;
  DeviceLocks* locks;  // The observer's.
  HostPaths paths;
  CommandRunner* runner;
  Clock* clock;
  // Longer than a check's: nobody waits in front of a screen, and a fact that
  // comes too late undoes a whole apply.
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
