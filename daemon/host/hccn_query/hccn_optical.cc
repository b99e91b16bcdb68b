#include "daemon/host/hccn_query/hccn_optical.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "daemon/host/hccn/hccn_output.h"

namespace clusterd {
namespace {

// The unit of the rows whose name begins so.
constexpr std::pair<absl::string_view, absl::string_view> kUnits[] = {
    {"temperature", "C"},
    {"Temp ", "C"},
    {"Vcc", "mV"},
    {"Tx Power", "mW"},
    {"Rx Power", "mW"},
    {"TxPower ", "mW"},
    {"RxPower ", "mW"},
    {"Tx Bias", "mA"},
    {"Host SNR ", "dB"},
    {"Media SNR ", "dB"},
    {"xsfp wave length", "nm"},
};

constexpr absl::string_view kNoNumbers[] = {"NA", "not supported",
                                            "get failed"};

// Empty: the row does not measure.
absl::string_view UnitOf(absl::string_view name) {
  for (const auto& [prefix, unit] : kUnits) {
    if (absl::StartsWith(name, prefix)) return unit;
  }
  return "";
}

// Empty: there may be a number in it.
std::string NoNumberOf(absl::string_view value) {
  return std::string(absl::c_linear_search(kNoNumbers, value) ? value : "");
}

// A decimal number as printf writes it: "47", "-5", "0.1445".
bool ParseDecimal(absl::string_view text, double* number) {
  constexpr uint64_t kMaxWhole = 999999999;
  constexpr size_t kMaxDecimals = 4;
  absl::string_view rest = text;
  absl::ConsumePrefix(&rest, "-");
  const size_t point = rest.find('.');
  const absl::string_view whole = rest.substr(0, point);
  if (!ParseHccnNumber(whole, kMaxWhole).ok()) return false;
  if (point != absl::string_view::npos) {
    const absl::string_view decimals = rest.substr(point + 1);
    if (decimals.empty() || decimals.size() > kMaxDecimals ||
        !absl::c_all_of(decimals, absl::ascii_isdigit)) {
      return false;
    }
  }
  return absl::SimpleAtod(text, number);
}

absl::Status AddMeasurement(const HccnNamedValue& row, absl::string_view unit,
                            HccnOptical* optical) {
  HccnMeasurement measurement;
  measurement.name = HccnText(row.name);
  measurement.no_number = NoNumberOf(row.value);
  if (measurement.no_number.empty()) {
    absl::string_view number = row.value;
    if (!absl::ConsumeSuffix(&number, absl::StrCat(" ", unit)) ||
        !ParseDecimal(number, &measurement.number)) {
      return UnexpectedHccnText(
          absl::StrCat(row.name, ": ", row.value),
          absl::StrCat("a number of ", unit,
                       ", NA, not supported or get failed"));
    }
    measurement.unit = std::string(unit);
  }
  optical->measurements.push_back(std::move(measurement));
  return absl::OkStatus();
}

absl::Status AddFlag(const HccnNamedValue& row, HccnOptical* optical) {
  constexpr size_t kMaxDigits = 8;
  HccnOpticalFlag flag;
  flag.name = HccnText(row.name);
  flag.no_number = NoNumberOf(row.value);
  if (flag.no_number.empty()) {
    absl::string_view digits = row.value;
    if (!absl::ConsumePrefix(&digits, "0x") || digits.size() > kMaxDigits ||
        !absl::c_all_of(digits, absl::ascii_isxdigit) ||
        !absl::SimpleHexAtoi(digits, &flag.mask)) {
      return UnexpectedHccnText(
          absl::StrCat(row.name, ": ", row.value),
          "a flag like \"0xff\", NA, not supported or get failed");
    }
  }
  optical->flags.push_back(std::move(flag));
  return absl::OkStatus();
}

absl::Status AddRow(const HccnNamedValue& row, HccnOptical* optical) {
  if (row.name == "high power enable reg") {
    const absl::StatusOr<bool> enabled = ParseHccnWord<bool>(
        row.value, {{"enabled", true}, {"not enabled", false}},
        "\"enabled\" or \"not enabled\"");
    if (enabled.ok()) optical->high_power = *enabled;
    return enabled.status();
  }
  if (absl::EndsWith(row.name, " Flag")) return AddFlag(row, optical);
  const absl::string_view unit = UnitOf(row.name);
  if (!unit.empty()) return AddMeasurement(row, unit, optical);
  optical->texts.push_back({HccnText(row.name), HccnText(row.value)});
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HccnOptical> ParseHccnOptical(absl::string_view output) {
  ASSIGN_OR_RETURN(const auto lines, HccnLinesBelow("optical info:", output));
  ASSIGN_OR_RETURN(const auto rows, ParseHccnNamedValues(lines));
  if (rows.empty() || rows.front().name != "present" ||
      (rows.front().value != "present" &&
       rows.front().value != "not present")) {
    return UnexpectedHccnText(
        lines.empty() ? output : lines.front(),
        "\"present: present\" or \"present: not present\"");
  }
  HccnOptical optical;
  optical.present = rows.front().value == "present";
  for (size_t i = 1; i < rows.size(); ++i) {
    RETURN_IF_ERROR(AddRow(rows[i], &optical));
  }
  return optical;
}

}  // namespace clusterd
