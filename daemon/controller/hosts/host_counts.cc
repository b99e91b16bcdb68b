// AttachedHosts::CountHosts, for whoever looks every second.
#include <iterator>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "daemon/controller/hosts/attached_hosts.h"

namespace clusterd {
namespace {

constexpr int kMaxAwayTold = 20;
// Hosts looked at under one lock: everything that hosts send waits for it.
constexpr size_t kCountedAtOnce = 64;

}  // namespace

void AttachedHosts::CountHosts(const ClusterSpec& spec, ClusterNow* now) {
  absl::flat_hash_map<absl::string_view, size_t> places;
  for (const ServerSpec& server : spec.servers()) {
    places.emplace(server.host(), places.size());
  }
  std::vector<bool> attached(places.size());
  uint32_t drifted = 0;
  uint32_t unexpected = 0;
  std::string last;
  for (bool more = true; more;) {
    absl::MutexLock lock(&mutex_);
    auto it = last.empty() ? hosts_.begin() : hosts_.upper_bound(last);
    for (size_t i = 0; i < kCountedAtOnce && it != hosts_.end(); ++i, ++it) {
      const auto& [name, host] = *it;
      const auto place = places.find(name);
      if (place == places.end()) {
        if (host.session != nullptr) ++unexpected;
        continue;
      }
      attached[place->second] = host.session != nullptr;
      if (!host.entry.drift().value().drifts().empty()) ++drifted;
    }
    more = it != hosts_.end();
    if (more) last = std::prev(it)->first;
  }
  now->set_hosts_expected(static_cast<uint32_t>(attached.size()));
  now->set_hosts_attached(static_cast<uint32_t>(absl::c_count(attached, true)));
  now->set_hosts_unexpected(unexpected);
  now->set_hosts_drifted(drifted);
  for (size_t i = 0; i < attached.size(); ++i) {
    if (attached[i] || now->away_size() == kMaxAwayTold) continue;
    now->add_away(spec.servers(static_cast<int>(i)).host());
  }
}

}  // namespace clusterd
