// Collects a device's facts from hccn_tool and hccn.conf, in one chain of
// queries.
#ifndef DAEMON_HOST_DEVICE_OBSERVER_H_
#define DAEMON_HOST_DEVICE_OBSERVER_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "proto/facts.pb.h"

namespace clusterd {

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

#endif  // DAEMON_HOST_DEVICE_OBSERVER_H_
