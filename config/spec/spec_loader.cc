#include "config/spec/spec_loader.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "config/hccl/job_ports.h"
#include "config/spec/device_plan.h"
#include "config/spec/network_keys.h"
#include "config/spec/product_profile.h"
#include "config/spec/schedule_spec.h"
#include "config/spec/yaml_document.h"
#include "config/spec/yaml_keys.inc"
#include "config/values/change_kind.h"
#include "config/values/hostlist.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

// 100,000 servers with 16 listed addresses each fit.
constexpr YamlLimits kLimits = {size_t{32} << 20, size_t{4} << 20};

constexpr uint32_t kVersion = 1;
constexpr absl::string_view kUnused = "unused";
constexpr size_t kMaxNameBytes = 255;
constexpr uint32_t kMaxPort = 65535;

// Range of HCCL_IF_BASE_PORT (HCCL environment variable reference).
constexpr uint32_t kMinBasePort = 1024;
constexpr uint32_t kMaxBasePort = 65520;
constexpr uint32_t kDefaultBasePort = 60000;
constexpr uint32_t kMaxPortCount = 4096;

// HCCL's own advice (HCOMM source, topoinfo_exchange_base.cc).
constexpr uint32_t kDefaultBacklog = 65535;
constexpr uint32_t kMaxBacklog = 2147483647;

// Below this hccn_tool asks whether to drop IPv6; above the other it refuses.
constexpr uint32_t kMinMtu = 1280;
constexpr uint32_t kMaxMtu = 9702;

constexpr absl::Duration kMaxClockSkew = absl::Hours(1);

constexpr absl::Duration kMinDeadline = absl::Milliseconds(100);
constexpr absl::Duration kMaxCommand = absl::Minutes(5);
constexpr absl::Duration kMaxHost = absl::Minutes(30);
constexpr absl::Duration kMaxRun = absl::Hours(2);

// The value of `job`: one job takes all servers. Without the key: not known.
constexpr absl::string_view kOneJob = "all-servers";

constexpr std::pair<absl::string_view, FirewallPolicy> kFirewallPolicies[] = {
    {"disabled", FIREWALL_DISABLED},
    {"open-ports", FIREWALL_OPEN_PORTS},
    {"ignore", FIREWALL_IGNORE}};

absl::string_view FirewallName(FirewallPolicy policy) {
  for (const auto& [name, known] : kFirewallPolicies) {
    if (known == policy) return name;
  }
  return kFirewallPolicies[0].first;
}

// A cluster's name is the trust domain of its certificates.
bool IsClusterName(absl::string_view name) {
  static const LazyRE2 kForm = {"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?"};
  return name.size() <= kMaxNameBytes && HasForm(name, *kForm);
}

std::string DurationText(uint32_t ms) {
  return absl::FormatDuration(absl::Milliseconds(ms));
}

class Loader {
 public:
  Loader(Mistakes* mistakes, SpecPlaces* places,
         absl::Span<const absl::string_view> rules)
      : mistakes_(mistakes), places_(places), rules_(rules) {}

  ClusterSpec Load(const YamlNode& root) {
    const YamlMap map(&root, "", kClusterKeys, mistakes_);
    // A file that is not a mapping has its mistake already, but for "nothing";
    // missing keys would add no information.
    if (root.kind == YamlNode::Kind::kNothing) {
      mistakes_->Add(root.position, "msg-spec-file-empty");
    }
    if (root.kind != YamlNode::Kind::kMap) return {};
    spec_.set_version(
        map.Require("version").Number(kVersion, kVersion).value_or(kVersion));
    LoadName(map);
    LoadProduct(map);
    LoadHccl(map);
    LoadPorts(map);
    LoadKernel(map);
    LoadFirewall(map);
    LoadDeadlines(map);
    LoadDeviceSettings(map);
    if (map["clock_skew"].node() != nullptr) {
      spec_.set_clock_skew_ms(
          LoadDeadline(map["clock_skew"], kMaxClockSkew, kMaxClockSkew));
    }
    LoadEnforce(map);
    LoadNotify(map["notify"], &spec_);
    spec_.set_one_job(map["job"].Word({kOneJob}).has_value());
    LoadServers(map);
    return std::move(spec_);
  }

  ClusterSpec LoadDefaults() {
    const YamlMap none(nullptr, "", {}, mistakes_);
    LoadHccl(none);
    LoadKernel(none);
    LoadFirewall(none);
    LoadDeadlines(none);
    return std::move(spec_);
  }

 private:
  void LoadName(const YamlMap& map) {
    const std::string name = map.RequireText("name");
    if (!name.empty() && !IsClusterName(name)) {
      map["name"].WrongKind("spec-cluster-name");
    }
    spec_.set_name(name);
    const std::string domain = map["domain"].Text().value_or("");
    if (map["domain"].node() != nullptr && !IsHostName(domain)) {
      map["domain"].WrongKind("spec-domain");
    }
    spec_.set_domain(domain);
  }

  void LoadProduct(const YamlMap& map) {
    const std::string product = map.RequireText("product");
    const std::string mode = map["mode"].Text().value_or("");
    if (product.empty()) return;
    auto profile = FindProductProfile(product, "");
    if (profile.ok()) {
      product_ = *profile;
      profile = FindProductProfile(product, mode);
    }
    if (profile.ok()) {
      product_ = *profile;
    } else {
      mistakes_->AddError(
          map[product_ == nullptr ? "product" : "mode"].position(),
          profile.status());
    }
    if (product_ == nullptr) return;
    spec_.set_product(product_->name);
    spec_.set_mode(product_->mode);
  }

  // True for an absent key and for "auto".
  static bool IsAuto(const YamlValue& value) {
    const YamlNode* node = value.node();
    return node == nullptr || (!node->quoted && node->text == "auto");
  }

  void LoadHccl(const YamlMap& map) {
    const YamlMap hccl(map["hccl"].node(), "hccl", kClusterKeys, mistakes_);
    const bool base_auto = IsAuto(hccl["base_port"]);
    const uint32_t base = base_auto ? kDefaultBasePort
                                    : hccl["base_port"]
                                          .Number(kMinBasePort, kMaxBasePort)
                                          .value_or(kDefaultBasePort);
    const std::optional<std::string> cann = hccl["cann"].Text();
    uint32_t count = CannPorts().possible;
    if (cann.has_value()) count = PortCountOf(*cann, hccl["cann"]);
    const bool is_auto = IsAuto(hccl["port_count"]);
    if (!is_auto) {
      count = YamlValue(hccl["port_count"].node(),
                        Worded("spec-where-not", "hccl.port_count", "auto"),
                        mistakes_)
                  .Number(1, kMaxPortCount)
                  .value_or(count);
    }
    if (base + count - 1 > kMaxPort) {
      hccl["base_port"].Wrong("msg-spec-base-port", base, count,
                              base + count - 1, kMaxPort + 1 - count,
                              is_auto && count == CannPorts().possible
                                  ? Worded("spec-or-cann")
                                  : FindingValue());
    }
    spec_.mutable_hccl()->set_base_port(base);
    spec_.mutable_hccl()->set_base_port_auto(base_auto);
    spec_.mutable_hccl()->set_port_count(count);
    spec_.mutable_hccl()->set_port_count_auto(is_auto);
    spec_.mutable_hccl()->set_cann(cann.value_or(""));
    LoadRdma(hccl, spec_.mutable_hccl());
  }

  static uint32_t PortCountOf(absl::string_view cann, const YamlValue& value) {
    const std::optional<CannPorts> ports = CannPortsOf(cann);
    if (!ports.has_value()) {
      value.WrongKind("spec-cann-version");
    }
    return ports.value_or(CannPorts()).possible;
  }

  // REQUIRES: LoadHccl was called.
  void LoadPorts(const YamlMap& map) {
    spec_.set_rendezvous_port(LoadPort(map["rendezvous_port"]));
    spec_.set_ssh_port(LoadPort(map["ssh_port"]));
    if (spec_.ssh_port() != 0 && spec_.ssh_port() == spec_.rendezvous_port()) {
      map["ssh_port"].Wrong("msg-spec-port-twice", spec_.ssh_port());
    }
    LoadServicePorts(map["ports"], spec_.mutable_ports());
  }

  uint32_t LoadPort(const YamlValue& value) {
    const uint32_t port = value.Number(1, kMaxPort).value_or(0);
    const uint32_t first = spec_.hccl().base_port();
    const uint32_t last = first + spec_.hccl().port_count() - 1;
    if (port != 0 && port >= first && port <= last) {
      value.Wrong("msg-spec-wrong-value", port,
                  Worded("spec-port-outside", first, last));
    }
    return port;
  }

  void LoadKernel(const YamlMap& map) {
    const YamlMap kernel(map["kernel"].node(), "kernel", kClusterKeys,
                         mistakes_);
    const auto backlog = [](const YamlValue& value) {
      return IsAuto(value)
                 ? kDefaultBacklog
                 : value.Number(1, kMaxBacklog).value_or(kDefaultBacklog);
    };
    const YamlValue somaxconn = kernel["somaxconn"];
    const YamlValue syn = kernel["tcp_max_syn_backlog"];
    KernelSpec* spec = spec_.mutable_kernel();
    spec->set_somaxconn(backlog(somaxconn));
    spec->set_somaxconn_auto(IsAuto(somaxconn));
    spec->set_tcp_max_syn_backlog(backlog(syn));
    spec->set_tcp_max_syn_backlog_auto(IsAuto(syn));
    spec->set_persistent(kernel["persistent"].Bool().value_or(false));
  }

  void LoadFirewall(const YamlMap& map) {
    std::vector<absl::string_view> names;
    for (const auto& known : kFirewallPolicies) names.push_back(known.first);
    const auto given = map["firewall"].Word(names);
    spec_.set_firewall(FIREWALL_DISABLED);
    for (const auto& [name, policy] : kFirewallPolicies) {
      if (given == name) spec_.set_firewall(policy);
    }
  }

  void LoadDeadlines(const YamlMap& map) {
    const YamlMap deadlines(map["deadlines"].node(), "deadlines", kClusterKeys,
                            mistakes_);
    const YamlValue command = deadlines["command"];
    const YamlValue host = deadlines["host"];
    const YamlValue run = deadlines["run"];
    Deadlines* spec = spec_.mutable_deadlines();
    spec->set_command_ms(LoadDeadline(command, kMaxCommand, absl::Seconds(10)));
    spec->set_host_ms(LoadDeadline(host, kMaxHost, absl::Seconds(30)));
    spec->set_run_ms(LoadDeadline(run, kMaxRun, absl::Seconds(60)));
    CheckOrder(command, spec->command_ms(), host, spec->host_ms());
    CheckOrder(host, spec->host_ms(), run, spec->run_ms());
  }

  // Returns milliseconds; zero for an invalid value.
  static uint32_t LoadDeadline(const YamlValue& value, absl::Duration max,
                               absl::Duration standard) {
    const absl::Duration deadline =
        value.node() == nullptr
            ? standard
            : value.Duration(kMinDeadline, max).value_or(absl::ZeroDuration());
    return static_cast<uint32_t>(absl::ToInt64Milliseconds(deadline));
  }

  // Blames the outer one if the file names it; it may be a default.
  void CheckOrder(const YamlValue& inner, uint32_t inner_ms,
                  const YamlValue& outer, uint32_t outer_ms) {
    if (outer_ms == 0 || inner_ms <= outer_ms) return;
    const YamlValue& blamed = outer.node() != nullptr ? outer : inner;
    mistakes_->Add(blamed.position(), "msg-spec-deadline-order",
                   outer.subject(), DurationText(outer_ms),
                   DurationText(inner_ms), inner.subject());
  }

  void LoadDeviceSettings(const YamlMap& map) {
    if (const auto tls = map["tls"].Bool()) spec_.set_tls(*tls);
    const std::optional<uint32_t> mtu = map["mtu"].Number(kMinMtu, kMaxMtu);
    if (mtu.has_value()) spec_.set_mtu(*mtu);
    LoadLossless(map["lossless"], &spec_);
  }

  void LoadEnforce(const YamlMap& map) {
    // Kinds that only read are not in the table of keys.
    const YamlMap enforce(map["enforce"].node(), "enforce", kClusterKeys,
                          mistakes_);
    for (const ChangeKind kind : AllChangeKinds()) {
      const std::string name = ChangeKindName(kind);
      if (enforce[name].Bool().value_or(false)) spec_.add_enforce(name);
    }
  }

  void LoadServers(const YamlMap& map) {
    const ServerGroups groups =
        ReadServerGroups(map.Require("servers").node(), mistakes_);
    LoadSchedule(map["schedule"], groups, rules_, &spec_);
    spec_.set_roce_unused(map["roce"].Word({"used", kUnused}) == kUnused);
    const DevicePlan plan =
        spec_.roce_unused()
            ? ReadDeviceIds(map["devices"].node(), product_, groups, mistakes_)
            : ReadDevicePlan(map.Require("devices").node(), product_, groups,
                             mistakes_);
    LoadWaivers(map["waivers"], groups, rules_, plan.ids, &spec_);
    if (!mistakes_->empty()) return;
    spec_.mutable_servers()->Reserve(static_cast<int>(groups.servers.size()));
    for (const PlannedServer& planned : groups.servers) {
      ServerSpec* server = spec_.add_servers();
      server->set_host(planned.host);
      server->set_address(planned.address.ToString());
      server->set_rack(planned.rack);
      server->mutable_devices()->Reserve(static_cast<int>(plan.ids.size()));
    }
    if (places_ != nullptr) places_->resize(groups.servers.size());
    for (const PlannedDevice& planned : plan.devices) {
      const auto server = static_cast<int>(planned.server->inputs.n);
      if (places_ != nullptr) {
        (*places_)[server].push_back({planned.position, planned.by_index});
      }
      FillDevice(planned, spec_.mutable_servers(server)->add_devices());
    }
  }

  static void FillDevice(const PlannedDevice& planned, DeviceSpec* device) {
    device->set_id(planned.id);
    device->set_switch_name(planned.switch_name);
    if (!planned.address.has_value()) return;
    device->set_address(planned.address->address().ToString());
    device->set_netmask(planned.address->subnet().netmask().ToString());
    if (planned.gateway.has_value()) {
      device->set_gateway(planned.gateway->ToString());
    }
    if (planned.detect_address.has_value()) {
      device->set_detect_address(planned.detect_address->ToString());
    }
  }

  Mistakes* const mistakes_;
  SpecPlaces* const places_;
  const absl::Span<const absl::string_view> rules_;
  const ProductProfile* product_ = nullptr;
  ClusterSpec spec_;
};

absl::string_view BoolText(bool value) { return value ? "true" : "false"; }

// Empty for keys that the spec leaves out.
std::string Line(absl::string_view key, bool is_given,
                 const absl::AlphaNum& value) {
  return is_given ? absl::StrCat(key, ": ", value, "\n") : "";
}

// "auto  # 32", with its meaning.
std::string NumberText(bool is_auto, uint32_t number) {
  return absl::StrCat(is_auto ? "auto  # " : "", number);
}

std::string HcclText(const HcclSpec& hccl) {
  return absl::StrCat(
      "hccl:\n  base_port: ",
      NumberText(hccl.base_port_auto(), hccl.base_port()),
      "\n  port_count: ", NumberText(hccl.port_count_auto(), hccl.port_count()),
      "\n", Line("  cann", !hccl.cann().empty(), hccl.cann()), RdmaText(hccl));
}

std::string SettingsText(const ClusterSpec& spec) {
  const KernelSpec& kernel = spec.kernel();
  const Deadlines& deadlines = spec.deadlines();
  std::string enforced;
  for (const std::string& kind : spec.enforce()) {
    absl::StrAppend(&enforced, enforced.empty() ? "enforce:\n" : "", "  ", kind,
                    ": true\n");
  }
  return absl::StrCat(
      "kernel:\n  somaxconn: ",
      NumberText(kernel.somaxconn_auto(), kernel.somaxconn()),
      "\n  tcp_max_syn_backlog: ",
      NumberText(kernel.tcp_max_syn_backlog_auto(),
                 kernel.tcp_max_syn_backlog()),
      "\n  persistent: ", BoolText(kernel.persistent()),
      "\nfirewall: ", FirewallName(spec.firewall()),
      "\ndeadlines:\n  command: ", DurationText(deadlines.command_ms()),
      "\n  host: ", DurationText(deadlines.host_ms()),
      "\n  run: ", DurationText(deadlines.run_ms()), "\n",
      Line("clock_skew", spec.clock_skew_ms() != 0,
           DurationText(spec.clock_skew_ms())),
      Line("tls", spec.has_tls(), BoolText(spec.tls())),
      Line("mtu", spec.has_mtu(), spec.mtu()), LosslessText(spec.lossless()),
      Line("rendezvous_port", spec.rendezvous_port() != 0,
           spec.rendezvous_port()),
      Line("ssh_port", spec.ssh_port() != 0, spec.ssh_port()),
      ServicePortsText(spec.ports()), Line("job", spec.one_job(), kOneJob),
      enforced, ScheduleText(spec));
}

}  // namespace

absl::StatusOr<ClusterSpec> LoadSpec(
    absl::string_view file_name, absl::string_view yaml, SpecPlaces* places,
    absl::Span<const absl::string_view> rules) {
  ClusterSpec spec;
  RETURN_IF_ERROR(ReadYaml(file_name, yaml, kLimits,
                           [&](const YamlNode& tree, Mistakes* found) {
                             spec = Loader(found, places, rules).Load(tree);
                           }));
  spec.set_digest(Sha256Hex(yaml));
  return spec;
}

ClusterSpec DefaultSpec(absl::string_view name) {
  Mistakes none(name);
  ClusterSpec spec = Loader(&none, nullptr, {}).LoadDefaults();
  spec.set_version(kVersion);
  spec.set_name(std::string(name));
  return spec;
}

std::string SpecToYaml(const ClusterSpec& spec) {
  std::string out = absl::StrCat(
      "version: ", spec.version(), "\nname: ", YamlName(spec.name()),
      "\nproduct: ", spec.product(), "\n",
      Line("mode", !spec.mode().empty(), spec.mode()),
      Line("domain", !spec.domain().empty(), YamlName(spec.domain())),
      Line("roce", spec.roce_unused(), kUnused));
  AppendServers(spec, &out);
  absl::StrAppend(&out, HcclText(spec.hccl()), SettingsText(spec));
  return out;
}

}  // namespace clusterd
