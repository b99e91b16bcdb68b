// Where the values come from; a row names its sources:
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

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/nearest_word.h"

namespace clusterd {
namespace {

std::vector<uint32_t> FirstIds(size_t count) {
  std::vector<uint32_t> ids(count);
  std::iota(ids.begin(), ids.end(), 0);
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

std::vector<ProductProfile> MakeProfiles() {
  return {
      // adapt, hccl, tool
      {"atlas-training",
       "smp",
       "Atlas training series (SMP)",
       "A1",
       FirstIds(8),
       SubnetPlan::kPairs,
       /*max_servers=*/512,
       {HostVnic(), DeviceVnic(0xc0a80200), DeviceVnic(0xc0a80300),
        DeviceVnic(0xc0a80400), DeviceVnic(0xc0a80500)},
       /*host_part_must_differ=*/true},
      // In AMP mode the vendor's deployment tool puts all eight devices of a
      // server in one subnet. The mode is set in the BMC and the host cannot
      // see it: adapt, hccl, deployer, tool
      {"atlas-training",
       "amp",
       "Atlas training series (AMP)",
       "A1",
       FirstIds(8),
       SubnetPlan::kPerServer,
       /*max_servers=*/512,
       {HostVnic(), DeviceVnic(0xc0a80200)},
       /*host_part_must_differ=*/true},
      // adapt, hccl, deployer-guide, tool
      {"atlas-a2",
       "",
       "Atlas A2 training series",
       "A2",
       FirstIds(8),
       SubnetPlan::kShared,
       /*max_servers=*/1152,
       {HostVnic(), DeviceVnic(0xc0a80200)}},
      // adapt, box16, tool
      {"atlas-a2-box16",
       "",
       "Atlas 200T A2 Box16",
       "A2",
       FirstIds(16),
       SubnetPlan::kShared,
       /*max_servers=*/1152,
       {HostVnic(), DeviceVnic(0xc0a80200)}},
      // adapt, a3, tool
      {"atlas-a3",
       "",
       "Atlas A3 training series, outside a super pod",
       "A3",
       FirstIds(16),
       SubnetPlan::kShared,
       /*max_servers=*/1152,
       {Reserved(0xc0a80000, 21, "virtual NICs of Atlas A3 servers use it")}},
      // Traffic inside a super pod goes over the virtual NICs; device addresses
      // only serve traffic between pods, so no subnet plan is known for them:
      // adapt, a3, tool
      {"atlas-a3-superpod",
       "",
       "Atlas A3 training series, in a super pod",
       "A3",
       FirstIds(16),
       SubnetPlan::kFree,
       /*max_servers=*/1152,
       {Reserved(0xc0000000, 8,
                 "virtual NICs of a super pod use 192.0.0.0/8")}},
      // card, tool
      {"atlas-300t",
       "",
       "Atlas 300T training card",
       "",
       {},
       SubnetPlan::kFree,
       /*max_servers=*/0,
       {HostVnic()}},
      // tool-950
      {"ascend-950",
       "",
       "Ascend 950",
       "",
       FirstIds(8),
       SubnetPlan::kFree,
       /*max_servers=*/0,
       {HostVnic()},
       /*host_part_must_differ=*/false,
       NpuToolFacts::ASCEND_950}};
}

std::vector<absl::string_view> ProductNames() {
  std::vector<absl::string_view> names;
  for (const ProductProfile& profile : AllProductProfiles()) {
    if (names.empty() || names.back() != profile.name) {
      names.push_back(profile.name);
    }
  }
  return names;
}

absl::Status UnknownProduct(absl::string_view product) {
  const std::vector<absl::string_view> names = ProductNames();
  return absl::NotFoundError(
      absl::StrCat("product \"", product, "\" is not known, expected one of ",
                   absl::StrJoin(names, ", "), DidYouMean(product, names)));
}

absl::Status UnknownMode(absl::string_view product, absl::string_view mode,
                         const std::vector<absl::string_view>& modes) {
  if (modes.empty()) {
    return absl::NotFoundError(absl::StrCat("mode \"", mode, "\": product ",
                                            product, " has no modes"));
  }
  return absl::NotFoundError(absl::StrCat(
      "mode \"", mode, "\" is not known for ", product, ", expected one of ",
      absl::StrJoin(modes, ", "), DidYouMean(mode, modes)));
}

}  // namespace

const std::vector<ProductProfile>& AllProductProfiles() {
  static const auto* const profiles =
      new std::vector<ProductProfile>(MakeProfiles());
  return *profiles;
}

absl::StatusOr<const ProductProfile*> FindProductProfile(
    absl::string_view product, absl::string_view mode) {
  std::vector<absl::string_view> modes;
  bool product_known = false;
  for (const ProductProfile& profile : AllProductProfiles()) {
    if (profile.name != product) continue;
    if (mode.empty() || profile.mode == mode) return &profile;
    product_known = true;
    if (!profile.mode.empty()) modes.push_back(profile.mode);
  }
  if (!product_known) return UnknownProduct(product);
  return UnknownMode(product, mode, modes);
}

}  // namespace clusterd
