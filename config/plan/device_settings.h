// The settings of a device, one row each: how hccn_tool and hccn.conf spell
// them, what the device has, and what a spec asks for. The steps about them are
// in settings.cc, what plans them in device_steps.cc.
#ifndef CONFIG_PLAN_DEVICE_SETTINGS_H_
#define CONFIG_PLAN_DEVICE_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/values/setting.h"
#include "config/words/fact_text.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// A few words of a row.
struct RowWords {
  const char* words[4];

  size_t size() const { return absl::c_find(words, nullptr) - words; }
  const char* operator[](size_t at) const { return words[at]; }
  const char* const* begin() const { return words; }
  const char* const* end() const { return words + size(); }
};

// The value of a fact.
struct FactReading {
  SettingValue value;
  const Missing* missing = nullptr;  // Why it is unknown.
};

// The reading of a fact that has this value if it is known.
template <typename Fact>
FactReading ReadingOf(const Fact& fact, SettingValue value) {
  if (!IsKnown(fact)) return {SettingValue(), MissingOf(fact)};
  return {std::move(value)};
}

struct DeviceSetting {
  SettingId id;
  const char* words;  // For people, e.g. "TLS".
  ChangeKind kind;    // The kind that a host must allow.
  // The type of its values; another one is `texts`.
  SettingValue::OfCase type;
  // Reads the device's value.
  FactReading (*live)(const DeviceSetting& row, const DeviceFacts& facts);
  // The keys of hccn.conf that restore it at boot, without the device. A value
  // has a text for each.
  RowWords conf_keys;
  // The arguments of hccn_tool: `-ip -s address A netmask M`. A word precedes
  // each text of a value.
  const char* tool_option;
  RowWords tool_words;
  // The texts of the spec's value, as hccn.conf has them; "": it has none.
  std::vector<std::string> (*wanted)(const ClusterSpec& spec,
                                     const DeviceSpec& device);
  // True if a plan may set this value.
  bool (*is_legal)(const SettingValue& value);
  // True if setting it breaks what uses the device.
  bool needs_idle_device;
  // The tool may change it together with another setting of the device, so it
  // must be known, and is saved, before any of them is set.
  bool always_saved;
  // The term for a request of the spec, "TLS switch", if not `words`.
  const char* request = nullptr;
  // True if a device whose RoCE port is unused needs it, too.
  bool without_roce = false;
  // A text that takes no word in front, and hccn.conf's spelling of it;
  // nullptr: there is none.
  const char* word_alone = nullptr;
  const char* conf_alone = nullptr;
  // Further keys of hccn.conf that the tool drops with it.
  RowWords dropped_keys = {};

  // Each pair of a map that differs needs its own command, and hccn.conf may
  // also have pairs of class 0.
  bool is_map() const { return type == SettingValue::kMap; }
  FactReading Read(const DeviceFacts& facts) const {
    return live(*this, facts);
  }
  SettingValue Live(const DeviceFacts& facts) const {
    return Read(facts).value;
  }
  // The spec's value; nullopt: the spec has none.
  std::optional<SettingValue> Wanted(const ClusterSpec& spec,
                                     const DeviceSpec& device) const;
};

absl::Span<const DeviceSetting> DeviceSettings();

// REQUIRES: a setting of a device.
const DeviceSetting& DeviceSettingOf(SettingId id);

// A key of hccn.conf and its text.
struct ConfLine {
  std::string key;  // Without the device, e.g. "netmask".
  std::string text;
};

// The lines that hccn.conf has when the value is stored.
std::vector<ConfLine> ConfLinesOf(const DeviceSetting& setting,
                                  const SettingValue& value);

// A line's text as ConfLinesOf spells it; "" for a missing line. Only the text
// of a map may differ.
std::string StoredText(const DeviceSetting& setting, absl::string_view text);

// The fact of a line with this text; none for "".
SettingValue ConfLineValue(absl::string_view text);

// The value that these texts mean, one for each key of hccn.conf; none if the
// first is empty. Texts that are not of the setting's type stay texts.
SettingValue ParseSetting(const DeviceSetting& setting,
                          std::vector<std::string> texts);

// A value for people, of one line in the spelling of hccn.conf: "1" for TLS on.
std::string ConfText(const DeviceSetting& setting, const SettingValue& value);

// The arguments of hccn_tool that set the value, e.g. {"-mtu", "-s", "size",
// "9000"}. REQUIRES: not a map, of which SetPairArguments sets a pair.
std::vector<std::string> SetArguments(const DeviceSetting& setting,
                                      const SettingValue& value);
std::vector<std::string> SetPairArguments(const DeviceSetting& setting,
                                          uint32_t key, uint32_t value);

// True if the value is known and all that it would make of a command are words
// that are not options. A value may have any sender.
bool IsSafeForTool(const SettingValue& value);

}  // namespace clusterd

#endif  // CONFIG_PLAN_DEVICE_SETTINGS_H_
