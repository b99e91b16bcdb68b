// Everything about one device that hccn_tool and hccn.conf can tell, in one
// chain of queries.
#ifndef DAEMON_HOST_DEVICE_OBSERVER_H_
#define DAEMON_HOST_DEVICE_OBSERVER_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "proto/facts.pb.h"

namespace clusterd {

// How an observation learns a TLS switch. Asked for it, the classic hccn_tool
// writes tls_enable_<id> to hccn.conf if that key is not there, and nothing if
// it is ("only save tls_enable for the first time", tool_tls.c of
// hicann/driver). The Ascend 950 tool has the same function, of which nobody
// has seen a run; its <id> is the slot. So it is asked over a copy of the file
// that nobody else sees or locks; over the file where it has the key and there
// can be no copy.
struct TlsAsking {
  // Makes that copy (CopyHccnConf).
  std::function<absl::StatusOr<PrivateFile>()> copy_conf;
  // Ask the device also where the file has the key.
  bool live = false;
};

// Asks for address, gateway, detect address, net health, link, LLDP neighbour,
// MTU and speed. "Detect ip set" is asked again up to three times, a second
// apart: the result is pending. The session's generation chooses the words and
// parsers: those of ascend950/dialect.h, or the classic tool's. Then come what
// hccn_query/query_facts.h asks, of the classic tool alone, and the TLS switch:
//   conf has its key        what conf says; with `live` what the tool says
//   conf lacks its key      what the tool says over the copy; NOT_QUERIED where
//                           it cannot be given one
//   conf is not known       NOT_QUERIED
DeviceFacts ObserveDevice(uint32_t id, const HccnConfFact& conf,
                          const TlsAsking& tls, HccnSession* session);

// The virtual NIC. REQUIRES: the session speaks the classic command line.
VnicFact ObserveVnic(HccnSession* session);

// Only what a change of this host can set: address, gateway, detect address,
// MTU, TLS switch, PFC, RoCE port and DSCP to traffic class, all as the tool
// says now. REQUIRES: tls.live, and the session speaks the classic command
// line.
DeviceFacts ObserveDeviceSettings(uint32_t id, const HccnConfFact& conf,
                                  const TlsAsking& tls, HccnSession* session);

}  // namespace clusterd

#endif  // DAEMON_HOST_DEVICE_OBSERVER_H_
