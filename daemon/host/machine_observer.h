// The observation of the machine this process runs on: devices through
// hccn_tool, and files, sockets and firewalls beside them.
//
// Devices are asked in parallel and everything else at the same time, so one
// observation takes about as long as the slowest device's own chain of
// commands. Nothing is changed on the machine; the one vendor query that
// writes (`-tls -g`) runs only if the request allows it.
#ifndef DAEMON_HOST_MACHINE_OBSERVER_H_
#define DAEMON_HOST_MACHINE_OBSERVER_H_

#include <memory>
#include <string>

#include "daemon/host/clock.h"
#include "daemon/host/command_runner.h"
#include "daemon/host/device_turns.h"
#include "daemon/host/host_observer.h"
#include "proto/facts.pb.h"

namespace clusterd {

struct ObserverOptions {
  // Devices that are asked at the same time, at least 1.
  int max_parallel_devices = 16;
};

// Safe for concurrent use; two observations at once take turns at each device.
class MachineObserver final : public HostObserver {
 public:
  // `runner` and `clock` must outlive this object:
  //   PosixCommandRunner runner;
  //   SystemClock clock;
  //   MachineObserver observer(HostPaths{}, &runner, &clock);
  MachineObserver(HostPaths paths, CommandRunner* runner, Clock* clock,
                  ObserverOptions options = {});
  ~MachineObserver() override;

  // hccn_tool.generation is the one that the request names, unless the tool
  // refused its command line as the other generation's does; then it is that
  // one, and the devices' facts are missing for that reason.
  // With a network namespace in `request`, only what namespace_observer.h reads
  // of it; `missing` if it cannot be found or entered.
  // Absent deadlines in `request` are 10 s a command and 30 s a host. With a
  // root folder that holds etc/clusterd/simulation, that file's first line goes
  // to HostFacts.simulation.
  HostFacts Observe(const std::string& host,
                    const ObserveRequest& request) override;

  // The turns it takes, for what else runs hccn_tool on this machine. Lives as
  // long as this object.
  DeviceTurns* turns();

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_MACHINE_OBSERVER_H_
