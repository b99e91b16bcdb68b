// Everything about one device that hccn_tool and hccn.conf can tell, in one
// chain of queries.
#ifndef DAEMON_HOST_DEVICE_OBSERVER_H_
#define DAEMON_HOST_DEVICE_OBSERVER_H_

#include <cstdint>

#include "daemon/host/hccn_tool.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Asks for address, gateway, detect address, net health, link, LLDP neighbour
// and MTU. "Detect ip set" is asked again up to three times, a second apart:
// the result is pending. The TLS switch comes from tls_enable_<id> in `conf`;
// without that key the query for it would write it, so that runs only if
// `allow_tls_query`. The session's generation chooses the words and parsers:
// those of ascend950/dialect.h, or the classic tool's.
DeviceFacts ObserveDevice(uint32_t id, const HccnConfFact& conf,
                          bool allow_tls_query, HccnSession* session);

// Only what a change of this host can set: address, gateway, detect address and
// TLS switch, all as the tool says now. Without tls_enable_<id> in `conf` the
// switch is NOT_QUERIED. REQUIRES: the session speaks the classic command line.
DeviceFacts ObserveDeviceSettings(uint32_t id, const HccnConfFact& conf,
                                  HccnSession* session);

}  // namespace clusterd

#endif  // DAEMON_HOST_DEVICE_OBSERVER_H_
