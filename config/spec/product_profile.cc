// Sources of the values, by the words that each product names:
//   adapt      Ascend "multi-node multi-device" guide,
//              https://www.hiascend.com/document/detail/zh/Pytorch/700/
//              ptmoddevg/trainingmigrguide/PT_LMTMOG_0022.html
//   hccl       HCCL user guide, constraints.md
//   tool       hccn_tool source, hicann/driver ef377e95, ascend910B/hccn_tool/
//              tool_ops.c and tool_ops_ext.c
//   tool-950   the same, ascend950/hccn_tool
//   deployer   Ascend/ascend-deployer 0fbb89f1,
//              offline-deploy/tools/hccn/main/hccn.go
//   deployer-guide  https://www.hiascend.com/document/detail/zh/mindcluster/
//              600/deployer/deployerug/deployer_0025.html
//   box16      https://hiascend.com/document/detail/zh/mindx-dl/600/
//              clusterscheduling/ref/affinityschedulesd/
//              dl_affinity_0026.html
//   card       https://hiascend.com/doc_center/source/zh/canncommercial/63RC2/
//              envdeployment/instg/instg_000044.html
//   a3         Atlas A3 hccn_tool reference,
//              https://www.hiascend.com/document/detail/zh/HDK/latest/A3/
//              A3HCCN/hccntool_002.html
#include "config/spec/product_profile.h"

#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

// `count` numbers from `first` on.
std::vector<uint32_t> FirstIds(size_t count, uint32_t first = 0) {
  std::vector<uint32_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

ReservedSubnet Reserved(uint32_t network, int prefix_length, std::string why) {
  return {Ipv4Subnet(Ipv4Address(network), prefix_length), std::move(why)};
}

ReservedSubnet HostVnic() {
  return Reserved(0xc0a80100, 24,
                  "the host side of every product's virtual NIC, "
                  "192.168.1.199, is in it");
}

ReservedSubnet DeviceVnic(uint32_t network) {
  return Reserved(network, 24, "device virtual NICs of this product use it");
}

ProductProfile TrainingSmp() {
  // Sources: adapt, hccl, tool
  ProductProfile profile;
  profile.name = "atlas-training";
  profile.mode = "smp";
  profile.title = "Atlas training series (SMP)";
  profile.npu_series = "A1";
  profile.device_ids = FirstIds(8);
  profile.subnet_plan = SubnetPlan::kPairs;
  profile.max_servers = 512;
  profile.reserved = {HostVnic(), DeviceVnic(0xc0a80200),
                      DeviceVnic(0xc0a80300), DeviceVnic(0xc0a80400),
                      DeviceVnic(0xc0a80500)};
  profile.host_part_must_differ = true;
  profile.one_gateway_per_four = true;
  profile.process_limit = ProcessLimit::kOne;
  profile.job_device_counts = {1, 2, 4, 8};
  profile.job_in_one_four = true;
  profile.job_equal_counts = true;
  profile.job_dtypes = {"int8", "int32", "fp16", "fp32"};
  return profile;
}

// The vendor's deployment tool puts all eight devices of a server in AMP mode
// in one subnet. The mode is set in the BMC and the host cannot see it.
ProductProfile TrainingAmp() {
  // Sources: adapt, hccl, deployer, tool
  ProductProfile profile = TrainingSmp();
  profile.mode = "amp";
  profile.title = "Atlas training series (AMP)";
  profile.subnet_plan = SubnetPlan::kPerServer;
  profile.reserved = {HostVnic(), DeviceVnic(0xc0a80200)};
  return profile;
}

ProductProfile A2() {
  // Sources: adapt, hccl, deployer-guide, tool
  ProductProfile profile;
  profile.name = "atlas-a2";
  profile.title = "Atlas A2 training series";
  profile.npu_series = "A2";
  profile.device_ids = FirstIds(8);
  profile.subnet_plan = SubnetPlan::kShared;
  profile.max_servers = 1152;
  profile.process_limit = ProcessLimit::kSeveral;
  profile.job_device_counts = FirstIds(8, 1);
  profile.job_dtypes = {"int8", "int32", "fp16", "fp32", "bfp16"};
  profile.reserved = {HostVnic(), DeviceVnic(0xc0a80200)};
  return profile;
}

ProductProfile A2Box16() {
  // Sources: adapt, box16, tool
  ProductProfile profile = A2();
  profile.name = "atlas-a2-box16";
  profile.title = "Atlas 200T A2 Box16";
  profile.device_ids = FirstIds(16);
  profile.hccs_ring = 8;
  // Above one ring of eight, jobs are split evenly over both (box16).
  profile.job_device_counts = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16};
  return profile;
}

ProductProfile A3() {
  // Sources: adapt, a3, tool
  ProductProfile profile = A2();
  profile.name = "atlas-a3";
  profile.title = "Atlas A3 training series, outside a super pod";
  profile.npu_series = "A3";
  profile.device_ids = FirstIds(16);
  // The documents count NPUs, 1 to 8; each has two devices.
  profile.job_device_counts = FirstIds(16, 1);
  profile.reserved = {
      Reserved(0xc0a80000, 21, "virtual NICs of Atlas A3 servers use it")};
  return profile;
}

// Traffic inside a super pod goes over the virtual NICs; device addresses only
// serve traffic between pods, so no subnet plan is known for them.
ProductProfile A3SuperPod() {
  // Sources: adapt, a3, tool
  ProductProfile profile = A3();
  profile.name = "atlas-a3-superpod";
  profile.title = "Atlas A3 training series, in a super pod";
  profile.subnet_plan = SubnetPlan::kFree;
  profile.in_super_pod = true;
  profile.reserved = {
      Reserved(0xc0000000, 8, "virtual NICs of a super pod use 192.0.0.0/8")};
  return profile;
}

ProductProfile Card300T() {
  // Sources: card, hccl, tool
  ProductProfile profile;
  profile.name = "atlas-300t";
  profile.title = "Atlas 300T training card";
  profile.process_limit = ProcessLimit::kOne;
  // Its cards may share a subnet; between several there must be a way.
  profile.subnet_plan = SubnetPlan::kShared;
  profile.reserved = {HostVnic()};
  return profile;
}

ProductProfile Ascend950() {
  // Sources: tool-950
  ProductProfile profile;
  profile.name = "ascend-950";
  profile.title = "Ascend 950";
  profile.device_ids = FirstIds(8);
  // The plan is not published. Devices without a common gateway cannot meet.
  profile.subnet_plan = SubnetPlan::kShared;
  profile.reserved = {HostVnic()};
  profile.generation = NpuToolFacts::ASCEND_950;
  return profile;
}

}  // namespace

bool ShareGateway(const ProductProfile& profile, uint32_t a, uint32_t b) {
  constexpr uint32_t kFour = 4;
  return a == b || (profile.one_gateway_per_four && (a < kFour) == (b < kFour));
}

int MostPausing(const ProductProfile& profile) {
  return profile.npu_series == "A2" || profile.npu_series == "A3" ? 4 : 8;
}

const std::vector<ProductProfile>& AllProductProfiles() {
  static const auto* const profiles = new std::vector<ProductProfile>{
      TrainingSmp(), TrainingAmp(), A2(),       A2Box16(),
      A3(),          A3SuperPod(),  Card300T(), Ascend950()};
  return *profiles;
}

absl::StatusOr<const ProductProfile*> FindProductProfile(
    absl::string_view product, absl::string_view mode) {
  std::vector<absl::string_view> names, modes;
  for (const ProductProfile& profile : AllProductProfiles()) {
    if (names.empty() || names.back() != profile.name) {
      names.push_back(profile.name);
    }
    if (profile.name != product) continue;
    if (mode.empty() || profile.mode == mode) return &profile;
    if (!profile.mode.empty()) modes.push_back(profile.mode);
  }
  if (!absl::c_linear_search(names, product)) {
    return NotFoundWords("msg-spec-product", product,
                         absl::StrJoin(names, ", "),
                         DidYouMeanWords(product, names));
  }
  if (modes.empty()) {
    return NotFoundWords("msg-spec-no-modes", mode, product);
  }
  return NotFoundWords("msg-spec-mode", mode, product,
                       absl::StrJoin(modes, ", "),
                       DidYouMeanWords(mode, modes));
}

}  // namespace clusterd
