// Building blocks of faults and variations: makers that change facts, and the
// groups that FaultKinds() and Variations() list.
#ifndef TESTS_SIM_RANDOM_ROWS_H_
#define TESTS_SIM_RANDOM_ROWS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/spec/product_profile.h"
#include "tests/sim/random/random_cluster.h"

namespace clusterd {

// Makes a fault; takes the host and the device's place in its facts.
using Make = std::function<void(RandomCluster&, int, int)>;
// True if it can be there.
using Where = std::function<bool(const RandomCluster&, int, int)>;

const ProductProfile& ProfileOf(const RandomCluster& cluster);
// True if the cluster has the variation.
bool Has(const RandomCluster& cluster, absl::string_view variation);
// True of a cluster with that variation, and of one without it.
struct With {
  const char* variation;
  bool operator()(const RandomCluster& cluster, int = 0, int = 0) const {
    return Has(cluster, variation);
  }
};
struct Without {
  const char* variation;
  bool operator()(const RandomCluster& cluster, int = 0, int = 0) const {
    return !Has(cluster, variation);
  }
};
bool IsClassic(const RandomCluster& cluster, int host, int device);
DeviceFacts& DeviceOf(RandomCluster& cluster, int host, int device);

// Merges the text into the facts of the device, or of the host. It must outlive
// the process, as a literal does.
Make OnDevice(absl::string_view text);
Make OnHost(absl::string_view text);
// hccn_tool answers no query about the device.
Make Silenced(absl::string_view reason, absl::string_view what);

// True if two other hosts or more have that device planned, and so can outvote
// it.
bool HasLikes(const RandomCluster& cluster, int host, int device);
// Drops one fact of a device, so that `rule` is unknown.
FaultKind NoFact(const char* name, absl::string_view fact, const char* rule,
                 const char* also, const char* simulated = "answer=TEXT");

// The kind, which fails if the spec asks for the broken part.
FaultKind FailsWhere(std::function<bool(const RandomCluster&)> fails,
                     FaultKind kind);

bool Always(const RandomCluster& cluster);
// Merge the text into the facts of all hosts, or devices.
void PatchHosts(absl::string_view text, RandomCluster& cluster);
void PatchDevices(absl::string_view text, RandomCluster& cluster);

std::vector<Variation> DeviceVariations();
std::vector<Variation> HostVariations();
std::vector<FaultKind> PortFaults();
std::vector<FaultKind> CarrierFaults();
std::vector<FaultKind> AddressFaults();
std::vector<FaultKind> PlanFaults();
std::vector<FaultKind> ChipFaults();
std::vector<FaultKind> HostFaults();
std::vector<FaultKind> LaunchFaults();
std::vector<FaultKind> JobFaults();
std::vector<FaultKind> SshFaults();

// Adds servers beyond the cluster's hosts, up to `servers`: in cluster.yaml
// alone; they are never asked.
void AddServers(int servers, RandomCluster& cluster);

// Some of the servers, some of their devices, and a legal job that takes them:
// only these are judged then. REQUIRES: healthy, two servers or more.
void NarrowToRandomJob(RandomCluster& cluster);
// The job is one that logs in, and every login works. REQUIRES: it has a job.
void LaunchBySsh(RandomCluster& cluster);

}  // namespace clusterd

#endif  // TESTS_SIM_RANDOM_ROWS_H_
