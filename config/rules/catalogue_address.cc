#include <utility>

#include "absl/strings/str_cat.h"
#include "config/rules/catalogue_parts.h"

namespace clusterd {
namespace {

constexpr char kDeployerGuide[] =
    "MindCluster deployer guide, planning device addresses: "
    "https://www.hiascend.com/document/detail/zh/mindcluster/600/deployer/"
    "deployerug/deployer_0025.html";
constexpr char kReachGuide[] =
    "HCCL user guide, device network is not reachable: "
    "https://www.hiascend.com/document/detail/zh/canncommercial/81RC1/"
    "developmentguide/hccl/hcclug/hcclug_000055.html";
constexpr char kSetAddress[] =
    "hccn_tool -i N -ip -s address A netmask M with the planned values, then "
    "the "
    "gateway and the detect address: setting an address drops a gateway or "
    "route "
    "outside the new subnet.";
constexpr char kLostAtBoot[] =
    "The driver sets devices from that file at boot: the cluster passes today, "
    "and after the next reboot of one host it has another address there, or "
    "none.";
constexpr char kNoLink[] =
    "Devices of one rail cannot reach each other: EI0006, \"The communication "
    "link is disconnected. (For example, the IP addresses are not on the same "
    "network segment ...)\".";

std::vector<RuleInfo> DeviceIpRules() {
  return {
      {"device-ip-set", "address", "every device has an address",
       "hccn_tool -i N -ip -g says that none is set.",
       "HCCL finds no device IP: EI0014 or EI0017, \"'device_ip' is not set "
       "correctly\". Jobs on one server may still run, since they need no "
       "network.",
       kSetAddress, "fail",
       absl::StrCat(
           kTrainingGuide,
           "; https://github.com/vllm-project/vllm-ascend/issues/7711"),
       true},
      {"device-ip-planned", "address", "every device has the planned address",
       "The live address or netmask differs from cluster.yaml.",
       "Rank tables and peers use the planned address: EI0014, \"the IP "
       "address "
       "in the ranktable is inconsistent with the IP address of the network "
       "adapter\", or no answer at all.",
       kSetAddress, "fail", kTrainingGuide, true},
      {"device-ip-persistent", "address",
       "/etc/hccn.conf brings every address back at boot",
       "The live address or netmask differs from address_N or netmask_N in "
       "/etc/hccn.conf, or the file has no such line.",
       "The driver sets devices from that file at boot, so the address is lost "
       "or changes at the next reboot. Services that read the file (vLLM's "
       "KV transfer among them) use a wrong address today.",
       "Set the address with hccn_tool, which writes device and file; then "
       "read "
       "both back.",
       "fail",
       absl::StrCat(kToolSource,
                    "; https://github.com/vllm-project/vllm-ascend/pull/16847"),
       true},
      {"device-ip-allowed", "address", "every address may be used on a device",
       "The address lies in a range that the tool reserves on this product, or "
       "is one that the tool takes and no network carries: loopback, "
       "multicast, "
       "class E, the network or broadcast address of its subnet, netmask "
       "0.0.0.0.",
       "The range belongs to the host's virtual NICs, or routers drop it: the "
       "device cannot be reached, and probes end in Receive timeout.",
       "Plan another subnet in cluster.yaml; then hccn_tool -i N -ip -s "
       "address "
       "A netmask M.",
       "fail", kToolSource, true},
  };
}

std::vector<RuleInfo> RouteRules() {
  return {
      {"gateway", "address", "every set gateway can route for its device",
       "The gateway lies outside the device's subnet, or is the device's own, "
       "the network or the broadcast address (the tool takes these three). A "
       "warning when the spec names a gateway and the device has none or "
       "another "
       "one.",
       "Traffic to other subnets goes nowhere: EI0006, getting socket times "
       "out; "
       "HCCL test ends with retcode 4.",
       "hccn_tool -i N -gateway -s gateway G, after the address is set.",
       "fail; warn when missing or not the planned one",
       absl::StrCat(kToolSource, "; ", kReachGuide), true},
      {"gateway-persistent", "address",
       "/etc/hccn.conf brings every gateway back at boot",
       "The live gateway differs from gateway_N in /etc/hccn.conf, planned or "
       "not: the file has another or none, or has one and the device none. A "
       "device with udhcpc_enable_N is skipped, since the recovery at boot "
       "does not take its gateway from the file. Unknown where they differ on "
       "Ascend 950.",
       kLostAtBoot,
       "clusterctl plan and apply set the live gateway again through "
       "hccn_tool, which writes the file; by hand: hccn_tool -i N -gateway -s "
       "gateway G. hccn_tool has no command that takes a gateway away: a line "
       "too many is removed in place, under flock.",
       "warn", kToolSource, true},
      {"detect-address", "address",
       "every device has a detect address that tells something",
       "The address that the device probes is not set (0.0.0.0), is its own, "
       "lies in a reserved or unroutable range, or lies outside its subnet "
       "with "
       "no gateway to reach it. A warning when it is reached through a "
       "gateway, "
       "or is not the planned one.",
       "Without a sensible detect address net-health stays Init, ends in "
       "Receive "
       "timeout or tests nothing, and a broken port is not noticed before "
       "training.",
       "hccn_tool -i N -netdetect -s address D, usually the gateway of the "
       "device's own subnet.",
       "fail / warn", kTrainingGuide, true},
      {"detect-address-persistent", "address",
       "/etc/hccn.conf brings every detect address back at boot",
       "The live detect address differs from netdetect_N in /etc/hccn.conf, "
       "planned or not: the file has another or none, or has one and the "
       "device none (0.0.0.0). Unknown where they differ on Ascend 950.",
       kLostAtBoot,
       "clusterctl plan and apply set the live detect address again through "
       "hccn_tool, which writes the file; by hand: hccn_tool -i N -netdetect "
       "-s address D.",
       "warn", kToolSource, true},
  };
}

std::vector<RuleInfo> SubnetRules() {
  return {
      {"subnet-pairs", "address",
       "devices 0/4, 1/5, 2/6, 3/7 share a subnet each",
       "Atlas training series in SMP mode: the two devices of a pair lie in "
       "different subnets, computed from address and netmask of each.",
       kNoLink, kSetAddress, "fail",
       absl::StrCat(kTrainingGuide, "; ", kDeployerGuide), true},
      {"subnet-distinct", "address",
       "devices 0-3, and devices 4-7, lie in four different subnets",
       "Atlas training series in SMP mode: two devices of 0-3, or two of 4-7, "
       "lie in subnets that are equal or overlap.",
       "Answers leave through another port than the one that was asked, and "
       "rails that should be separate mix: links between servers fail, EI0006.",
       kSetAddress, "fail", absl::StrCat(kTrainingGuide, "; ", kDeployerGuide),
       true},
      {"subnet-across-hosts", "address",
       "device i lies in the same subnet on every host",
       "Atlas training series in SMP mode: device i of two hosts lies in "
       "different subnets, computed from address and netmask of each.",
       kNoLink, kSetAddress, "fail",
       absl::StrCat(kTrainingGuide, "; ", kReachGuide), false},
      {"subnet-shared", "address",
       "all devices share a subnet, or gateways route between their subnets",
       "Atlas A2 and A3: the devices lie in several subnets, and a device has "
       "no gateway inside its own.",
       kNoLink, kSetAddress, "fail",
       absl::StrCat(kTrainingGuide, "; ", kDeployerGuide), false},
  };
}

std::vector<RuleInfo> DifferenceRules() {
  return {
      {"ip-unique", "address", "no address stands twice in the cluster",
       "One address belongs to two among device addresses, gateways and host "
       "addresses. Devices that share a gateway are normal. hccn_tool compares "
       "within one server at most, so it does not notice.",
       "Two owners answer for one address and traffic reaches either: links "
       "fail "
       "at random, EI0006; EI0014 in a rank table (\"is repeate\").",
       "Give all owners but one another address.", "fail",
       absl::StrCat(kTrainingGuide, "; ", kToolSource), false},
      {"ip-host-part", "address",
       "addresses of one subnet differ in their last 8 bits",
       "Two addresses of one subnet end in the same number, which a subnet "
       "wider "
       "than /24 allows. A warning on A2 and A3, and where a subnet has more "
       "addresses than 8 bits can tell apart.",
       "The vendor asks that addresses of one subnet differ in the last 8 bits "
       "and does not say what happens otherwise.",
       "Plan addresses that differ in the last number, or more and smaller "
       "subnets.",
       "fail on the Atlas training series, else warn", kTrainingGuide, false},
      {"netmask-uniform", "address",
       "devices of one subnet agree about its netmask",
       "Subnets of two devices overlap and their netmasks differ. The tool "
       "never "
       "compares them.",
       "One side thinks that the other is local, the other sends to its "
       "gateway: "
       "links work in one direction or not at all, EI0006.",
       "hccn_tool -i N -ip -s address A netmask M with the others' netmask.",
       "fail", absl::StrCat(kDeployerGuide, "; ", kToolSource), false},
  };
}

}  // namespace

std::vector<RuleInfo> AddressRules() {
  std::vector<RuleInfo> rules = DeviceIpRules();
  for (const auto part : {RouteRules, SubnetRules, DifferenceRules}) {
    for (RuleInfo& rule : part()) rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace clusterd
