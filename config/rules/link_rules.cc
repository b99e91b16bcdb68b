// Checks the path of a job's packets: the optical module, the link's history,
// and the settings that keep RoCE from losing packets.
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "config/hccl/job_variables.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/ballot.h"
#include "config/rules/view/cluster_view.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

// True if the reading has a value; otherwise adds why not. A query that the
// host's release of the tool lacks matters only if it is `demanded`.
template <typename Value>
bool Tells(const DeviceView& device, absl::string_view what,
           const Reading<Value>& reading, RuleReport& report,
           bool demanded = false) {
  const Missing::Reason why = reading.missing == nullptr
                                  ? Missing::REASON_UNSPECIFIED
                                  : reading.missing->reason();
  if (why == Missing::NOT_SUPPORTED && !demanded) {
    report.Add(device, "no-such-query", Term(what));
    return false;
  }
  // The tool may refuse for that alone: "Execute failed: Link status is down."
  if (why == Missing::TOOL_FAILED && !device.dead && device.link.has_value() &&
      *device.link == LinkFact::DOWN) {
    report.AddSkipped(device, Worded("not-read-link-down", Term(what)), "link");
    return false;
  }
  return report.Knows(device, what, reading);
}

// A port that comes up records a DOWN and the UP after it in one second.
void JudgeFalls(const DeviceView& device, RuleReport& report) {
  constexpr uint64_t kDaySeconds = 24 * 60 * 60;
  const LinkHistoryFact::History& history = **device.link_history;
  size_t times = 0;
  absl::Duration last_ago;
  for (int i = 0; i < history.changes_size(); ++i) {
    const LinkHistoryFact::Change& change = history.changes(i);
    if (change.up() || change.seconds_ago() >= kDaySeconds) continue;
    const bool comes_up =
        i > 0 && history.changes(i - 1).up() &&
        history.changes(i - 1).seconds_ago() == change.seconds_ago();
    if (comes_up) continue;
    if (times++ == 0) last_ago = absl::Seconds(change.seconds_ago());
  }
  if (times == 0) return;
  report.Add(device, "went-down", Counted(times, "time"),
             absl::FormatDuration(last_ago));
}

void JudgeRises(const DeviceView& device, RuleReport& report) {
  const CounterRisesFact::Rises& rises = **device.counter_rises;
  if (rises.rises().empty()) return;
  const FindingValue span = Lasting(absl::Seconds(rises.seconds()));
  for (const CounterRise& each : rises.rises()) {
    report.Add(device, "rose", PrintableText(each.name()), each.rise(), span);
  }
}

// One setting that the devices of a rail share.
struct LosslessKind {
  absl::string_view name;
  Reading<absl::string_view> DeviceView::*live;
  // The spec's value; empty: not given.
  std::string (*wanted)(const LosslessSpec& spec);
  // Its command, after `hccn_tool -i N`; empty: no single one does.
  std::string (*command)(absl::string_view value);
};

// The value of most hosts ends in a command that an administrator pastes into a
// root shell, so it has to be exactly such a list.
std::string SetList(absl::string_view option, absl::string_view value) {
  static const LazyRE2 kForm = {R"(\d(?:,\d){7})"};
  return HasForm(value, *kForm) ? absl::StrCat(option, value) : "";
}

// The only pair of "33:1".
std::string SetClass(absl::string_view value) {
  static const LazyRE2 kForm = {R"((\d{1,2}):(\d))"};
  absl::string_view dscp, traffic_class;
  return HasForm(value, *kForm, &dscp, &traffic_class)
             ? absl::StrCat("-dscp_to_tc -s dscp ", dscp, " tc ", traffic_class)
             : "";
}

std::string SetPort(absl::string_view value) {
  uint32_t port = 0;
  if (value == "auto") return "-udp -s auto";
  return absl::SimpleAtoi(value, &port) ? absl::StrCat("-udp -s port ", port)
                                        : "";
}

constexpr LosslessKind kLosslessKinds[] = {
    {"PFC", &DeviceView::pfc,
     [](const LosslessSpec& spec) { return spec.pfc(); },
     [](absl::string_view value) { return SetList("-pfc -s bitmap ", value); }},
    {"DSCP to traffic class", &DeviceView::dscp_to_tc,
     [](const LosslessSpec& spec) { return spec.dscp_to_tc(); }, SetClass},
    {"priority to traffic class", &DeviceView::priority_to_tc,
     [](const LosslessSpec&) { return std::string(); },
     [](absl::string_view value) {
       return SetList("-prio_tc -s map ", value);
     }},
    {"RoCE port", &DeviceView::roce_port,
     [](const LosslessSpec& spec) {
       return spec.roce_port() == 0 ? "" : absl::StrCat(spec.roce_port());
     },
     SetPort}};

// The map of DSCP lists only those outside of class 0.
FindingValue Shown(absl::string_view value) {
  return value.empty() ? Worded("every-dscp-0")
                       : ToFindingValue(PrintableText(value));
}

void JudgeAgainstSpec(const LosslessKind& kind, const ClusterView& view,
                      std::string wanted, RuleReport& report) {
  if (wanted == "0:0") wanted.clear();
  for (const DeviceView& device : view.devices()) {
    const auto& live = device.*kind.live;
    if (!live.has_value() || *live == wanted) continue;
    report.Add(device, "unlike-spec", Term(kind.name), Shown(*live),
               Shown(wanted), kind.command(wanted));
  }
}

void JudgeRails(const LosslessKind& kind, const ClusterView& view,
                RuleReport& report) {
  CompareRails(
      view, kind.name, kind.live, Shown, report,
      [&](const DeviceView& device, absl::string_view right, size_t others) {
        report.Add(device, "other", Term(kind.name),
                   Shown(*(device.*kind.live)), Shown(right), device.id,
                   Counted(others, "other host"), kind.command(right));
      });
}

// The digit of each priority in "0,0,0,0,1,0,0,0"; '0' for a missing one.
char DigitOf(absl::string_view list, size_t priority) {
  return 2 * priority < list.size() ? list[2 * priority] : '0';
}

char ClassOf(absl::string_view classes, uint32_t dscp) {
  for (absl::string_view pair : absl::StrSplit(classes, ',')) {
    if (absl::ConsumePrefix(&pair, absl::StrCat(dscp, ":"))) {
      return pair.empty() ? '0' : pair[0];
    }
  }
  return '0';
}

constexpr size_t kPriorities = 8;

// True if PFC is on for a priority of the class.
bool HasPfc(const DeviceView& device, char traffic_class) {
  for (size_t priority = 0; priority < kPriorities; ++priority) {
    if (DigitOf(*device.priority_to_tc, priority) == traffic_class &&
        DigitOf(*device.pfc, priority) == '1') {
      return true;
    }
  }
  return false;
}

// A variable of the jobs.
struct JobValue {
  uint32_t number = 0;
  const EnvironmentVariable* set = nullptr;  // nullptr: the spec names it.

  std::string Text() const {
    return set == nullptr
               ? absl::StrCat(number)
               : absl::StrCat(number, " (", PrintableText(set->file()), ":",
                              set->line(), ")");
  }
};

struct JobValues {
  std::optional<JobValue> traffic_class;
  std::optional<JobValue> service_level;
};

// The value of the job, or of every login on the host. Rule hccl-environment
// reports values that HCCL refuses, and files that could not be read.
std::optional<JobValue> ValueOfLogins(const ClusterView& view,
                                      const HostView& host,
                                      absl::string_view name, uint32_t last,
                                      uint32_t step) {
  JobValue value;
  value.set = FindVariable(*host.facts, view.job(), name);
  const bool is_legal = value.set != nullptr && IsSure(*value.set) &&
                        absl::SimpleAtoi(value.set->value(), &value.number) &&
                        value.number <= last && value.number % step == 0;
  return is_legal ? std::make_optional(value) : std::nullopt;
}

// DSCP is the upper six bits of HCCL_RDMA_TC, the byte of the IP header;
// HCCL_RDMA_SL is the priority with PFC (HCCL environment variable reference).
JobValues ValuesOfJobs(const ClusterView& view, const HostView& host) {
  const HcclSpec& spec = view.spec().hccl();
  JobValues jobs;
  jobs.traffic_class = spec.has_rdma_tc()
                           ? JobValue{spec.rdma_tc()}
                           : ValueOfLogins(view, host, "HCCL_RDMA_TC", 255, 4);
  jobs.service_level = spec.has_rdma_sl()
                           ? JobValue{spec.rdma_sl()}
                           : ValueOfLogins(view, host, "HCCL_RDMA_SL", 7, 1);
  return jobs;
}

void JudgeJobs(const JobValues& jobs, const DeviceView& device,
               RuleReport& report) {
  if (!device.pfc.has_value()) return;
  const auto& level = jobs.service_level;
  if (level && DigitOf(*device.pfc, level->number) != '1') {
    report.Add(device, "level-without-pfc", level->Text(), level->number);
  }
  if (!jobs.traffic_class || !device.dscp_to_tc.has_value() ||
      !device.priority_to_tc.has_value()) {
    return;
  }
  const uint32_t dscp = jobs.traffic_class->number / 4;
  const char traffic_class = ClassOf(*device.dscp_to_tc, dscp);
  if (HasPfc(device, traffic_class)) return;
  report.Add(device, "class-without-pfc", jobs.traffic_class->Text(), dscp,
             PrintableText(absl::string_view(&traffic_class, 1)));
}

// For switches that report by DCBX which priorities they pause.
void JudgeSwitch(const DeviceView& device, RuleReport& report) {
  if (!device.pfc.has_value()) return;
  const std::string& on_switch = device.facts->lldp().value().pfc();
  if (on_switch.empty() || on_switch == *device.pfc) return;
  report.Add(device, "unlike-switch", Shown(*device.pfc), Shown(on_switch),
             SetList("-pfc -s bitmap ", on_switch));
}

}  // namespace

// Warns. A port may well work without a module: over a cable or a backplane.
void CheckOptics(const ClusterView&, RuleReport& report) {
  report.ForEachDevice([&](const DeviceView& device) {
    if (!Tells(device, "optical module", device.optical, report)) return;
    report.Judged(device);
    const OpticalFact::Module& module = **device.optical;
    // A missing module matters only if the link is known to be down.
    if (!module.present() && device.link == LinkFact::DOWN) {
      report.Add(device, "absent");
    }
    for (const OpticalAlarm& alarm : module.alarms()) {
      const std::string name = PrintableText(alarm.name());
      const std::string value = PrintableText(alarm.value());
      if (alarm.limits().empty()) {
        report.Add(device, "flag", name, value);
      } else {
        report.Add(device, "outside", name, value,
                   PrintableText(alarm.limits()));
      }
    }
  });
}

// Both warn: the tool keeps the times of the last falls, and the host reports
// the rise of error counters since an earlier read.
void CheckLinkFlaps(const ClusterView&, RuleReport& report) {
  size_t not_compared = 0;
  report.ForEachDevice([&](const DeviceView& device) {
    const bool tells_history =
        Tells(device, "link history", device.link_history, report);
    const bool tells_counters =
        Tells(device, "packet statistics", device.counter_rises, report);
    if (!tells_history && !tells_counters) return;
    report.Judged(device);
    if (tells_history) JudgeFalls(device, report);
    if (!tells_counters) return;
    if (!(*device.counter_rises)->has_seconds()) ++not_compared;
    JudgeRises(device, report);
  });
  if (not_compared > 0) {
    report.Note("counters-not-compared", Counted(not_compared, "device"));
  }
}

// Compares device i of all hosts, the spec, and the jobs' values from the spec,
// otherwise from the host.
void CheckLossless(const ClusterView& view, RuleReport& report) {
  const HostView* host = nullptr;
  JobValues jobs;
  report.ForEachDevice([&](const DeviceView& device) {
    bool any = false;
    for (const LosslessKind& kind : kLosslessKinds) {
      const bool demanded = !kind.wanted(view.spec().lossless()).empty();
      if (Tells(device, kind.name, device.*kind.live, report, demanded)) {
        any = true;
      }
    }
    if (!any) return;
    report.Judged(device);
    if (device.host != host) {
      host = device.host;
      jobs = ValuesOfJobs(view, *host);
    }
    JudgeJobs(jobs, device, report);
    JudgeSwitch(device, report);
  });
  for (const LosslessKind& kind : kLosslessKinds) {
    std::string wanted = kind.wanted(view.spec().lossless());
    if (wanted.empty()) {
      JudgeRails(kind, view, report);
    } else {
      JudgeAgainstSpec(kind, view, std::move(wanted), report);
    }
  }
}

}  // namespace clusterd
