#include "config/plan/sysctl_file.h"

#include <cstdint>
#include <map>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/spec/port_set.h"

namespace clusterd {
namespace {

constexpr char kHeading[] =
    "# Written by clusterd. Lines that clusterd does not set are kept.\n";

// The key that a line sets, dotted; empty: it sets none.
std::string KeyOf(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (line.empty() || line[0] == '#' || line[0] == ';') return "";
  const size_t equals = line.find('=');
  if (equals == absl::string_view::npos) return "";
  absl::string_view key = line.substr(0, equals);
  absl::ConsumePrefix(&key, "-");
  return absl::StrReplaceAll(absl::StripAsciiWhitespace(key), {{"/", "."}});
}

std::string Assignment(absl::string_view key, absl::string_view value) {
  return absl::StrCat(key, " = ", value, "\n");
}

}  // namespace

bool IsOurSysctlKey(absl::string_view key) {
  return key == kReservedPortsKey || key == kSomaxconnKey ||
         key == kSynBacklogKey;
}

absl::StatusOr<std::string> CanonicalSysctlValue(absl::string_view key,
                                                 absl::string_view value) {
  if (!IsOurSysctlKey(key)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel parameter \"", key, "\" is not one that clusterd sets"));
  }
  if (key == kReservedPortsKey) {
    absl::StatusOr<PortSet> ports = PortSet::Parse(value);
    if (!ports.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(key, ": ", ports.status().message()));
    }
    return ports->ToString();
  }
  uint32_t number = 0;
  if (!absl::SimpleAtoi(value, &number) || number == 0 ||
      number > 2147483647u || absl::StrCat(number) != value) {
    return absl::InvalidArgumentError(
        absl::StrCat(key, ": \"", value,
                     "\" is not a number, expected 1 to 2147483647 without "
                     "leading zeros"));
  }
  return absl::StrCat(number);
}

std::string EditSysctlFile(absl::string_view text,
                           const SysctlFileChange& change) {
  std::map<std::string, std::string> values;
  for (const SysctlFileChange::Setting& setting : change.settings()) {
    values[setting.key()] = setting.to();
  }
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();

  std::set<std::string> written;
  std::string edited = text.empty() ? kHeading : "";
  for (const absl::string_view line : lines) {
    const auto value = values.find(KeyOf(line));
    if (value == values.end()) {
      absl::StrAppend(&edited, line, "\n");
    } else if (written.insert(value->first).second) {
      edited += Assignment(value->first, value->second);
    }
  }
  for (const auto& [key, value] : values) {
    if (written.count(key) == 0) edited += Assignment(key, value);
  }
  return edited;
}

}  // namespace clusterd
