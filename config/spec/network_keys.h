// Keys of cluster.yaml about the network of jobs: RoCE without loss, which the
// switches' PFC needs, and, also in job files, ports of services such as Ray's:
//   lossless:
//     pfc: "0,0,0,0,1,0,0,0"   # on for priority 4
//     dscp_to_tc: "33:1,46:2"  # traffic class 0 for all others
//     roce_port: 4791
//   hccl:
//     rdma_tc: 132             # HCCL_RDMA_TC of the jobs: DSCP 33
//     rdma_sl: 4               # HCCL_RDMA_SL
//   ports: [6379, 8265, 10001-10999]
#ifndef CONFIG_SPEC_NETWORK_KEYS_H_
#define CONFIG_SPEC_NETWORK_KEYS_H_

#include <string>

#include "absl/status/statusor.h"
#include "config/spec/yaml_document.h"
#include "google/protobuf/repeated_field.h"
#include "proto/facts.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Both record mistakes.
void LoadLossless(const YamlValue& value, ClusterSpec* spec);
void LoadRdma(const YamlMap& map, HcclSpec* hccl);

// Arguments of hccn_tool's `-pfc -s bitmap`, `-dscp_to_tc` and `-udp -s port`,
// in the form of cluster.yaml. InvalidArgument, quoting the text.
absl::StatusOr<std::string> ParsePfc(const std::string& text);
absl::StatusOr<std::string> ParseDscpToTc(const std::string& text);
absl::StatusOr<uint32_t> ParseRocePort(const std::string& text);

// The keys as text, indented; empty if none was given.
std::string LosslessText(const LosslessSpec& lossless);
std::string RdmaText(const HcclSpec& hccl);

using ServicePorts =
    google::protobuf::RepeatedPtrField<ObserveRequest::PortRange>;

// Adds them, ascending, and records mistakes; at most 32 ranges.
void LoadServicePorts(const YamlValue& value, ServicePorts* ports);

// The key again, or nothing.
std::string ServicePortsText(const ServicePorts& ports);

}  // namespace clusterd

#endif  // CONFIG_SPEC_NETWORK_KEYS_H_
