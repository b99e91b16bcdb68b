// Properties of a product line: how many devices a server has, which subnets
// they need, which addresses hccn_tool refuses. Data, with its sources in
// product_profile.cc; rules and the spec loader read it.
#ifndef CONFIG_SPEC_PRODUCT_PROFILE_H_
#define CONFIG_SPEC_PRODUCT_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/values/ipv4.h"
#include "proto/facts.pb.h"

namespace clusterd {

// npu-smi's Super Pod ID of a chip that is in no super pod
// (Ascend/mind-cluster, InvalidSuperPodID).
inline constexpr uint32_t kOfNoSuperPod = UINT32_MAX;

// The required spread of a product's device addresses over subnets.
enum class SubnetPlan {
  // Devices 0/4, 1/5, 2/6, 3/7 of a host in one subnet each; 0-3 in four
  // different ones; device i of every host in the same one.
  kPairs,
  // One subnet for all devices of the cluster, or a gateway between several.
  kShared,
  // Each server may have its own subnet (A1 in AMP mode), routed by gateways.
  kPerServer,
  // No rule.
  kFree,
};

// Training processes that may share one device.
enum class ProcessLimit {
  kNotPublished,
  kOne,
  // From driver 25.0.RC1 on, with HCCL_HOST_SOCKET_PORT_RANGE and
  // HCCL_NPU_SOCKET_PORT_RANGE.
  kSeveral,
};

struct ReservedSubnet {
  Ipv4Subnet subnet;
  std::string why;  // e.g. "host vNIC of every product".
};

// One product in one mode.
struct ProductProfile {
  std::string name;   // In cluster.yaml and rules.md.
  std::string mode;   // Empty where the product has no modes.
  std::string title;  // For people, e.g. "Atlas training series (SMP)".
  // The name in facts.proto's IdentityFacts.npu_series; empty: not known.
  std::string npu_series;
  // Ids every server has; empty: any ids, gaps allowed.
  std::vector<uint32_t> device_ids;
  SubnetPlan subnet_plan = SubnetPlan::kFree;
  // Its devices talk over virtual NICs of 192.0.0.0/8.
  bool in_super_pod = false;
  // Servers one job may span; 0: no bound known.
  uint32_t max_servers = 0;
  // hccn_tool refuses addresses in these as "conflicted".
  std::vector<ReservedSubnet> reserved;
  // True if addresses of one subnet must differ in their last 8 bits.
  bool host_part_must_differ = false;
  // Devices 0-3 share one gateway, and so do the others: setting one replaces a
  // stored one of the same four, and that device's own.
  bool one_gateway_per_four = false;
  ProcessLimit process_limit = ProcessLimit::kNotPublished;
  // Possible numbers of devices of a job on a server; empty: not known.
  std::vector<uint32_t> job_device_counts;
  // A job of 2 or 4 devices on one server takes all of 0-3, or all of 4-7.
  bool job_in_one_four = false;
  // True: servers of a job must have equally many devices; false: should.
  bool job_equal_counts = false;
  // HCCL's names of data types of allreduce and reduce_scatter; or empty.
  std::vector<absl::string_view> job_dtypes;
  // HCCS connects this many devices of a server, and RoCE such rings with each
  // other; 0: HCCS connects all.
  uint32_t hccs_ring = 0;
  NpuToolFacts::Generation generation = NpuToolFacts::CLASSIC;
};

// True if the two devices of a server keep one gateway together.
bool ShareGateway(const ProductProfile& profile, uint32_t a, uint32_t b);

// Priorities that hccn_tool lets pause at once (PFC): eight on A1, four on A2
// and A3 (recorded runs y-pfc-count).
int MostPausing(const ProductProfile& profile);

// Every product in every mode, default mode first.
const std::vector<ProductProfile>& AllProductProfiles();

// NotFound, naming the known products (or modes) and the nearest one, for an
// unknown product or mode. An empty mode takes the default.
absl::StatusOr<const ProductProfile*> FindProductProfile(
    absl::string_view product, absl::string_view mode);

}  // namespace clusterd

#endif  // CONFIG_SPEC_PRODUCT_PROFILE_H_
