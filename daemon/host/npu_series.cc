#include "daemon/host/npu_series.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace clusterd {
namespace {

constexpr absl::string_view kHuawei = "0x19e5";

constexpr std::pair<absl::string_view, absl::string_view> kDevices[] = {
    {"0xd100", "Atlas-300"}, {"0xd500", "300I-Duo"}, {"0xd801", "A1"},
    {"0xd802", "A2"},        {"0xd803", "A3"},
};

}  // namespace

absl::string_view NpuSeriesOf(absl::string_view vendor,
                              absl::string_view device) {
  if (absl::AsciiStrToLower(absl::StripAsciiWhitespace(vendor)) != kHuawei) {
    return "";
  }
  const std::string id =
      absl::AsciiStrToLower(absl::StripAsciiWhitespace(device));
  for (const auto& [known, series] : kDevices) {
    if (id == known) return series;
  }
  return "";
}

std::string CountNpuSeries(const std::vector<std::string>& series) {
  std::map<std::string, int> counts;
  for (const std::string& name : series) ++counts[name];
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
  return absl::StrJoin(sorted, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, " x ", entry.second);
  });
}

}  // namespace clusterd
