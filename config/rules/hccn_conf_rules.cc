// /etc/hccn.conf, from which the driver sets every device at boot:
//   address_3=192.168.103.101
//   netmask_3=255.255.255.0
// hccn_tool edits it in place under flock; so must every fix.
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/settings.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/cluster_view.h"
#include "config/values/hccn_conf_line.h"
#include "config/values/ipv4.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// The limit of problems of one file that are reported separately.
constexpr int kMaxProblems = 16;

// Findings by HccnConf::Problem::Kind; the first is of a newer host's kinds.
constexpr absl::string_view kProblems[] = {
    "not-understood", "no-final-newline", "carriage-return", "malformed-route",
    "duplicate-key",  "malformed-line",   "line-too-long",   "file-too-large",
    "trailing-blank", "bad-value"};
static_assert(std::size(kProblems) == HccnConf::Problem::Kind_ARRAYSIZE);

const HccnConf::Entry* EntryAt(const HccnConf& conf, uint32_t line) {
  for (const HccnConf::Entry& entry : conf.entries()) {
    if (entry.line() == line && entry.has_device()) return &entry;
  }
  return nullptr;
}

// hccn_tool's own write removes every line of a key and adds one. The arguments
// of that write; empty if the key or its planned value is not known here.
std::string RewriteCommand(const DeviceView* device, absl::string_view key) {
  if (device == nullptr) return "";
  if (key == "address" || key == "netmask") return SetPlanned(*device);
  if (key == "gateway") return SetPlanned(kGateway, *device);
  if (key == "netdetect") return SetPlanned(kDetectAddress, *device);
  return "";
}

void AddDuplicate(const HostView& host, const HccnConf::Problem& problem,
                  RuleReport& report) {
  const HccnConf::Entry* entry =
      EntryAt(host.facts->hccn_conf().value(), problem.line());
  if (entry == nullptr) {
    return report.Add(host, "duplicate-key", problem.line(),
                      QuotedText(problem.text()), "");
  }
  const uint32_t device = entry->device();
  if (FirstWith(host.unplanned, &DeviceView::id, device) != nullptr) return;
  report.Add(host, {device},
             report.Named("duplicate-key", problem.line(),
                          QuotedText(absl::StrCat(entry->key(), "_", device)),
                          RewriteCommand(host.Find(device), entry->key())));
}

// A value over which a device's recovery fails, perhaps without an address.
void AddBadValue(const ClusterView& view, const HostView& host,
                 const HccnConf::Problem& problem, RuleReport& report) {
  if (!BreaksRecoveryOf(view.profile().npu_series, problem.text())) return;
  const HccnConf::Entry* entry =
      EntryAt(host.facts->hccn_conf().value(), problem.line());
  // The recovery covers only existing devices.
  if (entry != nullptr && IsKnown(host.facts->device_ids()) &&
      host.Find(entry->device()) == nullptr) {
    return;
  }
  const bool needs_it = entry != nullptr && (entry->key() == "address" ||
                                             entry->key() == "netmask" ||
                                             entry->key() == "ip_route");
  NamedFinding text = report.Named(
      needs_it ? "bad-address" : "bad-value", problem.line(),
      QuotedText(problem.text()),
      entry == nullptr
          ? ""
          : RewriteCommand(host.Find(entry->device()), entry->key()));
  if (entry == nullptr) return report.Add(host, std::move(text));
  report.Add(host, {entry->device()}, std::move(text));
}

void AddProblems(const ClusterView& view, const HostView& host,
                 RuleReport& report) {
  int shown = 0, left_out = 0;
  for (const HccnConf::Problem& problem :
       host.facts->hccn_conf().value().problems()) {
    const absl::string_view name =
        kProblems[HccnConf::Problem::Kind_IsValid(problem.kind())
                      ? problem.kind()
                      : HccnConf::Problem::KIND_UNSPECIFIED];
    if (problem.kind() == HccnConf::Problem::NO_FINAL_NEWLINE ||
        problem.kind() == HccnConf::Problem::CARRIAGE_RETURN) {
      report.Add(host, name);  // One command repairs every line.
    } else if (shown == kMaxProblems) {
      ++left_out;
    } else if (++shown; problem.kind() == HccnConf::Problem::DUPLICATE_KEY) {
      AddDuplicate(host, problem, report);
    } else if (problem.kind() == HccnConf::Problem::BAD_VALUE) {
      AddBadValue(view, host, problem, report);
    } else {
      report.Add(host, name, problem.line(), QuotedText(problem.text()));
    }
  }
  if (left_out > 0) {
    report.Add(host, "more", Counted(left_out, "more problem"));
  }
}

// Judges the result that `-cfg status` reports for the last recovery of each
// device. Counts devices whose tool lacks that query, which changes no verdict.
void JudgeRecovery(const HostView& host, size_t* not_supported,
                   RuleReport& report) {
  if (host.facts->hccn_tool().generation() == NpuToolFacts::ASCEND_950) return;
  for (const DeviceView& device : host.devices) {
    const Missing* missing = device.recovery.missing;
    if (missing != nullptr && missing->reason() == Missing::NOT_SUPPORTED) {
      ++*not_supported;
      continue;
    }
    if (!report.Knows(device, "recovery", device.recovery)) continue;
    switch (*device.recovery) {
      case RecoveryFact::FAIL:
      case RecoveryFact::FAULT:
        report.Add(device, "recovery-failed",
                   RecoveryFact::Recovery_Name(*device.recovery));
        break;
      case RecoveryFact::START:
        report.Add(device, "recovery-under-way");
        break;
      default:
        break;
    }
  }
}

// `value` of the line; empty: none.
bool NamesNothing(absl::string_view value) {
  return value.empty() || value == "0.0.0.0";
}

// True if the device has what the line says. A line that is not an address
// matches no value.
bool Agrees(const AddressReading& live, absl::string_view value) {
  if (live.IsUnset()) return NamesNothing(value);
  const auto address = Ipv4Address::Parse(value);
  return address.ok() && *address == *live;
}

bool IsClassic(const DeviceView& device) {
  return device.host->facts->hccn_tool().generation() == NpuToolFacts::CLASSIC;
}

// The device and the file have different ones.
NamedFinding StoredText(const AddressKind& kind, const DeviceView& device,
                        const RuleReport& report) {
  const AddressReading& live = device.*kind.live;
  const HccnConf::Entry* entry = device.*kind.stored;
  const FindingValue in_file =
      entry == nullptr || NamesNothing(entry->value())
          ? Worded("none")
          : ToFindingValue(PrintableText(entry->value()));
  const FindingValue published =
      IsClassic(device) ? FindingValue() : Worded("recovery-classic-only");
  if (live.IsUnset()) {
    // Then the file has one, or the two would agree.
    return report.Named("stored-alone", Term(kind.name), in_file, entry->line(),
                        SetPlanned(kind, device), published);
  }
  // Keeps the live one if no other is planned.
  const Ipv4Address wanted = (device.*kind.planned).value_or(*live);
  return report.Named("not-stored", Term(kind.name), in_file, live->ToString(),
                      wanted.ToString(), SetCommand(kind, wanted), published);
}

// True if the file of the device's host is known; otherwise adds a finding,
// caused by hccn-conf.
bool KnowsFile(const DeviceView& device, RuleReport& report) {
  if (IsKnown(device.host->facts->hccn_conf())) return true;
  report.Add(device, "no-hccn-conf");
  return false;
}

// Device and file differ.
void AddStored(const DeviceView& device, NamedFinding text,
               RuleReport& report) {
  if (IsClassic(device)) {
    report.Judged(device);
  } else {
    text.state = UNKNOWN;
  }
  report.Add(device, std::move(text));
}

void JudgeStored(const DeviceView& device, const AddressKind& kind,
                 RuleReport& report) {
  const AddressReading& live = device.*kind.live;
  const HccnConf::Entry* entry = device.*kind.stored;
  if (!KnowsFile(device, report)) return;
  if (!report.Knows(device, kind.name, live)) return;
  if (Agrees(live, entry == nullptr ? "" : entry->value())) {
    return report.Judged(device);
  }
  NamedFinding text = StoredText(kind, device, report);
  if (entry != nullptr && Agrees(live, RepairedValue(*device.host, *entry))) {
    text.caused_by = "hccn-conf";
  }
  AddStored(device, std::move(text), report);
}

// A setting of a device that one line of the file restores at boot.
struct StoredSetting {
  SettingId id;
  const HccnConf::Entry* DeviceView::*stored;
  // The default value of a device.
  absl::string_view unset;
  // The rule that compares it between hosts.
  absl::string_view elsewhere;
};

// Modes that choose RoCE's ports, as -udp -g and as udp_port_mode_N spell them.
constexpr std::pair<absl::string_view, absl::string_view> kPortModes[] = {
    {"multi_qp", "multi_qp"}, {"code(nslb_dp)", "code:nslb_dp"}};

// True if the line restores the value at boot; "01" is 1 to the tool.
bool BringsBack(const DeviceSetting& setting, absl::string_view in_file,
                const SettingValue& live) {
  const std::string wanted = ConfLinesOf(setting, live)[0].text;
  const std::string stored = StoredText(setting, in_file);
  int64_t a = 0, b = 0;
  return stored == wanted || (absl::SimpleAtoi(stored, &a) &&
                              absl::SimpleAtoi(wanted, &b) && a == b);
}

// The arguments after `hccn_tool -i N` that set it; empty: no single command.
std::string SettingCommand(const DeviceSetting& setting,
                           const SettingValue& value) {
  if (setting.is_map() || !setting.is_legal(value)) return "";
  return absl::StrJoin(SetArguments(setting, value), " ");
}

// The line of the file, or that the key is missing.
FindingValue LineWords(absl::string_view key, const HccnConf::Entry* entry,
                       const DeviceView& device) {
  if (entry == nullptr) {
    return Worded("no-line", absl::StrCat(key, "_", device.id));
  }
  return Worded("line-of-file",
                PrintableText(absl::StrCat(entry->key(), "_", device.id, "=",
                                           entry->value())),
                entry->line());
}

// The line in force for the setting, and whether it restores `live`.
std::pair<const HccnConf::Entry*, bool> FindStored(const DeviceView& device,
                                                   const StoredSetting& kind,
                                                   const DeviceSetting& setting,
                                                   const SettingValue& live) {
  const HccnConf::Entry* entry = device.*kind.stored;
  const HccnConf::Entry* mode = device.conf_port_mode;
  if (kind.stored == &DeviceView::conf_roce_port && mode != nullptr) {
    return {mode, absl::c_any_of(kPortModes, [&](const auto& each) {
              return each.first == SettingText(live) &&
                     each.second == mode->value();
            })};
  }
  return {entry, entry != nullptr && BringsBack(setting, entry->value(), live)};
}

// | live       | in the file  | state                                       |
// |------------|--------------|---------------------------------------------|
// | V          | V            | pass                                        |
// | V          | another      | warn: the next boot sets that one           |
// | V          | none         | warn, unless V is the default               |
void JudgeSetting(const ClusterView& view, const DeviceView& device,
                  const StoredSetting& kind, RuleReport& report) {
  const DeviceSetting& setting = DeviceSettingOf(kind.id);
  if (!KnowsFile(device, report)) return;
  const SettingValue live = setting.Live(*device.facts);
  if (IsUnknown(live)) {
    return report.AddSkipped(device, Worded("setting-not-known", setting.words),
                             kind.elsewhere);
  }
  if (device.host->facts->hccn_tool().generation() ==
      NpuToolFacts::ASCEND_950) {
    return report.Add(device, "recovery-unpublished");
  }
  const auto [entry, is_so] = FindStored(device, kind, setting, live);
  if (is_so || (entry == nullptr && SettingText(live) == kind.unset)) {
    return report.Judged(device);
  }
  const SettingValue to =
      setting.Wanted(view.spec(), DeviceSpec()).value_or(live);
  NamedFinding text = report.Named(
      "not-stored", setting.words,
      LineWords(setting.conf_keys[0], entry, device),
      PrintableText(SettingText(live)), PrintableText(SettingText(to)),
      SettingCommand(setting, to), "");
  if (entry != nullptr &&
      BringsBack(setting, RepairedValue(*device.host, *entry), live)) {
    text.caused_by = "hccn-conf";
  }
  report.Judged(device);
  report.Add(device, std::move(text));
}

void CheckStored(const StoredSetting& kind, const ClusterView& view,
                 RuleReport& report) {
  report.ForEachDevice([&](const DeviceView& device) {
    const bool no_file_needed =
        view.spec().roce_unused() &&
        device.host->facts->hccn_conf().missing().reason() == Missing::ABSENT;
    if (no_file_needed) return report.Add(device, "file-not-needed");
    JudgeSetting(view, device, kind, report);
  });
}

// True if the device has the address of the two lines.
bool HasAddressOf(const DeviceView& device, absl::string_view address,
                  absl::string_view netmask) {
  const auto stored = Ipv4Interface::Parse(address, netmask);
  return stored.ok() && device.Has(*stored);
}

}  // namespace

// A missing file fails if RoCE is used, as does one that is not a text file;
// one without read permission is unknown. A line that the tool would ignore is
// a warning. The result of the last recovery reveals any other problem; a tool
// whose query for that is not published is not asked.
void CheckHccnConf(const ClusterView& view, RuleReport& report) {
  size_t not_supported = 0;
  for (const HostView& host : view.hosts()) {
    const HccnConfFact& fact = host.facts->hccn_conf();
    const Missing::Reason reason = fact.missing().reason();
    const bool roce_unused = view.spec().roce_unused();
    if (reason == Missing::ABSENT && roce_unused) {
      report.Add(host, "file-not-needed");
    } else if (reason == Missing::ABSENT || reason == Missing::UNREADABLE) {
      report.Judged(host);
      NamedFinding text =
          report.Named(reason == Missing::ABSENT ? "absent" : "unreadable",
                       MissingWords(&fact.missing()));
      // Then device-ip-set reports the file too.
      if (ValuesNeverSet(view.spec(), host) > 0) {
        text.caused_by = "device-ip-set";
      }
      report.Add(host, std::move(text));
    } else if (report.Knows(host, "/etc/hccn.conf", fact)) {
      report.Judged(host);
      AddProblems(view, host, report);
      if (!roce_unused) JudgeRecovery(host, &not_supported, report);
    }
  }
  if (not_supported == 0) return;
  report.Note("recovery-not-supported", Counted(not_supported, "device"));
}

// Live addresses against the file. Without the file this is unknown, caused by
// hccn-conf; so is a difference that the repair of the file ends. A device with
// udhcpc_enable_N, whatever its value, gets its address from a server: a
// warning if an address is planned, which a plan cannot store either.
void CheckDeviceIpPersistent(const ClusterView&, RuleReport& report) {
  const auto judge = [&report](const DeviceView& device) {
    if (device.conf_dhcp != nullptr && device.planned.has_value()) {
      report.Judged(device);
      return report.Add(device, "planned-by-dhcp",
                        QuotedText(device.conf_dhcp->value()),
                        device.planned->ToString());
    }
    if (!device.HasAddress()) {
      return report.AddSkipped(device, "no address is set", "device-ip-set");
    }
    if (!KnowsFile(device, report)) return;
    if (device.conf_dhcp != nullptr) return report.Add(device, "by-dhcp");
    report.Judged(device);
    const HccnConf::Entry* address = device.conf_address;
    const HccnConf::Entry* netmask = device.conf_netmask;
    const bool has_both = address != nullptr && netmask != nullptr;
    if (has_both && HasAddressOf(device, address->value(), netmask->value())) {
      return;
    }
    const bool has_problems =
        !device.host->facts->hccn_conf().value().problems().empty();
    const bool repair_ends_it =
        has_both && has_problems &&
        HasAddressOf(device, RepairedValue(*device.host, *address),
                     RepairedValue(*device.host, *netmask));
    const Ipv4Interface live = device.Address();
    // Keeps the live address if no other is planned.
    const Ipv4Interface wanted = device.planned.value_or(live);
    report.Add(device, "another", live.ToString(),
               LineWords("address", address, device),
               LineWords("netmask", netmask, device), device.id,
               wanted.address().ToString(),
               wanted.subnet().netmask().ToString(), SetCommand(wanted),
               repair_ends_it ? "hccn-conf" : "");
  };
  report.ForEachKnown("address", &DeviceView::addresses, judge);
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
// does not take it from the file (hccn_tool source, hicann/driver ef377e95). A
// gateway shared with another device is stored only for that one.
void CheckGatewayPersistent(const ClusterView& view, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    const bool by_other = IsKnown(device.host->facts->hccn_conf()) &&
                          device.conf_gateway == nullptr &&
                          GatewayKeeper(view, device) != nullptr;
    if (by_other) {
      report.Judged(device);
    } else if (device.conf_dhcp == nullptr) {
      JudgeStored(device, kGateway, report);
    } else {
      report.Add(device, "by-dhcp");
    }
  });
}

void CheckDetectAddressPersistent(const ClusterView&, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    JudgeStored(device, kDetectAddress, report);
  });
}

// A setting of a device, against the line that the next boot takes.
void CheckMtuPersistent(const ClusterView& view, RuleReport& report) {
  CheckStored({SETTING_MTU, &DeviceView::conf_mtu, "1500", "mtu-uniform"}, view,
              report);
}
void CheckTlsPersistent(const ClusterView& view, RuleReport& report) {
  CheckStored({SETTING_TLS, &DeviceView::conf_tls, "off", "tls-uniform"}, view,
              report);
}
void CheckPfcPersistent(const ClusterView& view, RuleReport& report) {
  CheckStored(
      {SETTING_PFC, &DeviceView::conf_pfc, "0,0,0,0,0,0,0,0", "lossless"}, view,
      report);
}
void CheckRocePortPersistent(const ClusterView& view, RuleReport& report) {
  CheckStored(
      {SETTING_ROCE_PORT, &DeviceView::conf_roce_port, "auto", "lossless"},
      view, report);
}
void CheckDscpPersistent(const ClusterView& view, RuleReport& report) {
  CheckStored({SETTING_DSCP_TO_TC, &DeviceView::conf_dscp, "0:0", "lossless"},
              view, report);
}

}  // namespace clusterd
