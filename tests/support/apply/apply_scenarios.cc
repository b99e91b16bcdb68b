#include "tests/support/apply/apply_scenarios.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "config/plan/kernel_parameters.h"
#include "config/plan/make_plan.h"
#include "config/values/change_kind.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

constexpr char kHccnConf[] = "/etc/hccn.conf";
constexpr char kMask[] = "255.255.255.0";
constexpr char kGateway[] = "10.0.0.254";

ClusterSpec BaseSpec() {
  ClusterSpec spec;
  Patch(R"(version: 1 name: "demo" product: "atlas-a2"
           hccl { base_port: 60000 port_count: 16 }
           kernel { somaxconn: 65535 tcp_max_syn_backlog: 65535
                    persistent: true }
           rendezvous_port: 29500 ssh_port: 22
           servers { address: "192.168.7.22" }
           servers { host: "node-08" address: "192.168.7.23" })",
        &spec);
  spec.mutable_servers(0)->set_host(kScenarioHost);
  return spec;
}

void AddDevice(ClusterSpec* spec, uint32_t id, const std::string& address,
               const std::string& gateway, const std::string& detect) {
  DeviceSpec* device = spec->mutable_servers(0)->add_devices();
  device->set_id(id);
  device->set_address(address);
  device->set_netmask(kMask);
  device->set_gateway(gateway);
  device->set_detect_address(detect);
}

FakeMachine::Device Device(const std::string& address,
                           const std::string& gateway) {
  FakeMachine::Device device;
  device.address = address;
  device.netmask = kMask;
  device.gateway = gateway;
  return device;
}

}  // namespace

HostPlan Scenario::Plan() {
  const HostFacts facts = machine.ReadHost();
  return MakePlan(spec, {&facts}).hosts(0);
}

MachineAccess Scenario::Access() {
  MachineAccess access;
  access.files = &machine.files();
  access.runner = &machine;
  access.reader = &machine;
  access.clock = &clock;
  access.locks = &locks;
  return access;
}

namespace {

std::unique_ptr<Applier> ApplierThrough(const MachineAccess& access) {
  return std::make_unique<Applier>(ScenarioOptions(), access, AllowsAll,
                                   [] { return std::vector<DeviceUser>(); });
}

}  // namespace

std::unique_ptr<Applier> Scenario::MakeApplier() {
  return ApplierThrough(Access());
}

std::unique_ptr<Applier> Scenario::MakeApplier(EffectLog* log) {
  logged_files = std::make_unique<EffectFileSystem>(&machine.files(), log);
  logged_runner =
      std::make_unique<EffectCommandRunner>(&machine, machine.half(), log);
  MachineAccess access = Access();
  access.files = logged_files.get();
  access.runner = logged_runner.get();
  return ApplierThrough(access);
}

absl::StatusOr<ApplyResult> Scenario::Apply(const std::string& id) {
  return MakeApplier()->Apply(RequestFor(Plan(), id));
}

absl::StatusOr<ApplyResult> Scenario::Rollback(bool force) {
  return MakeApplier()->Rollback(RollbackOf("a1", force));
}

std::map<std::string, std::string> Scenario::State() const {
  return machine.State(kScenarioStateFolder);
}

ApplierOptions ScenarioOptions() {
  ApplierOptions options;
  options.host = kScenarioHost;
  options.state_folder = kScenarioStateFolder;
  return options;
}

HostAllows AllowsAll() {
  const std::vector<ChangeKind>& kinds = AllChangeKinds();
  return AllowsOnly(std::set<ChangeKind>(kinds.begin(), kinds.end()));
}

RollbackRequest RollbackOf(const std::string& apply_id, bool force) {
  RollbackRequest request;
  request.apply_id = apply_id;
  request.force = force;
  return request;
}

ApplyResult Got(const absl::StatusOr<ApplyResult>& result) {
  if (result.ok()) return *result;
  ApplyResult none;
  none.set_error(result.status().ToString());
  return none;
}

ApplyResult OnlyOne(const absl::StatusOr<std::vector<ApplyResult>>& results) {
  if (results.ok() && results->size() == 1) return results->front();
  ApplyResult none;
  none.set_error(results.ok() ? absl::StrCat(results->size(), " results")
                              : results.status().ToString());
  return none;
}

ApplyRequest RequestFor(const HostPlan& plan, const std::string& apply_id) {
  ApplyRequest request;
  request.plan = plan;
  request.plan_digest = "digest";
  request.apply_id = apply_id;
  request.actor = "spiffe://demo/user/ada";
  return request;
}

std::unique_ptr<Scenario> OpenUfwScenario() {
  auto scenario = std::make_unique<Scenario>();
  FakeMachine& machine = scenario->machine;
  FakeMachine::Device routed = Device("10.0.0.1", kGateway);
  routed.routes = {"172.16.0.0 10.0.0.253 255.255.0.0"};
  routed.roce_port = "4791";
  machine.AddDevice(0, routed);
  machine.AddDevice(1, Device("10.20.0.2", "10.20.0.1"));
  // Its gateway stays: it fits the new address as well.
  machine.AddDevice(2, Device("10.20.0.99", "10.20.0.1"));
  machine.files().Put(
      kHccnConf,
      absl::StrCat("# the rack's own notes\n",
                   *machine.files().Content(kHccnConf),
                   "IPv6gateway_0=fd00::1\n# old: gateway_0=10.0.0.250\n"
                   "roce_port_0=4791"),
      0640, 0, 12);
  machine.files().Put("/etc/sysctl.d/10-site.conf",
                      "net.ipv4.ip_local_reserved_ports = 8080\n");
  machine.sysctl()[kReservedPortsKey] = "8080";
  machine.AddUfw();

  ClusterSpec& spec = scenario->spec;
  spec = BaseSpec();
  spec.set_firewall(FIREWALL_OPEN_PORTS);
  spec.set_tls(false);
  AddDevice(&spec, 0, "10.20.0.1", "10.20.0.253", "10.20.0.253");
  AddDevice(&spec, 1, "10.20.0.2", "10.20.0.253", "10.20.0.253");
  AddDevice(&spec, 2, "10.20.0.3", "10.20.0.1", "10.20.0.253");
  // The last one's gateway is another device's address on purpose: the plan
  // does not judge that.
  return scenario;
}

std::unique_ptr<Scenario> OpenFirewalldScenario() {
  auto scenario = std::make_unique<Scenario>();
  FakeMachine& machine = scenario->machine;
  FakeMachine::Device mapped = Device("10.0.0.6", kGateway);
  mapped.dscp = "3:2,46:2";
  machine.AddDevice(5, mapped);
  machine.files().Put(kHccnConf,
                      "address_5=10.9.9.9\nnetmask_5=255.255.255.0\n"
                      "tls_enable_5=1\nmtu_5=1500\ndscp_tc_5=3:2,46:2,8:0,\n",
                      0644, 0, 0);
  machine.files().Put(kSysctlFile,
                      "# ours, and a line of the administrator's\n"
                      "kernel.panic = 10\nnet.core.somaxconn = 512\n",
                      0600, 0, 7);
  machine.AddFirewalld();

  ClusterSpec& spec = scenario->spec;
  spec = BaseSpec();
  spec.set_firewall(FIREWALL_OPEN_PORTS);
  spec.set_mtu(9000);
  spec.mutable_lossless()->set_pfc("0,0,0,0,1,0,0,0");
  spec.mutable_lossless()->set_roce_port(4791);
  // One is set, one restored to 0, one stays.
  spec.mutable_lossless()->set_dscp_to_tc("33:1,46:2");
  AddDevice(&spec, 5, "10.0.0.6", kGateway, kGateway);
  return scenario;
}

std::unique_ptr<Scenario> DisableFirewallsScenario() {
  auto scenario = std::make_unique<Scenario>();
  FakeMachine& machine = scenario->machine;
  machine.AddDevice(0, Device("10.0.0.1", kGateway));
  machine.AddDevice(1, Device("10.0.0.2", kGateway));
  machine.AddUfw();
  machine.AddFirewalld();

  ClusterSpec& spec = scenario->spec;
  spec = BaseSpec();
  spec.set_firewall(FIREWALL_DISABLED);
  AddDevice(&spec, 0, "10.0.0.2", kGateway, kGateway);
  AddDevice(&spec, 1, "10.0.0.3", kGateway, kGateway);
  return scenario;
}

std::unique_ptr<Scenario> BrokenConfScenario() {
  auto scenario = std::make_unique<Scenario>();
  FakeMachine& machine = scenario->machine;
  FakeMachine::Device routed = Device("10.0.0.1", kGateway);
  routed.routes = {"172.16.0.0 10.0.0.253 255.255.0.0"};
  routed.detect = kGateway;
  routed.roce_port = "4791";
  FakeMachine::Device unlike = Device("10.0.0.2", kGateway);
  unlike.detect = kGateway;
  unlike.tls = false;
  unlike.roce_port = "4791";
  routed.dscp = unlike.dscp = "33:1,46:2";
  machine.AddDevice(0, routed);
  machine.AddDevice(1, unlike);
  machine.files().Put(
      kHccnConf,
      "# of the rack's own editor\r\n"
      "address_0=10.0.0.1\r\nnetmask_0=255.255.255.0\r\n"
      "gateway_0=10.0.0.254\r\nnetdetect_0=10.0.0.254\r\ntls_enable_0=1\r\n"
      "route_address_172.16.0.0_netmask_255.255.0.0_0=10.0.0.253\r\n"
      "address_1=10.0.0.2\r\nnetmask_1=255.255.255.0\r\n"
      "gateway_1=10.0.0.250\r\nnetdetect_1=10.0.0.9\r\n"
      "tls_enable_1=1\r\naddress_1=10.9.9.9\r\ndscp_tc_1=46:2,3:1,\r\n"
      "mtu_1=1500",
      0640, 0, 12);

  ClusterSpec& spec = scenario->spec;
  spec = BaseSpec();
  spec.set_tls(false);
  spec.set_mtu(1500);
  spec.mutable_lossless()->set_pfc("0,0,0,0,0,0,0,0");
  spec.mutable_lossless()->set_roce_port(4791);
  spec.mutable_lossless()->set_dscp_to_tc("33:1,46:2");
  AddDevice(&spec, 0, "10.0.0.11", kGateway, kGateway);
  AddDevice(&spec, 1, "10.0.0.2", kGateway, kGateway);
  return scenario;
}

std::unique_ptr<Scenario> NoTlsKeyScenario() {
  auto scenario = std::make_unique<Scenario>();
  FakeMachine& machine = scenario->machine;
  machine.AddDevice(0, Device("10.0.0.1", kGateway));
  machine.files().Put(kHccnConf,
                      "address_0=10.0.0.1\nnetmask_0=255.255.255.0\n"
                      "gateway_0=10.0.0.254\n",
                      0640, 0, 12);

  ClusterSpec& spec = scenario->spec;
  spec = BaseSpec();
  spec.set_tls(false);
  AddDevice(&spec, 0, "10.0.0.1", kGateway, kGateway);
  return scenario;
}

namespace {

// Applies "a1" through the log, which may end the process.
void ApplyThrough(EffectLog* log, Scenario* scenario) {
  (void)scenario->MakeApplier(log)->Apply(RequestFor(scenario->Plan(), "a1"));
  // They hold the log.
  scenario->logged_files.reset();
  scenario->logged_runner.reset();
}

std::unique_ptr<Scenario> CrashedAt(size_t effect, CrashPoint point) {
  auto crashed = OpenUfwScenario();
  EffectLog log;
  log.CrashAt(effect, point);
  ApplyThrough(&log, crashed.get());
  return crashed;
}

std::vector<std::string> AllEffects() {
  EffectLog log;
  ApplyThrough(&log, OpenUfwScenario().get());
  return log.effects();
}

}  // namespace

std::unique_ptr<Scenario> CrashedScenario() {
  return CrashedAt(AllEffects().size() / 2, CrashPoint::kAfter);
}

std::unique_ptr<Scenario> AlmostAppliedScenario() {
  const std::string record =
      absl::StrCat("write ", kScenarioStateFolder, "/a1.journal");
  const std::vector<std::string> effects = AllEffects();
  size_t last = effects.size() - 1;
  while (effects[last] != record) --last;
  return CrashedAt(last, CrashPoint::kBefore);
}

std::vector<NamedScenario> AllScenarios() {
  return {{"open ufw", &OpenUfwScenario},
          {"open firewalld", &OpenFirewalldScenario},
          {"disable firewalls", &DisableFirewallsScenario},
          {"broken hccn.conf", &BrokenConfScenario}};
}

}  // namespace clusterd
