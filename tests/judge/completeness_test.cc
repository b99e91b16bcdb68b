// Proofs over the whole catalogue: every rule can fail, and no rule passes
// without the facts that it reads.
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

// Merges the text into the facts of server0, or of its device 3.
Change OnHost(const char* text) {
  return [=](TestCluster& c) { c.Set(0, text); };
}
Change OnDevice(const char* text) {
  return [=](TestCluster& c) { c.Set(0, 3, text); };
}
Change WithAddress(const char* address, const char* netmask = "255.255.255.0") {
  return [=](TestCluster& c) { c.SetAddress(0, 3, address, netmask); };
}

// The server plans only these devices.
void KeepDevices(TestCluster& c, int server, const std::vector<uint32_t>& ids) {
  c.spec.mutable_servers(server)->clear_devices();
  for (const uint32_t id : ids) {
    c.spec.mutable_servers(server)->add_devices()->set_id(id);
  }
}

void StartJob(TestCluster& c) { c.StartJob(); }

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

// One change for each rule, in healthy facts or in the spec, that it must
// notice.
struct Fault {
  const char* rule;
  Change make;
  // Set if the rule only judges in special circumstances.
  Change prepare = [](TestCluster&) {};
  const char* product = "atlas-training";
};

std::vector<Fault> Faults() {
  const Change other_pfc = OnDevice("pfc {value: '0,0,0,0,1,0,0,0'}");
  const Change tls_on = OnDevice("tls {value {enabled: true}}");
  return {
      {"ssh-ready",
       [](TestCluster& c) {
         c.facts[0]
             .mutable_ssh()
             ->mutable_value()
             ->mutable_logins(1)
             ->set_works(false);
       },
       LaunchBySsh},
      {"job-python",
       [](TestCluster& c) {
         c.facts[1].mutable_python()->mutable_value()->clear_packages();
       },
       NeedPackages},
      {"job-script",
       [](TestCluster& c) {
         c.job->set_script("import torch\ndist.init_process_group('nccl')\n");
       },
       [](TestCluster& c) { c.StartJob().set_script("import deepspeed\n"); }},
      {"job-device-count",
       [](TestCluster& c) {
         for (int s : {0, 1}) KeepDevices(c, s, {0, 1, 2});
       },
       StartJob},
      {"job-device-group",
       [](TestCluster& c) {
         KeepDevices(c, 0, {3, 4});
       },
       [](TestCluster& c) {
         c = TestCluster("atlas-training", "", 1);
         c.StartJob();
       }},
      {"job-super-pod",
       [](TestCluster& c) {
         for (DeviceFacts& device : *c.facts[1].mutable_devices()) {
           device.mutable_super_pod()->mutable_value()->set_super_pod_id(1);
         }
       },
       StartJobWithoutRoce, "atlas-a3-superpod"},
      {"job-uniform",
       [](TestCluster& c) {
         KeepDevices(c, 1, {0, 1, 2, 3});
       },
       StartJob},
      {"job-size",
       [](TestCluster& c) {
         c.job->add_servers();
         c.spec.add_servers();
       },
       StartJob},
      {"rendezvous",
       [](TestCluster& c) {
         c.job->mutable_servers(0)->set_master_port(60000);
       },
       StartJobAtPort},
      {"ranks",
       [](TestCluster& c) { c.job->mutable_servers(0)->set_world_size(8); },
       [](TestCluster& c) {
         c.StartJob().mutable_servers(0)->set_world_size(16);
       }},
      {"rank-table", WithAddress("10.9.9.9"), StartJobWithTable},
      {"job-dtype", [](TestCluster& c) { c.job->add_dtypes("bfp16"); },
       [](TestCluster& c) { c.StartJob().add_dtypes("fp16"); }},
      {"ports-reserved", OnHost("kernel {reserved_ports {value: ''}}")},
      {"ports-free",
       OnHost("sockets {value {sockets {port: 60000 protocol: 'tcp' "
              "address: '0.0.0.0' state: 'LISTEN' pid: 4711}}}")},
      {"listen-backlog", OnHost("kernel {somaxconn {value: 128}}")},
      {"syn-backlog", OnHost("kernel {tcp_max_syn_backlog {value: 128}}")},
      {"sysctl-persistent",
       [](TestCluster& c) {
         c.facts[0]
             .mutable_kernel()
             ->mutable_somaxconn_at_boot()
             ->mutable_value()
             ->clear_assignments();
       }},
      {"firewall", OnHost("ufw {active {value: true}}")},
      {"host-interface",
       [](TestCluster& c) {
         c.facts[0].mutable_interfaces()->mutable_value()->clear_interfaces();
       }},
      {"host-name",
       [](TestCluster& c) {
         c.facts[0].mutable_own_name()->mutable_value()->clear_addresses();
       }},
      {"open-files",
       [](TestCluster& c) {
         c.facts[0]
             .mutable_open_files()
             ->mutable_value()
             ->mutable_limits(0)
             ->set_hard(16);
       }},
      {"hccl-environment",
       OnHost("environment {value {variables {name: 'HCCL_CONNECT_TIMEOUT' "
              "value: '60'}}}")},
      {"container-mounts", OnHost("in_container {value: true} "
                                  "hccn_conf {missing {reason: ABSENT}}")},
      {"clock-skew",
       [](TestCluster& c) {
         c.Set(1,
               "clock {value {ahead_at_least_ms: 60000 "
               "ahead_at_most_ms: 60100}}");
       }},
      {"drift", OnHost("drift {value {drifts {}}}")},
      {"maintenance",
       [](TestCluster& c) { c.spec.mutable_waivers(0)->set_until_ms(0); },
       [](TestCluster& c) {
         c.now = absl::FromUnixSeconds(1'000'000);
         c.SetSpec("waivers {rule: 'optics' until_ms: 1000001000}");
       }},
      {"hccn-tool", OnHost("hccn_tool {path {missing {reason: ABSENT}}}")},
      {"device-count", OnHost("device_ids {value {ids: 8}}")},
      {"device-idle", OnHost("npu_processes {value {"
                             "processes {pid: 4711 devices: 3}}}")},
      {"device-namespace",
       OnHost("device_owners {value {owners {pid: 731804 devices: 3}}}")},
      {"device-memory", OnDevice("memory {value {used_mb: 30710}}")},
      {"neighbour-table", OnHost("kernel {neighbours_most {value: 2}}")},
      {"host-memory", OnHost("memory {value {kills {}}}")},
      {"device-process-limit",
       OnHost("npu_processes {value {processes {pid: 4711 devices: 3} "
              "processes {pid: 4712 devices: 3}}}")},
      {"hccn-conf",
       OnHost("hccn_conf {value {problems {kind: NO_FINAL_NEWLINE}}}")},
      {"backlog-uniform", OnHost("kernel {somaxconn {value: 4096}}"),
       NameNoNumbers},
      {"ports-uniform",
       OnHost("kernel {reserved_ports {value: '8080,60000-60015'}}"),
       NameNoNumbers},
      {"version-uniform", OnHost("versions {driver {value: '1'}}")},
      {"environment-uniform",
       OnHost("environment {value {variables {name: 'HCCL_INTRA_ROCE_ENABLE' "
              "value: '1'}}}")},
      {"roots-uniform", OnHost("roots {value {hashes: 'sha256:0'}}")},
      {"cluster-size",
       [](TestCluster& c) {
         for (int i = 0; i < 512; ++i) c.spec.add_servers();
       }},
      {"cluster-size-power", [](TestCluster& c) { c.spec.add_servers(); }},
      {"host-identity", [](TestCluster& c) { c.Silence(0); }},
      {"link", OnDevice("link {value: DOWN}")},
      {"net-health", OnDevice("net_health {value: NET_HEALTH_FAULT}")},
      {"lldp", OnDevice("lldp {value {heard: false}}")},
      {"device-health", OnDevice("health {value {error_codes: '80E18402'}}")},
      {"driver-compat", OnDevice("compatibility {value: 'NOK'}")},
      {"hccs", OnDevice("hccs {value {ok: false}}")},
      {"optics", OnDevice("optical {value {alarms {}}}")},
      {"link-flaps", OnDevice("link_history {value {changes {}}}")},
      {"device-ip-set",
       [](TestCluster& c) {
         c.device(0, 3).mutable_address()->mutable_value()->clear_settings();
       }},
      {"device-ip-planned", WithAddress("192.168.103.77")},
      {"device-ip-persistent",
       [](TestCluster& c) {
         c.facts[0].mutable_hccn_conf()->mutable_value()->clear_entries();
       }},
      {"device-ip-allowed", WithAddress("127.0.0.1")},
      {"gateway", OnDevice("gateway {value: '10.0.0.1'}")},
      {"gateway-persistent", OnDevice("gateway {value: '192.168.103.9'}")},
      {"detect-address", OnDevice("detect_address {value: '0.0.0.0'}")},
      {"detect-address-persistent",
       OnDevice("detect_address {value: '192.168.103.9'}")},
      {"subnet-pairs", WithAddress("192.168.99.1")},
      {"subnet-distinct", WithAddress("192.168.100.77")},
      {"subnet-across-hosts", WithAddress("192.168.99.1")},
      {"subnet-shared", WithAddress("10.9.9.9"), [](TestCluster&) {},
       "atlas-a2"},
      {"ip-unique", WithAddress("192.168.103.3")},
      {"ip-host-part",
       [](TestCluster& c) {
         c.SetAddress(0, 3, "10.1.0.1", "255.255.0.0");
         c.SetAddress(1, 3, "10.1.1.1", "255.255.0.0");
       }},
      {"netmask-uniform", WithAddress("192.168.103.1", "255.255.0.0")},
      {"tls-uniform", tls_on},
      {"mtu-uniform", OnDevice("mtu {value: 9000}")},
      {"speed-uniform", OnDevice("speed_mbps {value: 100000}")},
      {"subnet-superpod", OnDevice("vnic {value {up: false}}"),
       [](TestCluster&) {}, "atlas-a3-superpod"},
      {"lldp-rail",
       [](TestCluster& c) {
         c.Set(0, 3,
               "lldp {value {chassis_id: 'another' "
               "system_name: 'leaf-4'}}");
         c.spec.mutable_servers(0)->mutable_devices(3)->set_switch_name(
             "leaf-3");
       }},
      {"lossless", other_pfc},
      {"mtu-persistent", OnDevice("mtu {value: 4200}")},
      {"tls-persistent", tls_on},
      {"pfc-persistent", other_pfc},
      {"dscp-persistent", OnDevice("dscp_to_tc {value: '33:3'}")},
      {"roce-port-persistent", OnDevice("roce_port {value: '4791'}")},
      {"tls-certificates",
       OnDevice("tls {value {certificates {status: EXPIRED}}}")},
  };
}

TEST(CompletenessTest, EveryRuleNoticesAFaultAndPassesWithoutIt) {
  std::set<std::string> proven;
  for (const Fault& fault : Faults()) {
    TestCluster cluster(fault.product);
    fault.prepare(cluster);
    EXPECT_EQ(StateOf(cluster, fault.rule), PASS) << fault.rule;
    fault.make(cluster);
    const State state = StateOf(cluster, fault.rule);
    EXPECT_TRUE(state == WARN || state == FAIL || state == UNKNOWN)
        << fault.rule << " is " << State_Name(state);
    // Unknown is worse than a warning.
    EXPECT_TRUE(state <= FindRule(fault.rule)->level || state == UNKNOWN)
        << fault.rule << " is " << State_Name(state);
    proven.insert(fault.rule);
  }
  for (const Rule& rule : RuleCatalogue()) {
    EXPECT_TRUE(proven.count(std::string(rule.name)))
        << "no fault for " << rule.name;
  }
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
