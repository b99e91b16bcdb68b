#include "tests/support/config/judge_testing.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/number_list.h"
#include "config/words/message.h"
#include "config/words/words.h"
#include "gtest/gtest.h"

namespace clusterd {

TestCluster::TestCluster(absl::string_view product, absl::string_view mode,
                         int servers)
    : spec(MakeSpec(product, mode, servers)), facts(MakeHealthyFacts(spec)) {
  // The rules about a job's size need a job.
  spec.set_one_job(true);
}

void TestCluster::SetAddress(int host, int index, absl::string_view address,
                             absl::string_view netmask) {
  DeviceFacts& facts_of = device(host, index);
  auto* settings = facts_of.mutable_address()->mutable_value();
  settings->clear_settings();
  settings->add_settings()->set_address(std::string(address));
  settings->mutable_settings(0)->set_netmask(std::string(netmask));
  for (HccnConf::Entry& entry :
       *facts[host].mutable_hccn_conf()->mutable_value()->mutable_entries()) {
    if (entry.device() != facts_of.id()) continue;
    if (entry.key() == "address") entry.set_value(std::string(address));
    if (entry.key() == "netmask") entry.set_value(std::string(netmask));
  }
}

void TestCluster::PlanAddress(int host, int index, absl::string_view address,
                              absl::string_view netmask) {
  DeviceSpec* device = spec.mutable_servers(host)->mutable_devices(index);
  device->set_address(std::string(address));
  device->set_netmask(std::string(netmask));
}

void TestCluster::MakeNew(int host) {
  HccnConf* const conf = facts[host].mutable_hccn_conf()->mutable_value();
  conf->clear_entries();
  for (DeviceFacts& device : *facts[host].mutable_devices()) {
    device.mutable_address()->mutable_value()->clear_settings();
    device.mutable_gateway()->set_value("");
    device.mutable_detect_address()->set_value("0.0.0.0");
    device.mutable_net_health()->set_value(NET_HEALTH_INIT);
    HccnConf::Entry* const entry = conf->add_entries();
    entry->set_key("xsfp_reset_wait_times");
    entry->set_device(device.id());
    entry->set_value("7");
    entry->set_line(conf->entries_size());
  }
}

void TestCluster::Silence(int host) {
  facts[host] =
      MakeSilentHost(facts[host].host(), Missing::NO_ANSWER, "never attached");
}

void TestCluster::Mute(int host, int index, Missing::Reason reason,
                       absl::string_view what) {
  DeviceFacts& facts_of = device(host, index);
  const auto mute = [&](absl::string_view query, auto* fact) {
    fact->mutable_missing()->set_reason(reason);
    SetDetail(Worded(kHccnToolSaid,
                     absl::StrCat("`hccn_tool -i ", facts_of.id(), " ", query,
                                  " -g`"),
                     what),
              fact->mutable_missing());
  };
  mute("-ip", facts_of.mutable_address());
  mute("-gateway", facts_of.mutable_gateway());
  mute("-netdetect", facts_of.mutable_detect_address());
  mute("-net_health", facts_of.mutable_net_health());
  mute("-link", facts_of.mutable_link());
  mute("-lldp", facts_of.mutable_lldp());
  mute("-mtu", facts_of.mutable_mtu());
  mute("-cfg", facts_of.mutable_recovery());
  mute("-speed", facts_of.mutable_speed_mbps());
  mute("-pfc", facts_of.mutable_pfc());
  mute("-dscp_to_tc", facts_of.mutable_dscp_to_tc());
  mute("-prio_tc", facts_of.mutable_priority_to_tc());
  mute("-udp", facts_of.mutable_roce_port());
  mute("-optical", facts_of.mutable_optical());
  mute("-link_stat", facts_of.mutable_link_history());
  mute("-stat", facts_of.mutable_counter_rises());
}

TestCluster& TestCluster::Set(int host, absl::string_view text) {
  MergeText(text, &facts[host]);
  return *this;
}

TestCluster& TestCluster::Set(int host, int index, absl::string_view text) {
  MergeText(text, &device(host, index));
  return *this;
}

TestCluster& TestCluster::SetHosts(absl::string_view text) {
  for (HostFacts& host : facts) MergeText(text, &host);
  return *this;
}

TestCluster& TestCluster::SetDevices(absl::string_view text) {
  ForEachDevice([&](DeviceFacts& device) { MergeText(text, &device); });
  return *this;
}

TestCluster& TestCluster::SetSpec(absl::string_view text) {
  MergeText(text, &spec);
  return *this;
}

TestCluster& TestCluster::Plan(int host, int index, absl::string_view text) {
  MergeText(text, spec.mutable_servers(host)->mutable_devices(index));
  return *this;
}

void TestCluster::ForEachDevice(
    const std::function<void(DeviceFacts&)>& visit) {
  for (HostFacts& host : facts) {
    for (DeviceFacts& device : *host.mutable_devices()) visit(device);
  }
}

EnvironmentVariable& TestCluster::SetInLogins(int host, const std::string& name,
                                              const std::string& value,
                                              const std::string& file,
                                              int line) {
  EnvironmentVariable& variable =
      *facts[host].mutable_environment()->mutable_value()->add_variables();
  variable.set_name(name);
  variable.set_value(value);
  variable.set_file(file);
  variable.set_line(line);
  return variable;
}

JobSpec& TestCluster::StartJob() {
  job.emplace();
  for (const ServerSpec& server : spec.servers()) {
    job->add_servers()->set_host(server.host());
  }
  return *job;
}

EnvironmentVariable& TestCluster::SetInJob(const std::string& name,
                                           const std::string& value) {
  if (!job.has_value()) StartJob();
  EnvironmentVariable& variable = *job->add_environment();
  variable.set_name(name);
  variable.set_value(value);
  return variable;
}

RuleResult TestCluster::Check(absl::string_view rule) const {
  return ResultOf(MakeReport(), rule);
}

Report TestCluster::MakeReport(const JudgeOptions& options) const {
  JudgeOptions with_job = options;
  if (job.has_value() && options.job == nullptr) with_job.job = &*job;
  if (options.now == absl::InfiniteFuture()) with_job.now = now;
  return BuildReport(spec, Pointers(facts), with_job);
}

TestCluster SizedCluster(absl::string_view product, int servers) {
  TestCluster cluster(product, "", 1);
  for (int i = 1; i < servers; ++i) cluster.spec.add_servers();
  return cluster;
}

const RuleResult& ResultOf(const Report& report, absl::string_view rule) {
  for (const RuleResult& result : report.rules()) {
    if (result.rule() == rule) return result;
  }
  ADD_FAILURE() << "no rule " << rule;
  return RuleResult::default_instance();
}

RuleSelection Only(const std::vector<std::string>& rules) {
  RuleSelection selection;
  for (const std::string& rule : rules) selection.add_only(rule);
  return selection;
}

std::string Who(const Finding& finding) {
  std::string who;
  for (const Subject& subject : finding.subjects()) {
    absl::StrAppend(&who, who.empty() ? "" : " ",
                    subject.host().empty() ? "cluster" : subject.host());
    if (subject.devices().empty()) continue;
    absl::StrAppend(&who, ":",
                    FoldIds(std::vector<uint32_t>(subject.devices().begin(),
                                                  subject.devices().end())));
  }
  return who;
}

std::string Brief(const Finding& finding) {
  std::vector<std::string> values;
  for (const FindingValue& value : finding.values()) {
    const std::string text = ValueText(value);
    if (!text.empty()) values.push_back(absl::StrCat(value.name(), "=", text));
  }
  if (finding.has_expects()) {
    values.push_back(absl::StrCat("expects=", ValueText(finding.expects())));
  }
  return absl::StrCat(finding.finding(), values.empty() ? "" : " ",
                      absl::StrJoin(values, ", "));
}

int64_t JudgedCount(const RuleResult& result) {
  // "15 of 16 devices on 2 hosts", "2 hosts".
  const FindingValue* count = &result.seen();
  while (!count->values().empty()) count = &count->values(0);
  return count->number();
}

std::string Lines(const RuleResult& result) {
  std::string lines;
  for (const Finding& finding : result.findings()) {
    absl::StrAppend(&lines, State_Name(finding.state()), " ", Who(finding), " ",
                    finding.caused_by().empty()
                        ? ""
                        : absl::StrCat("[", finding.caused_by(), "] "),
                    Brief(finding), "\n");
  }
  return lines;
}

}  // namespace clusterd
