#include "client/testing/sample_plan.h"

#include "config/plan/plan_digest.h"

namespace clusterd {
namespace {

constexpr int64_t kNewYear2025Ms = 1735689600000;

PlanStep& AddStep(HostPlan& host, ChangeKind kind) {
  PlanStep& step = *host.add_steps();
  step.set_id(static_cast<uint32_t>(host.steps_size()));
  step.set_kind(kind);
  step.set_precondition("it is as it was seen");
  step.set_undo("as it was");
  return step;
}

void AddFact(HostPlan& host, const std::string& name,
             const std::string& value) {
  PlanFact& fact = *host.add_facts();
  fact.set_name(name);
  fact.set_value(value);
}

ClusterPlan EmptyPlan() {
  ClusterPlan plan;
  plan.set_schema_version(1);
  plan.set_cluster("demo");
  plan.set_product("atlas-training");
  plan.set_spec_digest(Sha256Hex("cluster.yaml"));
  plan.set_spec_sha256(Sha256Hex("spec"));
  plan.set_plan_id("9c41d2e3f4051627");
  plan.set_created_at_ms(kNewYear2025Ms);
  plan.set_created_by("ann");
  return plan;
}

void AddSysctlSteps(HostPlan& host) {
  PlanStep& running = AddStep(host, CHANGE_SYSCTL);
  running.set_precondition("net.core.somaxconn is 4096");
  running.set_undo("write 4096");
  running.add_consequences("sockets that listen keep their old limit");
  running.mutable_sysctl()->set_key("net.core.somaxconn");
  running.mutable_sysctl()->set_from("4096");
  running.mutable_sysctl()->set_to("65535");
  PlanStep& file = AddStep(host, CHANGE_SYSCTL);
  file.mutable_sysctl_file()->set_path("/etc/sysctl.d/90-clusterd.conf");
  auto& setting = *file.mutable_sysctl_file()->add_settings();
  setting.set_key("net.core.somaxconn");
  setting.set_to("65535");
}

void AddDeviceSteps(HostPlan& host) {
  DeviceAddressChange& address =
      *AddStep(host, CHANGE_DEVICE_ADDRESS).mutable_device_address();
  address.set_device(3);
  address.mutable_from()->set_address("10.0.0.1");
  address.mutable_from()->set_netmask("255.255.255.0");
  address.mutable_to()->set_address("10.20.0.17");
  address.mutable_to()->set_netmask("255.255.255.0");
  HccnConf::Entry& dropped = *address.add_dropped();
  dropped.set_line(7);
  dropped.set_key("gateway");
  dropped.set_device(3);
  dropped.set_value("10.0.0.254\r");
  GatewayChange& gateway =
      *AddStep(host, CHANGE_DEVICE_ADDRESS).mutable_gateway();
  gateway.set_device(3);
  gateway.set_from("10.0.0.254");
  gateway.set_to("10.20.0.254");
  gateway.set_put_back(true);
  DetectAddressChange& detect =
      *AddStep(host, CHANGE_DEVICE_ADDRESS).mutable_detect_address();
  detect.set_device(3);
  detect.set_from("0.0.0.0");
  detect.set_to("10.20.0.254");
  TlsChange& tls = *AddStep(host, CHANGE_TLS).mutable_tls();
  tls.set_device(3);
  tls.set_from(true);
}

void AddFileSteps(HostPlan& host) {
  HccnConfRewriteChange& rewrite =
      *AddStep(host, CHANGE_HCCN_CONF).mutable_hccn_conf_rewrite();
  rewrite.set_device(3);
  rewrite.set_setting(HccnConfRewriteChange::DETECT_ADDRESS);
  rewrite.set_in_file("1.2.3.4");
  rewrite.set_live("10.20.0.254");
  HccnConfRepairChange& repair =
      *AddStep(host, CHANGE_HCCN_CONF).mutable_hccn_conf_repair();
  HccnConf::Problem& problem = *repair.add_problems();
  problem.set_kind(HccnConf::Problem::CARRIAGE_RETURN);
  problem.set_line(2);
  problem.set_text("a\"b\\c\r\n\t\x01<&>\u2028\U0001f600\x1b[2J");
  repair.set_from_sha256(Sha256Hex("conf"));
}

void AddFirewallSteps(HostPlan& host) {
  FirewallDisableChange& disable =
      *AddStep(host, CHANGE_FIREWALL).mutable_firewall_disable();
  disable.set_program(FIREWALLD);
  disable.set_was_active(true);
  disable.set_was_enabled(true);
  FirewallOpenChange& open =
      *AddStep(host, CHANGE_FIREWALL).mutable_firewall_open();
  open.set_program(UFW);
  AllowedPort& port = *open.add_ports();
  port.set_first_port(60000);
  port.set_last_port(60015);
  port.set_protocol("tcp");
  port.set_source("10.0.0.0/24");
}

// Each oneof set, and nothing in it.
void AddDefaultSteps(HostPlan& host) {
  host.add_steps()->mutable_device_address()->mutable_from();
  host.add_steps()->mutable_gateway();
  host.add_steps()->mutable_detect_address();
  host.add_steps()->mutable_tls();
  host.add_steps()->mutable_hccn_conf_rewrite();
  host.add_steps()->mutable_hccn_conf_repair()->add_problems();
  host.add_steps()->mutable_sysctl();
  host.add_steps()->mutable_sysctl_file()->add_settings();
  host.add_steps()->mutable_firewall_disable();
  host.add_steps()->mutable_firewall_open()->add_ports();
  host.add_steps();
}

}  // namespace

void Reseal(ClusterPlan& plan) { plan.set_digest(PlanDigest(plan)); }

ClusterPlan SysctlPlan(const std::vector<std::string>& hosts) {
  ClusterPlan plan = EmptyPlan();
  for (const std::string& name : hosts) {
    HostPlan& host = *plan.add_hosts();
    host.set_host(name);
    AddSysctlSteps(host);
    AddFact(host, "net.core.somaxconn", "4096");
    host.set_command_ms(10'000);
  }
  Reseal(plan);
  return plan;
}

ClusterPlan EveryStepPlan() {
  ClusterPlan plan = SysctlPlan({"server0"});
  HostPlan& host = *plan.mutable_hosts(0);
  AddDeviceSteps(host);
  AddFileSteps(host);
  AddFirewallSteps(host);
  AddFact(host, "device 3: address", "10.0.0.1/255.255.255.0");
  AddFact(host, "", "");
  BlockedChange& blocked = *host.add_blocked();
  blocked.set_kind(CHANGE_DEVICE_ADDRESS);
  blocked.add_devices(0);
  blocked.add_devices(1);
  blocked.set_what("gateway 10.0.0.254");
  blocked.set_reason("it is outside 10.20.0.0/24");
  blocked.set_fix("correct the gateway in cluster.yaml");
  host.add_notes("host and container are one");
  HostPlan& defaults = *plan.add_hosts();
  defaults.set_host("server1");
  AddDefaultSteps(defaults);
  defaults.add_blocked();
  defaults.add_notes("");
  Reseal(plan);
  return plan;
}

ApplyResult ResultOf(const std::string& host, ApplyResult::Outcome outcome,
                     const std::string& error) {
  ApplyResult result;
  result.set_apply_id("3fa2c4d5e6f70812");
  result.set_host(host);
  result.set_outcome(outcome);
  result.set_error(error);
  result.set_elapsed_ms(1200);
  if (outcome != ApplyResult::APPLIED) return result;
  for (const uint32_t id : {1, 2}) {
    StepOutcome& step = *result.add_steps();
    step.set_step(id);
    step.set_state(StepOutcome::DONE);
  }
  return result;
}

ApplyReport ReportOf(ApplyReport::Outcome outcome,
                     const std::vector<ApplyResult>& hosts) {
  ApplyReport report;
  report.set_schema_version(1);
  report.set_cluster("demo");
  report.set_run_id("3fa2c4d5e6f70812");
  report.set_apply_id("3fa2c4d5e6f70812");
  report.set_plan_id("9c41d2e3f4051627");
  report.set_plan_digest(Sha256Hex("plan"));
  report.set_actor("ann");
  report.set_wave_size(32);
  report.set_started_at_ms(kNewYear2025Ms);
  report.set_elapsed_ms(12'000);
  report.set_outcome(outcome);
  for (const ApplyResult& host : hosts) *report.add_hosts() = host;
  return report;
}

}  // namespace clusterd
