#include "tests/support/client/sample_plan.h"

#include "config/plan/make_plan.h"
#include "config/plan/settings.h"
#include "config/values/sha256.h"
#include "config/values/version.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

PlanStep& AddStep(HostPlan& host, const PlanStep& added) {
  PlanStep& step = *host.add_steps();
  step = added;
  step.set_id(static_cast<uint32_t>(host.steps_size()));
  step.set_precondition("it is as it was seen");
  step.set_undo("as it was");
  return step;
}

void AddFact(HostPlan& host, const FactKey& key, const SettingValue& value) {
  PlanFact& fact = *host.add_facts();
  *fact.mutable_key() = key;
  *fact.mutable_value() = value;
}

ClusterPlan EmptyPlan() {
  auto plan = FromText<ClusterPlan>(
      "cluster: 'demo' product: 'atlas-training' plan_id: '9c41d2e3f4051627' "
      "created_at_ms: 1735689600000 created_by: 'ann'");
  plan.set_schema_version(kPlanSchemaVersion);
  plan.set_spec_digest(Sha256Hex("cluster.yaml"));
  plan.set_spec_sha256(Sha256Hex("spec"));
  return plan;
}

void AddSysctlSteps(HostPlan& host) {
  PlanStep& running =
      AddStep(host, RunningStep("net.core.somaxconn", "4096", "65535"));
  running.set_precondition("net.core.somaxconn is 4096");
  running.set_undo("write 4096");
  running.add_consequences("sockets that listen keep their old limit");
  AddStep(host, AtBootStep("net.core.somaxconn", "none", "65535"));
}

void AddDeviceSteps(HostPlan& host) {
  PlanStep& address =
      AddStep(host, AddressStep(3, "10.0.0.1/255.255.255.0",
                                "10.20.0.17/255.255.255.0", "10.0.0.254\r"));
  address.mutable_dropped(0)->set_line(7);
  AddStep(host, DeviceStep(3, SETTING_GATEWAY, "10.20.0.254", "10.20.0.254"));
  AddStep(host,
          DeviceStep(3, SETTING_DETECT_ADDRESS, "0.0.0.0", "10.20.0.254"));
  AddStep(host, DeviceStep(3, SETTING_MTU, "1500", "9000"));
  AddStep(host, DeviceStep(3, SETTING_TLS, "on", "off"));
  AddStep(host,
          RewriteStep(3, SETTING_DETECT_ADDRESS, "1.2.3.4", "10.20.0.254"));
  AddStep(host,
          DeviceStep(3, SETTING_PFC, "0,0,0,0,0,0,0,0", "0,0,0,0,1,0,0,0"));
  AddStep(host, DeviceStep(3, SETTING_ROCE_PORT, "auto", "4791"));
  AddStep(host, DeviceStep(3, SETTING_DSCP_TO_TC, "0:0", "33:1,46:2"));
}

void AddFormStep(HostPlan& host) {
  // Text of a hostile host.
  AddStep(host, FormStep("line 2: remove carriage returns, "
                         "a\"b\\c\r\n\t\x01<&>\u2028\U0001f600\x1b[2J",
                         Sha256Hex("conf")));
}

void AddFirewallSteps(HostPlan& host) {
  AddStep(host, StopStep(FIREWALLD));
  AddStep(host, OpenStep(UFW, TcpPorts(60000, 60015, "10.0.0.0/24")));
}

// Each kind of target, set but empty.
void AddDefaultSteps(HostPlan& host) {
  host.add_steps()->mutable_target()->set_device(0);
  host.add_steps()->mutable_target()->set_kernel_parameter("");
  host.add_steps()->mutable_target()->set_firewall(
      FIREWALL_PROGRAM_UNSPECIFIED);
  host.add_steps()->mutable_target()->mutable_rule()->mutable_port();
  host.add_steps()->mutable_target()->set_file("");
  host.add_steps()->mutable_target();
  host.add_steps()->add_dropped();
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
    AddFact(host, KernelFact("net.core.somaxconn", SETTING_RUNNING),
            NumberValue(4096));
    host.set_command_ms(10'000);
  }
  Reseal(plan);
  return plan;
}

ClusterPlan EveryStepPlan() {
  ClusterPlan plan = SysctlPlan({"server0"});
  HostPlan& host = *plan.mutable_hosts(0);
  AddDeviceSteps(host);
  AddFormStep(host);
  AddFirewallSteps(host);
  AddFact(host, DeviceFact(3, SETTING_ADDRESS),
          ValueOf(SETTING_ADDRESS, "10.0.0.1/255.255.255.0"));
  AddFact(host, FactKey(), SettingValue());
  MergeText(
      "blocked {kind: CHANGE_DEVICE_ADDRESS devices: [0, 1] "
      "what: 'gateway 10.0.0.254' reason: 'it is outside 10.20.0.0/24' "
      "fix: 'correct the gateway in cluster.yaml'} "
      "notes: 'host and container are one'",
      &host);
  HostPlan& defaults = *plan.add_hosts();
  MergeText("host: 'server1' blocked {} notes: ''", &defaults);
  AddDefaultSteps(defaults);
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
  MergeText(
      "schema_version: 1 cluster: 'demo' run_id: '3fa2c4d5e6f70812' "
      "apply_id: '3fa2c4d5e6f70812' plan_id: '9c41d2e3f4051627' actor: 'ann' "
      "wave_size: 32 started_at_ms: 1735689600000 elapsed_ms: 12000",
      &report);
  report.set_plan_digest(Sha256Hex("plan"));
  report.set_outcome(outcome);
  for (const ApplyResult& host : hosts) *report.add_hosts() = host;
  return report;
}

}  // namespace clusterd
