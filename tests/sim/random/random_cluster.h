// Random clusters in memory that know the truth about themselves: products,
// address plans, 2 to 1,152 servers, ways of being set up that are as good as
// ours (healthy variations), and faults. Tests compare the judge's report with
// that truth: it names every fault with its host and device, has no finding
// about an untouched part, and leaves nothing unknown that can be known.
//
// A cluster depends only on its seed and the options. New variations and faults
// are rows of *variations.cc and *faults.cc.
#ifndef TESTS_SIM_RANDOM_RANDOM_CLUSTER_H_
#define TESTS_SIM_RANDOM_RANDOM_CLUSTER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"
#include "proto/job.pb.h"
#include "proto/spec.pb.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {

struct FaultKind;

// One fault and where it is. `device` is the place in the facts of the host.
struct PlacedFault {
  const FaultKind* kind;
  int host;    // -1: the cluster.
  int device;  // -1: the host.
};

struct RandomCluster {
  uint64_t seed = 0;
  std::mt19937_64 random;
  ClusterSpec spec;
  std::vector<HostFacts> facts;  // In the order of the spec.
  // The job that is judged, to which spec and facts are narrowed; unset: none.
  std::optional<JobSpec> job;
  std::vector<std::string> variations;
  // Rules that may warn of an open point of a variation, e.g. until a reboot,
  // and their hosts; -1: the cluster.
  std::map<std::string, std::set<int>> warnings;
  std::vector<PlacedFault> faults;
  // By host and device: those that keep their values, since a fault touches
  // them or relies on them.
  std::set<std::pair<int, int>> taken;

  // From 0 to `count` - 1. REQUIRES: count > 0.
  size_t Pick(size_t count) { return random() % count; }
  bool OneIn(size_t count) { return Pick(count) == 0; }
  const DeviceSpec* Planned(int host, uint32_t device) const;
};

// A way to set up or use a cluster that is in order.
struct Variation {
  const char* name;
  // One of this many clusters that can have it has it.
  size_t one_in;
  std::function<bool(const RandomCluster&)> applies;
  void (*make)(RandomCluster& cluster);
  // Rules that may warn then, "a b"; empty: none.
  const char* warnings = "";
  // True for hosts with a warning; nullptr: all hosts, and the cluster.
  bool (*warns_of)(int host) = nullptr;
};

// Traits of a fault, joined by |.
constexpr unsigned kOfHost = 0;
constexpr unsigned kOfDevice = 1;
constexpr unsigned kOfCluster = 2;  // Its `host` is -1.
// A fact is missing: only then may a finding be unknown.
constexpr unsigned kHides = 4;
// The majority is right: needs three or more hosts.
constexpr unsigned kByVote = 8;
// The host has no other fault: it does not affect the rest.
constexpr unsigned kAlone = 16;

// A fault. Names of rules stand with a space between two.
struct FaultKind {
  const char* name;
  // Keys of tests/sim/fault.h that it stands for.
  const char* simulated;
  unsigned traits;
  // The rule that must find it, and how bad.
  const char* rule;
  State state;
  // Rules that may also report it, as a cause of their own, at most as bad;
  // "gateway=FAIL": a worse one.
  const char* also;
  std::function<void(RandomCluster&, int host, int device)> make;
  std::function<bool(const RandomCluster&, int host, int device)> applies =
      nullptr;
  // True if it fails there, being `state` elsewhere.
  std::function<bool(const RandomCluster&)> fails = nullptr;

  bool Is(unsigned trait) const { return (traits & trait) != 0; }
  State StateIn(const RandomCluster& cluster) const {
    return fails != nullptr && fails(cluster) ? FAIL : state;
  }
};

const std::vector<Variation>& Variations();
const std::vector<FaultKind>& FaultKinds();

struct RandomOptions {
  int max_servers = 1152;
  int max_faults = 6;
  // Names of variations and faults to leave out, and of rules to ignore.
  std::set<std::string> without = {};
  // Only these names; empty: all.
  std::set<std::string> only = {};
};

// REQUIRES: 2 <= max_servers <= 1152.
RandomCluster MakeRandomCluster(uint64_t seed, const RandomOptions& options);

// The judge's wrong or missing findings, one a line; empty: it is right.
std::vector<std::string> Misjudged(const RandomCluster& cluster,
                                   const RandomOptions& options);

// "seed 7: atlas-a2, 12 servers; tls-absent, dhcp; link at server3 device 2".
std::string Describe(const RandomCluster& cluster);

// Removes the host's lines of the key for the device from hccn.conf.
void RemoveFromConf(HostFacts& host, absl::string_view key, uint32_t device);
// The first such line gets the value, or a new one if it is missing.
void WriteToConf(HostFacts& host, absl::string_view key, uint32_t device,
                 const std::string& value);

}  // namespace clusterd

#endif  // TESTS_SIM_RANDOM_RANDOM_CLUSTER_H_
