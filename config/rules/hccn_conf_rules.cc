#include "config/rules/hccn_conf_rules.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/spec/ipv4.h"

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
std::string RewriteArguments(const DeviceView* device, absl::string_view key) {
  if (device == nullptr || device->spec == nullptr) return "";
  if (key == "address" || key == "netmask") return SetPlannedAddress(*device);
  if (key == "gateway" && !device->spec->gateway().empty()) {
    return absl::StrCat("-gateway -s gateway ", device->spec->gateway());
  }
  if (key == "netdetect" && !device->spec->detect_address().empty()) {
    return absl::StrCat("-netdetect -s address ",
                        device->spec->detect_address());
  }
  return "";
}

void AddDuplicate(const HostView& host, const HccnConf& conf,
                  const HccnConf::Problem& problem, RuleReport& report) {
  FindingText text;
  text.expected = "every key once";
  text.why =
      "hccn_tool and the recovery at boot obey the first line of a key; people "
      "and other readers look at the last. The device comes back with a value "
      "that nobody expects.";
  const HccnConf::Entry* entry = EntryAt(conf, problem.line());
  if (entry == nullptr) {
    text.observed = absl::StrCat("line ", problem.line(),
                                 " repeats a key: ", Quoted(problem.text()));
    text.fix = absl::StrCat("remove the repeated line ", kEditByHand);
    report.Add(host, std::move(text));
    return;
  }
  text.observed =
      absl::StrCat("line ", problem.line(), " repeats ",
                   Quoted(absl::StrCat(entry->key(), "_", entry->device())));
  text.device_command =
      RewriteArguments(host.Find(entry->device()), entry->key());
  if (text.device_command.empty()) {
    text.fix = absl::StrCat("remove the repeated line ", kEditByHand);
  }
  report.Add(host, entry->device(), std::move(text));
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

// Problems of every line that one command repairs: told once.
bool IsOfWholeFile(const HccnConf::Problem& problem) {
  return std::any_of(std::begin(kProblemWords), std::end(kProblemWords),
                     [&problem](const ProblemWords& words) {
                       return words.kind == problem.kind() &&
                              words.fix != nullptr;
                     });
}

FindingText ProblemText(const HccnConf::Problem& problem) {
  const std::string line = problem.line() == 0
                               ? ""
                               : absl::StrCat(", line ", problem.line(), ": ",
                                              Quoted(problem.text()));
  for (const ProblemWords& words : kProblemWords) {
    if (words.kind != problem.kind()) continue;
    FindingText text{
        words.state,
        absl::StrCat(words.observed, words.fix == nullptr ? line : ""),
        words.expected};
    text.why = words.why;
    text.fix =
        words.fix != nullptr
            ? words.fix
            : absl::StrCat(words.by_hand, line.empty() ? "" : " ",
                           line.empty() ? "" : absl::StrCat(problem.line()),
                           " ", kEditByHand);
    return text;
  }
  return {UNKNOWN, absl::StrCat("a problem not understood here", line), "",
          "bring the controller to clusterd's version on the host"};
}

void AddProblems(const HostView& host, const HccnConf& conf,
                 RuleReport& report) {
  std::set<int> told;
  int shown = 0;
  int left_out = 0;
  for (const HccnConf::Problem& problem : conf.problems()) {
    if (IsOfWholeFile(problem)) {
      if (told.insert(problem.kind()).second) {
        report.Add(host, ProblemText(problem));
      }
    } else if (shown == kMaxProblems) {
      ++left_out;
    } else if (++shown; problem.kind() == HccnConf::Problem::DUPLICATE_KEY) {
      AddDuplicate(host, conf, problem, report);
    } else {
      report.Add(host, ProblemText(problem));
    }
  }
  if (left_out == 0) return;
  report.Add(
      host,
      {FAIL, absl::StrCat(Count(left_out, "more problem"), " in the file"), "",
       "repair the first ones, then check again"});
}

// One address beside the device's own that hccn.conf stores.
struct StoredAddress {
  absl::string_view what;       // "gateway"
  absl::string_view arguments;  // "-gateway -s gateway "
  Known known = Known::kNo;
  Ipv4Address live;  // Valid if known is kYes.
  const TextFact& fact;
  const std::optional<Ipv4Address>& planned;
  const HccnConf::Entry* entry;  // Null: no such line.
};

// `value` of the line; empty: none.
bool NamesNothing(absl::string_view value) {
  return value.empty() || value == "0.0.0.0";
}

// Whether the device has what the line says. A line that is no address says
// nothing that a device could have.
bool Agrees(const StoredAddress& stored, absl::string_view value) {
  if (stored.known == Known::kUnset) return NamesNothing(value);
  const auto address = Ipv4Address::Parse(value);
  return address.ok() && *address == stored.live;
}

FindingText StoredText(const StoredAddress& stored) {
  const std::string in_file =
      stored.entry == nullptr || NamesNothing(stored.entry->value())
          ? "none"
          : Printable(stored.entry->value());
  FindingText text{WARN};
  if (stored.known == Known::kUnset) {
    text.observed =
        absl::StrCat("no ", stored.what, " is set, /etc/hccn.conf has ",
                     in_file, ": the next boot sets it");
    text.expected = absl::StrCat("the same ", stored.what,
                                 " on the device and in /etc/hccn.conf");
    if (stored.planned.has_value()) {
      text.device_command =
          absl::StrCat(stored.arguments, stored.planned->ToString());
    } else {
      text.fix = absl::StrCat("set it with hccn_tool, or remove line ",
                              stored.entry->line(), " ", kEditByHand);
    }
    return text;
  }
  // The live one is kept where no other is planned.
  const std::string wanted = stored.planned.value_or(stored.live).ToString();
  text.observed = absl::StrCat(stored.what, " is ", stored.live.ToString(),
                               ", /etc/hccn.conf has ", in_file);
  text.expected =
      absl::StrCat(stored.what, " ", wanted, " in /etc/hccn.conf as well");
  text.device_command = absl::StrCat(stored.arguments, wanted);
  return text;
}

void AddFileUnknown(const HostView& host, const DeviceView& device,
                    RuleReport& report) {
  report.Add(host, device.id,
             {UNKNOWN, "/etc/hccn.conf not known", "",
              "repair what hccn-conf reports about this host", "", "", "",
              "hccn-conf"});
}

void JudgeStored(const HostView& host, const DeviceView& device,
                 const StoredAddress& stored, RuleReport& report) {
  if (!IsKnown(host.facts->hccn_conf())) {
    return AddFileUnknown(host, device, report);
  }
  if (stored.known == Known::kNo) {
    return report.AddUnknownAddress(host, device, stored.what, stored.fact);
  }
  const bool agree =
      Agrees(stored, stored.entry == nullptr ? "" : stored.entry->value());
  FindingText text = agree ? FindingText{} : StoredText(stored);
  if (!agree && stored.entry != nullptr &&
      Agrees(stored, RepairedValue(host, *stored.entry))) {
    text.caused_by = "hccn-conf";
  }
  if (!agree && host.facts->hccn_tool().generation() != NpuToolFacts::CLASSIC) {
    text.state = UNKNOWN;
    absl::StrAppend(&text.observed,
                    "; whether the recovery at boot takes it from there is "
                    "published for the classic hccn_tool alone");
  } else {
    report.Judged(host, 1);
  }
  if (!agree) report.Add(host, device.id, std::move(text));
}

bool FileHasLiveAddress(const DeviceView& device) {
  return device.conf.has_value() &&
         std::find(device.interfaces.begin(), device.interfaces.end(),
                   *device.conf) != device.interfaces.end();
}

// Whether the file would have it if hccn-conf found nothing in the lines.
bool RepairedFileHasLiveAddress(const HostView& host,
                                const DeviceView& device) {
  if (device.conf_address == nullptr || device.conf_netmask == nullptr) {
    return false;
  }
  const auto address =
      Ipv4Address::Parse(RepairedValue(host, *device.conf_address));
  const auto length = ParseNetmask(RepairedValue(host, *device.conf_netmask));
  return address.ok() && length.ok() &&
         std::find(device.interfaces.begin(), device.interfaces.end(),
                   Ipv4Interface(*address, *length)) != device.interfaces.end();
}

std::string FileText(const DeviceView& device) {
  const auto line = [&](absl::string_view key, const HccnConf::Entry* entry) {
    return entry == nullptr ? absl::StrCat("no ", key, "_", device.id)
                            : absl::StrCat(key, "_", device.id, "=",
                                           Printable(entry->value()), " (line ",
                                           entry->line(), ")");
  };
  return absl::StrCat(line("address", device.conf_address), ", ",
                      line("netmask", device.conf_netmask));
}

}  // namespace

absl::string_view RepairedValue(const HostView& host,
                                const HccnConf::Entry& entry) {
  absl::string_view value = entry.value();
  for (const HccnConf::Problem& problem :
       host.facts->hccn_conf().value().problems()) {
    if (problem.kind() != HccnConf::Problem::CARRIAGE_RETURN) continue;
    // clusterd shows the control character as two.
    if (!absl::ConsumeSuffix(&value, "\\r")) absl::ConsumeSuffix(&value, "\r");
    break;
  }
  return value;
}

void CheckHccnConf(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    const HccnConfFact& fact = host.facts->hccn_conf();
    if (IsKnown(fact)) {
      report.Judged(host);
      AddProblems(host, fact.value(), report);
      continue;
    }
    const Missing* missing = MissingOf(fact);
    const bool is_verdict =
        missing != nullptr && (missing->reason() == Missing::ABSENT ||
                               missing->reason() == Missing::UNREADABLE);
    if (!is_verdict) {
      report.AddUnknown(host, "/etc/hccn.conf", fact);
      continue;
    }
    report.Judged(host);
    FindingText text{FAIL,
                     absl::StrCat("/etc/hccn.conf: ", WhyMissing(missing)),
                     "a regular file that can be read",
                     "install -m 0644 /dev/null /etc/hccn.conf, then set every "
                     "device's address with hccn_tool; in a container mount "
                     "the host's file"};
    if (missing->reason() == Missing::UNREADABLE) {
      text.fix =
          "look at it with ls -ld /etc/hccn.conf, and put a regular "
          "file there";
    }
    report.Add(host, std::move(text));
  }
}

void CheckDeviceIpPersistent(const ClusterView& view, RuleReport& report) {
  ForEachAddress(
      view, report, [&](const HostView& host, const DeviceView& device) {
        if (!IsKnown(host.facts->hccn_conf())) {
          return AddFileUnknown(host, device, report);
        }
        report.Judged(host, 1);
        if (FileHasLiveAddress(device)) return;
        const Ipv4Interface live = device.Address();
        // The live address is kept where no other is planned.
        const Ipv4Interface wanted = device.planned.value_or(live);
        report.Add(
            host, device.id,
            {FAIL,
             absl::StrCat("device has ", live.ToString(),
                          ", /etc/hccn.conf has ", FileText(device)),
             absl::StrCat("address_", device.id, "=",
                          wanted.address().ToString(), ", netmask_", device.id,
                          "=", wanted.subnet().netmask().ToString()),
             "",
             absl::StrCat("-ip -s address ", wanted.address().ToString(),
                          " netmask ", wanted.subnet().netmask().ToString()),
             "", "",
             RepairedFileHasLiveAddress(host, device) ? "hccn-conf" : ""});
      });
}

void CheckGatewayPersistent(const ClusterView& view, RuleReport& report) {
  ForEachAddress(
      view, report, [&](const HostView& host, const DeviceView& device) {
        if (device.conf_dhcp != nullptr) {
          report.Add(host, device.id,
                     {SKIPPED,
                      "/etc/hccn.conf has udhcpc_enable: the recovery at boot "
                      "does not take the gateway from the file",
                      "", "see to it where the device gets its gateway from"});
          return;
        }
        JudgeStored(host, device,
                    {"gateway", "-gateway -s gateway ", device.gateway_known,
                     device.gateway, device.facts->gateway(),
                     device.planned_gateway, device.conf_gateway},
                    report);
      });
}

void CheckDetectAddressPersistent(const ClusterView& view, RuleReport& report) {
  ForEachAddress(
      view, report, [&](const HostView& host, const DeviceView& device) {
        JudgeStored(
            host, device,
            {"detect address", "-netdetect -s address ", device.detect_known,
             device.detect, device.facts->detect_address(),
             device.planned_detect, device.conf_detect},
            report);
      });
}

}  // namespace clusterd
