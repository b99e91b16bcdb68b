#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/settings.h"
#include "config/values/dscp_classes.h"
#include "config/values/status_macros.h"
#include "config/words/fact_text.h"
#include "daemon/agent/apply/machine.h"

namespace clusterd {
namespace {

constexpr char kNoClear[] =
    ": no command of hccn_tool is known to clear it; the device has it until "
    "it restarts, hccn.conf does not name it any more";

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

// Of a map: a command for each pair that `now`, or what is `stored`, has
// otherwise. Nobody knows what a text that is no map has.
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

// Tells the tool the value. `stored`: what hccn.conf has of it. What the last
// command said; of a map none is run after one that has changed nothing.
std::string Tell(const MutationToken& token, Machine* machine,
                 const DeviceSetting& setting, uint32_t device,
                 const std::string& value, const std::string& stored) {
  if (!setting.is_map) {
    return machine->tool.Set(token, device, CommandFor(setting, device, value));
  }
  std::string said = "nothing";
  const std::string before = LiveValue(machine, setting, device);
  for (const Words& words : CommandsForMap(setting, value, before, stored)) {
    said = machine->tool.Set(token, device, words);
    const std::string now = LiveValue(machine, setting, device);
    const auto left = CommandsForMap(setting, value, now, value);
    if (absl::c_linear_search(left, words)) break;
  }
  return said;
}

std::string Name(const PlanStep& step) {
  return absl::StrCat("device ", step.target().device(), ": ",
                      SettingOf(step)->device->words);
}

// "": device and file are as the step sets them.
std::string WhyNotSet(Machine* machine, const PlanStep& step,
                      const std::string& live) {
  if (live != step.to()) {
    return absl::StrCat(Name(step), " is ", live, ", expected ", step.to());
  }
  const absl::StatusOr<std::string> conf = machine->conf.Read();
  if (!conf.ok()) return std::string(conf.status().message());
  for (const ConfLine& line : ConfLinesOf(*SettingOf(step)->device,
                                          step.target().device(), step.to())) {
    const std::string now = StoredPart(
        *SettingOf(step)->device, HccnConfValue(*conf, line.key).value_or(""));
    if (now == line.value) continue;
    return absl::StrCat(machine->conf.path(), ": ", line.key, " is ",
                        now.empty() ? kNoneFact : now, ", expected ",
                        line.value);
  }
  return "";
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

// Its settings by their names, with the reason for what cannot be told; left
// out is one that the tool changes only when told to, unless it is `needed`.
absl::StatusOr<NamedFacts> ReadSettings(Machine* machine, uint32_t device,
                                        absl::string_view needed) {
  const DeviceFacts facts = machine->reader->ReadDevice(device);
  if (facts.address().value().settings_size() > 1) {
    return FailedPrecondition("device ", device, ": it has several addresses");
  }
  NamedFacts values;
  for (const DeviceSetting& setting : DeviceSettings()) {
    const FactReading live = setting.live(facts);
    if (live.value != kUnknownFact) {
      values[setting.name] = live.value;
    } else if (setting.always_saved || setting.name == needed) {
      return FailedPrecondition(
          "device ", device, ": its ", setting.words,
          " cannot be told, so it could not be put back: ",
          WhyMissing(live.missing));
    }
  }
  return values;
}

// As the file has it; nullopt: it has not, and what a plan says of routes is no
// reason to add one.
std::optional<HccnConf::Entry> RouteInConf(absl::string_view conf,
                                           HccnConf::Entry route) {
  const std::string key = HccnConfKey(route.key(), route.device());
  for (absl::string_view line : absl::StrSplit(conf, '\n')) {
    line = absl::StripSuffix(line, "\r");
    if (!absl::ConsumePrefix(&line, absl::StrCat(key, "="))) continue;
    // There may be several of these.
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
                   const SavedDevice& saved, NamedFacts* said) {
  for (const HccnConf::Entry& route : saved.routes()) {
    // Where it cannot be told it is added: one too few breaks a job.
    if (machine->tool.HasRoute(route).value_or(false)) continue;
    const absl::Status added = machine->tool.AddRoute(token, route);
    (*said)[RouteLine(route)] = added.ok() ? "" : std::string(added.message());
  }
}

// " (`hccn_tool …` …)" of what was said about that alone; "": nothing was, or
// the tool took it.
std::string SaidAbout(const NamedFacts& said, const std::string& what) {
  const auto found = said.find(what);
  return found == said.end() || found->second.empty()
             ? ""
             : absl::StrCat(" (", found->second, ")");
}

}  // namespace

absl::Status MovedError(absl::string_view what, absl::string_view planned,
                        absl::string_view now) {
  return Aborted(what, " was ", planned, " when this was planned, now ", now);
}

absl::StatusOr<bool> IsSoOnDevice(Machine* machine, const PlanStep& step) {
  const std::string live = LiveValue(machine, step);
  if (WhyNotSet(machine, step, live).empty()) return true;
  if (live == kUnknownFact) {
    return FailedPrecondition(Name(step), " cannot be told");
  }
  // Of a rewrite `from` is what hccn.conf has; the device has `to` already.
  const std::string& from = IsRewrite(step) ? step.to() : step.from();
  // An address step before it may have dropped the gateway.
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
      return FailedPrecondition(
          Name(step), " is ", value,
          ", which no command of hccn_tool is known to put back");
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
                         std::string* repaired) {
  const uint32_t device = step.target().device();
  ASSIGN_OR_RETURN(const std::string before, machine->conf.Read());
  const DeviceSetting& setting = *SettingOf(step)->device;
  const std::string stored =
      HccnConfValue(before, ConfLinesOf(setting, device, "").front().key)
          .value_or("");
  const std::string said = Tell(token, machine, setting, device, step.to(),
                                StoredPart(setting, stored));
  const absl::Status edited =
      machine->conf.Edit(token, [&](absl::string_view after) {
        std::string whole =
            WithLostLines(before, after, LinesThatMayVanish(step));
        if (whole != after) {
          const auto lines = absl::c_count(whole, '\n');
          *repaired =
              absl::StrCat(machine->conf.path(), ": put back ",
                           lines - std::min(lines, absl::c_count(after, '\n')),
                           " lines that the tool lost");
        }
        return absl::StatusOr<std::string>(std::move(whole));
      });
  if (!edited.ok()) return edited;
  const std::string why = WhyNotSet(machine, step, LiveValue(machine, step));
  if (why.empty()) return absl::OkStatus();
  return FailedPrecondition(why, "; the tool said ", said);
}

NamedFacts RestoreDevice(const MutationToken& token, Machine* machine,
                         const SavedDevice& saved) {
  NamedFacts said;
  auto now = ReadSettings(machine, saved.device(), "");
  for (const SavedDevice::Value& value : saved.values()) {
    if (!now.ok()) {
      said[value.setting()] = std::string(now.status().message());
      break;
    }
    const Setting* const setting = FindSetting(value.setting());
    if (setting != nullptr && value.value() != kNoneFact &&
        NamedFactText(*now, value.setting()) != value.value()) {
      // The file comes back by itself.
      said[value.setting()] =
          Tell(token, machine, *setting->device, saved.device(), value.value(),
               value.value());
      // The address may have taken others along. After any other, what was read
      // before is still good enough to go on with.
      auto again = ReadSettings(machine, saved.device(), "");
      if (again.ok() || value.setting() == kAddressSetting) {
        now = std::move(again);
      }
    }
    // A route needs an address of the subnet that it leads through.
    if (value.setting() == kAddressSetting) {
      RestoreRoutes(token, machine, saved, &said);
    }
  }
  return said;
}

std::vector<std::string> DeviceDifferences(Machine* machine,
                                           const SavedDevice& saved,
                                           const NamedFacts& said) {
  const std::string name = absl::StrCat("device ", saved.device(), ": ");
  const auto now = ReadSettings(machine, saved.device(), "");
  if (!now.ok()) return {std::string(now.status().message())};
  std::vector<std::string> differences;
  for (const SavedDevice::Value& value : saved.values()) {
    const std::string is = NamedFactText(*now, value.setting());
    if (is == value.value()) continue;
    const Setting* const setting = FindSetting(value.setting());
    differences.push_back(absl::StrCat(
        name, setting == nullptr ? value.setting() : setting->device->words,
        " is ", is, ", was ", value.value(),
        value.value() == kNoneFact ? kNoClear : "",
        SaidAbout(said, value.setting())));
  }
  for (const HccnConf::Entry& route : saved.routes()) {
    const absl::StatusOr<bool> back = machine->tool.HasRoute(route);
    if (back.value_or(false)) continue;
    const std::string line = RouteLine(route);
    const auto answer = said.find(line);
    // No query shows a route of policy routing: the tool's answer is all.
    if (!back.ok() && answer != said.end() && answer->second.empty()) continue;
    const std::string why = SaidAbout(said, line);
    differences.push_back(
        back.ok()
            ? absl::StrCat(name, "the live route ", line,
                           " is not back; hccn.conf has it", why)
            : absl::StrCat(name, "whether the live route ", line,
                           " is back cannot be told: ", back.status().message(),
                           "; hccn.conf has it", why));
  }
  return differences;
}

}  // namespace clusterd
