#include "daemon/host/hccn_query/query_facts.h"

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/hccn_answers.h"

namespace clusterd {
namespace {

// Measured values and the prefixes of their thresholds ("… High Thres").
constexpr std::pair<absl::string_view, absl::string_view> kMeasured[] = {
    {"Tx Power", "TxPower"},
    {"Rx Power", "RxPower"},
    {"temperature", "Temp"},
    {"Vcc", "Vcc"},
};

struct Limits {
  double low = 0;
  double high = 0;
};

using LimitsByName = std::map<absl::string_view, Limits>;

// Both limits of a module without thresholds are 0.
LimitsByName LimitsOf(const HccnOptical& optical) {
  LimitsByName limits;
  for (const HccnOpticalRow& row : optical.rows) {
    for (const auto& measured : kMeasured) {
      const absl::string_view name = measured.second;
      if (row.name == absl::StrCat(name, " Low Thres")) {
        limits[name].low = row.number.value_or(0);
      } else if (row.name == absl::StrCat(name, " High Thres")) {
        limits[name].high = row.number.value_or(0);
      }
    }
  }
  return limits;
}

// Matches "Tx Power" and its lanes: "Tx Power0".
bool IsOf(absl::string_view row, absl::string_view measured) {
  if (!absl::ConsumePrefix(&row, measured)) return false;
  return row.empty() || (row.size() == 1 && absl::ascii_isdigit(row[0]));
}

void AddAlarm(const HccnOpticalRow& row, absl::string_view value,
              absl::string_view limits, OpticalFact::Module* module) {
  OpticalAlarm* const alarm = module->add_alarms();
  alarm->set_name(row.name);
  alarm->set_value(std::string(value));
  alarm->set_limits(std::string(limits));
}

void AddIfOutside(const HccnOpticalRow& row, const LimitsByName& limits,
                  OpticalFact::Module* module) {
  for (const auto& [measured, name] : kMeasured) {
    const auto found = limits.find(name);
    if (!IsOf(row.name, measured) || found == limits.end()) continue;
    const auto& [low, high] = found->second;
    const bool inside = *row.number >= low && *row.number <= high;
    // Not a range: the module has no thresholds.
    if (high <= low || inside) continue;
    AddAlarm(row, absl::StrCat(*row.number, " ", row.unit),
             absl::StrCat(low, " ~ ", high, " ", row.unit), module);
  }
}

absl::StatusOr<std::string> DscpText(absl::string_view output) {
  ASSIGN_OR_RETURN(auto classes, ParseHccnDscpToTc(output));
  for (auto each = classes.begin(); each != classes.end();) {
    each = each->second == 0 ? classes.erase(each) : std::next(each);
  }
  return absl::StrJoin(classes, ",", absl::PairFormatter(":"));
}

// Packets that were damaged, refused or sent again. A rise of
// roce_new_pkt_rty_num means loss and retransmission (performance cases of
// Atlas A2 training products, "Switch Traffic Congestion, Backpressure, or
// Packet Loss and Retransmission"); the other names are explicit. It is not
// published which further counters a job's end raises.
constexpr absl::string_view kErrors[] = {
    "mac_tx_bad_pkt_num",  "mac_rx_bad_pkt_num",  "mac_rx_fcs_err_pkt_num",
    "roce_rx_err_pkt_num", "roce_tx_err_pkt_num", "roce_new_pkt_rty_num"};

// NOT_SUPPORTED for a query that this tool does not know, and for all with the
// Ascend 950 tool, whose words for them are not known.
HccnAnswer AskIfKnown(HccnSession* session, absl::string_view query) {
  HccnAnswer answer;
  if (session->generation() == NpuToolFacts::ASCEND_950) {
    answer.missing =
        MakeMissing(Missing::NOT_SUPPORTED, Worded("fact-query-950", query));
    return answer;
  }
  answer = session->Ask(query);
  if (answer.failure == HccnFailure::kWrongCommandLine &&
      answer.missing.has_value() &&
      session->generation() == NpuToolFacts::CLASSIC) {
    answer.missing->set_reason(Missing::NOT_SUPPORTED);
  }
  return answer;
}

void SetNotCompared(const FindingValue& why, CounterRisesFact::Rises* rises) {
  rises->set_not_compared(EnglishText(why));
  *rises->mutable_not_compared_words() = why;
}

}  // namespace

OpticalFact::Module MakeOpticalModule(const HccnOptical& optical) {
  OpticalFact::Module module;
  module.set_present(optical.present);
  if (!optical.present) return module;
  const LimitsByName limits = LimitsOf(optical);
  for (const HccnOpticalRow& row : optical.rows) {
    if (!row.number.has_value()) continue;
    if (!row.unit.empty()) {
      AddIfOutside(row, limits, &module);
    } else if (*row.number != 0) {
      const auto lanes = static_cast<uint32_t>(*row.number);
      AddAlarm(row, absl::StrCat("0x", absl::Hex(lanes)), "", &module);
    }
  }
  return module;
}

void AskLosslessSettings(HccnSession* session, DeviceFacts* facts) {
  FillHccnFact(AskIfKnown(session, "-pfc"), ParseHccnPfc, facts->mutable_pfc());
  FillHccnFact(AskIfKnown(session, "-udp"), ParseHccnRocePort,
               facts->mutable_roce_port());
  FillHccnFact(AskIfKnown(session, "-dscp_to_tc"), DscpText,
               facts->mutable_dscp_to_tc());
}

void AskTraffic(uint32_t device, HccnSession* session, DeviceFacts* facts) {
  FillHccnFact(AskIfKnown(session, "-prio_tc"), ParseHccnPriorityToTc,
               facts->mutable_priority_to_tc());
  const auto module =
      [](absl::string_view output) -> absl::StatusOr<OpticalFact::Module> {
    ASSIGN_OR_RETURN(const HccnOptical optical, ParseHccnOptical(output));
    return MakeOpticalModule(optical);
  };
  FillHccnFact(AskIfKnown(session, "-optical"), module,
               facts->mutable_optical());
  const auto history = [device](absl::string_view output) {
    return ParseHccnLinkStat(output, device);
  };
  FillHccnFact(AskIfKnown(session, "-link_stat"), history,
               facts->mutable_link_history());
}

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
    SetNotCompared(Worded("is-read-first"), &rises);
    return rises;
  }
  Reads& reads = found->second;
  if (now - reads.newest.time >= kLeastSpan) reads.base = reads.newest;
  for (const auto& [name, value] : read.errors) {
    // The newest read lacks it if the host's tool was replaced since then.
    const auto newest = reads.newest.errors.find(name);
    if (newest != reads.newest.errors.end() && value < newest->second) {
      reads = {read, read};
      rises.clear_rises();
      SetNotCompared(Worded("is-reset", name), &rises);
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
