#include "tests/sim/facts/healthy_facts.h"

#include <cstdlib>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/spec/product_profile.h"
#include "config/values/ipv4.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace clusterd {
namespace {

constexpr uint32_t kTen = 0x0a000000;               // 10.0.0.0
constexpr uint32_t kVendorExample = 0xc0a86400;     // 192.168.100.0
constexpr uint32_t kFirstHostAddress = 0xac100001;  // 172.16.0.1
constexpr int kMaxServersOfExample = 126;
constexpr int kRails = 4;
constexpr uint64_t kMtu = 1500;
constexpr uint64_t kSpeedMbps = 200000;
constexpr uint32_t kServersOfPod = 48;

// The facts of every healthy device.
constexpr char kDevice[] = R"(
  address { value {} }
  net_health { value: NET_HEALTH_SUCCESS }
  link { value: UP }
  lldp { value { heard: true chassis_id: "6c:b1:58:00:00:01" peer: SWITCH } }
  recovery { value: SUCCESS }
  health { value { health: OK } }
  memory_errors { value {} }
  memory { value { used_mb: 3412 total_mb: 65536 } }
  compatibility { value: "OK" }
  hccs { value { ok: true lanes: [4, 4, 4, 4, 4, 4, 4] } }
  priority_to_tc { value: "0,0,0,0,0,0,0,0" }
  optical { value { present: true } }
  link_history { value { ups: 1 downs: 0 } }
  counter_rises { value { seconds: 300 } }
  tls { value { source: "/etc/hccn.conf"
                certificates { name: "pub" ends: "Mon Feb 19 03:19:21 2040 GMT"
                               status: VALID } } })";

// The facts of every healthy host. It has Docker, whose interface HCCL takes
// last; the limit of open files is Linux's own bound, fs.nr_open, which is
// enough for any cluster here.
constexpr char kHost[] = R"text(
  elapsed_ms: 1
  simulation: "in memory"
  identity { kernel_release { value: "5.10.0" }
             architecture { value: "aarch64" }
             os_release { value: "Debian GNU/Linux 12 (bookworm)" } }
  hccn_tool { path { value: "/usr/local/Ascend/driver/tools/hccn_tool" } }
  device_ids { value { source: "/dev/davinci*" } }
  hccn_conf { value { mode: 0644 } }
  kernel { local_port_range { value: "32768-60999" }
           neighbours_most { value: 1048576 }
           neighbours_kept { value: 524288 }
           network_namespace { value: 4026531840 }
           initial_namespace { value: true } }
  sockets { value {} }
  npu_processes { value {} }
  ufw { installed { value: true } active { value: false }
        enabled_at_boot { value: false } allowed { value {} } }
  firewalld { installed { value: true } active { value: false }
              enabled_at_boot { value: false } allowed { value {} }
              allowed_permanently { value {} } other_zones { value {} } }
  versions { driver { value: "24.1.rc1" } firmware { value: "7.5.0.1.129" }
             firmware_of_driver { value: "[7.0.0,7.5.99]" }
             cann { value: "8.2.RC1" } }
  drop_rules { value {} }
  interfaces { value {
    interfaces { name: "docker0" addresses: "172.17.0.1" }
    interfaces { name: "eth0" up: true }
    interfaces { name: "lo" addresses: "127.0.0.1" up: true } } }
  own_name { value {} }
  peer_names { value { names { answered: true } } }
  directories { value {} }
  device_owners { value {} }
  memory { value { total_bytes: 1099511627776 available_bytes: 549755813888 } }
  docker_running { value: true }
  environment { value {} }
  in_container { value: false }
  open_files { value { limits { program: "slurmd" pid: 1032
                                soft: 1048576 hard: 1048576 } } }
  clock { value { ahead_at_least_ms: -3 ahead_at_most_ms: 4 } }
  drift { value {} })text";

class Unheard final : public google::protobuf::io::ErrorCollector {
  void AddError(int, int, const std::string&) override {}
};

template <typename Message>
const Message* Parsed(absl::string_view text) {
  auto* const message = new Message;
  Patch(text, message);
  return message;
}

const ProductProfile& ProfileOf(absl::string_view product,
                                absl::string_view mode) {
  // A test must name a product.
  return **FindProductProfile(product, mode);
}

// The last usable address.
std::string Router(const Ipv4Subnet& subnet) {
  return Ipv4Address(subnet.broadcast().bits() - 1).ToString();
}

// Position `slot` (from 0) in the subnet.
void Place(const Ipv4Subnet& subnet, uint32_t slot, DeviceSpec* device) {
  device->set_address(
      Ipv4Address(subnet.network().bits() + 1 + slot).ToString());
  device->set_netmask(subnet.netmask().ToString());
  device->set_gateway(Router(subnet));
  device->set_detect_address(Router(subnet));
}

// Devices i and i+4 are neighbours in rail i's subnet.
void PlacePair(int servers, int server, uint32_t index, DeviceSpec* device) {
  const uint32_t rail = index % kRails;
  const Ipv4Subnet subnet =
      servers <= kMaxServersOfExample
          ? Ipv4Subnet(Ipv4Address(kVendorExample + (rail << 8)), 24)
          : Ipv4Subnet(Ipv4Address(kTen + (rail << 21)), 11);
  Place(subnet, 2 * server + index / kRails, device);
}

// The /24 subnets hold as many whole servers as fit below the router.
void PlaceShared(int server, uint32_t index, uint32_t devices,
                 DeviceSpec* device) {
  const uint32_t per_subnet = 253 / devices;
  const Ipv4Subnet subnet(Ipv4Address(kTen + ((server / per_subnet) << 8)), 24);
  Place(subnet, server % per_subnet * devices + index, device);
}

void PlacePerServer(int server, uint32_t index, DeviceSpec* device) {
  Place(Ipv4Subnet(Ipv4Address(kTen + (server << 5)), 27), index, device);
}

void PlaceDevice(const ProductProfile& profile, int servers, int server,
                 uint32_t index, uint32_t devices, DeviceSpec* device) {
  switch (profile.subnet_plan) {
    case SubnetPlan::kPairs:
      PlacePair(servers, server, index, device);
      break;
    case SubnetPlan::kPerServer:
      PlacePerServer(server, index, device);
      break;
    default:
      PlaceShared(server, index, devices, device);
  }
}

void AddEntry(absl::string_view key, uint32_t device, const std::string& value,
              HccnConf* conf) {
  if (value.empty()) return;
  HccnConf::Entry* entry = conf->add_entries();
  entry->set_key(std::string(key));
  entry->set_device(device);
  entry->set_value(value);
  entry->set_line(conf->entries_size());
}

// The one of MakeSpec: a job has but some of its servers.
uint32_t NumberOf(const ServerSpec& server) {
  const auto address = Ipv4Address::Parse(server.address());
  return address.ok() ? address->bits() - kFirstHostAddress : 0;
}

// Fills facts that only some tools report.
void FillPort(const ClusterSpec& spec, const ServerSpec& server,
              DeviceFacts* device) {
  const ProductProfile& profile = ProfileOf(spec.product(), spec.mode());
  if (profile.generation == NpuToolFacts::ASCEND_950) {
    device->mutable_speed_mbps()->mutable_missing()->set_reason(
        Missing::NOT_SUPPORTED);
  } else {
    device->mutable_speed_mbps()->set_value(kSpeedMbps);
  }
  if (!profile.in_super_pod) return;
  VnicFact::Vnic* vnic = device->mutable_vnic()->mutable_value();
  vnic->set_up(true);
  vnic->mutable_setting()->set_address(
      absl::StrCat("192.", NumberOf(server) / 250 % 256, ".",
                   2 + NumberOf(server) % 250, ".", 1 + device->id()));
  vnic->mutable_setting()->set_netmask("255.0.0.0");
  *device->mutable_super_pod()->mutable_value() =
      MakeSuperPodPlace(NumberOf(server), device->id());
}

void FillDevice(const ClusterSpec& spec, const ServerSpec& server,
                const DeviceSpec& planned, DeviceFacts* device) {
  static const DeviceFacts* const healthy = Parsed<DeviceFacts>(kDevice);
  *device = *healthy;
  device->set_id(planned.id());
  if (!planned.address().empty()) {
    Ipv4Setting* setting =
        device->mutable_address()->mutable_value()->add_settings();
    setting->set_address(planned.address());
    setting->set_netmask(planned.netmask());
  }
  device->mutable_gateway()->set_value(planned.gateway());
  device->mutable_detect_address()->set_value(
      planned.detect_address().empty() ? "0.0.0.0" : planned.detect_address());
  LldpNeighbour* neighbour = device->mutable_lldp()->mutable_value();
  neighbour->set_port_id(absl::StrCat("400GE1/1/", planned.id() + 1));
  neighbour->set_system_name(absl::StrCat("leaf-", planned.id() % 4));
  const LosslessSpec& lossless = spec.lossless();
  device->mutable_pfc()->set_value(lossless.pfc().empty() ? "0,0,0,0,0,0,0,0"
                                                          : lossless.pfc());
  device->mutable_dscp_to_tc()->set_value(lossless.dscp_to_tc());
  device->mutable_roce_port()->set_value(
      lossless.roce_port() == 0 ? "auto" : absl::StrCat(lossless.roce_port()));
  device->mutable_mtu()->set_value(spec.has_mtu() ? spec.mtu() : kMtu);
  device->mutable_tls()->mutable_value()->set_enabled(spec.tls());
  FillPort(spec, server, device);
}

void FillConf(const ClusterSpec& spec, const ServerSpec& server,
              HccnConf* conf) {
  for (const DeviceSpec& device : server.devices()) {
    AddEntry("address", device.id(), device.address(), conf);
    AddEntry("netmask", device.id(), device.netmask(), conf);
    AddEntry("gateway", device.id(), device.gateway(), conf);
    AddEntry("netdetect", device.id(), device.detect_address(), conf);
    AddEntry("mtu", device.id(), spec.has_mtu() ? absl::StrCat(spec.mtu()) : "",
             conf);
    AddEntry("tls_enable", device.id(), spec.tls() ? "1" : "0", conf);
    AddEntry("bitmap", device.id(), spec.lossless().pfc(), conf);
    AddEntry("dscp_tc", device.id(), spec.lossless().dscp_to_tc(), conf);
    const uint32_t port = spec.lossless().roce_port();
    AddEntry("roce_port", device.id(), port == 0 ? "" : absl::StrCat(port),
             conf);
  }
}

void FillBoot(const std::string& value, PersistentValueFact* fact) {
  PersistentValue::Assignment* assignment =
      fact->mutable_value()->add_assignments();
  assignment->set_file("/etc/sysctl.d/60-hccl.conf");
  assignment->set_line(1);
  assignment->set_value(value);
}

void FillKernel(const ClusterSpec& spec, KernelFacts* kernel) {
  const std::string ports =
      absl::StrCat(spec.hccl().base_port(), "-",
                   spec.hccl().base_port() + spec.hccl().port_count() - 1);
  kernel->mutable_reserved_ports()->set_value(ports);
  FillBoot(ports, kernel->mutable_reserved_ports_at_boot());
  kernel->mutable_somaxconn()->set_value(spec.kernel().somaxconn());
  FillBoot(absl::StrCat(spec.kernel().somaxconn()),
           kernel->mutable_somaxconn_at_boot());
  kernel->mutable_tcp_max_syn_backlog()->set_value(
      spec.kernel().tcp_max_syn_backlog());
  FillBoot(absl::StrCat(spec.kernel().tcp_max_syn_backlog()),
           kernel->mutable_tcp_max_syn_backlog_at_boot());
}

}  // namespace

void Patch(absl::string_view text, google::protobuf::Message* message) {
  Unheard collector;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  if (!parser.MergeFromString(std::string(text), message)) std::abort();
}

ClusterSpec MakeSpec(absl::string_view product, absl::string_view mode,
                     int servers) {
  const ProductProfile& profile = ProfileOf(product, mode);
  const std::vector<uint32_t> ids = profile.device_ids.empty()
                                        ? std::vector<uint32_t>{1, 4}
                                        : profile.device_ids;
  ClusterSpec spec;
  Patch(R"(version: 1 name: "test"
           hccl { base_port: 60000 port_count: 32 }
           kernel { somaxconn: 65535 tcp_max_syn_backlog: 65535
                    persistent: true }
           firewall: FIREWALL_DISABLED
           deadlines { command_ms: 10000 host_ms: 30000 run_ms: 60000 })",
        &spec);
  spec.set_product(profile.name);
  spec.set_mode(profile.mode);
  for (int s = 0; s < servers; ++s) {
    ServerSpec* server = spec.add_servers();
    server->set_host(absl::StrCat("server", s));
    server->set_address(Ipv4Address(kFirstHostAddress + s).ToString());
    for (size_t i = 0; i < ids.size(); ++i) {
      DeviceSpec* device = server->add_devices();
      device->set_id(ids[i]);
      PlaceDevice(profile, servers, s, i, ids.size(), device);
    }
  }
  return spec;
}

SuperPodPlace MakeSuperPodPlace(uint32_t server, uint32_t device) {
  const uint32_t index = server % kServersOfPod;
  SuperPodPlace place;
  place.set_sdid(index << 22 | device / 2 << 18 | device % 2 << 16 | device);
  place.set_size(kServersOfPod * 8);
  place.set_super_pod_id(server / kServersOfPod);
  place.set_server_index(index);
  return place;
}

HostFacts MakeHealthyHost(const ClusterSpec& spec, const ServerSpec& server) {
  static const HostFacts* const healthy = Parsed<HostFacts>(kHost);
  const ProductProfile& profile = ProfileOf(spec.product(), spec.mode());
  HostFacts facts = *healthy;
  facts.set_host(server.host());
  IdentityFacts* identity = facts.mutable_identity();
  identity->mutable_hostname()->set_value(server.host());
  identity->mutable_boot_id()->set_value(absl::StrCat("boot-", server.host()));
  identity->mutable_machine_id()->set_value(server.host());
  identity->mutable_npu_series()->set_value(
      profile.npu_series.empty() ? "A1" : profile.npu_series);
  facts.mutable_hccn_tool()->set_generation(profile.generation);
  for (const DeviceSpec& device : server.devices()) {
    facts.mutable_device_ids()->mutable_value()->add_ids(device.id());
    FillDevice(spec, server, device, facts.add_devices());
  }
  FillConf(spec, server, facts.mutable_hccn_conf()->mutable_value());
  FillKernel(spec, facts.mutable_kernel());
  facts.mutable_interfaces()
      ->mutable_value()
      ->mutable_interfaces(1)
      ->add_addresses(server.address());
  facts.mutable_own_name()->mutable_value()->add_addresses(server.address());
  facts.mutable_peer_names()->mutable_value()->mutable_names(0)->set_address(
      server.address());
  facts.mutable_roots()->mutable_value()->add_hashes(
      absl::StrCat("sha256:", std::string(64, 'a')));
  *facts.mutable_controller_roots() = facts.roots().value();
  return facts;
}

std::vector<HostFacts> MakeHealthyFacts(const ClusterSpec& spec) {
  std::vector<HostFacts> facts;
  facts.reserve(spec.servers_size());
  for (const ServerSpec& server : spec.servers()) {
    facts.push_back(MakeHealthyHost(spec, server));
  }
  return facts;
}

HostFacts MakeSilentHost(absl::string_view host, Missing::Reason reason,
                         absl::string_view detail) {
  HostFacts facts;
  facts.set_host(std::string(host));
  facts.mutable_missing()->set_reason(reason);
  facts.mutable_missing()->set_detail(std::string(detail));
  return facts;
}

std::vector<const HostFacts*> Pointers(const std::vector<HostFacts>& facts) {
  std::vector<const HostFacts*> pointers;
  pointers.reserve(facts.size());
  for (const HostFacts& host : facts) pointers.push_back(&host);
  return pointers;
}

std::string MakeRankTable(const ClusterSpec& spec, bool by_address,
                          absl::string_view version) {
  std::vector<std::string> servers;
  // Entries of server_list, by super pod.
  std::map<uint32_t, std::vector<std::string>> pods;
  int rank = 0;
  for (const ServerSpec& server : spec.servers()) {
    std::vector<std::string> devices;
    uint32_t pod = 0;
    for (const DeviceSpec& device : server.devices()) {
      const SuperPodPlace place =
          MakeSuperPodPlace(NumberOf(server), device.id());
      pod = place.super_pod_id();
      devices.push_back(absl::StrCat(R"({"device_id":")", device.id(),
                                     R"(","device_ip":")", device.address(),
                                     R"(","super_device_id":")", place.sdid(),
                                     R"(","rank_id":")", rank, R"("})"));
      ++rank;
    }
    const std::string id = absl::StrCat(
        R"("server_id":")",
        by_address ? server.address() : absl::StrCat("node_", servers.size()),
        "\"");
    pods[pod].push_back(absl::StrCat("{", id, "}"));
    servers.push_back(absl::StrCat("{", id, R"(,"device":[)",
                                   absl::StrJoin(devices, ","), "]}"));
  }
  std::vector<std::string> lists;
  for (const auto& [id, members] : pods) {
    lists.push_back(absl::StrCat(R"({"super_pod_id":")", id,
                                 R"(","server_list":[)",
                                 absl::StrJoin(members, ","), "]}"));
  }
  return absl::StrCat(
      R"({"version":")", version, R"(",)",
      version == "1.2" ? absl::StrCat(R"("super_pod_list":[)",
                                      absl::StrJoin(lists, ","), "],")
                       : "",
      R"("status":"completed","server_count":")", servers.size(),
      R"(","server_list":[)", absl::StrJoin(servers, ","), "]}");
}

}  // namespace clusterd
