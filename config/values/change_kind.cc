#include "config/values/change_kind.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace clusterd {
namespace {

// Explanations follow this order.
constexpr std::pair<ChangeKind, absl::string_view> kKinds[] = {
    {CHANGE_OBSERVE, "observe"},
    {CHANGE_SYSCTL, "sysctl"},
    {CHANGE_DEVICE_ADDRESS, "device-address"},
    {CHANGE_FIREWALL, "firewall"},
    {CHANGE_TLS, "tls"},
    {CHANGE_HCCN_CONF, "hccn-conf"},
    {CHANGE_SSH_LOGIN, "ssh-login"},
    {CHANGE_LOGS, "logs"}};

}  // namespace

std::string KindsText(const std::set<ChangeKind>& kinds) {
  std::vector<absl::string_view> names;
  for (const auto& [kind, name] : kKinds) {
    if (kinds.count(kind) > 0) names.push_back(name);
  }
  return absl::StrJoin(names, ", ");
}

std::string ChangeKindName(ChangeKind kind) {
  for (const auto& [known, name] : kKinds) {
    if (known == kind) return std::string(name);
  }
  return absl::StrCat("unknown kind ", static_cast<int>(kind));
}

std::optional<ChangeKind> ParseChangeKind(absl::string_view name) {
  for (const auto& [kind, known] : kKinds) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

std::vector<ChangeKind> AllChangeKinds() {
  std::vector<ChangeKind> kinds;
  for (const auto& [kind, name] : kKinds) kinds.push_back(kind);
  return kinds;
}

std::set<ChangeKind> AllowedKinds(const HostAllows& allows) {
  std::set<ChangeKind> kinds;
  for (const std::string& name : allows.kinds()) {
    if (const auto kind = ParseChangeKind(name)) kinds.insert(*kind);
  }
  return kinds;
}

std::string AllowLine(const std::set<ChangeKind>& kinds) {
  return absl::StrCat("\"allow: [", KindsText(kinds), "]\"");
}

}  // namespace clusterd
