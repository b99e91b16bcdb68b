// Observes the machine that this process runs on: devices through hccn_tool and
// npu-smi, and files, sockets and firewalls.
//
// Devices are queried in parallel and all other facts at the same time, so an
// observation takes about as long as the slowest device's chain of commands. It
// changes nothing on the machine; the one vendor query that writes (`-tls -g`)
// does so to a private copy. Only error counters are kept, for the next
// observation to compare with.
#ifndef DAEMON_HOST_MACHINE_OBSERVER_H_
#define DAEMON_HOST_MACHINE_OBSERVER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "config/values/port_set.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "daemon/host/hccn_query/query_facts.h"
#include "daemon/host/host_observer.h"
#include "daemon/host/namespace/network_namespace.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Safe for concurrent use; observations take turns at each device.
class MachineObserver final : public HostObserver {
 public:
  // `runner` and `clock` must outlive this object:
  //   PosixCommandRunner runner;
  //   SystemClock clock;
  //   MachineObserver observer(HostPaths{}, &runner, &clock);
  // `locks`: those of other users of hccn_tool on this machine; null: its own.
  MachineObserver(HostPaths paths, CommandRunner* runner, Clock* clock,
                  DeviceLocks* locks = nullptr)
      : paths_(std::move(paths)),
        files_(paths_.root),
        runner_(runner),
        clock_(clock),
        locks_(locks == nullptr ? &own_locks_ : locks) {}

  // hccn_tool.generation is the requested one, unless the tool refused its
  // command line as the other generation's does. Then it is the other one, and
  // the devices' facts are missing for that reason. If the request has none,
  // the tool's own command line is used. With a network namespace in `request`,
  // only ReadOpenNamespace's facts and the processes that use NPUs; `missing`
  // if it cannot be found or entered. With a question about ssh, it logs in to
  // the servers named there. Default deadlines are 10 s a command and 30 s a
  // host. With a root folder that has etc/clusterd/simulation, that file's
  // first line is HostFacts.simulation.
  HostFacts ObserveFor(const std::string& host, const ObserveRequest& request,
                       const Asker& asker) override;

  // Locks of the devices, shared with everything that runs hccn_tool on this
  // machine. They live as long as this object.
  DeviceLocks* locks() { return locks_; }

 private:
  HostFacts ObserveHost(const std::string& name, const ObserveRequest& request,
                        const TimeBudget& budget);
  HostFacts ObserveNamespace(const ObserveRequest& request,
                             const TimeBudget& budget) const;
  void ObserveDevices(const ObserveRequest& request, const TimeBudget& budget,
                      HostFacts* facts);

  const HostPaths paths_;
  const FileReader files_;
  CommandRunner* const runner_;
  Clock* const clock_;
  DeviceLocks own_locks_;
  DeviceLocks* const locks_;
  DeviceLocks npu_smi_locks_;
  CounterMemory counters_;
};

// Reads only one network namespace of this machine: `network_namespace`,
// `kernel` and, unless `ports` is empty, `sockets` of `opened`, which people
// call `target`. The boot id and the numbers in `kernel` identify it uniquely.
// Otherwise `missing`, with the reason why it cannot be entered.
HostFacts ReadOpenNamespace(const OpenNetworkNamespace& opened,
                            const NetworkNamespace& target,
                            const FileReader& files,
                            const absl::StatusOr<PortSet>& ports,
                            const TimeBudget& budget);

// Collects a device's facts from hccn_tool and hccn.conf, in one chain of
// queries.

// Ways to read a TLS switch. The classic query makes hccn_tool add a missing
// tls_enable_<id> to hccn.conf, and writes nothing if the key is there ("only
// save tls_enable for the first time", tool_tls.c of hicann/driver). The Ascend
// 950 tool has the same function, but no run of it is known; its <id> is the
// slot. So the query runs on a private copy of the file. Without a copy it runs
// on the file itself only if that has the key.
struct TlsAsking {
  // Makes that copy (CopyHccnConf).
  std::function<absl::StatusOr<PrivateFile>()> copy_conf;
  // Query the device even if the file has the key.
  bool live = false;
};

// Queries address, gateway, detect address, net health, link, LLDP neighbour,
// MTU and speed. "Detect ip set" means a pending result: the query is repeated
// up to three times, a second apart. The session's generation selects queries
// and parsers: those of ascend950/dialect.h, or the classic tool's. Then come
// the queries of hccn_query/query_facts.h, classic tool only, and the TLS
// switch:
//   conf has its key        conf's value; with `live` the tool's answer
//   conf lacks its key      the tool's answer over the copy; NOT_QUERIED where
//                           no copy is possible
//   conf is not known       NOT_QUERIED
DeviceFacts ObserveDevice(uint32_t id, const HccnConfFact& conf,
                          const TlsAsking& tls, HccnSession* session);

// Queries the virtual NIC. REQUIRES: the session is classic.
VnicFact ObserveVnic(HccnSession* session);

// Queries only what a change of this host can set: address, gateway, detect
// address, MTU, TLS switch, PFC, RoCE port and DSCP to traffic class, all live.
// REQUIRES: tls.live, and the session is classic.
DeviceFacts ObserveDeviceSettings(uint32_t id, const HccnConfFact& conf,
                                  const TlsAsking& tls, HccnSession* session);

}  // namespace clusterd

#endif  // DAEMON_HOST_MACHINE_OBSERVER_H_
