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

  // Absent deadlines in `request` are 10 s a command and 30 s a host. With a
  // root folder that holds etc/clusterd/simulation, that file's first line goes
  // to HostFacts.simulation.
  HostFacts Observe(const std::string& host,
                    const ObserveRequest& request) override;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_MACHINE_OBSERVER_H_
