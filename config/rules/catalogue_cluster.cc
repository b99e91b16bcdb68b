#include "absl/strings/str_cat.h"
#include "config/rules/catalogue_parts.h"

namespace clusterd {

std::vector<RuleInfo> ClusterRules() {
  return {
      {"tls-uniform", "cluster", "the TLS switch is the same on every device",
       "The switch differs between devices anywhere in the cluster, or from "
       "tls "
       "of the spec. It is read from tls_enable_N in /etc/hccn.conf, since "
       "asking the tool writes that key where it is missing. Where the spec "
       "states tls and the key is there, the device itself is asked too, and "
       "the file must say the same.",
       "A hang with \"ssl3_get_record:wrong version number, The possible cause "
       "is that the TLS switch is inconsistent\"; HCCL's own check, where it "
       "exists, reports EI0016 (EI0014 in CANN 8.5).",
       "hccn_tool -i N -tls -s enable 0 (or 1), the same on every device.",
       "fail",
       "https://www.hiascend.com/document/caselibrary/detail/case_9514; HCCL "
       "user guide, cluster_info_verify_fail.md",
       false},
      {"mtu-uniform", "cluster",
       "the MTU is the same on every device of a rail",
       "Device i has another MTU than device i elsewhere, or than mtu of the "
       "spec.",
       "Frames larger than the smallest MTU on the way are dropped or cut into "
       "pieces: slow or stalled transfers that only large messages show.",
       "hccn_tool -i N -mtu -s size BYTES.", "warn", kToolSource, false},
      {"version-uniform", "cluster",
       "driver, firmware, CANN and product are the same on every host",
       "One of them differs between hosts; the smallest group is named first. "
       "Another NPU series than the spec's product is a failure. Hosts without "
       "CANN agree with each other: it may live in containers.",
       "HCCL refuses mixed versions, EI0008, \"The %s versions are "
       "inconsistent\", or behaves differently on each side; series do not "
       "train "
       "together.",
       "Install the version of the majority on the hosts that are named.",
       "warn; fail for the product",
       "HCCL communication source, hcomm 8958adbf, error_code.cc", false},
      {"cluster-size", "cluster", "the product allows this many servers",
       "The spec has more servers than one job of the product may span: 512 on "
       "the Atlas training series, 1152 on A2 and A3.",
       "HCCL does not support more servers in one cluster.",
       "Split the cluster in cluster.yaml.", "fail", kTrainingGuide, false},
      {"cluster-size-power", "cluster",
       "the number of servers is a power of two",
       "The spec's number of servers is not 1, 2, 4, 8, 16, ...",
       "Training runs. Collectives are fastest with a power of two.",
       "Use a power of two for jobs if you can choose.", "warn", kTrainingGuide,
       false},
      {"host-identity", "cluster",
       "every host is attached, one machine per name",
       "A host of the spec never attached or gave no answer (unknown), or two "
       "machines present themselves under one name (fail).",
       "What no host says nobody can judge; a name with two machines makes "
       "every "
       "other answer about it doubtful.",
       "Start clusterd on the host (systemctl start clusterd); give every "
       "machine a certificate of its own.",
       "fail / unknown", "clusterd: this rule is the product's own", false},
  };
}

}  // namespace clusterd
