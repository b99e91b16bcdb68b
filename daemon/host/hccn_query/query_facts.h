// Makes facts of what a device says about its traffic, its link's history and
// its optical module.
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

// Flags that are set, and what lies outside the thresholds that the module
// itself has for it. A module that names none, or 0 for both, has none.
OpticalFact::Module MakeOpticalModule(const HccnOptical& optical);

// PFC and UDP port of RoCE: what a change can set.
void AskLosslessSettings(HccnSession* session, DeviceFacts* facts);

// DSCP and priorities to traffic classes, module, history.
void AskTraffic(uint32_t device, HccnSession* session, DeviceFacts* facts);

// What `hccn_tool -i N -stat -g` counted before, to tell what has risen since:
// a counter alone says nothing, since nobody knows when it rose.
// Of all devices of one machine, in memory alone: empty when clusterd starts.
// Safe for concurrent use.
class CounterMemory {
 public:
  // How old a read must be to take the place of the one that is compared with.
  // Checks that follow each other quickly so share one, and a steady rise does
  // not vanish in the seconds between them.
  static constexpr absl::Duration kLeastSpan = absl::Minutes(5);

  // How much each error counter has risen since the newest read that is at
  // least kLeastSpan old; since the first one while none is. Not compared: the
  // device's first read, and one with a counter that fell, since it was reset;
  // both begin anew. A tool without error counters has no rises. `now` is
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

// Asks a device for its counters. NOT_SUPPORTED as for AskTraffic.
CounterRisesFact AskCounters(uint32_t device, HccnSession* session,
                             Clock* clock, CounterMemory* memory);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_QUERY_FACTS_H_
