#include "config/plan/device_settings.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/text_form.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

using Texts = std::vector<std::string>;

constexpr size_t kMaxWordBytes = 4096;
// Below this hccn_tool asks whether to drop IPv6, and clusterd answers no
// questions (captures, mtu-set-1000-eof).
constexpr uint32_t kMinMtu = 1280;
constexpr uint32_t kMaxMtu = 9702;
constexpr int kPriorities = 8;

// `-udp -s port 4791` and `-udp -s auto` store roce_port_N=4791 and -1, and
// drop the keys of the other modes, which have other commands (usage text and
// tool_ext.c of hicann/driver 05354178).
constexpr char kAutoPort[] = "auto";
constexpr uint32_t kMinRocePort = 4097;
constexpr uint32_t kMaxRocePort = 65535;

template <const TextFact& (DeviceFacts::*fact)() const>
FactReading LiveText(const DeviceSetting& row, const DeviceFacts& facts) {
  const TextFact& text = (facts.*fact)();
  return ReadingOf(text, ParseSetting(row, {text.value()}));
}

FactReading LiveAddress(const DeviceSetting& row, const DeviceFacts& facts) {
  const auto& settings = facts.address().value().settings();
  if (settings.size() == 1) {
    return ReadingOf(
        facts.address(),
        ParseSetting(row, {settings[0].address(), settings[0].netmask()}));
  }
  return ReadingOf(
      facts.address(),
      TextsValue(Each<std::string>(settings, [&row](const Ipv4Setting& each) {
        return SettingText(ParseSetting(row, {each.address(), each.netmask()}));
      })));
}

FactReading LiveDetect(const DeviceSetting& row, const DeviceFacts& facts) {
  const std::string& value = facts.detect_address().value();
  return ReadingOf(facts.detect_address(),
                   ParseSetting(row, {value.empty() ? "0.0.0.0" : value}));
}

// The fact has no text for a map with only class 0.
FactReading LiveClasses(const DeviceSetting& row, const DeviceFacts& facts) {
  const std::string& value = facts.dscp_to_tc().value();
  return ReadingOf(facts.dscp_to_tc(),
                   value.empty() ? MapValue({}) : ParseSetting(row, {value}));
}

bool IsInterface(const SettingValue& value) {
  const auto interface = InterfaceOf(value);
  return interface && !interface->address().IsUnset() &&
         interface->prefix_length() > 0;
}

bool IsAddress(const SettingValue& value) {
  const auto address = AddressOf(value);
  return address && !address->IsUnset();
}

bool IsMtu(const SettingValue& value) {
  return value.number() >= kMinMtu && value.number() <= kMaxMtu;
}

bool IsPfc(const SettingValue& value) {
  return value.numbers().numbers_size() == kPriorities &&
         absl::c_all_of(value.numbers().numbers(),
                        [](uint32_t pauses) { return pauses <= 1; });
}

bool IsRocePort(const SettingValue& value) {
  return value == TextsValue({kAutoPort}) ||
         (value.number() >= kMinRocePort && value.number() <= kMaxRocePort);
}

bool IsClasses(const SettingValue& value) {
  const auto classes = ClassesOf(value);
  return classes && MapValue(*classes) == value;
}

constexpr DeviceSetting kDeviceSettings[] = {
    {SETTING_ADDRESS, "address", CHANGE_DEVICE_ADDRESS,
     SettingValue::kInterface, LiveAddress, RowWords{"address", "netmask"},
     "-ip", RowWords{"address", "netmask"},
     [](const ClusterSpec&, const DeviceSpec& device) {
       return Texts{device.address(), device.netmask()};
     },
     IsInterface, /*needs_idle_device=*/true, /*always_saved=*/true},
    {SETTING_GATEWAY, "gateway", CHANGE_DEVICE_ADDRESS, SettingValue::kAddress,
     LiveText<&DeviceFacts::gateway>, RowWords{"gateway"}, "-gateway",
     RowWords{"gateway"},
     [](const ClusterSpec&, const DeviceSpec& device) {
       return Texts{device.gateway()};
     },
     IsAddress, false, true},
    {SETTING_DETECT_ADDRESS, "detect address", CHANGE_DEVICE_ADDRESS,
     SettingValue::kAddress, LiveDetect, RowWords{"netdetect"}, "-netdetect",
     RowWords{"address"},
     [](const ClusterSpec&, const DeviceSpec& device) {
       return Texts{device.detect_address()};
     },
     IsAddress, false, true},
    {SETTING_MTU, "MTU", CHANGE_DEVICE_ADDRESS, SettingValue::kNumber,
     [](const DeviceSetting&, const DeviceFacts& facts) {
       return ReadingOf(facts.mtu(), NumberValue(facts.mtu().value()));
     },
     RowWords{"mtu"}, "-mtu", RowWords{"size"},
     [](const ClusterSpec& spec, const DeviceSpec&) {
       return Texts{spec.has_mtu() ? absl::StrCat(spec.mtu()) : ""};
     },
     IsMtu, true, false},
    {SETTING_TLS, "TLS", CHANGE_TLS, SettingValue::kOn,
     [](const DeviceSetting&, const DeviceFacts& facts) {
       const bool on = facts.tls().value().enabled();
       return ReadingOf(facts.tls(), SwitchValue(on));
     },
     RowWords{"tls_enable"}, "-tls", RowWords{"enable"},
     [](const ClusterSpec& spec, const DeviceSpec&) {
       return Texts{!spec.has_tls() ? "" : spec.tls() ? "1" : "0"};
     },
     [](const SettingValue& value) { return value.has_on(); }, true, false,
     "TLS switch", /*without_roce=*/true},
    {SETTING_PFC, "PFC", CHANGE_DEVICE_ADDRESS, SettingValue::kNumbers,
     LiveText<&DeviceFacts::pfc>, RowWords{"bitmap"}, "-pfc",
     RowWords{"bitmap"},
     [](const ClusterSpec& spec, const DeviceSpec&) {
       return Texts{spec.lossless().pfc()};
     },
     IsPfc, true, false},
    {SETTING_ROCE_PORT, "RoCE port", CHANGE_DEVICE_ADDRESS,
     SettingValue::kNumber, LiveText<&DeviceFacts::roce_port>,
     RowWords{"roce_port"}, "-udp", RowWords{"port"},
     [](const ClusterSpec& spec, const DeviceSpec&) {
       const uint32_t port = spec.lossless().roce_port();
       return Texts{port == 0 ? "" : absl::StrCat(port)};
     },
     IsRocePort, true, false, nullptr, false, kAutoPort, "-1",
     RowWords{"udp_port_mode", "multi_qp_count", "multi_qp_udp_ports",
              "nslb_dp_listen_port"}},
    {SETTING_DSCP_TO_TC, "DSCP to TC", CHANGE_DEVICE_ADDRESS,
     SettingValue::kMap, LiveClasses, RowWords{"dscp_tc"}, "-dscp_to_tc",
     RowWords{"dscp", "tc"},
     [](const ClusterSpec& spec, const DeviceSpec&) {
       return Texts{spec.lossless().dscp_to_tc()};
     },
     IsClasses, true, false},
};

// True for a number as the tool writes it: without signs and leading zeros.
template <typename Number>
bool IsNumber(absl::string_view text, Number* number) {
  return absl::SimpleAtoi(text, number) && absl::StrCat(*number) == text;
}

// hccn.conf has a comma at the end.
SettingValue ParseMap(absl::string_view text) {
  const auto classes = ParseDscpClasses(absl::StripSuffix(text, ","));
  return classes.ok() ? MapValue(*classes) : SettingValue();
}

// Unknown if they are not of the type.
SettingValue ParseType(SettingValue::OfCase type,
                       const std::vector<std::string>& texts) {
  const std::string& text = texts[0];
  SettingValue value;
  if (type == SettingValue::kInterface && texts.size() == 2) {
    const auto interface = Ipv4Interface::Parse(text, texts[1]);
    if (interface.ok()) value = InterfaceValue(*interface);
  } else if (type == SettingValue::kAddress) {
    const auto address = Ipv4Address::Parse(text);
    if (address.ok()) value = AddressValue(*address);
  } else if (type == SettingValue::kOn) {
    if (text == "0" || text == "1") value = SwitchValue(text == "1");
  } else if (type == SettingValue::kNumber) {
    uint64_t number = 0;
    if (IsNumber(text, &number)) value = NumberValue(number);
  } else if (type == SettingValue::kNumbers) {
    for (const absl::string_view part : absl::StrSplit(text, ',')) {
      uint32_t number = 0;
      if (!IsNumber(part, &number)) return {};
      value.mutable_numbers()->add_numbers(number);
    }
  } else if (type == SettingValue::kMap) {
    value = ParseMap(text);
  }
  return value;
}

// The texts of a value, one for each key.
std::vector<std::string> TextsOf(const DeviceSetting& setting,
                                 const SettingValue& value) {
  switch (value.of_case()) {
    case SettingValue::kInterface:
      return {value.interface().address(), value.interface().netmask()};
    case SettingValue::kOn:
      return {value.on() ? "1" : "0"};
    case SettingValue::kTexts:
      if (setting.word_alone != nullptr &&
          SettingText(value) == setting.word_alone) {
        return {setting.conf_alone};
      }
      return {value.texts().texts().begin(), value.texts().texts().end()};
    default:
      return {SettingText(value)};
  }
}

// A printable text that is not an option of a command.
bool IsWord(absl::string_view text) {
  return text.size() <= kMaxWordBytes && !absl::StartsWith(text, "-") &&
         absl::c_all_of(text,
                        [](unsigned char c) { return absl::ascii_isprint(c); });
}

}  // namespace

std::optional<SettingValue> DeviceSetting::Wanted(
    const ClusterSpec& spec, const DeviceSpec& device) const {
  std::vector<std::string> texts = wanted(spec, device);
  if (texts[0].empty()) return std::nullopt;
  return ParseSetting(*this, std::move(texts));
}

absl::Span<const DeviceSetting> DeviceSettings() { return kDeviceSettings; }

const DeviceSetting& DeviceSettingOf(SettingId id) {
  return *FirstWith(kDeviceSettings, &DeviceSetting::id, id);
}

std::vector<ConfLine> ConfLinesOf(const DeviceSetting& setting,
                                  const SettingValue& value) {
  std::vector<std::string> texts = TextsOf(setting, value);
  texts.resize(setting.conf_keys.size());
  std::vector<ConfLine> lines;
  for (const char* const key : setting.conf_keys) {
    lines.push_back({key, std::move(texts[lines.size()])});
  }
  return lines;
}

std::string StoredText(const DeviceSetting& setting, absl::string_view text) {
  if (!setting.is_map()) return std::string(text);
  const SettingValue map = text.empty() ? MapValue({}) : ParseMap(text);
  return IsUnknown(map) ? std::string(text) : SettingText(map);
}

SettingValue ConfLineValue(absl::string_view text) {
  return text.empty() ? NoneValue() : TextsValue({std::string(text)});
}

SettingValue ParseSetting(const DeviceSetting& setting,
                          std::vector<std::string> texts) {
  if (texts[0].empty()) return NoneValue();
  SettingValue value = ParseType(setting.type, texts);
  return IsUnknown(value) ? TextsValue(std::move(texts)) : value;
}

std::string ConfText(const DeviceSetting& setting, const SettingValue& value) {
  const std::vector<std::string> texts = TextsOf(setting, value);
  return texts.size() == 1 ? texts[0] : SettingText(value);
}

std::vector<std::string> SetArguments(const DeviceSetting& setting,
                                      const SettingValue& value) {
  std::vector<std::string> arguments = {setting.tool_option, "-s"};
  if (setting.word_alone != nullptr &&
      SettingText(value) == setting.word_alone) {
    arguments.push_back(setting.word_alone);
    return arguments;
  }
  const std::vector<ConfLine> lines = ConfLinesOf(setting, value);
  for (size_t i = 0; i < lines.size(); ++i) {
    arguments.insert(arguments.end(), {setting.tool_words[i], lines[i].text});
  }
  return arguments;
}

std::vector<std::string> SetPairArguments(const DeviceSetting& setting,
                                          uint32_t key, uint32_t value) {
  return {setting.tool_option,   "-s",
          setting.tool_words[0], absl::StrCat(key),
          setting.tool_words[1], absl::StrCat(value)};
}

bool IsSafeForTool(const SettingValue& value) {
  return value.has_none() || value.has_on() || value.has_number() ||
         value.has_numbers() || AddressOf(value) || InterfaceOf(value) ||
         ClassesOf(value) ||
         (value.has_texts() && absl::c_all_of(value.texts().texts(), IsWord));
}

}  // namespace clusterd
