// Proofs over the whole catalogue: no rule passes without the facts that it
// reads. RandomClusterTest proves that every rule notices its faults.
#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/rules/catalogue.h"
#include "config/rules/host_rules.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_ssh.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

State StateOf(const TestCluster& cluster, const std::string& rule) {
  return cluster.Check(rule).state();
}

// cluster.yaml names no number.
void NameNoNumbers(TestCluster& c) {
  c.SetSpec(
      "hccl {base_port_auto: true port_count_auto: true} "
      "kernel {somaxconn_auto: true tcp_max_syn_backlog_auto: true}");
}

// A job that logs in, and its hosts' facts about that.
void LaunchBySsh(TestCluster& c) {
  c.StartJob().mutable_ssh()->set_user("ann");
  const SshQuestion question = MakeSshQuestion(c.spec, c.job->ssh());
  for (HostFacts& host : c.facts) {
    *host.mutable_ssh() = MakeHealthySsh(host.host(), question);
  }
}

// A job with an interpreter, which has its packages on every host.
void NeedPackages(TestCluster& c) {
  JobSpec& job = c.StartJob();
  job.set_user("ann");
  job.set_python("/usr/bin/python3");
  job.set_requirements("torch==2.1.0\n");
  for (int host : {0, 1}) {
    c.Set(host, "python {value {packages {name: 'torch' version: '2.1.0'}}}");
  }
}

using Change = std::function<void(TestCluster&)>;

void StartJobWithoutRoce(TestCluster& c) {
  c.StartJob();
  c.spec.set_roce_unused(true);
}

void StartJobAtPort(TestCluster& c) {
  c.StartJob().mutable_servers(0)->set_master_port(29500);
}

void StartJobWithTable(TestCluster& c) {
  c.StartJob().set_rank_table(MakeRankTable(c.spec));
}

// A fact whose absence must keep rules from passing.
struct Reader {
  const char* fact;  // Path in HostFacts.
  std::vector<std::string> rules;
  // Set if the fact only matters in special circumstances.
  Change prepare = [](TestCluster&) {};
  const char* product = "atlas-training";
  // For a fact that a host may well lack, such as a record of applies: the
  // state of its rules then.
  State unset = UNKNOWN;
};

std::vector<Reader> Readers() {
  const Change no_change = [](TestCluster&) {};
  const auto open_ports = [](TestCluster& c) {
    c.spec.set_firewall(FIREWALL_OPEN_PORTS);
    for (const char* firewall : {"ufw", "firewalld"}) {
      constexpr char kAll[] =
          "{value {ports {first_port: 1 last_port: 65535}}}";
      c.Set(0, absl::StrCat(firewall, " {active {value: true} allowed ", kAll,
                            " allowed_permanently ", kAll, "}"));
    }
  };
  const auto two_subnets = [](TestCluster& c) {
    c.SetAddress(0, 0, "10.9.9.9", "255.255.255.0");
    c.device(0, 0).mutable_gateway()->set_value("10.9.9.254");
  };
  return {
      {"hccn_tool.path", {"hccn-tool"}},
      {"device_ids", {"device-count"}},
      {"devices.address",
       {"device-ip-set", "device-ip-planned", "device-ip-persistent",
        "device-ip-allowed", "gateway", "gateway-persistent", "detect-address",
        "detect-address-persistent", "subnet-pairs", "subnet-distinct",
        "subnet-across-hosts", "ip-unique", "ip-host-part", "netmask-uniform"}},
      {"devices.address", {"subnet-shared"}, no_change, "atlas-a2"},
      {"devices.gateway", {"gateway", "gateway-persistent", "ip-unique"}},
      {"devices.gateway", {"subnet-shared"}, two_subnets, "atlas-a2"},
      {"devices.detect_address",
       {"detect-address", "detect-address-persistent"}},
      {"devices.net_health", {"net-health"}},
      {"devices.link", {"link"}},
      {"devices.lldp", {"lldp", "lldp-rail"}},
      {"devices.mtu", {"mtu-uniform"}},
      {"devices.speed_mbps", {"speed-uniform"}},
      {"devices.vnic", {"subnet-superpod"}, no_change, "atlas-a3-superpod"},
      {"devices.super_pod",
       {"subnet-superpod"},
       no_change,
       "atlas-a3-superpod"},
      {"devices.super_pod",
       {"job-super-pod"},
       StartJobWithoutRoce,
       "atlas-a3-superpod"},
      {"devices.recovery", {"hccn-conf"}},
      {"devices.tls", {"tls-uniform"}},
      {"devices.health", {"device-health"}},
      {"devices.memory_errors", {"device-health"}},
      {"devices.compatibility", {"driver-compat"}},
      {"devices.hccs", {"hccs"}},
      {"devices.pfc", {"lossless"}},
      {"devices.dscp_to_tc", {"lossless"}},
      {"devices.priority_to_tc", {"lossless"}},
      {"devices.roce_port", {"lossless"}},
      {"devices.optical", {"optics"}},
      {"devices.link_history", {"link-flaps"}},
      {"devices.counter_rises", {"link-flaps"}},
      {"hccn_conf",
       {"hccn-conf", "device-ip-persistent", "gateway-persistent",
        "detect-address-persistent", "mtu-persistent", "tls-persistent",
        "pfc-persistent", "dscp-persistent", "roce-port-persistent"}},
      {"kernel.reserved_ports",
       {"ports-reserved", "ports-uniform"},
       NameNoNumbers},
      {"kernel.somaxconn",
       {"listen-backlog", "backlog-uniform"},
       NameNoNumbers},
      {"kernel.tcp_max_syn_backlog",
       {"syn-backlog", "backlog-uniform"},
       NameNoNumbers},
      {"kernel.reserved_ports_at_boot", {"sysctl-persistent"}},
      {"kernel.somaxconn_at_boot", {"sysctl-persistent"}},
      {"kernel.tcp_max_syn_backlog_at_boot", {"sysctl-persistent"}},
      {"sockets", {"ports-free"}},
      {"sockets", {"rendezvous"}, StartJobAtPort},
      {"devices.address", {"rank-table"}, StartJobWithTable},
      {"npu_processes", {"device-idle", "device-process-limit"}},
      {"device_owners", {"device-namespace"}},
      {"devices.memory", {"device-memory"}},
      {"kernel.neighbours_most", {"neighbour-table"}},
      {"kernel.neighbours_kept", {"neighbour-table"}},
      {"memory", {"host-memory"}},
      {"peer_names", {"host-name"}},
      {"directories", {"container-mounts"}},
      {"ufw.installed", {"firewall"}},
      {"ufw.active", {"firewall"}},
      {"ufw.enabled_at_boot", {"firewall"}},
      {"ufw.allowed", {"firewall"}, open_ports},
      {"firewalld.installed", {"firewall"}},
      {"firewalld.active", {"firewall"}},
      {"firewalld.enabled_at_boot", {"firewall"}},
      {"firewalld.allowed", {"firewall"}, open_ports},
      {"firewalld.allowed_permanently", {"firewall"}, open_ports},
      {"firewalld.other_zones", {"firewall"}, open_ports},
      {"drop_rules", {"firewall"}},
      {"interfaces", {"host-interface"}},
      {"own_name", {"host-name"}},
      {"environment",
       {"host-interface", "hccl-environment", "environment-uniform"}},
      {"in_container", {"container-mounts"}},
      {"open_files", {"open-files"}},
      {"clock", {"clock-skew"}},
      {"roots", {"roots-uniform"}},
      {"identity.npu_series", {"version-uniform"}},
      {"identity.kernel_release", {"version-uniform"}},
      {"versions.driver", {"version-uniform"}},
      {"versions.firmware", {"version-uniform", "driver-compat"}},
      {"versions.firmware_of_driver", {"driver-compat"}},
      {"versions.cann", {"version-uniform"}},
      {"ssh", {"ssh-ready"}, LaunchBySsh},
      {"python", {"job-python"}, NeedPackages},
      {"drift", {"drift"}, no_change, "atlas-training", SKIPPED},
  };
}

// Facts for people: `describe` shows them, no verdict rests on them.
const std::set<std::string>& ReadByNoRule() {
  static const auto* const facts = new std::set<std::string>{
      "identity.hostname", "identity.boot_id", "identity.machine_id",
      "identity.architecture", "identity.os_release",
      "kernel.network_namespace", "kernel.initial_namespace",
      "kernel.proc_sys_writable", "kernel.network_namespace_cookie",
      // They make a failure unknown, but do not let it pass.
      "devices.ipv6_address", "kernel.local_port_range",
      // ufw never runs rules that it does not store, and has no zones.
      "ufw.allowed_permanently", "ufw.other_zones",
      // A plan says it of its step.
      "docker_running"};
  return *facts;
}

bool IsFact(const Descriptor& type) {
  return type.FindOneofByName("state") != nullptr;
}

// Paths of all facts below a message type. Words only say why one is missing.
void CollectFacts(const Descriptor& type, const std::string& prefix,
                  std::set<std::string>* facts) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
        field->message_type() == FindingValue::descriptor()) {
      continue;
    }
    const std::string path = absl::StrCat(prefix, field->name());
    if (IsFact(*field->message_type())) {
      facts->insert(path);
    } else {
      CollectFacts(*field->message_type(), path + ".", facts);
    }
  }
}

// The fact at a path; of a repeated field on the way the first element.
Message* FactAt(const std::string& path, HostFacts* host) {
  Message* message = host;
  for (absl::string_view part : absl::StrSplit(path, '.')) {
    const FieldDescriptor* field =
        message->GetDescriptor()->FindFieldByName(std::string(part));
    const google::protobuf::Reflection* reflection = message->GetReflection();
    message = field->is_repeated()
                  ? reflection->MutableRepeatedMessage(message, field, 0)
                  : reflection->MutableMessage(message, field);
  }
  return message;
}

void ReplaceByMissing(Missing::Reason reason, Message* fact) {
  const FieldDescriptor* field =
      fact->GetDescriptor()->FindFieldByName("missing");
  Missing missing;
  missing.set_reason(reason);
  missing.set_detail("taken away by a test");
  fact->GetReflection()->MutableMessage(fact, field)->CopyFrom(missing);
}

TEST(CompletenessTest, EveryFactHasItsReadersOrIsForPeople) {
  std::set<std::string> facts;
  CollectFacts(*HostFacts::descriptor(), "", &facts);
  std::set<std::string> listed = ReadByNoRule();
  for (const Reader& reader : Readers()) listed.insert(reader.fact);
  EXPECT_EQ(facts, listed);
}

TEST(CompletenessTest, NoRulePassesWithoutAFactThatItReads) {
  for (const Reader& reader : Readers()) {
    for (const int how : {0, int{Missing::TIMED_OUT}, int{Missing::UNREADABLE},
                          int{Missing::NOT_PERMITTED}}) {
      TestCluster cluster(reader.product);
      reader.prepare(cluster);
      Message* fact = FactAt(reader.fact, &cluster.facts[0]);
      for (const std::string& rule : reader.rules) {
        EXPECT_EQ(StateOf(cluster, rule), PASS)
            << rule << " before " << reader.fact << " is gone";
      }
      fact->Clear();
      if (how != 0) ReplaceByMissing(static_cast<Missing::Reason>(how), fact);
      for (const std::string& rule : reader.rules) {
        const RuleResult result = cluster.Check(rule);
        const State other = how == 0 ? reader.unset : FAIL;
        EXPECT_TRUE(result.state() == UNKNOWN || result.state() == FAIL ||
                    result.state() == other)
            << rule << " is " << State_Name(result.state()) << " without "
            << reader.fact;
        ASSERT_GT(result.findings_size(), 0);
        EXPECT_EQ(result.findings(0).subjects(0).host(), "server0") << rule;
      }
    }
  }
}

TEST(CompletenessTest, EveryRuleAboutHostsReadsAFact) {
  std::set<std::string> reading;
  for (const Reader& reader : Readers()) {
    reading.insert(reader.rules.begin(), reader.rules.end());
  }
  for (const Rule& rule : RuleCatalogue()) {
    // Answers of hosts are not facts of a host, and waivers stand in the spec.
    // Rule tls-uniform reports an unknown switch.
    if (!rule.JudgesHosts() || rule.scope == RuleScope::kAnswers ||
        rule.name == "tls-certificates" || rule.name == "maintenance") {
      continue;
    }
    EXPECT_TRUE(reading.count(std::string(rule.name)))
        << rule.name << " reads no fact";
  }
}

TEST(CompletenessTest, NothingPassesAboutHostsThatSayNothing) {
  for (const char* product : {"atlas-training", "atlas-a2", "atlas-a3"}) {
    TestCluster cluster(product);
    for (HostFacts& host : cluster.facts) {
      const std::string name = host.host();
      host.Clear();
      host.set_host(name);
    }
    const Report report = cluster.MakeReport();
    for (const RuleResult& result : report.rules()) {
      const Rule& rule = *FindRule(result.rule());
      // The hosts are there, but all facts are unknown.
      if (!rule.JudgesHosts() || rule.scope == RuleScope::kAnswers ||
          rule.name == "maintenance") {
        continue;
      }
      EXPECT_NE(result.state(), PASS) << result.rule();
    }
  }
}

// Rules with an unknown or failure that no other rule explains.
std::set<std::string> Causes(const TestCluster& cluster) {
  std::set<std::string> causes;
  const Report report = cluster.MakeReport();
  for (const RuleResult& result : report.rules()) {
    for (const Finding& finding : result.findings()) {
      if (finding.caused_by().empty()) causes.insert(result.rule());
    }
  }
  return causes;
}

TEST(CompletenessTest, OneCauseIsNamedForASilentToolOrADeadDevice) {
  for (const char* product : {"atlas-training", "atlas-a2", "atlas-a3"}) {
    TestCluster silent(product);
    for (int i = 0; i < silent.facts[0].devices_size(); ++i) {
      silent.Mute(0, i, Missing::UNREADABLE, "status 0 without a word");
      silent.device(0, i).mutable_lldp()->mutable_value()->set_heard(false);
    }
    EXPECT_EQ(Causes(silent), std::set<std::string>{"hccn-tool"}) << product;
    TestCluster dead(product);
    dead.Mute(0, 3, Missing::TOOL_FAILED, "The device is not exist!");
    EXPECT_EQ(Causes(dead), std::set<std::string>{"device-count"}) << product;
  }
}

}  // namespace
}  // namespace clusterd
