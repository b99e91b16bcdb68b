// Makes facts of what a device says about its traffic, its link's history and
// its optical module.
#ifndef DAEMON_HOST_HCCN_QUERY_QUERY_FACTS_H_
#define DAEMON_HOST_HCCN_QUERY_QUERY_FACTS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "daemon/host/hccn_query/query_answers.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Flags that are set, and what lies outside the thresholds that the module
// itself has for it. A module that names none, or 0 for both, has none.
OpticalFact::Module MakeOpticalModule(const HccnOptical& optical);

// A change that the device's clock puts after now was just now.
LinkHistoryFact::History MakeLinkHistory(const HccnLinkStat& stat);

// PFC and UDP port of RoCE: what a change can set.
void AskLosslessSettings(HccnSession* session, DeviceFacts* facts);

// A query that this tool does not know is NOT_SUPPORTED, as is every one for
// the tool of the Ascend 950, whose words for them are not known.
HccnAnswer AskIfKnown(HccnSession* session, absl::string_view query);

// DSCP and priorities to traffic classes, module, history.
void AskTraffic(uint32_t device, HccnSession* session, DeviceFacts* facts);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_QUERY_FACTS_H_
