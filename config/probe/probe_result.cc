#include "config/probe/probe_result.h"

#include <cmath>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace clusterd {
namespace {

struct PlaceOfAddress {
  int port = kNoIndex;  // kNoIndex: several have it.
  ProbePlane plane = ProbePlane::kRoce;
};

absl::flat_hash_map<Ipv4Address, PlaceOfAddress> PortsByAddress(
    const ProbeFabric& fabric) {
  absl::flat_hash_map<Ipv4Address, PlaceOfAddress> ports;
  const auto add = [&](Ipv4Address address, int port, ProbePlane plane) {
    if (address.IsUnset()) return;
    const auto [entry, is_new] =
        ports.try_emplace(address, PlaceOfAddress{port, plane});
    if (!is_new) entry->second.port = kNoIndex;
  };
  for (size_t i = 0; i < fabric.ports.size(); ++i) {
    const int port = static_cast<int>(i);
    add(fabric.ports[i].address, port, ProbePlane::kRoce);
    add(fabric.ports[i].vnic, port, ProbePlane::kHccs);
  }
  return ports;
}

}  // namespace

double UnseenLoss(uint64_t packets, double confidence) {
  if (packets == 0) return 1;
  return 1 - std::pow(1 - confidence, 1.0 / static_cast<double>(packets));
}

LinkErrorResults ResultsFromLinkErrors(const ProbeFabric& fabric,
                                       absl::Span<const LinkErrorRow> rows) {
  const auto ports = PortsByAddress(fabric);
  LinkErrorResults all;
  absl::flat_hash_set<std::tuple<int, int, bool>> seen;
  for (const LinkErrorRow& row : rows) {
    const auto here = ports.find(row.here);
    const auto there = ports.find(row.there);
    if (here == ports.end() || there == ports.end() ||
        here->second.port == kNoIndex || there->second.port == kNoIndex ||
        here->second.plane != there->second.plane ||
        here->second.port == there->second.port) {
      ++all.unknown_rows;
      continue;
    }
    const int own = here->second.port;
    const int other = there->second.port;
    if (!seen.insert({own, other, row.is_server}).second) continue;
    ProbeResult result;
    result.from = row.is_server ? other : own;
    result.to = row.is_server ? own : other;
    result.reporter = own;
    result.plane = here->second.plane;
    result.outcome = ProbeOutcome::kFiltered;
    result.sent = result.lost = 1;
    all.results.push_back(result);
  }
  return all;
}

}  // namespace clusterd
