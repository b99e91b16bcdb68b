#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/settings.h"
#include "config/values/status_macros.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "daemon/agent/apply/machine.h"

namespace clusterd {
namespace {

using Words = std::vector<std::string>;

// Commands for a map: one for each pair that differs in `now` or in hccn.conf's
// `stored`. If one of these is not a map, all pairs differ.
std::vector<Words> CommandsForMap(const DeviceSetting& setting,
                                  const SettingValue& value,
                                  const SettingValue& now,
                                  const SettingValue& stored) {
  const auto wanted = ClassesOf(value);
  if (!wanted) return {};
  const auto on_device = ClassesOf(now);
  const auto in_file = ClassesOf(stored);
  std::vector<Words> commands;
  for (uint32_t dscp = 0; dscp < kDscps; ++dscp) {
    const uint32_t traffic_class = (*wanted)[dscp];
    const bool is_so = on_device && (*on_device)[dscp] == traffic_class &&
                       in_file && (*in_file)[dscp] == traffic_class;
    if (is_so) continue;
    commands.push_back(SetPairArguments(setting, dscp, traffic_class));
  }
  return commands;
}

SettingValue LiveValue(Machine* machine, const DeviceSetting& setting,
                       uint32_t device) {
  return setting.Live(machine->reader->ReadDevice(device));
}

const DeviceSetting& RowFor(const PlanStep& step) {
  return *SettingOf(step)->device;
}

SettingValue LiveValue(Machine* machine, const PlanStep& step) {
  return LiveValue(machine, RowFor(step), step.target().device());
}

// The value that hccn.conf's text has for the setting.
SettingValue StoredValue(const DeviceSetting& setting, uint32_t device,
                         absl::string_view conf) {
  std::vector<std::string> texts;
  for (const char* const key : setting.conf_keys) {
    texts.push_back(StoredText(
        setting, HccnConfValue(conf, HccnConfKey(key, device)).value_or("")));
  }
  return ParseSetting(setting, std::move(texts));
}

// Sets the value through the tool; returns the last command's output. `stored`:
// hccn.conf's value. For a map it stops after a command without effect.
FindingValue Tell(const MutationToken& token, Machine* machine,
                  const DeviceSetting& setting, uint32_t device,
                  const SettingValue& value, const SettingValue& stored) {
  if (!setting.is_map()) {
    return machine->tool.Set(token, device, SetArguments(setting, value));
  }
  FindingValue said = Worded("plan-say-said-nothing");
  const SettingValue before = LiveValue(machine, setting, device);
  for (const Words& words : CommandsForMap(setting, value, before, stored)) {
    said = machine->tool.Set(token, device, words);
    const SettingValue now = LiveValue(machine, setting, device);
    const auto left = CommandsForMap(setting, value, now, value);
    if (absl::c_linear_search(left, words)) break;
  }
  return said;
}

FindingValue OfDevice(uint32_t device, const FindingValue& what) {
  return Worded("plan-say-of-device", device, what);
}
FindingValue Name(const PlanStep& step) {
  return OfDevice(step.target().device(), Term(RowFor(step).words));
}

// Returns nullopt if the device and the file have what the step sets.
std::optional<FindingValue> WhyNotSet(Machine* machine, const PlanStep& step,
                                      const SettingValue& live) {
  if (live != step.to()) {
    return Worded("plan-say-is-expected", Name(step), SettingText(live),
                  SettingText(step.to()));
  }
  const absl::StatusOr<std::string> conf = machine->conf.Read();
  if (!conf.ok()) return MessageWords(conf.status());
  for (const ConfLine& line : ConfLinesOf(RowFor(step), step.to())) {
    const std::string key = HccnConfKey(line.key, step.target().device());
    const std::string now =
        StoredText(RowFor(step), HccnConfValue(*conf, key).value_or(""));
    if (now == line.text) continue;
    return Worded("plan-say-is-expected",
                  absl::StrCat(machine->conf.path(), ": ", key),
                  ValueWords(ConfLineValue(now)), line.text);
  }
  return std::nullopt;
}

// Lines of hccn.conf that the step's command replaces or drops, as
// WithLostLines takes them.
std::set<std::string> LinesThatMayVanish(const PlanStep& step) {
  const uint32_t device = step.target().device();
  std::set<std::string> lines;
  const DeviceSetting& setting = RowFor(step);
  for (const RowWords& keys : {setting.conf_keys, setting.dropped_keys}) {
    for (const char* const key : keys) lines.insert(HccnConfKey(key, device));
  }
  for (const HccnConf::Entry& entry : step.dropped()) {
    const std::string key = HccnConfKey(entry.key(), entry.device());
    lines.insert(
        entry.key() == "gateway" ? key : absl::StrCat(key, "=", entry.value()));
  }
  return lines;
}

using DeviceValues = std::map<SettingId, SettingValue>;

// The device's settings, with the reason for unknown ones. Omits one that the
// tool changes only with its own command, unless it is `needed`.
absl::StatusOr<DeviceValues> ReadSettings(
    Machine* machine, uint32_t device, SettingId needed = SETTING_UNSPECIFIED) {
  const DeviceFacts facts = machine->reader->ReadDevice(device);
  if (facts.address().value().settings_size() > 1) {
    return PreconditionWords("msg-step-several-addresses", device);
  }
  DeviceValues values;
  for (const DeviceSetting& setting : DeviceSettings()) {
    const FactReading live = setting.Read(facts);
    if (!IsUnknown(live.value)) {
      values[setting.id] = live.value;
    } else if (setting.always_saved || setting.id == needed) {
      return PreconditionWords("msg-step-setting-not-known", device,
                               Term(setting.words), MissingWords(live.missing));
    }
  }
  return values;
}

// The route as the file has it; nullopt if the file lacks it, so that undoing a
// plan never adds a route.
std::optional<HccnConf::Entry> RouteInConf(absl::string_view conf,
                                           HccnConf::Entry route) {
  const std::string key = HccnConfKey(route.key(), route.device());
  for (absl::string_view line : absl::StrSplit(conf, '\n')) {
    line = absl::StripSuffix(line, "\r");
    if (!absl::ConsumePrefix(&line, absl::StrCat(key, "="))) continue;
    // The file may have several ip_route lines.
    if (route.key() == "ip_route" && line != route.value()) continue;
    route.set_value(std::string(line));
    return route;
  }
  return std::nullopt;
}

std::string RouteLine(const HccnConf::Entry& route) {
  return absl::StrCat(route.key(), "=", route.value());
}

void RestoreRoutes(const MutationToken& token, Machine* machine,
                   const SavedDevice& saved, Said* said) {
  for (const HccnConf::Entry& route : saved.routes()) {
    // A missing route breaks a job, so add one whose state is unknown.
    if (machine->tool.HasRoute(route).value_or(false)) continue;
    const absl::Status added = machine->tool.AddRoute(token, route);
    (*said)[RouteLine(route)] =
        added.ok() ? FindingValue() : MessageWords(added);
  }
}

// "… (`hccn_tool …` …)" with the output of that command, unless it succeeded.
FindingValue WithAnswer(const FindingValue& difference, const Said& said,
                        const std::string& what) {
  const auto found = said.find(what);
  return found == said.end() || !IsSaid(found->second)
             ? difference
             : Worded("plan-say-with-note", difference, found->second);
}

}  // namespace

absl::Status MovedError(const FindingValue& what, const SettingValue& planned,
                        const SettingValue& now) {
  return AbortedWords("msg-step-moved", what, SettingText(planned),
                      SettingText(now));
}

absl::StatusOr<bool> IsSoOnDevice(Machine* machine, const PlanStep& step) {
  const SettingValue live = LiveValue(machine, step);
  if (!WhyNotSet(machine, step, live)) return true;
  if (IsUnknown(live)) {
    return PreconditionWords("msg-step-value-not-known", Name(step));
  }
  // A rewrite's `from` is the value in hccn.conf; the device already has `to`.
  const SettingValue& from = IsRewrite(step) ? step.to() : step.from();
  // An earlier address step may have dropped the gateway.
  const bool may_be_gone =
      step.setting() == SETTING_GATEWAY && !IsRewrite(step);
  if (may_be_gone || live == from || live == step.to()) return false;
  return MovedError(Name(step), from, live);
}

absl::StatusOr<SavedDevice> SaveDevice(Machine* machine, const PlanStep& step,
                                       bool is_first) {
  const uint32_t device = step.target().device();
  ASSIGN_OR_RETURN(DeviceValues now,
                   ReadSettings(machine, device, step.setting()));
  SavedDevice saved;
  saved.set_device(device);
  for (const DeviceSetting& setting : DeviceSettings()) {
    const bool is_set = !setting.always_saved && setting.id == step.setting();
    if (!is_set && !(is_first && setting.always_saved)) continue;
    const SettingValue& value = now[setting.id];
    if (is_set && !setting.is_legal(value)) {
      return PreconditionWords("msg-step-not-put-back", Name(step),
                               SettingText(value));
    }
    SavedDevice::Value* const added = saved.add_values();
    added->set_setting(setting.id);
    *added->mutable_value() = value;
  }
  ASSIGN_OR_RETURN(const SavedFile conf, machine->conf.Save());
  for (const HccnConf::Entry& entry : step.dropped()) {
    if (entry.key() == "gateway") continue;
    std::optional<HccnConf::Entry> route = RouteInConf(conf.content(), entry);
    if (route) *saved.add_routes() = *std::move(route);
  }
  return saved;
}

absl::Status SetOnDevice(const MutationToken& token, Machine* machine,
                         const PlanStep& step,
                         const std::vector<SavedResource>&,
                         FindingValue* repaired) {
  const uint32_t device = step.target().device();
  ASSIGN_OR_RETURN(const std::string before, machine->conf.Read());
  const DeviceSetting& setting = RowFor(step);
  const FindingValue said = Tell(token, machine, setting, device, step.to(),
                                 StoredValue(setting, device, before));
  const absl::Status edited =
      machine->conf.Edit(token, [&](absl::string_view after) {
        std::string whole =
            WithLostLines(before, after, LinesThatMayVanish(step));
        if (whole != after) {
          const auto lines = absl::c_count(whole, '\n');
          *repaired =
              Worded("plan-say-lines-put-back",
                     lines - std::min(lines, absl::c_count(after, '\n')),
                     machine->conf.path());
        }
        return absl::StatusOr<std::string>(std::move(whole));
      });
  if (!edited.ok()) return edited;
  const auto why = WhyNotSet(machine, step, LiveValue(machine, step));
  if (!why) return absl::OkStatus();
  return PreconditionWords("msg-step-not-set", *why, said);
}

Said RestoreDevice(const MutationToken& token, Machine* machine,
                   const SavedDevice& saved) {
  Said said;
  auto now = ReadSettings(machine, saved.device());
  for (const SavedDevice::Value& value : saved.values()) {
    FindingValue& of_setting = said[SettingName(value.setting())];
    if (!now.ok()) {
      of_setting = MessageWords(now.status());
      break;
    }
    const Setting* const setting = FindSetting(value.setting());
    if (setting != nullptr && !value.value().has_none() &&
        (*now)[value.setting()] != value.value()) {
      // The file is restored separately.
      of_setting = Tell(token, machine, *setting->device, saved.device(),
                        value.value(), value.value());
      // Setting the address may have dropped other settings. After any other
      // setting, the earlier reading is still valid.
      auto again = ReadSettings(machine, saved.device());
      if (again.ok() || value.setting() == SETTING_ADDRESS) {
        now = std::move(again);
      }
    }
    // A route needs an address in the subnet through which it leads.
    if (value.setting() == SETTING_ADDRESS) {
      RestoreRoutes(token, machine, saved, &said);
    }
  }
  return said;
}

std::vector<FindingValue> DeviceDifferences(Machine* machine,
                                            const SavedDevice& saved,
                                            const Said& said) {
  auto now = ReadSettings(machine, saved.device());
  if (!now.ok()) return {MessageWords(now.status())};
  std::vector<FindingValue> differences;
  for (const SavedDevice::Value& value : saved.values()) {
    const SettingValue& is = (*now)[value.setting()];
    if (is == value.value()) continue;
    const Setting* const setting = FindSetting(value.setting());
    const FindingValue name = OfDevice(
        saved.device(), Term(setting == nullptr ? SettingName(value.setting())
                                                : setting->device->words));
    const FindingValue difference =
        value.value().has_none()
            ? Worded("plan-say-is-was-none", name, SettingText(is))
            : Worded("plan-say-is-was", name, SettingText(is),
                     SettingText(value.value()));
    differences.push_back(
        WithAnswer(difference, said, SettingName(value.setting())));
  }
  for (const HccnConf::Entry& route : saved.routes()) {
    const absl::StatusOr<bool> back = machine->tool.HasRoute(route);
    if (back.value_or(false)) continue;
    const std::string line = RouteLine(route);
    const auto answer = said.find(line);
    // No query shows policy routes, so only the tool's answer counts.
    if (!back.ok() && answer != said.end() && !IsSaid(answer->second)) continue;
    const FindingValue difference =
        back.ok() ? Worded("plan-say-route-not-back", line)
                  : Worded("plan-say-route-not-known", line,
                           MessageWords(back.status()));
    differences.push_back(
        WithAnswer(OfDevice(saved.device(), difference), said, line));
  }
  return differences;
}

}  // namespace clusterd
