// A host's own check for people to read, one line per fact and rule:
//   identity.hostname        server0
//   devices[0].gateway       not known: TIMED_OUT, no answer in 10s
//   fail ports-reserved      60000-60015 are not reserved
// clusterctl prints reports of clusters; this is for a host that is alone.
#ifndef DAEMON_AGENT_SELF_CHECK_TEXT_H_
#define DAEMON_AGENT_SELF_CHECK_TEXT_H_

#include <string>

#include "proto/agent_hub.pb.h"

namespace clusterd {

// Control bytes in values are escaped.
std::string SelfCheckText(const CheckSelfResponse& response);

// The lines about facts alone.
std::string FactLines(const HostFacts& facts);

// 0 pass or warnings only; 1 failure; 2 no complete verdict.
int SelfCheckExitStatus(const Report& report);

}  // namespace clusterd

#endif  // DAEMON_AGENT_SELF_CHECK_TEXT_H_
