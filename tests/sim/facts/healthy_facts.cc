#include "tests/sim/facts/healthy_facts.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/spec/product_profile.h"
#include "config/values/ipv4.h"

namespace clusterd {
namespace {

constexpr uint32_t kTen = 0x0a000000;               // 10.0.0.0
constexpr uint32_t kVendorExample = 0xc0a86400;     // 192.168.100.0
constexpr uint32_t kFirstHostAddress = 0xac100001;  // 172.16.0.1
constexpr int kMaxServersOfExample = 126;
constexpr int kRails = 4;
constexpr uint64_t kMtu = 1500;
constexpr uint64_t kSpeedMbps = 200000;
constexpr int kHccsPorts = 7;
constexpr uint32_t kServersOfPod = 48;
constexpr uint64_t kInitialNamespace = 4026531840;

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
  device->set_id(planned.id());
  auto* settings = device->mutable_address()->mutable_value();
  if (!planned.address().empty()) {
    Ipv4Setting* setting = settings->add_settings();
    setting->set_address(planned.address());
    setting->set_netmask(planned.netmask());
  }
  device->mutable_gateway()->set_value(planned.gateway());
  device->mutable_detect_address()->set_value(
      planned.detect_address().empty() ? "0.0.0.0" : planned.detect_address());
  device->mutable_net_health()->set_value(NET_HEALTH_SUCCESS);
  device->mutable_link()->set_value(LinkFact::UP);
  LldpNeighbour* neighbour = device->mutable_lldp()->mutable_value();
  neighbour->set_heard(true);
  neighbour->set_chassis_id("6c:b1:58:00:00:01");
  neighbour->set_port_id(absl::StrCat("400GE1/1/", planned.id() + 1));
  neighbour->set_system_name(absl::StrCat("leaf-", planned.id() % 4));
  neighbour->set_peer(LldpNeighbour::SWITCH);
  device->mutable_recovery()->set_value(RecoveryFact::SUCCESS);
  device->mutable_health()->mutable_value()->set_health(ChipHealth::OK);
  device->mutable_memory_errors()->mutable_value();
  device->mutable_memory()->mutable_value()->set_used_mb(3412);
  device->mutable_memory()->mutable_value()->set_total_mb(65536);
  device->mutable_compatibility()->set_value("OK");
  HccsLinks* hccs = device->mutable_hccs()->mutable_value();
  hccs->set_ok(true);
  for (int port = 0; port < kHccsPorts; ++port) hccs->add_lanes(4);
  const LosslessSpec& lossless = spec.lossless();
  device->mutable_pfc()->set_value(lossless.pfc().empty() ? "0,0,0,0,0,0,0,0"
                                                          : lossless.pfc());
  device->mutable_dscp_to_tc()->set_value(lossless.dscp_to_tc());
  device->mutable_priority_to_tc()->set_value("0,0,0,0,0,0,0,0");
  device->mutable_roce_port()->set_value(
      lossless.roce_port() == 0 ? "auto" : absl::StrCat(lossless.roce_port()));
  device->mutable_optical()->mutable_value()->set_present(true);
  LinkHistoryFact::History* history =
      device->mutable_link_history()->mutable_value();
  history->set_ups(1);
  history->set_downs(0);
  device->mutable_counter_rises()->mutable_value()->set_seconds(300);
  device->mutable_mtu()->set_value(spec.has_mtu() ? spec.mtu() : kMtu);
  FillPort(spec, server, device);
  TlsFact::Switch* tls = device->mutable_tls()->mutable_value();
  tls->set_enabled(spec.tls());
  tls->set_source("/etc/hccn.conf");
  TlsCertificate* certificate = tls->add_certificates();
  certificate->set_name("pub");
  certificate->set_ends("Mon Feb 19 03:19:21 2040 GMT");
  certificate->set_status(TlsCertificate::VALID);
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
  conf->set_mode(0644);
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
  kernel->mutable_local_port_range()->set_value("32768-60999");
  kernel->mutable_somaxconn()->set_value(spec.kernel().somaxconn());
  FillBoot(absl::StrCat(spec.kernel().somaxconn()),
           kernel->mutable_somaxconn_at_boot());
  kernel->mutable_tcp_max_syn_backlog()->set_value(
      spec.kernel().tcp_max_syn_backlog());
  FillBoot(absl::StrCat(spec.kernel().tcp_max_syn_backlog()),
           kernel->mutable_tcp_max_syn_backlog_at_boot());
  kernel->mutable_neighbours_most()->set_value(1 << 20);
  kernel->mutable_neighbours_kept()->set_value(1 << 19);
  kernel->mutable_network_namespace()->set_value(kInitialNamespace);
  kernel->mutable_initial_namespace()->set_value(true);
}

// A host with Docker, whose interface HCCL takes last.
void FillNetwork(const ServerSpec& server, HostFacts* facts) {
  const std::pair<const char*, std::string> interfaces[] = {
      {"docker0", "172.17.0.1"},
      {"eth0", server.address()},
      {"lo", "127.0.0.1"}};
  for (const auto& [name, address] : interfaces) {
    HostInterface* const interface =
        facts->mutable_interfaces()->mutable_value()->add_interfaces();
    interface->set_name(name);
    interface->add_addresses(address);
    interface->set_up(absl::string_view(name) != "docker0");
  }
  facts->mutable_own_name()->mutable_value()->add_addresses(server.address());
  NameOfPeer* const peer =
      facts->mutable_peer_names()->mutable_value()->add_names();
  peer->set_address(server.address());
  peer->set_answered(true);
  facts->mutable_directories()->mutable_value();
  facts->mutable_device_owners()->mutable_value();
  facts->mutable_memory()->mutable_value()->set_total_bytes(1ull << 40);
  facts->mutable_memory()->mutable_value()->set_available_bytes(1ull << 39);
  facts->mutable_docker_running()->set_value(true);
  facts->mutable_environment()->mutable_value();
  facts->mutable_in_container()->set_value(false);
  OpenFilesLimit* const limit =
      facts->mutable_open_files()->mutable_value()->add_limits();
  limit->set_program("slurmd");
  limit->set_pid(1032);
  // Linux's own bound, fs.nr_open: enough for any cluster here.
  limit->set_soft(1 << 20);
  limit->set_hard(1 << 20);
  facts->mutable_clock()->mutable_value()->set_ahead_at_least_ms(-3);
  facts->mutable_clock()->mutable_value()->set_ahead_at_most_ms(4);
}

}  // namespace

ClusterSpec MakeSpec(absl::string_view product, absl::string_view mode,
                     int servers) {
  const ProductProfile& profile = ProfileOf(product, mode);
  const std::vector<uint32_t> ids = profile.device_ids.empty()
                                        ? std::vector<uint32_t>{1, 4}
                                        : profile.device_ids;
  ClusterSpec spec;
  spec.set_version(1);
  spec.set_name("test");
  spec.set_product(profile.name);
  spec.set_mode(profile.mode);
  spec.mutable_hccl()->set_base_port(60000);
  spec.mutable_hccl()->set_port_count(32);
  spec.mutable_kernel()->set_somaxconn(65535);
  spec.mutable_kernel()->set_tcp_max_syn_backlog(65535);
  spec.mutable_kernel()->set_persistent(true);
  spec.set_firewall(FIREWALL_DISABLED);
  spec.mutable_deadlines()->set_command_ms(10000);
  spec.mutable_deadlines()->set_host_ms(30000);
  spec.mutable_deadlines()->set_run_ms(60000);
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
  const ProductProfile& profile = ProfileOf(spec.product(), spec.mode());
  HostFacts facts;
  facts.set_host(server.host());
  facts.set_elapsed_ms(1);
  facts.set_simulation("healthy facts, in memory");
  IdentityFacts* identity = facts.mutable_identity();
  identity->mutable_hostname()->set_value(server.host());
  identity->mutable_kernel_release()->set_value("5.10.0");
  identity->mutable_boot_id()->set_value(absl::StrCat("boot-", server.host()));
  identity->mutable_machine_id()->set_value(server.host());
  identity->mutable_architecture()->set_value("aarch64");
  identity->mutable_os_release()->set_value("Debian GNU/Linux 12 (bookworm)");
  identity->mutable_npu_series()->set_value(
      profile.npu_series.empty() ? "A1" : profile.npu_series);
  facts.mutable_hccn_tool()->mutable_path()->set_value(
      "/usr/local/Ascend/driver/tools/hccn_tool");
  facts.mutable_hccn_tool()->set_generation(profile.generation);
  DeviceIdsFact::Ids* ids = facts.mutable_device_ids()->mutable_value();
  ids->set_source("/dev/davinci*");
  for (const DeviceSpec& device : server.devices()) {
    ids->add_ids(device.id());
    FillDevice(spec, server, device, facts.add_devices());
  }
  FillConf(spec, server, facts.mutable_hccn_conf()->mutable_value());
  FillKernel(spec, facts.mutable_kernel());
  facts.mutable_sockets()->mutable_value();
  facts.mutable_npu_processes()->mutable_value();
  for (FirewallFacts* firewall :
       {facts.mutable_ufw(), facts.mutable_firewalld()}) {
    firewall->mutable_installed()->set_value(true);
    firewall->mutable_active()->set_value(false);
    firewall->mutable_enabled_at_boot()->set_value(false);
    firewall->mutable_allowed()->mutable_value();
  }
  facts.mutable_firewalld()->mutable_allowed_permanently()->mutable_value();
  facts.mutable_versions()->mutable_driver()->set_value("24.1.rc1");
  facts.mutable_versions()->mutable_firmware()->set_value("7.5.0.1.129");
  facts.mutable_versions()->mutable_firmware_of_driver()->set_value(
      "[7.0.0,7.5.99]");
  facts.mutable_versions()->mutable_cann()->set_value("8.2.RC1");
  facts.mutable_firewalld()->mutable_other_zones()->mutable_value();
  facts.mutable_drop_rules()->mutable_value();
  FillNetwork(server, &facts);
  facts.mutable_drift()->mutable_value();
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
