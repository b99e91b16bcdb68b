// Ports of a job's other services, e.g. of Ray, in cluster.yaml and job files:
//   ports: [6379, 8265, 10001-10999]
#ifndef CONFIG_SPEC_SERVICE_PORTS_H_
#define CONFIG_SPEC_SERVICE_PORTS_H_

#include "config/spec/yaml_document.h"
#include "google/protobuf/repeated_field.h"
#include "proto/facts.pb.h"

namespace clusterd {

using ServicePorts =
    google::protobuf::RepeatedPtrField<ObserveRequest::PortRange>;

// Adds them, ascending, and records mistakes; at most 32 ranges.
void LoadServicePorts(const YamlValue& value, ServicePorts* ports);

// The key again, or nothing.
std::string ServicePortsText(const ServicePorts& ports);

}  // namespace clusterd

#endif  // CONFIG_SPEC_SERVICE_PORTS_H_
