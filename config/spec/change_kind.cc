#include "config/spec/change_kind.h"

#include "absl/strings/str_cat.h"

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

}  // namespace clusterd
