
#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/setting_rows.h"
#include "config/values/dscp_classes.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

using Wanted = std::optional<std::string>;

constexpr uint32_t kMaxDevice = 63;
// Below this hccn_tool asks whether to drop IPv6, and clusterd answers no
// questions (captures, mtu-set-1000-eof).
constexpr uint32_t kMinMtu = 1280;
constexpr uint32_t kMaxMtu = 9702;

template <const TextFact& (DeviceFacts::*fact)() const>
FactReading LiveText(const DeviceFacts& facts) {
  return ReadingOf((facts.*fact)(), (facts.*fact)().value());
}

FactReading LiveAddress(const DeviceFacts& facts) {
  const auto add = [](std::string* out, const Ipv4Setting& each) {
    absl::StrAppend(out, each.address(), "/", each.netmask());
  };
  return ReadingOf(
      facts.address(),
      absl::StrJoin(facts.address().value().settings(), ", ", add));
}

Wanted WantedText(std::string text) {
  return text.empty() ? std::nullopt : Wanted(std::move(text));
}

bool IsInterface(absl::string_view value) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(value, absl::MaxSplits('/', 1));
  const auto parsed = Ipv4Interface::Parse(parts.first, parts.second);
  return parsed.ok() && !parsed->address().IsUnset() &&
         parsed->prefix_length() > 0;
}

bool IsAddress(absl::string_view value) {
  const auto parsed = Ipv4Address::Parse(value);
  return parsed.ok() && !parsed->IsUnset();
}

bool IsMtu(absl::string_view value) {
  uint32_t bytes = 0;
  return absl::SimpleAtoi(value, &bytes) && bytes >= kMinMtu &&
         bytes <= kMaxMtu && absl::StrCat(bytes) == value;
}

constexpr char kPfc[] = "[01](?:,[01]){7}";

// `-udp -s port 4791` and `-udp -s auto` store roce_port_N=4791 and -1, and
// drop the keys of the other modes, which have other commands (usage text and
// tool_ext.c of hicann/driver 05354178).
constexpr char kAutoPort[] = "auto";

bool IsRocePort(absl::string_view value) {
  constexpr uint32_t kMin = 4097;
  constexpr uint32_t kMax = 65535;
  uint32_t port = 0;
  return value == kAutoPort ||
         (absl::SimpleAtoi(value, &port) && port >= kMin && port <= kMax &&
          absl::StrCat(port) == value);
}

// The fact has no text for a map with only class 0.
FactReading LiveClasses(const DeviceFacts& facts) {
  const std::string& value = facts.dscp_to_tc().value();
  return ReadingOf(facts.dscp_to_tc(),
                   value.empty() ? DscpClassesText({}) : value);
}

bool IsDscpMap(absl::string_view value) {
  const auto classes = ParseDscpClasses(value);
  return classes.ok() && DscpClassesText(*classes) == value;
}

constexpr DeviceSetting kDeviceSettings[] = {
    {kAddressSetting, "address", CHANGE_DEVICE_ADDRESS, LiveAddress,
     "address/netmask", "-ip", "address/netmask", nullptr,
     [](const ClusterSpec&, const DeviceSpec& device) {
       return WantedText(
           device.address().empty()
               ? ""
               : absl::StrCat(device.address(), "/", device.netmask()));
     },
     IsInterface, /*needs_idle_device=*/true, /*always_saved=*/true},
    {kGatewaySetting, "gateway", CHANGE_DEVICE_ADDRESS,
     LiveText<&DeviceFacts::gateway>, "gateway", "-gateway", "gateway", nullptr,
     [](const ClusterSpec&, const DeviceSpec& device) {
       return WantedText(device.gateway());
     },
     IsAddress, false, true},
    {kDetectSetting, "detect address", CHANGE_DEVICE_ADDRESS,
     [](const DeviceFacts& facts) {
       const std::string& value = facts.detect_address().value();
       return ReadingOf(facts.detect_address(),
                        value.empty() ? "0.0.0.0" : value);
     },
     "netdetect", "-netdetect", "address", nullptr,
     [](const ClusterSpec&, const DeviceSpec& device) {
       return WantedText(device.detect_address());
     },
     IsAddress, false, true},
    {kMtuSetting, "MTU", CHANGE_DEVICE_ADDRESS,
     [](const DeviceFacts& facts) {
       return ReadingOf(facts.mtu(), absl::StrCat(facts.mtu().value()));
     },
     "mtu", "-mtu", "size", nullptr,
     [](const ClusterSpec& spec, const DeviceSpec&) {
       return spec.has_mtu() ? Wanted(absl::StrCat(spec.mtu())) : std::nullopt;
     },
     IsMtu, true, false},
    {kTlsSetting, "TLS", CHANGE_TLS,
     [](const DeviceFacts& facts) {
       return ReadingOf(facts.tls(),
                        facts.tls().value().enabled() ? "on" : "off");
     },
     "tls_enable", "-tls", "enable",
     [](absl::string_view value) -> std::string {
       return value == "on" ? "1" : "0";
     },
     [](const ClusterSpec& spec, const DeviceSpec&) {
       return spec.has_tls() ? Wanted(spec.tls() ? "on" : "off") : std::nullopt;
     },
     [](absl::string_view value) { return value == "on" || value == "off"; },
     true, false},
    {kPfcSetting, "PFC", CHANGE_DEVICE_ADDRESS, LiveText<&DeviceFacts::pfc>,
     "bitmap", "-pfc", "bitmap", nullptr,
     [](const ClusterSpec& spec, const DeviceSpec&) {
       return WantedText(spec.lossless().pfc());
     },
     IsOfForm<kPfc>, true, false},
    {kRocePortSetting, "RoCE port", CHANGE_DEVICE_ADDRESS,
     LiveText<&DeviceFacts::roce_port>, "roce_port", "-udp", "port",
     [](absl::string_view value) -> std::string {
       return value == kAutoPort ? "-1" : std::string(value);
     },
     [](const ClusterSpec& spec, const DeviceSpec&) {
       const uint32_t port = spec.lossless().roce_port();
       return port == 0 ? std::nullopt : Wanted(absl::StrCat(port));
     },
     IsRocePort, true, false, kAutoPort,
     "udp_port_mode/multi_qp_count/multi_qp_udp_ports/nslb_dp_listen_port"},
    {kDscpSetting, "DSCP to TC", CHANGE_DEVICE_ADDRESS, LiveClasses, "dscp_tc",
     "-dscp_to_tc", "dscp/tc", nullptr,
     [](const ClusterSpec& spec, const DeviceSpec&) {
       return WantedText(spec.lossless().dscp_to_tc());
     },
     IsDscpMap, true, false, nullptr, "", /*is_map=*/true},
};
static_assert(HasRowForEach(kDeviceSettingNames, kDeviceSettings),
              "a setting without its row");

// True for the device's gateway or route, which the tool drops with a subnet.
bool IsDroppable(const HccnConf::Entry& entry, uint32_t device) {
  return (entry.key() == "gateway" || IsRouteKey(entry.key())) &&
         entry.has_device() && entry.device() == device &&
         !absl::StrContains(entry.key(), '\n') &&
         !absl::StrContains(entry.value(), '\n');
}

FindingValue Text(const PlanStep& step) {
  const DeviceSetting& setting = *SettingOf(step)->device;
  const auto of_device = [&step](const FindingValue& what) {
    return Worded("plan-say-of-device", step.target().device(), what);
  };
  if (IsRewrite(step)) {
    const std::pair<absl::string_view, absl::string_view> keys =
        absl::StrSplit(setting.conf_keys, absl::MaxSplits('/', 1));
    return of_device(
        Worded("plan-say-set", absl::StrCat("hccn.conf ", keys.first),
               Term(step.from()), ConfSpelling(setting, step.to())));
  }
  const FindingValue to = ValueWords(step.to());
  if (step.from() == step.to()) {
    return of_device(Worded("plan-say-put-back", Term(setting.words), to));
  }
  return of_device(
      Worded("plan-say-set", Term(setting.words), ValueWords(step.from()), to));
}

FindingValue Condition(const PlanStep& step) {
  const DeviceSetting& setting = *SettingOf(step)->device;
  const std::string& now = IsRewrite(step) ? step.to() : step.from();
  FindingValue has =
      now == kNoneFact ? Worded("plan-say-no-setting", Term(setting.words))
                       : Worded("plan-say-value", Term(setting.words),
                                IsRewrite(step) ? Term(now) : ValueWords(now));
  if (!IsRewrite(step) && step.setting() == kGatewaySetting) {
    has = Worded("plan-say-planned-address");
  }
  return Worded(!IsRewrite(step) && setting.needs_idle_device
                    ? "plan-say-if-idle"
                    : "plan-say-if-device",
                step.target().device(), has);
}

FindingValue Undo(const PlanStep& step) {
  if (IsRewrite(step) || step.from() == kNoneFact) {
    return Worded("plan-say-undo-conf");
  }
  return Worded(step.setting() == kTlsSetting ? "plan-say-undo-switch"
                                              : "plan-say-undo-set",
                ValueWords(step.from()));
}

absl::Status Check(const PlanStep& step) {
  const DeviceSetting& setting = *SettingOf(step)->device;
  const uint32_t device = step.target().device();
  if (device > kMaxDevice) return NotOneToSet("device", absl::StrCat(device));
  if (!setting.is_legal(step.to())) {
    return NotOneToSet(setting.words, step.to());
  }
  const bool plain = absl::c_all_of(step.from(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("./,:_()", c);
  });
  if (!IsRewrite(step) && !plain) {
    return NotOneToSet(absl::StrCat("earlier ", setting.words), step.from());
  }
  for (const HccnConf::Entry& entry : step.dropped()) {
    // A gateway may replace that of another device, as ProductProfile says.
    const bool may_go =
        step.setting() == kAddressSetting
            ? IsDroppable(entry, device)
            : step.setting() == kGatewaySetting && entry.key() == "gateway" &&
                  entry.device() != device && entry.device() <= kMaxDevice &&
                  IsDroppable(entry, entry.device());
    if (IsRewrite(step) || !may_go) {
      return NotOneToSet("dropped key", entry.key());
    }
  }
  return absl::OkStatus();
}

StepVerdict Judge(const PlanStep& step, const SettingFacts& facts) {
  const uint32_t device = step.target().device();
  StepVerdict verdict =
      Expect(facts, DeviceFactName(device, step.setting()), step.to());
  for (const ConfLine& line :
       ConfLinesOf(*SettingOf(step)->device, device, step.to())) {
    verdict.Take(
        Expect(facts, absl::StrCat("hccn.conf: ", line.key), line.value));
  }
  return verdict;
}

std::vector<std::string> DroppedGateway(const PlanStep& step) {
  for (const HccnConf::Entry& entry : step.dropped()) {
    if (entry.key() != "gateway") continue;
    return {DeviceFactName(entry.device(), kGatewaySetting)};
  }
  return {};
}

}  // namespace

absl::Span<const DeviceSetting> DeviceSettings() { return kDeviceSettings; }

std::vector<ConfLine> ConfLinesOf(const DeviceSetting& setting, uint32_t device,
                                  absl::string_view value) {
  const std::vector<absl::string_view> parts = absl::StrSplit(value, '/');
  std::vector<ConfLine> lines;
  for (const absl::string_view key : absl::StrSplit(setting.conf_keys, '/')) {
    const absl::string_view part =
        lines.size() < parts.size() ? parts[lines.size()] : "";
    lines.push_back(
        {HccnConfKey(key, device), setting.conf_spelling == nullptr
                                       ? std::string(part)
                                       : setting.conf_spelling(part)});
  }
  return lines;
}

std::string StoredPart(const DeviceSetting& setting, absl::string_view text) {
  if (!setting.is_map) return std::string(text);
  const auto classes = text.empty()
                           ? DscpClasses()
                           : ParseDscpClasses(absl::StripSuffix(text, ","));
  return classes.ok() ? DscpClassesText(*classes) : std::string(text);
}

std::string ConfSpelling(const DeviceSetting& setting,
                         absl::string_view value) {
  return absl::StrJoin(ConfLinesOf(setting, 0, value), "/",
                       [](std::string* out, const ConfLine& line) {
                         absl::StrAppend(out, line.value);
                       });
}

FindingValue ValueWords(const std::string& value) {
  if (value == kNoneFact) return Worded("plan-say-none");
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(value, absl::MaxSplits('/', 1));
  const auto parsed = Ipv4Interface::Parse(parts.first, parts.second);
  return Term(parsed.ok() ? parsed->ToString() : value);
}

Setting RowOf(const DeviceSetting& setting) {
  return {setting.name,   setting.kind, SettingTarget::kDevice,
          Text,           Condition,    Undo,
          Check,          Judge,        nullptr,
          DroppedGateway, &setting};
}

}  // namespace clusterd
