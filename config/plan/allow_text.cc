#include "config/plan/allow_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/spec/change_kind.h"

namespace clusterd {
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
