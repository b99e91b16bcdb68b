// Makes facts of a device's traffic, link history and optical module.
#ifndef DAEMON_HOST_HCCN_QUERY_QUERY_FACTS_H_
#define DAEMON_HOST_HCCN_QUERY_QUERY_FACTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "daemon/host/hccn_query/query_answers.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Reports set flags, and values outside the module's own thresholds. A module
// that has none, or 0 for both, gets no such report.
OpticalFact::Module MakeOpticalModule(const HccnOptical& optical);

// Queries PFC and UDP port of RoCE, which a change can set.
void AskLosslessSettings(HccnSession* session, DeviceFacts* facts);

// Queries DSCP and priorities to traffic classes, module, and history.
void AskTraffic(uint32_t device, HccnSession* session, DeviceFacts* facts);

// Remembers `hccn_tool -i N -stat -g`, to report rises: a counter alone does
// not show when it rose. Covers all devices of one machine, in memory only:
// empty when clusterd starts. Safe for concurrent use.
class CounterMemory {
 public:
  // Minimum age of a read that replaces the compared one. Checks in quick
  // succession share one, so that a steady rise between them stays visible.
  static constexpr absl::Duration kLeastSpan = absl::Minutes(5);

  // Returns each error counter's rise since the newest read at least kLeastSpan
  // old, or since the first while none is. A device's first read is not
  // compared, nor one with a counter that fell, since it was reset; both start
  // a new comparison. A tool without error counters reports none. `now` is
  // monotonic.
  CounterRisesFact::Rises Compare(uint32_t device, absl::Duration now,
                                  const std::vector<HccnCounter>& counters);

 private:
  struct Read {
    absl::Duration time;
    std::map<std::string, uint64_t> errors;
  };
  struct Reads {
    Read base;    // Compared with.
    Read newest;  // The next base, at least kLeastSpan after it.
  };

  absl::Mutex mutex_;
  std::map<uint32_t, Reads> reads_ ABSL_GUARDED_BY(mutex_);
};

// Queries a device's counters. NOT_SUPPORTED as for AskTraffic.
CounterRisesFact AskCounters(uint32_t device, HccnSession* session,
                             Clock* clock, CounterMemory* memory);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_QUERY_FACTS_H_
