#include "config/plan/kernel_parameters.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr char kHeading[] =
    "# Written by clusterd. Lines that clusterd does not set are kept.\n";

constexpr KernelParameter kParameters[] = {
    {kReservedPortsKey, nullptr, &KernelFacts::reserved_ports_at_boot, nullptr,
     nullptr},
    {kSomaxconnKey, &KernelFacts::somaxconn, &KernelFacts::somaxconn_at_boot,
     &KernelSpec::somaxconn, "plan-say-old-limit"},
    {kSynBacklogKey, &KernelFacts::tcp_max_syn_backlog,
     &KernelFacts::tcp_max_syn_backlog_at_boot,
     &KernelSpec::tcp_max_syn_backlog, nullptr},
};

// The key that a line sets, with dots; empty: none.
std::string SysctlKeyOf(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (line.empty() || line[0] == '#' || line[0] == ';') return "";
  const size_t equals = line.find('=');
  if (equals == absl::string_view::npos) return "";
  absl::string_view key = line.substr(0, equals);
  absl::ConsumePrefix(&key, "-");
  return absl::StrReplaceAll(absl::StripAsciiWhitespace(key), {{"/", "."}});
}

bool IsOf(const KernelParameter& parameter, const SettingValue& value) {
  return parameter.is_ports() ? value.has_ports() || value.has_none()
                              : value.has_number();
}

}  // namespace

absl::Span<const KernelParameter> KernelParameters() { return kParameters; }

const KernelParameter* FindKernelParameter(absl::string_view key) {
  return FirstWith(kParameters, &KernelParameter::key, key);
}

absl::StatusOr<const KernelParameter*> OurParameter(absl::string_view key) {
  const KernelParameter* const parameter = FindKernelParameter(key);
  if (parameter != nullptr) return parameter;
  return InvalidWords("msg-plan-not-our-parameter", key);
}

absl::StatusOr<SettingValue> ParseSysctl(const KernelParameter& parameter,
                                         absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (parameter.is_ports()) {
    ASSIGN_OR_RETURN(const PortSet ports, PortSet::Parse(text));
    return PortsValue(ports);
  }
  uint64_t number = 0;
  if (absl::SimpleAtoi(text, &number) && absl::StrCat(number) == text) {
    return NumberValue(number);
  }
  return InvalidWords("plan-say-not-a-number", text);
}

FactReading RunningValue(const KernelParameter& parameter,
                         const KernelFacts& facts) {
  if (!parameter.is_ports()) {
    const NumberFact& fact = (facts.*parameter.number)();
    return ReadingOf(fact, NumberValue(fact.value()));
  }
  const std::string& text = facts.reserved_ports().value();
  return ReadingOf(facts.reserved_ports(),
                   ParseSysctl(parameter, text)
                       .value_or(TextsValue(
                           {std::string(absl::StripAsciiWhitespace(text))})));
}

std::string SysctlText(const SettingValue& value) {
  return value.has_none() ? "" : SettingText(value);
}

SettingValue RaisedTo(const KernelParameter& parameter,
                      const SettingValue& value, const SettingValue& needed) {
  if (!parameter.is_ports()) {
    return NumberValue(std::max(value.number(), needed.number()));
  }
  PortSet ports = PortsOf(value);
  ports.Add(PortsOf(needed));
  return PortsValue(ports);
}

bool Reaches(const KernelParameter& parameter, const SettingValue& value,
             const SettingValue& needed) {
  return IsOf(parameter, value) && IsOf(parameter, needed) &&
         RaisedTo(parameter, value, needed) == value;
}

std::string EditSysctlFile(absl::string_view text, absl::string_view key,
                           absl::string_view value) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();

  const std::string assignment = absl::StrCat(key, " = ", value, "\n");
  bool written = false;
  std::string edited = text.empty() ? kHeading : "";
  for (const absl::string_view line : lines) {
    if (SysctlKeyOf(line) != key) {
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
