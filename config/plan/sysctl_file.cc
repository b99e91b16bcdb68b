#include "config/plan/sysctl_file.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/plan/setting_rows.h"
#include "config/values/port_set.h"

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

}  // namespace

bool IsOurSysctlKey(absl::string_view key) {
  return FindKernelParameter(key) != nullptr;
}

absl::StatusOr<std::string> CanonicalSysctlValue(absl::string_view key,
                                                 absl::string_view value) {
  const KernelParameter* const parameter = FindKernelParameter(key);
  if (parameter == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel parameter \"", key, "\" is not one that clusterd sets"));
  }
  if (parameter->is_ports) {
    absl::StatusOr<PortSet> ports = PortSet::Parse(value);
    if (!ports.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(key, ": ", ports.status().message()));
    }
    return ports->ToString();
  }
  uint32_t number = 0;
  if (!absl::SimpleAtoi(value, &number) || number == 0 ||
      number > kLargestKernelNumber || absl::StrCat(number) != value) {
    return absl::InvalidArgumentError(
        absl::StrCat(key, ": \"", value, "\" is not a number, expected 1 to ",
                     kLargestKernelNumber, " without leading zeros"));
  }
  return absl::StrCat(number);
}

std::string EditSysctlFile(absl::string_view text, absl::string_view key,
                           absl::string_view value) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();

  const std::string assignment = absl::StrCat(key, " = ", value, "\n");
  bool written = false;
  std::string edited = text.empty() ? kHeading : "";
  for (const absl::string_view line : lines) {
    if (KeyOf(line) != key) {
      absl::StrAppend(&edited, line, "\n");
    } else if (!written) {
      edited += assignment;
      written = true;
    }
  }
  if (!written) edited += assignment;
  return edited;
}

}  // namespace clusterd
