#include "config/identity/spiffe_id.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace clusterd {
namespace {

constexpr size_t kMaxUriBytes = 1024;
constexpr size_t kMaxClusterBytes = 255;
constexpr size_t kMaxNameBytes = 253;

bool IsName(absl::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  if (name == "." || name == "..") return false;
  for (const char c : name) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (!absl::ascii_isalnum(u) && c != '.' && c != '-' && c != '_') {
      return false;
    }
  }
  return true;
}

// The peer chose the text: it is cut and escaped before anybody prints it.
absl::Status Malformed(absl::string_view uri, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "SPIFFE id \"", absl::CHexEscape(uri.substr(0, 200)), "\": ", what,
      ", expected spiffe://CLUSTER/controller, "
      "spiffe://CLUSTER/host/NAME or "
      "spiffe://CLUSTER/user/NAME[/role/viewer|operator|admin]"));
}

bool ParseRole(absl::string_view text, Role* role) {
  if (text == "viewer") {
    *role = Role::kViewer;
  } else if (text == "operator") {
    *role = Role::kOperator;
  } else if (text == "admin") {
    *role = Role::kAdmin;
  } else {
    return false;
  }
  return true;
}

}  // namespace

absl::string_view KindName(IdentityKind kind) {
  switch (kind) {
    case IdentityKind::kController:
      return "controller";
    case IdentityKind::kHost:
      return "host";
    case IdentityKind::kUser:
      return "user";
  }
  return "";
}

std::string SpiffeId::ToString() const {
  std::string text = absl::StrCat("spiffe://", cluster, "/", KindName(kind));
  if (kind != IdentityKind::kController) absl::StrAppend(&text, "/", name);
  if (kind == IdentityKind::kUser && role == Role::kOperator) {
    absl::StrAppend(&text, "/role/operator");
  }
  if (kind == IdentityKind::kUser && role == Role::kAdmin) {
    absl::StrAppend(&text, "/role/admin");
  }
  return text;
}

bool IsClusterName(absl::string_view name) {
  if (name.empty() || name.size() > kMaxClusterBytes) return false;
  for (const char c : name) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (!absl::ascii_islower(u) && !absl::ascii_isdigit(u) && c != '.' &&
        c != '-' && c != '_') {
      return false;
    }
  }
  return true;
}

absl::StatusOr<SpiffeId> ParseSpiffeId(absl::string_view uri) {
  if (uri.size() > kMaxUriBytes) return Malformed(uri, "too long");
  absl::string_view rest = uri;
  if (!absl::ConsumePrefix(&rest, "spiffe://")) {
    return Malformed(uri, "not a spiffe:// URI");
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, '/');
  SpiffeId id;
  id.cluster = std::string(parts[0]);
  if (!IsClusterName(id.cluster)) return Malformed(uri, "bad cluster name");
  if (parts.size() == 2 && parts[1] == "controller") {
    id.kind = IdentityKind::kController;
    return id;
  }
  if (parts.size() < 3) return Malformed(uri, "unknown shape");
  if (!IsName(parts[2])) return Malformed(uri, "bad name");
  id.name = std::string(parts[2]);
  if (parts.size() == 3 && parts[1] == "host") {
    id.kind = IdentityKind::kHost;
    return id;
  }
  if (parts[1] != "user") return Malformed(uri, "unknown shape");
  id.kind = IdentityKind::kUser;
  if (parts.size() == 3) return id;
  if (parts.size() != 5 || parts[3] != "role") {
    return Malformed(uri, "unknown shape");
  }
  if (!ParseRole(parts[4], &id.role)) return Malformed(uri, "unknown role");
  return id;
}

absl::StatusOr<SpiffeId> ParseUriNames(
    absl::Span<const std::string> uri_names) {
  if (uri_names.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "certificate: ", uri_names.size(),
        " URI names, expected exactly one, which is the SPIFFE id"));
  }
  return ParseSpiffeId(uri_names[0]);
}

}  // namespace clusterd
