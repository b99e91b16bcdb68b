// /etc/hccn.conf, from which the driver sets every device at boot:
//   address_3=192.168.103.101
//   netmask_3=255.255.255.0
// hccn_tool edits it in place under flock; so must every fix.
#include <set>

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
                  const HccnConf::Problem& problem, RuleReport& report) {
  const HccnConf::Entry* entry = EntryAt(conf, problem.line());
  FindingText text =
      FindingText(
          FAIL, "line ", problem.line(), " repeats ",
          entry == nullptr
              ? absl::StrCat("a key: ", QuotedText(problem.text()))
              : QuotedText(absl::StrCat(entry->key(), "_", entry->device())))
          .Expected("every key once")
          .Why(
              "hccn_tool and the recovery at boot obey the first line of a "
              "key; people and other readers look at the last. The device "
              "comes back with a value that nobody expects.")
          .CommandOr(
              entry == nullptr
                  ? ""
                  : RewriteCommand(host.Find(entry->device()), entry->key()),
              absl::StrCat("remove the repeated line ", kEditByHand));
  if (entry == nullptr) {
    report.Add(host, std::move(text));
  } else {
    report.Add(host, {entry->device()}, std::move(text));
  }
}

// What a kind of problem means. The line is shown after `observed`, and
// `by_hand` is what to do to it there.
struct ProblemWords {
  HccnConf::Problem::Kind kind;
  State state;
  const char* observed;
  const char* expected;
  const char* why;
  const char* fix;      // A command for the whole file; null: by hand.
  const char* by_hand;  // "correct line"
};

constexpr ProblemWords kProblemWords[] = {
    {HccnConf::Problem::NO_FINAL_NEWLINE, FAIL,
     "the last line has no newline at its end", "a newline after the last line",
     "hccn_tool's next write joins its new line to the last one and ruins both "
     "keys.",
     "flock /etc/hccn.conf sh -c 'echo >> /etc/hccn.conf'", nullptr},
    {HccnConf::Problem::CARRIAGE_RETURN, FAIL, "lines end in CR LF",
     "lines end in LF",
     "The recovery at boot takes the CR as part of the address and fails: the "
     "devices come up without addresses. The one command repairs every line.",
     "flock /etc/hccn.conf sh -c 't=$(mktemp) && tr -d \"\\r\" "
     "< /etc/hccn.conf > \"$t\" && cat \"$t\" > /etc/hccn.conf && "
     "rm \"$t\"'",
     nullptr},
    {HccnConf::Problem::MALFORMED_ROUTE, FAIL, "malformed route",
     "route_address_<destination>_netmask_<mask>_<N>=gateway_<address>",
     "hccn_tool -ip -s on this host fails with status 244 as long as the line "
     "is there.",
     nullptr, "correct line"},
    {HccnConf::Problem::MALFORMED_LINE, WARN, "a line that the tool ignores",
     "key_N=value without spaces",
     "The tool does not find the key, so what the line says is not set at "
     "boot.",
     nullptr, "correct or remove line"},
    {HccnConf::Problem::LINE_TOO_LONG, FAIL, "a line over 383 bytes",
     "lines of at most 383 bytes",
     "hccn_tool reads the line as several, so its end counts as lines of their "
     "own.",
     nullptr, "shorten line"},
    {HccnConf::Problem::FILE_TOO_LARGE, FAIL,
     "the file is larger than 1,024,000 bytes", "at most 1,024,000 bytes",
     "hccn_tool refuses to save: \"The hccn.conf has no enough space to save "
     "user configurations.\"",
     nullptr, "remove what is not needed"},
};

// Null: a kind of a newer host, or a repeated key, which AddDuplicate tells.
const ProblemWords* FindWords(HccnConf::Problem::Kind kind) {
  for (const ProblemWords& words : kProblemWords) {
    if (words.kind == kind) return &words;
  }
  return nullptr;
}

FindingText ProblemText(const HccnConf::Problem& problem,
                        const ProblemWords* words) {
  const std::string line = problem.line() == 0
                               ? ""
                               : absl::StrCat(", line ", problem.line(), ": ",
                                              QuotedText(problem.text()));
  if (words == nullptr) {
    return FindingText(UNKNOWN, "a problem not understood here", line)
        .Fix("bring the controller to clusterd's version on the host");
  }
  FindingText text = FindingText(words->state, words->observed)
                         .Expected(words->expected)
                         .Why(words->why);
  if (words->fix != nullptr) {
    text.fix = words->fix;
    return text;
  }
  absl::StrAppend(&text.observed, line);
  text.fix = words->by_hand;
  if (!line.empty()) absl::StrAppend(&text.fix, " ", problem.line());
  absl::StrAppend(&text.fix, " ", kEditByHand);
  return text;
}

void AddProblems(const HostView& host, const HccnConf& conf,
                 RuleReport& report) {
  std::set<int> told;
  int shown = 0;
  int left_out = 0;
  for (const HccnConf::Problem& problem : conf.problems()) {
    const ProblemWords* words = FindWords(problem.kind());
    if (words != nullptr && words->fix != nullptr) {
      // One command repairs every line: told once.
      if (told.insert(problem.kind()).second) {
        report.Add(host, ProblemText(problem, words));
      }
    } else if (shown == kMaxProblems) {
      ++left_out;
    } else if (++shown; problem.kind() == HccnConf::Problem::DUPLICATE_KEY) {
      AddDuplicate(host, conf, problem, report);
    } else {
      report.Add(host, ProblemText(problem, words));
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
