#include "daemon/host/hccn_query/hccn_software.h"

#include <utility>
#include <vector>

#include "daemon/host/hccn_query/hccn_named_values.h"

namespace clusterd {
namespace {

constexpr std::pair<absl::string_view, HccnConfigStatus> kConfigStatuses[] = {
    {"NONE", HccnConfigStatus::kNone},
    {"START", HccnConfigStatus::kStart},
    {"FAIL", HccnConfigStatus::kFail},
    {"SUCCESS", HccnConfigStatus::kSuccess},
    {"FAULT", HccnConfigStatus::kFault},
};

}  // namespace

absl::StatusOr<bool> ParseHccnProcess(absl::string_view output) {
  constexpr absl::string_view kNames[] = {"device hccp process"};
  const absl::StatusOr<std::vector<absl::string_view>> values =
      ParseHccnValuesOf(kNames, output);
  if (!values.ok()) return values.status();
  if (values->front() == "exist") return true;
  if (values->front() == "not exist") return false;
  return UnexpectedHccnText(values->front(), "\"exist\" or \"not exist\"");
}

absl::StatusOr<HccnVersions> ParseHccnVersions(absl::string_view output) {
  constexpr absl::string_view kNames[] = {"Network Driver Version",
                                          "Network Firmware Version"};
  const absl::StatusOr<std::vector<absl::string_view>> values =
      ParseHccnValuesOf(kNames, output);
  if (!values.ok()) return values.status();
  for (const absl::string_view version : *values) {
    if (version.empty()) return UnexpectedHccnText(output, "two versions");
  }
  return HccnVersions{HccnText((*values)[0]), HccnText((*values)[1])};
}

absl::StatusOr<HccnConfigStatus> ParseHccnConfigStatus(
    absl::string_view output) {
  constexpr absl::string_view kNames[] = {"config status"};
  const absl::StatusOr<std::vector<absl::string_view>> values =
      ParseHccnValuesOf(kNames, output);
  if (!values.ok()) return values.status();
  for (const auto& [text, status] : kConfigStatuses) {
    if (values->front() == text) return status;
  }
  return UnexpectedHccnText(values->front(),
                            "NONE, START, FAIL, SUCCESS or FAULT");
}

}  // namespace clusterd
