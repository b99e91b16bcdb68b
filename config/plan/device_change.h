// What a spec wants of the devices of a host beside what they have, with every
// address parsed and in an order in which the addresses can be set.
// device_steps.cc makes steps of it.
#ifndef CONFIG_PLAN_DEVICE_CHANGE_H_
#define CONFIG_PLAN_DEVICE_CHANGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/plan/settings.h"
#include "config/plan/step_planners.h"
#include "config/spec/product_profile.h"
#include "config/values/ipv4.h"
#include "proto/facts.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// What a person does where a fact is missing.
inline constexpr char kAskTheTool[] =
    "let hccn_tool answer on this host, then plan again";

// Where a line of hccn.conf stands in the way of the tool.
inline constexpr char kCorrectTheLine[] =
    "correct that line or take it out, in place and under flock, then plan "
    "again";

// What is wanted of one device, and what it has. Pointers into spec and facts.
struct DeviceChange {
  const DeviceSpec* spec;
  const DeviceFacts* facts;                  // nullptr: the host sent nothing.
  std::optional<Ipv4Interface> live = {};    // nullopt: none is set.
  std::optional<Ipv4Interface> wanted = {};  // nullopt: the spec names none.

  bool sets_address() const { return wanted && live != wanted; }
};

// Why this is no address that anybody could have, by the product too; "":
// nothing is known against it.
std::string WhyNobodys(const ClusterSpec& spec, Ipv4Address address);

// Why hccn_tool cannot be used for changes on this host; "": it can.
std::string WhyNoSetCommands(const HostFacts& facts);

// Why no command puts right what hccn.conf has of a map; "": one does, or it is
// no map.
std::string WhyNoMap(const DeviceSetting& setting, uint32_t device,
                     const HostPlanBuilder& plan);

// A line that hccn_tool deletes with what the device of it has.
struct TakenGateway {
  const HccnConf::Entry* entry = nullptr;  // nullptr: none.
  std::string value = {};                  // As a repair of the file leaves it.
};

// What setting the device's gateway takes from another one: of those that have
// one together, the stored line of the lowest id (recorded runs x-A1-gateway).
// REQUIRES: facts.hccn_conf() has a value.
TakenGateway TakenBy(const ProductProfile& profile, const HostFacts& facts,
                     uint32_t device);

// One for each device whose live address is known and whose wanted one could
// be set; the others are blocked. Those whose address is wrong come in an order
// in which an address is free before it is set. Blocks an address that another
// device has and keeps, maybe because its own change is blocked, and devices
// that take over each other's addresses in a circle.
std::vector<DeviceChange> OrderedChanges(const ClusterSpec& spec,
                                         const ServerSpec& server,
                                         HostPlanBuilder* plan);

}  // namespace clusterd

#endif  // CONFIG_PLAN_DEVICE_CHANGE_H_
