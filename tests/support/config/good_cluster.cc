#include "tests/support/config/good_cluster.h"

#include "absl/strings/str_cat.h"
#include "config/plan/kernel_parameters.h"
#include "config/plan/step_planners.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

constexpr char kMask[] = "255.255.255.0";
constexpr char kGateway[] = "10.0.0.254";

std::string AddressOf(int server, uint32_t device) {
  return absl::StrCat("10.0.0.", 2 * server + device + 1);
}

void AddConf(HccnConf* conf, const std::string& key, uint32_t device,
             const std::string& value) {
  HccnConf::Entry* entry = conf->add_entries();
  entry->set_key(key);
  entry->set_device(device);
  entry->set_value(value);
  entry->set_line(conf->entries_size());
}

void AddGoodDevice(int server, uint32_t id, HostFacts* facts) {
  DeviceFacts* device = facts->add_devices();
  device->set_id(id);
  const std::string address = AddressOf(server, id);
  Ipv4Setting* setting =
      device->mutable_address()->mutable_value()->add_settings();
  setting->set_address(address);
  setting->set_netmask(kMask);
  device->mutable_gateway()->set_value(kGateway);
  device->mutable_detect_address()->set_value(kGateway);
  Patch(R"(recovery { value: SUCCESS }
           tls { value { source: "/etc/hccn.conf" } })",
        device);
  HccnConf* conf = facts->mutable_hccn_conf()->mutable_value();
  AddConf(conf, "address", id, address);
  AddConf(conf, "netmask", id, kMask);
  AddConf(conf, "gateway", id, kGateway);
  AddConf(conf, "netdetect", id, kGateway);
  AddConf(conf, "tls_enable", id, "0");
}

}  // namespace

ClusterSpec GoodSpec(absl::string_view more) {
  ClusterSpec spec;
  Patch(R"(version: 1 name: "demo" product: "atlas-a2" digest: "abc"
           hccl { base_port: 60000 port_count: 16 }
           kernel { somaxconn: 65535 tcp_max_syn_backlog: 65535
                    persistent: true }
           firewall: FIREWALL_DISABLED
           deadlines { command_ms: 10000 }
           tls: false rendezvous_port: 29500 ssh_port: 22)",
        &spec);
  for (int server = 0; server < 2; ++server) {
    ServerSpec* added = spec.add_servers();
    added->set_host(absl::StrCat("node-0", server + 1));
    added->set_address(absl::StrCat("192.168.7.", 22 + server));
    for (uint32_t id = 0; id < 2; ++id) {
      DeviceSpec* device = added->add_devices();
      device->set_id(id);
      device->set_address(AddressOf(server, id));
      device->set_netmask(kMask);
      device->set_gateway(kGateway);
      device->set_detect_address(kGateway);
    }
  }
  Patch(more, &spec);
  return spec;
}

HostFacts GoodFacts(const std::string& host, absl::string_view more) {
  HostFacts facts;
  facts.set_host(host);
  Patch(
      R"(hccn_tool { path { value: "/usr/bin/hccn_tool" } generation: CLASSIC }
           kernel { reserved_ports { value: "60000-60015" }
                    local_port_range { value: "32768-60999" }
                    somaxconn { value: 65535 }
                    tcp_max_syn_backlog { value: 65535 } }
           ufw { installed { value: false } }
           firewalld { installed { value: false } other_zones { value {} } }
           drop_rules { value {} })",
      &facts);
  facts.mutable_hccn_conf()->mutable_value()->set_sha256(std::string(64, 'a'));
  const int server = host == "node-02" ? 1 : 0;
  AddGoodDevice(server, 0, &facts);
  AddGoodDevice(server, 1, &facts);
  KernelFacts* kernel = facts.mutable_kernel();
  SetAtBoot(kernel->mutable_reserved_ports_at_boot(), kSysctlFile,
            "60000-60015");
  SetAtBoot(kernel->mutable_somaxconn_at_boot(), kSysctlFile, "65535");
  SetAtBoot(kernel->mutable_tcp_max_syn_backlog_at_boot(), kSysctlFile,
            "65535");
  Patch(more, &facts);
  return facts;
}

DeviceFacts* DeviceOf(HostFacts* facts, uint32_t id) {
  for (DeviceFacts& device : *facts->mutable_devices()) {
    if (device.id() == id) return &device;
  }
  return nullptr;
}

void SetConf(HostFacts* facts, const std::string& full_key,
             const std::string& value) {
  HccnConf* conf = facts->mutable_hccn_conf()->mutable_value();
  HccnConf changed = *conf;
  changed.clear_entries();
  for (const HccnConf::Entry& entry : conf->entries()) {
    if (absl::StrCat(entry.key(), "_", entry.device()) != full_key) {
      *changed.add_entries() = entry;
    }
  }
  if (!value.empty()) {
    const size_t underscore = full_key.rfind('_');
    AddConf(&changed, full_key.substr(0, underscore),
            static_cast<uint32_t>(std::stoul(full_key.substr(underscore + 1))),
            value);
  }
  *conf = changed;
}

void AddConf(HostFacts* facts, const std::string& key,
             const std::string& value) {
  HccnConf::Entry* entry =
      facts->mutable_hccn_conf()->mutable_value()->add_entries();
  entry->set_key(key);
  entry->set_device(0);
  entry->set_value(value);
}

void MoveAddress(HostFacts* facts, const std::string& address) {
  DeviceOf(facts, 0)
      ->mutable_address()
      ->mutable_value()
      ->mutable_settings(0)
      ->set_address(address);
  SetConf(facts, "address_0", address);
}

HostPlan DeviceStepsOf(const ClusterSpec& spec, const HostFacts& facts) {
  HostPlanBuilder builder(facts);
  PlanDeviceSteps(spec, spec.servers(0), &builder);
  return builder.Finish();
}

void SetAtBoot(PersistentValueFact* fact, const std::string& file,
               const std::string& value) {
  fact->mutable_value()->Clear();
  if (file.empty()) return;
  PersistentValue::Assignment* assignment =
      fact->mutable_value()->add_assignments();
  assignment->set_file(file);
  assignment->set_line(3);
  assignment->set_value(value);
}

FirewallFacts InstalledFirewall(bool active, bool starts_at_boot) {
  FirewallFacts facts;
  facts.mutable_installed()->set_value(true);
  facts.mutable_active()->set_value(active);
  facts.mutable_enabled_at_boot()->set_value(starts_at_boot);
  if (!active) return facts;
  facts.mutable_allowed()->mutable_value();
  facts.mutable_allowed_permanently()->mutable_value();
  facts.mutable_other_zones()->mutable_value();
  return facts;
}

}  // namespace clusterd
