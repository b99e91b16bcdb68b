// Reads the machine back through what observes it: the same parsers, and the
// same turns at each device. A single device is asked only what a change can
// set, at most four commands; ReadHost is a whole observation.
#ifndef DAEMON_HOST_CHANGE_OBSERVER_HOST_READER_H_
#define DAEMON_HOST_CHANGE_OBSERVER_HOST_READER_H_

#include <cstdint>

#include "absl/time/time.h"
#include "daemon/host/change/host_reader.h"
#include "daemon/host/clock.h"
#include "daemon/host/command_runner.h"
#include "daemon/host/device_turns.h"
#include "daemon/host/host_observer.h"
#include "daemon/host/time_budget.h"

namespace clusterd {

// Longer than a check's: nobody waits in front of a screen, and a fact that
// comes too late undoes a whole apply.
struct ReaderDeadlines {
  absl::Duration command = absl::Seconds(30);
  absl::Duration host = absl::Minutes(2);
};

// Safe for concurrent use.
class ObserverHostReader final : public HostReader {
 public:
  // `turns` are those of `observer`, which observes the machine at `paths`. All
  // must outlive it:
  //   MachineObserver observer(paths, &runner, &clock);
  //   ObserverHostReader reader(&observer, observer.turns(), paths, &runner,
  //                             &clock);
  ObserverHostReader(HostObserver* observer, DeviceTurns* turns,
                     HostPaths paths, CommandRunner* runner, Clock* clock,
                     ReaderDeadlines deadlines = {});

  // Under no host's name. In the command line of the tool that is there. TLS
  // switches are the devices' own, which a plan that sets them rests on.
  HostFacts ReadHost() override;

  // In the classic command line, the only one that clusterd sets things in.
  DeviceFacts ReadDevice(uint32_t device) override;

  FirewallFacts ReadFirewall(FirewallProgram program) override;

 private:
  TimeBudget NewBudget() const;

  HostObserver* const observer_;
  DeviceTurns* const turns_;
  const HostPaths paths_;
  CommandRunner* const runner_;
  Clock* const clock_;
  const ReaderDeadlines deadlines_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_OBSERVER_HOST_READER_H_
