#include "config/values/change_kind.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace clusterd {
std::string ChangeKindName(ChangeKind kind) {
  switch (kind) {
    case CHANGE_OBSERVE:
      return "observe";
    case CHANGE_SYSCTL:
      return "sysctl";
    case CHANGE_DEVICE_ADDRESS:
      return "device-address";
    case CHANGE_FIREWALL:
      return "firewall";
    case CHANGE_TLS:
      return "tls";
    case CHANGE_HCCN_CONF:
      return "hccn-conf";
    default:
      return absl::StrCat("unknown kind ", static_cast<int>(kind));
  }
}

std::optional<ChangeKind> ParseChangeKind(absl::string_view name) {
  for (const ChangeKind kind : AllChangeKinds()) {
    if (ChangeKindName(kind) == name) return kind;
  }
  return std::nullopt;
}

const std::vector<ChangeKind>& AllChangeKinds() {
  static const auto* const kinds = new std::vector<ChangeKind>{
      CHANGE_OBSERVE,  CHANGE_SYSCTL, CHANGE_DEVICE_ADDRESS,
      CHANGE_FIREWALL, CHANGE_TLS,    CHANGE_HCCN_CONF};
  return *kinds;
}

namespace {

// In the order in which they are explained.
std::string KindsText(const std::set<ChangeKind>& kinds) {
  std::vector<std::string> names;
  for (const ChangeKind kind : AllChangeKinds()) {
    if (kinds.count(kind) > 0) names.push_back(ChangeKindName(kind));
  }
  return names.empty() ? "nothing" : absl::StrJoin(names, ", ");
}

}  // namespace

std::set<ChangeKind> AllowedKinds(const HostAllows& allows) {
  std::set<ChangeKind> kinds;
  for (const std::string& name : allows.kinds()) {
    const auto kind = ParseChangeKind(name);
    if (kind) kinds.insert(*kind);
  }
  return kinds;
}

std::string WhatIsAllowed(const HostAllows& allows) {
  return absl::StrCat(
      "it allows ", KindsText(AllowedKinds(allows)),
      allows.mistake().empty() ? "" : " until its file is right");
}

std::string HowToAllow(const HostAllows& allows,
                       const std::set<ChangeKind>& kinds) {
  if (!allows.mistake().empty()) {
    return absl::StrCat("correct the mistake there (", allows.mistake(), ")");
  }
  const std::string line = absl::StrCat("\"allow: [", KindsText(kinds), "]\"");
  if (allows.file().empty()) {
    return absl::StrCat("start clusterd there with --config and a file with ",
                        line, " in it");
  }
  return absl::StrCat("put ", line, " into ", allows.file(), " there");
}

}  // namespace clusterd
