#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/setting_rows.h"
#include "config/plan/settings.h"
#include "config/values/dscp_classes.h"
#include "config/values/status_macros.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "daemon/agent/apply/machine.h"

namespace clusterd {
namespace {

using Words = std::vector<std::string>;

Words CommandFor(const DeviceSetting& setting, uint32_t device,
                 const std::string& value) {
  if (setting.word_alone != nullptr && value == setting.word_alone) {
    return {setting.tool_option, "-s", value};
  }
  const Words words = absl::StrSplit(setting.tool_words, '/');
  Words argv = {setting.tool_option, "-s"};
  for (const ConfLine& line : ConfLinesOf(setting, device, value)) {
    argv.push_back(words[argv.size() / 2 - 1]);
    argv.push_back(line.value);
  }
  return argv;
}

// Commands for a map: one for each pair that differs in `now` or in hccn.conf's
// `stored`. If a text is not a map, all pairs differ.
std::vector<Words> CommandsForMap(const DeviceSetting& setting,
                                  const std::string& value,
                                  const std::string& now,
                                  const std::string& stored) {
  const auto wanted = ParseDscpClasses(value);
  if (!wanted.ok()) return {};
  const auto on_device = ParseDscpClasses(now);
  const auto in_file = ParseDscpClasses(stored);
  const Words words = absl::StrSplit(setting.tool_words, '/');
  std::vector<Words> commands;
  for (size_t dscp = 0; dscp < kDscps; ++dscp) {
    const uint32_t traffic_class = (*wanted)[dscp];
    const bool is_so = on_device.ok() && (*on_device)[dscp] == traffic_class &&
                       in_file.ok() && (*in_file)[dscp] == traffic_class;
    if (is_so) continue;
    commands.push_back({setting.tool_option, "-s", words[0], absl::StrCat(dscp),
                        words[1], absl::StrCat(traffic_class)});
  }
  return commands;
}

std::string LiveValue(Machine* machine, const DeviceSetting& setting,
                      uint32_t device) {
  return setting.live(machine->reader->ReadDevice(device)).value;
}

std::string LiveValue(Machine* machine, const PlanStep& step) {
  return LiveValue(machine, *SettingOf(step)->device, step.target().device());
}

// Sets the value through the tool; returns the last command's output. `stored`:
// hccn.conf's value. For a map it stops after a command without effect.
FindingValue Tell(const MutationToken& token, Machine* machine,
                  const DeviceSetting& setting, uint32_t device,
                  const std::string& value, const std::string& stored) {
  if (!setting.is_map) {
    return machine->tool.Set(token, device, CommandFor(setting, device, value));
  }
  FindingValue said = Worded("plan-say-said-nothing");
  const std::string before = LiveValue(machine, setting, device);
  for (const Words& words : CommandsForMap(setting, value, before, stored)) {
    said = machine->tool.Set(token, device, words);
    const std::string now = LiveValue(machine, setting, device);
    const auto left = CommandsForMap(setting, value, now, value);
    if (absl::c_linear_search(left, words)) break;
  }
  return said;
}

FindingValue OfDevice(uint32_t device, const FindingValue& what) {
  return Worded("plan-say-of-device", device, what);
}
FindingValue Name(const PlanStep& step) {
  return OfDevice(step.target().device(), Term(SettingOf(step)->device->words));
}

// Returns nullopt if the device and the file have what the step sets.
std::optional<FindingValue> WhyNotSet(Machine* machine, const PlanStep& step,
                                      const std::string& live) {
  if (live != step.to()) {
    return Worded("plan-say-is-expected", Name(step), live, step.to());
  }
  const absl::StatusOr<std::string> conf = machine->conf.Read();
  if (!conf.ok()) return MessageWords(conf.status());
  for (const ConfLine& line : ConfLinesOf(*SettingOf(step)->device,
                                          step.target().device(), step.to())) {
    const std::string now = StoredPart(
        *SettingOf(step)->device, HccnConfValue(*conf, line.key).value_or(""));
    if (now == line.value) continue;
    return Worded("plan-say-is-expected",
                  absl::StrCat(machine->conf.path(), ": ", line.key),
                  ValueWords(now.empty() ? kNoneFact : now), line.value);
  }
  return std::nullopt;
}

// Lines of hccn.conf that the step's command replaces or drops, as
// WithLostLines takes them.
std::set<std::string> LinesThatMayVanish(const PlanStep& step) {
  const uint32_t device = step.target().device();
  std::set<std::string> lines;
  for (const ConfLine& line :
       ConfLinesOf(*SettingOf(step)->device, device, step.to())) {
    lines.insert(line.key);
  }
  for (const absl::string_view key : absl::StrSplit(
           SettingOf(step)->device->dropped_keys, '/', absl::SkipEmpty())) {
    lines.insert(HccnConfKey(key, device));
  }
  for (const HccnConf::Entry& entry : step.dropped()) {
    const std::string key = HccnConfKey(entry.key(), entry.device());
    lines.insert(
        entry.key() == "gateway" ? key : absl::StrCat(key, "=", entry.value()));
  }
  return lines;
}

// The device's settings by name, with the reason for unknown ones. Omits one
// that the tool changes only with its own command, unless it is `needed`.
absl::StatusOr<NamedFacts> ReadSettings(Machine* machine, uint32_t device,
                                        absl::string_view needed) {
  const DeviceFacts facts = machine->reader->ReadDevice(device);
  if (facts.address().value().settings_size() > 1) {
    return PreconditionWords("msg-step-several-addresses", device);
  }
  NamedFacts values;
  for (const DeviceSetting& setting : DeviceSettings()) {
    const FactReading live = setting.live(facts);
    if (live.value != kUnknownFact) {
      values[setting.name] = live.value;
    } else if (setting.always_saved || setting.name == needed) {
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

absl::Status MovedError(const FindingValue& what, absl::string_view planned,
                        absl::string_view now) {
  return AbortedWords("msg-step-moved", what, planned, now);
}

absl::StatusOr<bool> IsSoOnDevice(Machine* machine, const PlanStep& step) {
  const std::string live = LiveValue(machine, step);
  if (!WhyNotSet(machine, step, live)) return true;
  if (live == kUnknownFact) {
    return PreconditionWords("msg-step-value-not-known", Name(step));
  }
  // A rewrite's `from` is the value in hccn.conf; the device already has `to`.
  const std::string& from = IsRewrite(step) ? step.to() : step.from();
  // An earlier address step may have dropped the gateway.
  const bool may_be_gone =
      step.setting() == kGatewaySetting && !IsRewrite(step);
  if (may_be_gone || live == from || live == step.to()) return false;
  return MovedError(Name(step), from, live);
}

absl::StatusOr<SavedDevice> SaveDevice(Machine* machine, const PlanStep& step,
                                       bool is_first) {
  const uint32_t device = step.target().device();
  ASSIGN_OR_RETURN(const NamedFacts now,
                   ReadSettings(machine, device, step.setting()));
  SavedDevice saved;
  saved.set_device(device);
  for (const DeviceSetting& setting : DeviceSettings()) {
    const bool is_set = !setting.always_saved && setting.name == step.setting();
    if (!is_set && !(is_first && setting.always_saved)) continue;
    const std::string value = NamedFactText(now, setting.name);
    if (is_set && !setting.is_legal(value)) {
      return PreconditionWords("msg-step-not-put-back", Name(step), value);
    }
    SavedDevice::Value* const added = saved.add_values();
    added->set_setting(setting.name);
    added->set_value(value);
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
  const DeviceSetting& setting = *SettingOf(step)->device;
  const std::string stored =
      HccnConfValue(before, ConfLinesOf(setting, device, "").front().key)
          .value_or("");
  const FindingValue said = Tell(token, machine, setting, device, step.to(),
                                 StoredPart(setting, stored));
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
  auto now = ReadSettings(machine, saved.device(), "");
  for (const SavedDevice::Value& value : saved.values()) {
    if (!now.ok()) {
      said[value.setting()] = MessageWords(now.status());
      break;
    }
    const Setting* const setting = FindSetting(value.setting());
    if (setting != nullptr && value.value() != kNoneFact &&
        NamedFactText(*now, value.setting()) != value.value()) {
      // The file is restored separately.
      said[value.setting()] =
          Tell(token, machine, *setting->device, saved.device(), value.value(),
               value.value());
      // Setting the address may have dropped other settings. After any other
      // setting, the earlier reading is still valid.
      auto again = ReadSettings(machine, saved.device(), "");
      if (again.ok() || value.setting() == kAddressSetting) {
        now = std::move(again);
      }
    }
    // A route needs an address in the subnet through which it leads.
    if (value.setting() == kAddressSetting) {
      RestoreRoutes(token, machine, saved, &said);
    }
  }
  return said;
}

std::vector<FindingValue> DeviceDifferences(Machine* machine,
                                            const SavedDevice& saved,
                                            const Said& said) {
  const auto now = ReadSettings(machine, saved.device(), "");
  if (!now.ok()) return {MessageWords(now.status())};
  std::vector<FindingValue> differences;
  for (const SavedDevice::Value& value : saved.values()) {
    const std::string is = NamedFactText(*now, value.setting());
    if (is == value.value()) continue;
    const Setting* const setting = FindSetting(value.setting());
    const FindingValue name = OfDevice(
        saved.device(),
        Term(setting == nullptr ? value.setting() : setting->device->words));
    const FindingValue difference =
        value.value() == kNoneFact
            ? Worded("plan-say-is-was-none", name, is)
            : Worded("plan-say-is-was", name, is, value.value());
    differences.push_back(WithAnswer(difference, said, value.setting()));
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
