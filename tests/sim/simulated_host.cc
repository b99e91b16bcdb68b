#include "tests/sim/simulated_host.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/sim/fault.h"
#include "tests/sim/host_folder.h"
#include "tests/sim/lldp_text.h"
#include "tests/sim/npu_smi.h"

namespace clusterd::sim {
namespace {

// Huawei's PCI vendor id, and an A3 server's accelerator other than an NPU.
constexpr char kPciVendor[] = "0x19e5";
constexpr char kZipEngine[] = "0xa250";
constexpr char kTool[] = "usr/local/Ascend/driver/tools/hccn_tool";

struct Server {
  const ClusterSpec& spec;
  const ServerSpec& server;
  // Its place in the spec, from 0: it makes its ids and ports unique.
  int number;
  std::string product;
};

// Runs steps until one fails.
class Steps {
 public:
  Steps& operator<<(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
    return *this;
  }
  absl::Status status() const { return status_; }

 private:
  absl::Status status_;
};

std::vector<int> DeviceIds(const ServerSpec& server) {
  std::vector<int> ids;
  for (const DeviceSpec& device : server.devices()) ids.push_back(device.id());
  return ids;
}

std::string ReservedPorts(const ClusterSpec& spec) {
  const uint32_t first = spec.hccl().base_port();
  return absl::StrCat(first, "-",
                      first + std::max(spec.hccl().port_count(), 1u) - 1);
}

std::string PciDevice(const std::string& product) {
  if (absl::StartsWith(product, "A1")) return "0xd801";
  return absl::StartsWith(product, "A3") ? "0xd803" : "0xd802";
}

DeviceState HealthyState(const Server& of) {
  DeviceState state;
  state.Set("product", of.product);
  state.Set("devices", absl::StrJoin(DeviceIds(of.server), ","));
  // The user who may change devices, when the simulation does not run as root.
  if (geteuid() != 0) state.Set("root_uid", absl::StrCat(geteuid()));
  for (const DeviceSpec& device : of.server.devices()) {
    const int id = static_cast<int>(device.id());
    // Without one the tool fails: "no ip was preset".
    if (!device.address().empty()) {
      state.Set(DeviceKey("ip", id), device.address());
      state.Set(DeviceKey("mask", id), device.netmask());
    }
    if (!device.gateway().empty()) {
      state.Set(DeviceKey("gateway", id), device.gateway());
    }
    if (!device.detect_address().empty()) {
      state.Set(DeviceKey("netdetect", id), device.detect_address());
    }
    // On server 0 the tool's own default.
    if (of.product == "A3-superpod") {
      state.Set(DeviceKey("vnic_ip", id),
                absl::StrCat("192.", of.number % 256, ".", 2 + id / 2, ".",
                             199 - id % 2));
    }
    state.Set(DeviceKey("link", id), "1");
    state.Set(DeviceKey("tls", id), of.spec.tls() ? "1" : "0");
    state.Set(DeviceKey("mtu", id),
              absl::StrCat(of.spec.has_mtu() ? of.spec.mtu() : 1500));
    const LosslessSpec& lossless = of.spec.lossless();
    state.Set(DeviceKey("bitmap", id),
              lossless.pfc().empty() ? "0,0,0,0,0,0,0,0" : lossless.pfc());
    state.Set(DeviceKey("dscp_tc", id), lossless.dscp_to_tc());
    state.Set(
        DeviceKey("roce_port", id),
        lossless.roce_port() == 0 ? "-1" : absl::StrCat(lossless.roce_port()));
    state.Set(DeviceKey("mac", id),
              absl::StrFormat("6c:b1:58:%02x:%02x:%02x", of.number / 256,
                              of.number % 256, id));
    SwitchPort port;
    port.switch_name = absl::StrFormat("leaf-%02d", id);
    port.port = absl::StrCat("400GE1/0/", of.number + 1);
    port.number = id + 1;
    state.Set(DeviceKey("lldp", id), SwitchNeighbourText(port));
  }
  return state;
}

std::string HealthyConf(const Server& of) {
  std::string text;
  for (const DeviceSpec& device : of.server.devices()) {
    auto add = [&](const char* key, absl::string_view value) {
      if (value.empty()) return;
      absl::StrAppend(&text, key, "_", device.id(), "=", value, "\n");
    };
    add("address", device.address());
    add("netmask", device.netmask());
    add("netdetect", device.detect_address());
    add("gateway", device.gateway());
    add("tls_ca_recovered", "1");
    add("tls_enable", of.spec.tls() ? "1" : "0");
    add("mtu", of.spec.has_mtu() ? absl::StrCat(of.spec.mtu()) : "");
    const LosslessSpec& lossless = of.spec.lossless();
    add("bitmap", lossless.pfc());
    // The tool stores it so, with a comma after each.
    add("dscp_tc", lossless.dscp_to_tc().empty()
                       ? ""
                       : absl::StrCat(lossless.dscp_to_tc(), ","));
    add("roce_port",
        lossless.roce_port() == 0 ? "" : absl::StrCat(lossless.roce_port()));
  }
  return text;
}

absl::Status WriteAscendFiles(const HostFolder& folder, const Server& of) {
  Steps steps;
  steps << folder.Write("var/lib/hccn_sim/state", HealthyState(of).Text())
        << folder.Write("etc/hccn.conf", HealthyConf(of))
        << folder.MakeFolder("var/log/hccn_tool")
        << folder.Write("etc/ascend_install.info",
                        "Driver_Install_Path_Param=/usr/local/Ascend\n"
                        "Driver_Install_Type=full\n"
                        "Driver_Install_Mode=normal\n"
                        "Driver_Install_Status=complete\n")
        << folder.Write("usr/local/Ascend/driver/version.info",
                        absl::StrCat("Version=", kDriverVersion,
                                     "\nascendhal_version=7.35.19\n"
                                     "package_version=",
                                     kDriverVersion,
                                     "\ncompatible_version_fw="
                                     "[7.0.0,7.5.99]\n"))
        << folder.Write("usr/local/Ascend/firmware/version.info",
                        absl::StrCat("Version=", kFirmwareVersion, "\n"))
        << folder.Write("usr/local/Ascend/" + CannInfoFile(),
                        absl::StrCat("version=", kCannVersion,
                                     "\npackage_name=Ascend-cann-toolkit\n"));
  // The answers of npu-smi on an Ascend 950 are not known.
  if (!HasAscend950Tool(of.spec)) {
    steps << WriteNpuSmi(folder, of.product, DeviceIds(of.server), of.number);
  }
  for (int id : DeviceIds(of.server)) {
    steps << folder.MakeNode(absl::StrCat("dev/davinci", id));
  }
  for (const char* node : {"davinci_manager", "devmm_svm", "hisi_hdc"}) {
    steps << folder.MakeNode(absl::StrCat("dev/", node));
  }
  return steps.status();
}

// The PCI id of an Ascend 950 is not published, so that server shows none.
absl::Status WritePci(const HostFolder& folder, const Server& of) {
  if (HasAscend950Tool(of.spec)) {
    return folder.MakeFolder("sys/bus/pci/devices");
  }
  Steps steps;
  int slot = 0;
  auto add = [&](const std::string& device) {
    const std::string path = absl::StrFormat(
        "sys/bus/pci/devices/0000:%02x:00.0/", 0x81 + 2 * slot++);
    steps << folder.Write(path + "vendor", absl::StrCat(kPciVendor, "\n"))
          << folder.Write(path + "device", device + "\n")
          << folder.Write(path + "class", "0x120000\n");
  };
  for (int i = 0; i < of.server.devices_size(); ++i) add(PciDevice(of.product));
  if (absl::StartsWith(of.product, "A3")) add(kZipEngine);
  return steps.status();
}

absl::Status WriteKernel(const HostFolder& folder, const Server& of) {
  const std::string ports = ReservedPorts(of.spec);
  const uint32_t somaxconn = of.spec.kernel().somaxconn();
  const uint32_t backlog = of.spec.kernel().tcp_max_syn_backlog();
  constexpr char kSockets[] =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "
      "retrnsmt   uid  timeout inode\n"
      "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 "
      "00000000     0        0 4100 1 0000000000000000 100 0 0 10 0\n";
  const std::string header(kSockets, strchr(kSockets, '\n') + 1);
  constexpr char kNamespace[] = "net:[4026531840]";
  Steps steps;
  steps
      << folder.Write("proc/sys/net/core/somaxconn",
                      absl::StrCat(somaxconn, "\n"))
      << folder.Write("proc/sys/net/ipv4/tcp_max_syn_backlog",
                      absl::StrCat(backlog, "\n"))
      << folder.Write("proc/sys/net/ipv4/ip_local_reserved_ports", ports + "\n")
      << folder.Write("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n")
      << folder.Write("proc/sys/net/ipv4/neigh/default/gc_thresh2", "65536\n")
      << folder.Write("proc/sys/net/ipv4/neigh/default/gc_thresh3", "131072\n")
      << folder.Write("proc/meminfo",
                      "MemTotal:       1056561152 kB\n"
                      "MemFree:        1000000000 kB\n"
                      "MemAvailable:   1040000000 kB\n")
      << folder.Write("proc/uptime", "86400.00 86400.00\n")
      << folder.Write("usr/bin/dmesg", "#!/bin/sh\n", 0755)
      << folder.Write("proc/uda/namespace_node", "")
      << folder.Write("proc/net/tcp", kSockets)
      << folder.Write("proc/net/tcp6", header)
      << folder.Write("proc/net/udp", header)
      << folder.Write("proc/net/udp6", header)
      << folder.Link("proc/self/ns/net", kNamespace)
      << folder.Link("proc/1/ns/net", kNamespace)
      << folder.Write(
             "etc/sysctl.d/90-clusterd.conf",
             absl::StrCat("# Written by the simulation.\n",
                          "net.ipv4.ip_local_reserved_ports = ", ports,
                          "\nnet.core.somaxconn = ", somaxconn,
                          "\nnet.ipv4.tcp_max_syn_backlog = ", backlog, "\n"));
  return steps.status();
}

absl::Status WriteIdentity(const HostFolder& folder, const Server& of) {
  const std::string& name = of.server.host();
  const std::string& address = of.server.address();
  Steps steps;
  steps << folder.Write("proc/sys/kernel/hostname", name + "\n")
        << folder.Write("proc/sys/kernel/osrelease", "6.1.0-simulated\n")
        << folder.Write(
               "proc/sys/kernel/random/boot_id",
               absl::StrFormat("51a0b007-0000-4000-8000-%012x\n", of.number))
        << folder.Write("etc/hostname", name + "\n")
        // Output of iproute2 and glibc; both are programs of any server.
        << folder.Write(
               "usr/sbin/ip",
               absl::StrCat("#!/bin/sh\n"
                            "echo '1: lo    inet 127.0.0.1/8 scope host "
                            "lo'\n"
                            "echo '2: eth0    inet ",
                            address, "/16 scope global eth0'\n"),
               0755)
        << folder.Write("sys/class/net/lo/operstate", "unknown\n")
        << folder.Write("sys/class/net/eth0/operstate", "up\n")
        // Accounts are those of this machine.
        << folder.Write(
               "usr/bin/getent",
               absl::StrCat("#!/bin/sh\ncase $1 in\n"
                            "  passwd) exec /usr/bin/getent \"$@\" ;;\n"
                            "  ahostsv4) [ \"$2\" = '",
                            name, "' ] || exit 2 ;;\nesac\necho '", address,
                            "       STREAM ", name, "'\n"),
               0755)
        << folder.Write("etc/machine-id",
                        absl::StrFormat("51a0c0de%024x\n", of.number))
        << folder.Write("etc/os-release",
                        "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"
                        "ID=debian\nVERSION_ID=\"12\"\n");
  return steps.status();
}

absl::Status RequireEmpty(const std::string& root) {
  std::error_code error;
  if (!std::filesystem::exists(root, error)) return absl::OkStatus();
  if (std::filesystem::is_directory(root, error) &&
      std::filesystem::is_empty(root, error)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(root, ": is in use, expected a new or empty folder"));
}

// For namespaces.sh: the faults to add once the server has its namespaces.
absl::Status NoteFaults(const std::vector<std::string>& texts,
                        const HostFolder& folder) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  Steps steps;
  steps << folder.Link("var/lib/hccn_sim/simhost", self.string())
        << folder.Write("var/lib/hccn_sim/faults",
                        texts.empty() ? "" : absl::StrJoin(texts, "\n") + "\n");
  return steps.status();
}

absl::Status ApplyFaults(absl::Span<const Fault> faults,
                         const HostFolder& folder) {
  Steps steps;
  for (const Fault& fault : faults) steps << ApplyFault(fault, folder);
  return steps.status();
}

}  // namespace

OtherSettings OtherSettingsOf(const ClusterSpec& spec, int server,
                              const DeviceSpec& device) {
  constexpr uint32_t kFirst = (100u << 24) + (64u << 16) + 1;  // In a /10.
  constexpr uint32_t kDevices = 64;
  OtherSettings other;
  if (device.address().empty()) return other;
  const uint32_t address =
      kFirst + static_cast<uint32_t>(server) * kDevices + device.id();
  other.address = absl::StrCat(address >> 24, ".", address >> 16 & 255, ".",
                               address >> 8 & 255, ".", address & 255);
  other.netmask = "255.192.0.0";
  const std::string product = ToolProductOf(spec, spec.servers(server));
  if (!device.gateway().empty() && !absl::StartsWith(product, "A1")) {
    other.gateway = "100.127.255.254";
  }
  return other;
}

std::vector<std::string> OtherClusterFaults(const ClusterSpec& spec,
                                            int server) {
  std::vector<std::string> faults = {
      "host:somaxconn=4096", "host:syn_backlog=2048",
      "host:reserved_ports=none", "host:persistent=none"};
  if (HasAscend950Tool(spec)) return faults;
  for (const DeviceSpec& device : spec.servers(server).devices()) {
    const auto add = [&](absl::string_view key, absl::string_view value) {
      faults.push_back(absl::StrCat(device.id(), ":", key, "=", value));
    };
    const OtherSettings other = OtherSettingsOf(spec, server, device);
    if (!other.address.empty()) {
      add("address", other.address);
      add("netmask", other.netmask);
    }
    add("gateway", other.gateway.empty() ? "none" : other.gateway);
    add("detect", "none");
    if (spec.has_mtu()) add("mtu", "1500");
  }
  return faults;
}

bool HasAscend950Tool(const ClusterSpec& spec) {
  return spec.product() == "ascend-950";
}

std::string ToolProductOf(const ClusterSpec& spec, const ServerSpec& server) {
  const std::string& product = spec.product();
  if (HasAscend950Tool(spec)) return product;
  if (product == "atlas-training") {
    return spec.mode() == "amp" ? "A1-AMP" : "A1-SMP";
  }
  if (product == "atlas-a2-box16") return "A2-Box16";
  if (product == "atlas-a3-superpod") return "A3-superpod";
  if (product == "atlas-a3") return "A3-no-pod";
  if (product == "atlas-300t") return "A2-PCIe-card";
  return server.devices_size() > 8 ? "A2-Box16" : "A2";
}

absl::Status CreateSimulatedHost(const ClusterSpec& spec,
                                 const SimulatedHostOptions& options) {
  for (int i = 0; i < spec.servers_size(); ++i) {
    const ServerSpec& server = spec.servers(i);
    if (server.host() != options.host) continue;
    std::vector<std::string> texts;
    if (options.of_other_cluster) texts = OtherClusterFaults(spec, i);
    texts.insert(texts.end(), options.faults.begin(), options.faults.end());
    const Server of{spec, server, i, ToolProductOf(spec, server)};
    auto faults = ParseFaults(
        texts, {DeviceIds(server), of.product,
                options.namespaces ? Mode::kNamespaces : Mode::kSideBySide});
    if (!faults.ok()) return faults.status();
    if (absl::Status status = RequireEmpty(options.root); !status.ok()) {
      return status;
    }
    const HostFolder folder(options.root);
    Steps steps;
    steps << WriteAscendFiles(folder, of) << WritePci(folder, of)
          << WriteKernel(folder, of) << WriteIdentity(folder, of)
          << folder.Write("etc/clusterd/simulation", options.marker + "\n")
          << folder.Adopt(kTool, options.tool)
          << (options.namespaces ? NoteFaults(texts, folder)
                                 : ApplyFaults(*faults, folder));
    return steps.status();
  }
  std::vector<absl::string_view> hosts;
  for (const ServerSpec& server : spec.servers())
    hosts.push_back(server.host());
  return absl::NotFoundError(absl::StrCat("no host \"", options.host,
                                          "\" in the spec, expected one ",
                                          "of ", absl::StrJoin(hosts, " ")));
}

absl::Status AddFaults(const std::string& root,
                       const std::vector<std::string>& texts) {
  const HostFolder folder(root);
  const auto devices = folder.state().Read().Find("devices");
  if (!devices) {
    return absl::FailedPreconditionError(
        absl::StrCat(root,
                     ": is no simulated server, expected a folder that "
                     "`simhost create` made"));
  }
  std::vector<int> ids;
  for (absl::string_view part :
       absl::StrSplit(*devices, ',', absl::SkipEmpty())) {
    int id;
    if (absl::SimpleAtoi(part, &id)) ids.push_back(id);
  }
  const std::string product =
      folder.state().Read().Find("product").value_or("");
  ServerKind server = {ids, product, ModeOf(folder), {}};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(
           folder.Path("sys/class/net"), error)) {
    server.interfaces.push_back(entry.path().filename().string());
  }
  auto faults = ParseFaults(texts, server);
  if (!faults.ok()) return faults.status();
  return ApplyFaults(*faults, folder);
}

}  // namespace clusterd::sim
