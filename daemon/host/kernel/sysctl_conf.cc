#include "daemon/host/kernel/sysctl_conf.h"

#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxValueBytes = 8192;
// No key is nearly as long; longer patterns are not given to fnmatch.
constexpr size_t kMaxPatternBytes = 256;

// A line that says something about a key or a pattern.
struct Setting {
  std::string key;                   // With slashes: net/core/somaxconn.
  std::optional<std::string> value;  // None: an exclusion.
  const SysctlFile* file;
  uint32_t line;
};

// If the first separator is a dot, dots become slashes and slashes dots;
// otherwise the name has slashes already. No slash at the beginning, and no
// empty or "." parts.
std::string NormalKey(absl::string_view name) {
  std::string key(name);
  const size_t first = key.find_first_of("/.");
  if (first != std::string::npos && key[first] == '.') {
    key = absl::StrReplaceAll(key, {{".", "/"}, {"/", "."}});
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(
      key, '/',
      [](absl::string_view part) { return !part.empty() && part != "."; });
  return absl::StrJoin(parts, "/");
}

bool IsPatternFor(const std::string& pattern, const std::string& key) {
  return pattern.find_first_of("*?[") != std::string::npos &&
         pattern.size() <= kMaxPatternBytes &&
         fnmatch(pattern.c_str(), key.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0;
}

std::optional<Setting> ParseLine(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (line.empty() || line[0] == '#' || line[0] == ';') return {};
  const bool dash = line[0] == '-';
  if (dash) line.remove_prefix(1);
  const size_t equals = line.find('=');
  Setting setting;
  setting.key = NormalKey(absl::StripAsciiWhitespace(line.substr(0, equals)));
  if (equals != absl::string_view::npos) {
    setting.value = PrintableText(
        absl::StripAsciiWhitespace(line.substr(equals + 1)), kMaxValueBytes);
  } else if (!dash) {
    return {};
  }
  return setting;
}

std::vector<Setting> FindSettings(
    const std::vector<SysctlFile>& files,
    absl::FunctionRef<bool(const std::string& key)> is_wanted) {
  std::vector<Setting> settings;
  for (const SysctlFile& file : files) {
    uint32_t number = 0;
    for (const absl::string_view line : absl::StrSplit(file.text, '\n')) {
      ++number;
      std::optional<Setting> setting = ParseLine(line);
      if (!setting.has_value() || !is_wanted(setting->key)) continue;
      setting->file = &file;
      setting->line = number;
      settings.push_back(*std::move(setting));
    }
  }
  return settings;
}

// An exclusion takes back what was assigned to the same name or pattern before.
std::vector<Setting> WithoutTakenBack(std::vector<Setting> settings) {
  std::vector<Setting> kept;
  for (Setting& setting : settings) {
    if (setting.value.has_value()) {
      kept.push_back(std::move(setting));
      continue;
    }
    kept.erase(std::remove_if(kept.begin(), kept.end(),
                              [&setting](const Setting& earlier) {
                                return earlier.key == setting.key;
                              }),
               kept.end());
  }
  return kept;
}

// systemd applies patterns in the order in which each one's value was last
// changed: repeating an earlier value does not move it behind later ones.
std::vector<Setting> InPatternOrder(std::vector<Setting> settings) {
  std::vector<Setting> order;
  for (Setting& setting : settings) {
    const auto earlier = std::find_if(
        order.rbegin(), order.rend(),
        [&setting](const Setting& other) { return other.key == setting.key; });
    if (earlier == order.rend() || earlier->value != setting.value) {
      order.push_back(std::move(setting));
    }
  }
  return order;
}

}  // namespace

std::vector<SysctlFile> OrderSysctlFiles(std::vector<SysctlFile> files) {
  std::vector<SysctlFile> applied;
  std::set<std::string> seen;
  for (SysctlFile& file : files) {
    if (absl::EndsWith(file.name, ".conf") && seen.insert(file.name).second) {
      applied.push_back(std::move(file));
    }
  }
  absl::c_sort(applied, [](const SysctlFile& a, const SysctlFile& b) {
    return a.name < b.name;
  });
  return applied;
}

PersistentValue FindSysctlAssignments(const std::vector<SysctlFile>& ordered,
                                      absl::string_view key) {
  const std::string normal = NormalKey(key);
  std::vector<Setting> settings = FindSettings(
      ordered, [&](const std::string& name) { return name == normal; });
  // Once a key is named, even to exclude it, no pattern reaches it.
  const bool named = !settings.empty();
  if (!named) {
    settings = FindSettings(ordered, [&](const std::string& name) {
      return IsPatternFor(name, normal);
    });
  }
  settings = WithoutTakenBack(std::move(settings));
  if (!named) settings = InPatternOrder(std::move(settings));
  PersistentValue persistent;
  for (const Setting& setting : settings) {
    PersistentValue::Assignment* assignment = persistent.add_assignments();
    assignment->set_file(PrintableText(
        absl::StrCat(setting.file->directory, "/", setting.file->name), 4096));
    assignment->set_line(setting.line);
    assignment->set_value(*setting.value);
  }
  return persistent;
}

}  // namespace clusterd
