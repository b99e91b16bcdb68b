#include "daemon/host/hccn_query/counter_memory.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"
#include "daemon/host/hccn/hccn_answers.h"
#include "daemon/host/hccn_query/query_facts.h"

namespace clusterd {
namespace {

// Packets that were damaged, refused or sent again. A rise of
// roce_new_pkt_rty_num means loss and retransmission (performance cases of
// Atlas A2 training products, "Switch Traffic Congestion, Backpressure, or
// Packet Loss and Retransmission"); the others say it in their names. Which of
// the rest a job that ends raises too is not published.
constexpr absl::string_view kErrors[] = {
    "mac_tx_bad_pkt_num",  "mac_rx_bad_pkt_num",  "mac_rx_fcs_err_pkt_num",
    "roce_rx_err_pkt_num", "roce_tx_err_pkt_num", "roce_new_pkt_rty_num"};

}  // namespace

CounterRisesFact::Rises CounterMemory::Compare(
    uint32_t device, absl::Duration now,
    const std::vector<HccnCounter>& counters) {
  Read read = {now, {}};
  for (const HccnCounter& each : counters) {
    if (absl::c_linear_search(kErrors, each.name)) {
      read.errors[each.name] = each.value;
    }
  }
  CounterRisesFact::Rises rises;
  const absl::MutexLock lock(&mutex_);
  const auto [found, is_first] = reads_.try_emplace(device, Reads{read, read});
  if (is_first) {
    rises.set_not_compared("clusterd has read them for the first time");
    return rises;
  }
  Reads& reads = found->second;
  if (now - reads.newest.time >= kLeastSpan) reads.base = reads.newest;
  for (const auto& [name, value] : read.errors) {
    // Absent where the host's tool was changed since.
    const auto newest = reads.newest.errors.find(name);
    if (newest != reads.newest.errors.end() && value < newest->second) {
      reads = {read, read};
      rises.clear_rises();
      rises.set_not_compared(absl::StrCat(name, " fell, so it was reset"));
      return rises;
    }
    const auto before = reads.base.errors.find(name);
    if (before == reads.base.errors.end() || value <= before->second) continue;
    CounterRise* const rise = rises.add_rises();
    rise->set_name(name);
    rise->set_rise(value - before->second);
  }
  rises.set_seconds(absl::ToInt64Seconds(now - reads.base.time));
  if (now - reads.newest.time >= kLeastSpan) reads.newest = std::move(read);
  return rises;
}

CounterRisesFact AskCounters(uint32_t device, HccnSession* session,
                             Clock* clock, CounterMemory* memory) {
  CounterRisesFact fact;
  const auto compare =
      [&](absl::string_view output) -> absl::StatusOr<CounterRisesFact::Rises> {
    ASSIGN_OR_RETURN(const std::vector<HccnCounter> counters,
                     ParseHccnPacketStatistics(output));
    return memory->Compare(device, clock->Monotonic(), counters);
  };
  FillHccnFact(AskIfKnown(session, "-stat"), compare, &fact);
  return fact;
}

}  // namespace clusterd
