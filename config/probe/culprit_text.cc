#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "config/probe/culprits.h"

namespace clusterd {
namespace {

std::string PortName(const ProbeFabric& fabric, int port) {
  const ProbePort& facts = fabric.ports[port];
  const std::string& host = fabric.hosts[facts.host];
  if (facts.is_host) return host;
  return absl::StrCat(host, " device ", facts.device);
}

std::string LeafName(const ProbeFabric& fabric, int leaf) {
  if (leaf == kNoIndex) return "the unknown leaf";
  const bool has_name = leaf < static_cast<int>(fabric.leaves.size());
  return has_name ? absl::StrCat("leaf ", fabric.leaves[leaf])
                  : absl::StrCat("super pod ", leaf);
}

}  // namespace

std::string CulpritName(const ProbeFabric& fabric, const CulpritId& id) {
  const std::string rail =
      id.rail == kNoIndex ? "" : absl::StrCat(", rail ", id.rail);
  switch (id.kind) {
    case CulpritKind::kPort:
      return PortName(fabric, id.a);
    case CulpritKind::kSends:
      return absl::StrCat("what ", PortName(fabric, id.a), " sends");
    case CulpritKind::kReceives:
      return absl::StrCat("what ", PortName(fabric, id.a), " receives");
    case CulpritKind::kHost:
      return absl::StrCat("all devices of ", fabric.hosts[id.a]);
    case CulpritKind::kLeaf:
    case CulpritKind::kLeafRail:
      return absl::StrCat(LeafName(fabric, id.a), rail);
    case CulpritKind::kUplinks:
    case CulpritKind::kUplinksRail:
      return absl::StrCat("uplinks of ", LeafName(fabric, id.a), rail);
    case CulpritKind::kPath:
    case CulpritKind::kPathRail:
      return absl::StrCat("path between ", LeafName(fabric, id.a), " and ",
                          LeafName(fabric, id.b), rail);
    case CulpritKind::kPathOneWay:
      return absl::StrCat("path from ", LeafName(fabric, id.a), " to ",
                          LeafName(fabric, id.b));
    case CulpritKind::kRail:
      return absl::StrCat("rail ", id.rail);
    case CulpritKind::kRailBetweenLeaves:
      return absl::StrCat("rail ", id.rail, " between leaves");
    case CulpritKind::kFabric:
      return "the whole network";
    case CulpritKind::kLink:
      return absl::StrCat("link between ", PortName(fabric, id.a), " and ",
                          PortName(fabric, id.b));
  }
  return "";
}

std::string CulpritText(const ProbeFabric& fabric, const Culprit& culprit) {
  std::string text = CulpritName(fabric, culprit.id);
  for (const CulpritId& other : culprit.or_else) {
    absl::StrAppend(&text, " or ", CulpritName(fabric, other));
  }
  if (!culprit.IsDecided()) text = absl::StrCat("undecided: ", text);
  if (culprit.known.has_value()) {
    absl::StrAppend(&text, ": ", WhyNotProbedName(*culprit.known));
  }
  absl::StrAppend(&text, ": ", culprit.agreeing, " of ", culprit.reporters,
                  " reporters agree");
  if (culprit.is_lossy && culprit.loss < 1) {
    absl::StrAppendFormat(&text, ", loses %.0f %%", culprit.loss * 100);
  }
  return text;
}

std::string DiagnosisText(const ProbeFabric& fabric,
                          const Diagnosis& diagnosis) {
  std::string text = absl::StrJoin(
      diagnosis.culprits, "\n", [&](std::string* out, const Culprit& culprit) {
        out->append(CulpritText(fabric, culprit));
      });
  if (!diagnosis.unexplained.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n",
                    "unexplained: ", diagnosis.unexplained.size(), " results");
  }
  if (diagnosis.probed_ports == 0) return "unknown: nothing was probed";
  if (!diagnosis.IsPass()) return text;
  return absl::StrFormat(
      "pass: loss under %.0f %% at 95 %% confidence, %d ports, %d not probed",
      diagnosis.unseen_loss * 100, diagnosis.probed_ports,
      diagnosis.unprobed_ports);
}

}  // namespace clusterd
