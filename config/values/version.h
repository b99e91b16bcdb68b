// The version of clusterd. One number for the daemon, the controller and
// clusterctl, which are released together; and one for the protocol between
// them, which increases when an old peer could misread a new one.
#ifndef CONFIG_VALUES_VERSION_H_
#define CONFIG_VALUES_VERSION_H_

#include <cstdint>

namespace clusterd {

inline constexpr char kClusterdVersion[] = "0.1.0";

// Hello.protocol_version of agent_hub.proto.
inline constexpr uint32_t kProtocolVersion = 3;

// ClusterPlan.schema_version of plan.proto.
inline constexpr uint32_t kPlanSchemaVersion = 3;

// Report.schema_version of finding.proto.
inline constexpr uint32_t kReportSchemaVersion = 2;

}  // namespace clusterd

#endif  // CONFIG_VALUES_VERSION_H_
