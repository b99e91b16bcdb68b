// The planners of a device's settings. device_steps.cc has a table of them:
// most settings take DevicePlanner::PlanAsked, and what is special about one is
// a planner of its own.
#ifndef CONFIG_PLAN_DEVICE_PLANNER_H_
#define CONFIG_PLAN_DEVICE_PLANNER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/plan/step_planners.h"
#include "config/spec/product_profile.h"
#include "config/values/ipv4.h"

namespace clusterd {

// Spec and state of one device. Pointers into spec and facts.
struct DeviceChange {
  const DeviceSpec* spec;
  const DeviceFacts* facts;                  // nullptr: the host sent nothing.
  std::optional<Ipv4Interface> live = {};    // nullopt: none is set.
  std::optional<Ipv4Interface> wanted = {};  // nullopt: the spec names none.

  uint32_t id() const { return spec->id(); }
  bool sets_address() const { return wanted && live != wanted; }
};

// Why no port could have this address, also because of the product.
Obstruction WhyUnassigned(const ClusterSpec& spec, Ipv4Address address);

// Why hccn_tool cannot be used for changes on this host.
Obstruction WhyNoSetCommands(const HostFacts& facts);

// Why no command can correct hccn.conf's value of a map.
Obstruction WhyNoMap(const DeviceSetting& setting, uint32_t device,
                     const HostPlanBuilder& plan);

// One change for each device whose live address is known and whose wanted one
// could be set; the others are blocked. Wrong addresses are ordered so that
// each is free before it is set. Blocks an address that another device keeps,
// maybe because its own change is blocked, and cycles of devices that take over
// addresses.
std::vector<DeviceChange> OrderedChanges(const ClusterSpec& spec,
                                         const ServerSpec& server,
                                         HostPlanBuilder* plan);

// "TLS switch off", "gateway 10.0.0.254".
FindingValue WhatWords(const DeviceSetting& setting, const SettingValue& value);

// Plans any setting of any device of one host.
class DevicePlanner {
 public:
  // Both must outlive it.
  DevicePlanner(const ClusterSpec& spec, HostPlanBuilder* plan);

  const ClusterSpec& spec() const { return spec_; }
  HostPlanBuilder& plan() const { return plan_; }
  const ProductProfile& profile() const { return profile_; }

  // Unknown for a device without facts.
  static SettingValue LiveOf(const DeviceSetting& setting,
                             const DeviceChange& change) {
    return change.facts == nullptr ? SettingValue()
                                   : setting.Live(*change.facts);
  }

  // Plans the spec's value; nothing if the spec has none. Blocks a value that
  // `why` says would not work.
  void PlanAsked(const DeviceSetting& setting, const DeviceChange& change,
                 Obstruction why = std::nullopt);

  // Sets the value.
  PlanStep* PlanSet(const DeviceSetting& setting, uint32_t device,
                    const SettingValue& from, const SettingValue& to,
                    std::vector<FactKey> rests_on = {});
  // The live value is right: sets it again if the file differs.
  void PlanRewrite(const DeviceSetting& setting, uint32_t device,
                   const SettingValue& live,
                   std::vector<FactKey> rests_on = {});

  void Block(const DeviceSetting& setting, uint32_t device,
             const SettingValue& asked, const FindingValue& why,
             const FindingValue& fix);
  // Blocks the request because the live value is not known.
  void BlockUnknown(const DeviceSetting& setting, const DeviceChange& change,
                    const SettingValue& asked);

 private:
  PlanStep* AddStep(const DeviceSetting& setting, uint32_t device,
                    const SettingValue& from, const SettingValue& to,
                    std::vector<FactKey> rests_on);

  const ClusterSpec& spec_;
  HostPlanBuilder& plan_;
  ProductProfile profile_;
};

// A line that hccn_tool deletes together with its device's live value.
struct TakenGateway {
  const HccnConf::Entry* entry = nullptr;  // nullptr: none.
  std::string value = {};                  // As a repair of the file leaves it.
};

// Plans the gateways of one host, of which some devices share one
// (ProductProfile), by the rules of PlanDeviceSteps.
class GatewayPlanner {
 public:
  // Chooses who keeps a shared gateway. All must outlive it.
  GatewayPlanner(const std::vector<DeviceChange>& changes,
                 DevicePlanner* devices);

  // True if `-gateway -s` gives the device a gateway that lasts.
  bool MaySet(uint32_t device) const;

  void Plan(const DeviceChange& change);

 private:
  SettingValue LiveOf(const DeviceChange& change) const {
    return DevicePlanner::LiveOf(row_, change);
  }
  std::optional<SettingValue> Asked(const DeviceChange& change) const;
  // Why a device with this change cannot use the gateway.
  Obstruction WhyNot(const DeviceChange& change,
                     const SettingValue& gateway) const;
  bool HasDhcp(uint32_t device) const;
  bool IsStored(uint32_t device, const SettingValue& gateway) const;
  TakenGateway TakenBy(uint32_t device) const;

  int KeeperRank(const DeviceChange& change) const;
  void ChooseKeeper(const DeviceChange& change);
  const DeviceChange* KeeperFor(uint32_t device) const;

  bool Blocks(const DeviceChange& change, const FindingValue& why,
              const FindingValue& fix);
  bool CanPlan(const DeviceChange& change);
  bool MayTake(const DeviceChange& change);
  void PlanOver(const DeviceChange& change, const SettingValue& live,
                const SettingValue& wanted, const TakenGateway& taken);
  bool FileKeepsAddress(const DeviceChange& change) const;
  void Keep(const DeviceChange& change);

  const DeviceSetting& row_;
  DevicePlanner& devices_;
  HostPlanBuilder& plan_;
  // Keyed by device id.
  std::map<uint32_t, DeviceChange> keepers_;
};

}  // namespace clusterd

#endif  // CONFIG_PLAN_DEVICE_PLANNER_H_
