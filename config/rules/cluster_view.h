// Spec and facts side by side, with every address parsed once: what all rules
// read. Built per judgement, in spec order, linear in hosts and devices.
// Points into the spec and the facts, which must outlive it. Immutable, so safe
// for concurrent use.
#ifndef CONFIG_RULES_CLUSTER_VIEW_H_
#define CONFIG_RULES_CLUSTER_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/spec/ipv4.h"
#include "config/spec/product_profile.h"
#include "proto/facts.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Far above any product. A host that sends more is not believed further, so
// that one broken host costs the judge no more than another.
inline constexpr size_t kMaxDevicesOfHost = 256;
inline constexpr size_t kMaxAddressesOfDevice = 16;

// What is known about an address fact.
enum class Known : uint8_t {
  kNo,     // Missing, not asked for, or text that is no address.
  kUnset,  // The host says that there is none.
  kYes,
};

// One device that the host has, planned or not.
struct DeviceView {
  uint32_t id = 0;
  // Never null; empty where the host lists the id and sent no facts about it.
  const DeviceFacts* facts = nullptr;
  // Null: the spec does not plan this device.
  const DeviceSpec* spec = nullptr;

  Known address_known = Known::kNo;
  Known gateway_known = Known::kNo;
  Known detect_known = Known::kNo;
  // 0 where the fact is not known; else the enum of facts.proto.
  uint8_t link = 0;
  uint8_t net_health = 0;
  // 0 not known, 1 no, 2 yes.
  uint8_t lldp_heard = 0;
  uint8_t tls_enabled = 0;
  std::optional<uint64_t> mtu;

  // Live; not empty if address_known is kYes. Several on boards with several
  // ports a device.
  absl::InlinedVector<Ipv4Interface, 2> interfaces;
  Ipv4Address gateway;  // Valid if gateway_known is kYes.
  Ipv4Address detect;   // Valid if detect_known is kYes.
  // Of the spec; unset where it names none.
  std::optional<Ipv4Interface> planned;
  std::optional<Ipv4Address> planned_gateway;
  std::optional<Ipv4Address> planned_detect;
  // The first address_N and netmask_N of hccn.conf, as the tool reads them;
  // null: no such key. Both together as an address, if they are one.
  const HccnConf::Entry* conf_address = nullptr;
  const HccnConf::Entry* conf_netmask = nullptr;
  std::optional<Ipv4Interface> conf;
  // The first gateway_N, netdetect_N and udhcpc_enable_N; null: no such key.
  const HccnConf::Entry* conf_gateway = nullptr;
  const HccnConf::Entry* conf_detect = nullptr;
  const HccnConf::Entry* conf_dhcp = nullptr;
  // The first fact for which the tool timed out or stayed busy; null: none.
  const Missing* silence = nullptr;

  // The planned address if it is among the live ones, else the first.
  // REQUIRES: address_known == Known::kYes.
  Ipv4Interface Address() const;
  bool HasPlannedAddress() const;
};

// One host that answered.
struct HostView {
  absl::string_view name;
  const HostFacts* facts = nullptr;
  // Null: the spec does not name this host.
  const ServerSpec* spec = nullptr;
  // Position among all hosts of the view, silent ones too.
  uint32_t order = 0;
  // hccn_tool is there, speaks the product's command line and has answered.
  bool tool_usable = false;
  // Why no query of any device was answered although the tool is there; null:
  // one was, or none was made.
  const Missing* tool_silence = nullptr;
  // Ascending ids, each once. Lies in the view.
  absl::Span<const DeviceView> devices;

  // nullptr if the host has no such device.
  const DeviceView* Find(uint32_t id) const;
};

struct SilentHost {
  const HostFacts* facts = nullptr;
  uint32_t order = 0;
};

class ClusterView {
 public:
  // REQUIRES: at most one entry of `hosts` per name.
  ClusterView(const ClusterSpec& spec,
              absl::Span<const HostFacts* const> hosts);
  ClusterView(const ClusterView&) = delete;
  ClusterView& operator=(const ClusterView&) = delete;

  const ClusterSpec& spec() const { return spec_; }
  // A profile that demands nothing if the spec names no known product.
  const ProductProfile& profile() const { return profile_; }
  bool product_known() const { return product_known_; }

  // In spec order; hosts that the spec does not name come last.
  const std::vector<HostView>& hosts() const { return hosts_; }
  const std::vector<SilentHost>& silent() const { return silent_; }
  size_t host_count() const { return hosts_.size() + silent_.size(); }
  // Devices that the hosts of the view have or should have.
  size_t expected_devices() const { return expected_devices_; }

 private:
  void AddHost(const HostFacts& facts, const ServerSpec* server,
               uint32_t order);

  const ClusterSpec& spec_;
  ProductProfile profile_;
  bool product_known_ = false;
  // Of all hosts one after the other: one allocation for a whole cluster.
  std::vector<DeviceView> devices_;
  std::vector<HostView> hosts_;
  std::vector<SilentHost> silent_;
  size_t expected_devices_ = 0;
};

// Why the address of a device is not known, in words.
// REQUIRES: address_known == Known::kNo.
std::string WhyNoAddress(const DeviceView& device);

}  // namespace clusterd

#endif  // CONFIG_RULES_CLUSTER_VIEW_H_
