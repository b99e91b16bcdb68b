// /etc/hccn.conf, from which the driver sets every device at boot:
//   address_3=192.168.103.101
//   netmask_3=255.255.255.0
// hccn_tool edits it in place under flock; so must every fix.
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"
#include "config/values/ipv4.h"

namespace clusterd {
namespace {

// Problems of one file that are reported one by one.
constexpr int kMaxProblems = 16;

constexpr char kEditByHand[] =
    "in place and under the tool's lock: flock /etc/hccn.conf vi -n "
    "-c 'set nobackup nowritebackup' /etc/hccn.conf";

const HccnConf::Entry* EntryAt(const HccnConf& conf, uint32_t line) {
  for (const HccnConf::Entry& entry : conf.entries()) {
    if (entry.line() == line && entry.has_device()) return &entry;
  }
  return nullptr;
}

// hccn_tool's own write removes every line of a key and adds one. Arguments of
// that write; empty if the key or its planned value is not known here.
std::string RewriteCommand(const DeviceView* device, absl::string_view key) {
  if (device == nullptr) return "";
  if (key == "address" || key == "netmask") return SetPlanned(*device);
  if (key == "gateway") return SetPlanned(kGateway, *device);
  if (key == "netdetect") return SetPlanned(kDetectAddress, *device);
  return "";
}

void AddDuplicate(const HostView& host, const HccnConf& conf,
                  const HccnConf::Problem& problem, FindingText text,
                  RuleReport& report) {
  const HccnConf::Entry* entry = EntryAt(conf, problem.line());
  text.fix = absl::StrCat("remove the repeated line ", kEditByHand);
  if (entry == nullptr) {
    text.observed =
        absl::StrCat("line ", problem.line(),
                     " repeats a key: ", QuotedText(problem.text()));
    report.Add(host, std::move(text));
    return;
  }
  text.observed = absl::StrCat(
      "line ", problem.line(), " repeats ",
      QuotedText(absl::StrCat(entry->key(), "_", entry->device())));
  text.device_command =
      RewriteCommand(host.Find(entry->device()), entry->key());
  if (!text.device_command.empty()) text.fix.clear();
  report.Add(host, {entry->device()}, std::move(text));
}

// A fix for the whole file; else it says what to do to a line by hand.
bool IsCommand(absl::string_view fix) {
  return absl::StartsWith(fix, "flock ");
}

FindingText ProblemText(const HccnConf::Problem& problem, FindingText text) {
  const bool is_line = problem.line() != 0;
  if (is_line) {
    absl::StrAppend(&text.observed, ", line ", problem.line(), ": ",
                    QuotedText(problem.text()));
  }
  if (text.state == UNKNOWN) return text;
  if (is_line) absl::StrAppend(&text.fix, " ", problem.line());
  absl::StrAppend(&text.fix, " ", kEditByHand);
  return text;
}

void AddProblems(const HostView& host, const HccnConf& conf,
                 RuleReport& report) {
  std::set<int> told;
  int shown = 0;
  int left_out = 0;
  for (const HccnConf::Problem& problem : conf.problems()) {
    FindingText text =
        report.Fixed(HccnConf::Problem::Kind_Name(problem.kind()));
    if (IsCommand(text.fix)) {
      // It repairs every line: told once.
      if (told.insert(problem.kind()).second) report.Add(host, std::move(text));
    } else if (shown == kMaxProblems) {
      ++left_out;
    } else if (++shown; problem.kind() == HccnConf::Problem::DUPLICATE_KEY) {
      AddDuplicate(host, conf, problem, std::move(text), report);
    } else {
      report.Add(host, ProblemText(problem, std::move(text)));
    }
  }
  if (left_out == 0) return;
  report.Add(host,
             FindingText(FAIL, Count(left_out, "more problem"), " in the file")
                 .Fix("repair the first ones, then check again"));
}

// `value` of the line; empty: none.
bool NamesNothing(absl::string_view value) {
  return value.empty() || value == "0.0.0.0";
}

// Whether the device has what the line says. A line that is no address says
// nothing that a device could have.
bool Agrees(const AddressReading& live, absl::string_view value) {
  if (live.IsUnset()) return NamesNothing(value);
  const auto address = Ipv4Address::Parse(value);
  return address.ok() && *address == *live;
}

// The device and the file have different ones.
FindingText StoredText(const AddressKind& kind, const DeviceView& device) {
  const AddressReading& live = device.*kind.live;
  const HccnConf::Entry* entry = device.*kind.stored;
  const std::string in_file = entry == nullptr || NamesNothing(entry->value())
                                  ? "none"
                                  : PrintableText(entry->value());
  if (live.IsUnset()) {
    // Then the file has one, or the two would agree.
    return FindingText(WARN, "no ", kind.name, " is set, /etc/hccn.conf has ",
                       in_file, ": the next boot sets it")
        .Expected("the same ", kind.name,
                  " on the device and in /etc/hccn.conf")
        .CommandOr(SetPlanned(kind, device),
                   absl::StrCat("set it with hccn_tool, or remove line ",
                                entry->line(), " ", kEditByHand));
  }
  // The live one is kept where no other is planned.
  const Ipv4Address wanted = (device.*kind.planned).value_or(*live);
  return FindingText(WARN, kind.name, " is ", live->ToString(),
                     ", /etc/hccn.conf has ", in_file)
      .Expected(kind.name, " ", wanted.ToString(), " in /etc/hccn.conf as well")
      .DeviceCommand(SetCommand(kind, wanted));
}

// Whether the file of the device's host is known; if not, adds that, caused by
// hccn-conf.
bool KnowsFile(const DeviceView& device, RuleReport& report) {
  if (IsKnown(device.host->facts->hccn_conf())) return true;
  report.Add(device, FindingText(UNKNOWN, "/etc/hccn.conf not known")
                         .Fix("repair what hccn-conf reports about this host")
                         .CausedBy("hccn-conf"));
  return false;
}

void JudgeStored(const DeviceView& device, const AddressKind& kind,
                 RuleReport& report) {
  const AddressReading& live = device.*kind.live;
  const HccnConf::Entry* entry = device.*kind.stored;
  if (!KnowsFile(device, report)) return;
  if (!report.Knows(device, kind.name, live)) return;
  if (Agrees(live, entry == nullptr ? "" : entry->value())) {
    report.Judged(device);
    return;
  }
  FindingText text = StoredText(kind, device);
  if (entry != nullptr && Agrees(live, RepairedValue(*device.host, *entry))) {
    text.caused_by = "hccn-conf";
  }
  if (device.host->facts->hccn_tool().generation() == NpuToolFacts::CLASSIC) {
    report.Judged(device);
  } else {
    text.state = UNKNOWN;
    absl::StrAppend(&text.observed,
                    "; whether the recovery at boot takes it from there is "
                    "published for the classic hccn_tool alone");
  }
  report.Add(device, std::move(text));
}

// Whether the two lines are an address that the device has.
bool HasAddressOf(const DeviceView& device, absl::string_view address,
                  absl::string_view netmask) {
  const auto stored = Ipv4Interface::Parse(address, netmask);
  return stored.ok() && device.Has(*stored);
}

std::string FileText(const DeviceView& device) {
  const auto line = [&](absl::string_view key, const HccnConf::Entry* entry) {
    return entry == nullptr ? absl::StrCat("no ", key, "_", device.id)
                            : absl::StrCat(key, "_", device.id, "=",
                                           PrintableText(entry->value()),
                                           " (line ", entry->line(), ")");
  };
  return absl::StrCat(line("address", device.conf_address), ", ",
                      line("netmask", device.conf_netmask));
}

// Of a file that could not be read for a reason that is a verdict.
FindingText NoFileText(const Missing& missing) {
  return FindingText(FAIL, "/etc/hccn.conf: ", WhyMissing(&missing))
      .Expected("a regular file that can be read")
      .Fix(missing.reason() == Missing::UNREADABLE
               ? "look at it with ls -ld /etc/hccn.conf, and put a regular "
                 "file there"
               : "install -m 0644 /dev/null /etc/hccn.conf, then set every "
                 "device's address with hccn_tool; in a container mount "
                 "the host's file");
}

}  // namespace

// A file that is not there or is no text file fails; one that may not be read
// is unknown. A line that the tool would ignore is a warning.
void CheckHccnConf(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    const HccnConfFact& fact = host.facts->hccn_conf();
    const Missing* missing = MissingOf(fact);
    const bool is_verdict =
        missing != nullptr && (missing->reason() == Missing::ABSENT ||
                               missing->reason() == Missing::UNREADABLE);
    if (is_verdict) {
      report.Judged(host);
      report.Add(host, NoFileText(*missing));
    } else if (report.Knows(host, "/etc/hccn.conf", fact)) {
      report.Judged(host);
      AddProblems(host, fact.value(), report);
    }
  }
}

// Live addresses against the file. Without the file this is unknown, caused by
// hccn-conf; so is a difference that the repair of the file ends.
void CheckDeviceIpPersistent(const ClusterView&, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    if (!KnowsFile(device, report)) return;
    report.Judged(device);
    const HccnConf::Entry* address = device.conf_address;
    const HccnConf::Entry* netmask = device.conf_netmask;
    const bool has_both = address != nullptr && netmask != nullptr;
    if (has_both && HasAddressOf(device, address->value(), netmask->value())) {
      return;
    }
    const bool repair_ends_it =
        has_both && HasAddressOf(device, RepairedValue(*device.host, *address),
                                 RepairedValue(*device.host, *netmask));
    const Ipv4Interface live = device.Address();
    // The live address is kept where no other is planned.
    const Ipv4Interface wanted = device.planned.value_or(live);
    report.Add(device, FindingText(FAIL, "device has ", live.ToString(),
                                   ", /etc/hccn.conf has ", FileText(device))
                           .Expected("address_", device.id, "=",
                                     wanted.address().ToString(), ", netmask_",
                                     device.id, "=",
                                     wanted.subnet().netmask().ToString())
                           .DeviceCommand(SetCommand(wanted))
                           .CausedBy(repair_ends_it ? "hccn-conf" : ""));
  });
}

// Live gateways and detect addresses against the file, planned or not:
// | live     | in the file          | state                                   |
// |----------|----------------------|-----------------------------------------|
// | G        | G                    | pass                                    |
// | none     | none, or 0.0.0.0     | pass                                    |
// | G        | none, or another     | warn: lost, or replaced, at boot        |
// | none     | G                    | warn: the next boot sets it             |
// | any two that differ, Ascend 950 | unknown: what its recovery takes from   |
// |                                 | the file is not published               |
// A gateway of a device with udhcpc_enable_N is skipped: the recovery at boot
// does not take it from the file (hccn_tool source, hicann/driver ef377e95).
void CheckGatewayPersistent(const ClusterView&, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    if (device.conf_dhcp == nullptr) {
      JudgeStored(device, kGateway, report);
      return;
    }
    report.Add(device,
               FindingText(SKIPPED,
                           "/etc/hccn.conf has udhcpc_enable: the recovery "
                           "at boot does not take the gateway from the "
                           "file")
                   .Fix("see to it where the device gets its gateway "
                        "from"));
  });
}

void CheckDetectAddressPersistent(const ClusterView&, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    JudgeStored(device, kDetectAddress, report);
  });
}

}  // namespace clusterd
