#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"
#include "config/probe/culprits.h"

namespace clusterd {
namespace {

// By kind; $0 and $1 are its ports, host or leaves, and $2 is the rail.
constexpr absl::string_view kNamePatterns[] = {
    "$0",
    "what $0 sends",
    "what $0 receives",
    "all devices of $0",
    "$0",
    "$0, rail $2",
    "uplinks of $0",
    "uplinks of $0, rail $2",
    "path between $0 and $1",
    "path from $0 to $1",
    "path between $0 and $1, rail $2",
    "rail $2",
    "rail $2 between leaves",
    "the whole network",
    "link between $0 and $1",
};

std::string PlaceName(const ProbeFabric& fabric, CulpritKind kind, int at) {
  if (kind == CulpritKind::kHost) return at < 0 ? "" : fabric.hosts[at];
  if (kind <= CulpritKind::kReceives || kind == CulpritKind::kLink) {
    if (at == kNoIndex) return "";
    const ProbePort& port = fabric.ports[at];
    const std::string& host = fabric.hosts[port.host];
    return port.is_host ? host : absl::StrCat(host, " device ", port.device);
  }
  if (at == kNoIndex) return "the unknown leaf";
  const bool is_leaf = at < static_cast<int>(fabric.leaves.size());
  return is_leaf ? absl::StrCat("leaf ", fabric.leaves[at])
                 : absl::StrCat("super pod ", at);
}

}  // namespace

std::string CulpritName(const ProbeFabric& fabric, const CulpritId& id) {
  return absl::Substitute(kNamePatterns[static_cast<int>(id.kind)],
                          PlaceName(fabric, id.kind, id.a),
                          PlaceName(fabric, id.kind, id.b), id.rail);
}

std::string CulpritText(const ProbeFabric& fabric, const Culprit& culprit) {
  std::string text = absl::StrCat(culprit.IsDecided() ? "" : "undecided: ",
                                  CulpritName(fabric, culprit.id));
  for (const CulpritId& other : culprit.or_else) {
    absl::StrAppend(&text, " or ", CulpritName(fabric, other));
  }
  if (culprit.known.has_value()) {
    absl::StrAppend(&text, ": ", WhyNotProbedName(*culprit.known));
  }
  absl::StrAppend(&text, ": ", culprit.agreeing, " of ", culprit.reporters,
                  " reporters agree");
  if (culprit.loss < 1) {
    absl::StrAppendFormat(&text, ", loses %.0f %%", culprit.loss * 100);
  }
  return text;
}

std::string DiagnosisText(const ProbeFabric& fabric,
                          const Diagnosis& diagnosis) {
  if (diagnosis.probed_ports == 0) return "unknown: nothing was probed";
  if (diagnosis.IsPass()) {
    return absl::StrFormat(
        "pass: loss under %.0f %% at 95 %% confidence, %d ports",
        diagnosis.unseen_loss * 100, diagnosis.probed_ports);
  }
  std::string text;
  for (const Culprit& culprit : diagnosis.culprits) {
    absl::StrAppend(&text, CulpritText(fabric, culprit), "\n");
  }
  absl::StrAppend(&text, diagnosis.unexplained.size(), " unexplained, ",
                  diagnosis.unprobed_ports, " ports unknown");
  return text;
}

}  // namespace clusterd
