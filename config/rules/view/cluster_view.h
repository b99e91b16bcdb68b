// The input of all rules: spec and facts side by side, every address parsed
// once. Built per judgement, in spec order, linear in hosts and devices. Points
// into spec and facts, which must outlive it. Safe for concurrent use.
#ifndef CONFIG_RULES_VIEW_CLUSTER_VIEW_H_
#define CONFIG_RULES_VIEW_CLUSTER_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "config/spec/product_profile.h"
#include "config/values/ipv4.h"
#include "config/words/fact_text.h"
#include "config/words/waiver_text.h"
#include "config/words/words.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"
#include "proto/job.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Far above any product; further devices of a host are ignored.
inline constexpr size_t kMaxDevicesOfHost = 256;
inline constexpr size_t kMaxAddressesOfDevice = 16;

// A value of a device from hccn_tool, or why it is missing. Rules read these
// facts only here; RuleReport::Knows turns a missing value into its finding.
template <typename Value>
struct Reading : std::optional<Value> {
  // Null also where the fact was not asked for, or is there and not understood.
  const Missing* missing = nullptr;
  // For a fact that is there and not understood: the error.
  absl::Status misread;

  FindingValue Why() const {
    if (misread.ok()) return MissingWords(missing);
    return Worded("why-with-detail", Worded("why-unreadable"),
                  PrintableText(misread.message()));
  }
};

// 0.0.0.0: the device says that none is set.
struct AddressReading : Reading<Ipv4Address> {
  bool IsUnset() const { return has_value() && value().IsUnset(); }
  bool IsSet() const { return has_value() && !value().IsUnset(); }
};

struct HostView;
struct DeviceView {
  uint32_t id = 0;
  const HostView* host = nullptr;  // Never null in a view.
  // Never null; empty where the host lists the id and sent no facts about it.
  const DeviceFacts* facts = &DeviceFacts::default_instance();
  // Null: the spec does not plan this device.
  const DeviceSpec* spec = nullptr;

  // Members that most rules read stand first, for the processor's cache. From
  // the spec; unset if it names none.
  std::optional<Ipv4Interface> planned;
  std::optional<Ipv4Address> planned_gateway;
  std::optional<Ipv4Address> planned_detect;
  // The first line with address_N, netmask_N and so on in hccn.conf, as the
  // tool reads them; null: no such key.
  const HccnConf::Entry* conf_address = nullptr;
  const HccnConf::Entry* conf_netmask = nullptr;
  const HccnConf::Entry* conf_gateway = nullptr;
  const HccnConf::Entry* conf_detect = nullptr;
  const HccnConf::Entry* conf_dhcp = nullptr;
  const HccnConf::Entry* conf_tls = nullptr;
  const HccnConf::Entry* conf_mtu = nullptr;
  const HccnConf::Entry* conf_pfc = nullptr;
  const HccnConf::Entry* conf_roce_port = nullptr;
  const HccnConf::Entry* conf_port_mode = nullptr;
  const HccnConf::Entry* conf_dscp = nullptr;
  // The first fact for which the tool timed out or stayed busy, otherwise the
  // first one of a mute device; null: none.
  const Missing* silence = nullptr;
  // No query about it had an answer that can be read.
  bool mute = false;
  // A mute one: the tool failed each time, and not for another of the host's.
  bool dead = false;

  // Empty: none is set. Several on boards with several ports a device.
  Reading<absl::InlinedVector<Ipv4Interface, 2>> addresses;
  AddressReading gateway;
  AddressReading detect_address;
  Reading<LinkFact::Link> link;
  Reading<NetHealth> net_health;
  Reading<bool> neighbour_heard;
  Reading<bool> tls_enabled;
  Reading<uint64_t> mtu;
  Reading<uint64_t> speed;  // Mb/s.
  Reading<const VnicFact::Vnic*> vnic;
  Reading<RecoveryFact::Recovery> recovery;
  // As in DeviceFacts; they point into the facts.
  Reading<absl::string_view> pfc;
  Reading<absl::string_view> dscp_to_tc;
  Reading<absl::string_view> priority_to_tc;
  Reading<absl::string_view> roce_port;
  Reading<const OpticalFact::Module*> optical;
  Reading<const LinkHistoryFact::History*> link_history;
  Reading<const CounterRisesFact::Rises*> counter_rises;

  // Those of `addresses`; empty also if they are not known.
  absl::Span<const Ipv4Interface> interfaces() const;
  bool HasAddress() const { return !interfaces().empty(); }
  bool Has(const Ipv4Interface& interface) const;
  bool HasPlannedAddress() const { return planned && Has(*planned); }
  // The planned address if it is among the live ones, otherwise the first.
  // REQUIRES: HasAddress().
  Ipv4Interface Address() const;
};

// Another address of a device than its own.
struct AddressKind {
  absl::string_view name;     // "gateway"
  absl::string_view command;  // "-gateway -s gateway "
  AddressReading DeviceView::*live;
  std::optional<Ipv4Address> DeviceView::*planned;
  const HccnConf::Entry* DeviceView::*stored;
};

inline constexpr AddressKind kGateway = {
    "gateway", "-gateway -s gateway ", &DeviceView::gateway,
    &DeviceView::planned_gateway, &DeviceView::conf_gateway};
inline constexpr AddressKind kDetectAddress = {
    "detect address", "-netdetect -s address ", &DeviceView::detect_address,
    &DeviceView::planned_detect, &DeviceView::conf_detect};

// A host with facts; or a silent one with name, facts, spec and order only.
struct HostView {
  absl::string_view name;
  const HostFacts* facts = nullptr;
  // Null: the spec does not name this host.
  const ServerSpec* spec = nullptr;
  // Its own in the spec; unset if the spec has none.
  std::optional<Ipv4Address> address;
  // Position among all hosts of the view, silent ones too.
  uint32_t order = 0;
  // hccn_tool is there, speaks the product's command line and has answered.
  bool tool_usable = false;
  // Why the existing tool answered no query; null: it has, or was not asked.
  const Missing* tool_silence = nullptr;
  // The planned devices, or all if the spec plans none of the host. Ascending
  // ids, each once. Lies in the view.
  absl::Span<const DeviceView> devices;
  // Other devices, which no job uses and no rule judges; their addresses can
  // collide with those of the planned ones.
  absl::Span<const DeviceView> unplanned;

  // nullptr if the host has no such device, or it is not planned.
  const DeviceView* Find(uint32_t id) const;
};

class ClusterView {
 public:
  // The devices' actual addresses, or those with the planned one, if there is
  // one, in place of every device's address.
  enum class Addresses { kLive, kPlanned };

  // `job` may be null. REQUIRES: at most one entry of `hosts` per name.
  ClusterView(const ClusterSpec& spec, absl::Span<const HostFacts* const> hosts,
              const JobSpec* job = nullptr,
              absl::Time now = absl::InfiniteFuture());
  // The same hosts as `live` has, without reading their facts again.
  ClusterView(const ClusterView& live, Addresses addresses);
  ClusterView(const ClusterView&) = delete;
  ClusterView& operator=(const ClusterView&) = delete;

  const ClusterSpec& spec() const { return spec_; }
  // The job that is judged, to which the spec is narrowed; null: none.
  const JobSpec* job() const { return job_; }
  // True if its servers are those of the spec, in their order; false: the spec
  // has only the host that judges itself.
  bool HasWholeJob() const {
    return job_ != nullptr && job_->servers_size() == spec_.servers_size();
  }
  // A profile that demands nothing if the spec names no known product.
  const ProductProfile& profile() const { return profile_; }
  bool product_known() const { return product_known_; }

  // Follow spec order; hosts that the spec does not name come last.
  const std::vector<HostView>& hosts() const { return hosts_; }
  // Hosts without facts, for the reason in them.
  const std::vector<HostView>& silent() const { return silent_; }
  // Follow the order of the hosts, without unplanned ones.
  const std::vector<DeviceView>& devices() const { return devices_; }
  size_t host_count() const { return hosts_.size() + silent_.size(); }
  // Devices that the hosts of the view have or should have.
  size_t expected_devices() const { return expected_devices_; }
  absl::Time now() const { return now_; }
  bool HasWaivers() const { return !waivers_.empty(); }  // In force.
  // The waiver of a finding about the host (empty: the cluster) or its device,
  // by the rule, or by the `cause` of a failure; null: none.
  const Waiver* WaiverOf(absl::string_view rule, absl::string_view cause,
                         State state, absl::string_view host,
                         std::optional<uint32_t> device) const;
  const Waiver* MaintenanceOf(absl::string_view host) const {
    return WaiverOf(kMaintenanceRule, "", WARN, host, std::nullopt);
  }

 private:
  void AddHost(HostView host);

  const ClusterSpec& spec_;
  ProductProfile profile_;
  bool product_known_ = false;
  // Devices of all hosts in turn: one allocation for a whole cluster.
  std::vector<DeviceView> devices_;
  std::vector<std::vector<DeviceView>> unplanned_;  // Hosts with some.
  std::vector<HostView> hosts_;
  std::vector<HostView> silent_;
  size_t expected_devices_ = 0;
  const JobSpec* job_ = nullptr;
  absl::Time now_ = absl::InfiniteFuture();
  // Waivers in force, by host; under "" those of every host and the cluster.
  absl::flat_hash_map<absl::string_view, std::vector<const Waiver*>> waivers_;
};

// The identity of a switch. Names alone may be the maker's default.
absl::string_view SwitchKey(const LldpNeighbour& neighbour);

// Another device of the host that shares its gateway with this one, as
// ProductProfile says, and whose gateway may serve both: as planned for one of
// them. The tool then keeps none for this one. nullptr: there is none.
const DeviceView* GatewayKeeper(const ClusterView& view,
                                const DeviceView& device);

// The line's value once the file is repaired as rule hccn-conf says: without a
// CR and blanks at the end. REQUIRES: the host's hccn.conf has the entry.
absl::string_view RepairedValue(const HostView& host,
                                const HccnConf::Entry& entry);

}  // namespace clusterd

#endif  // CONFIG_RULES_VIEW_CLUSTER_VIEW_H_
