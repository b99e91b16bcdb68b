// The state of a cluster, from its hosts' facts or another tool's file, from
// which a cluster.yaml is written. Values are parsed, and host names are
// IsHostName, so that no text from outside gets into the file unchecked. Pure:
// no machine, file or clock.
#ifndef CONFIG_LEARN_SEEN_CLUSTER_H_
#define CONFIG_LEARN_SEEN_CLUSTER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/spec/product_profile.h"
#include "config/values/ipv4.h"
#include "config/words/words.h"
#include "proto/facts.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// The most common value; on a tie the lowest. nullopt if there are no values.
template <typename Value>
std::optional<Value> Majority(const std::map<Value, size_t>& votes) {
  std::optional<Value> best;
  size_t most = 0;
  for (const auto& [value, count] : votes) {
    if (count > most) best = value;
    most = std::max(most, count);
  }
  return best;
}

// Unset: not known. 0.0.0.0: known to be unset.
struct SeenDevice {
  bool HasAddress() const {
    return address.has_value() && !address->address().IsUnset();
  }

  uint32_t id = 0;
  std::optional<Ipv4Interface> address;
  std::optional<Ipv4Address> gateway;
  std::optional<Ipv4Address> detect_address;
  std::optional<uint64_t> mtu;
  std::optional<bool> tls;
};

struct SeenHost {
  std::string name;
  std::optional<Ipv4Address> address;
  // The host sent no facts, for this reason.
  bool silent = false;
  std::vector<SeenDevice> devices;
  std::optional<uint64_t> somaxconn;
  std::optional<uint64_t> syn_backlog;
  // A reboot keeps both. Unset: not known.
  std::optional<bool> persistent;
  std::optional<bool> firewall_runs;
  // LearnCluster's, which must outlive it; null: not an attached host.
  const HostFacts* facts = nullptr;
};

// nullptr: there is none.
const SeenDevice* FindDevice(const SeenHost& host, uint32_t id);

// Empty if the host has no device of this id.
const SeenDevice& DeviceOf(const SeenHost& host, uint32_t id);

struct SeenCluster {
  std::string name;
  std::string source;  // e.g. "what 16 hosts have".
  std::vector<SeenHost> hosts;
  LosslessSpec lossless;
  // Settings that cluster.yaml cannot express, or that were ignored.
  std::vector<FindingValue> notes;
  // The modes of the one product that fits, the likeliest first.
  std::vector<const ProductProfile*> profiles;
};

// Chooses the product among those that `known` fits: `product` names one, or
// one with its mode as "atlas-training amp"; if it is empty, the facts must
// determine it. InvalidArgument with the candidates if they do not, or with the
// known products if none has that name.
absl::StatusOr<std::vector<const ProductProfile*>> ChooseProduct(
    absl::string_view product, absl::Span<const SeenHost> hosts,
    const std::string& series = "", bool is_950 = false);

// The hosts of `facts`, which must outlive it, with the addresses of
// `addresses`, by name; errors as ChooseProduct.
absl::StatusOr<SeenCluster> LearnCluster(
    const std::string& name, absl::string_view product,
    absl::Span<const HostFacts> facts,
    const std::map<std::string, Ipv4Address>& addresses);

// The device ids that most hosts have, ascending.
std::vector<uint32_t> MajorityIds(absl::Span<const SeenHost> hosts);

}  // namespace clusterd

#endif  // CONFIG_LEARN_SEEN_CLUSTER_H_
