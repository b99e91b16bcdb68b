#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/values/port_set.h"
#include "tests/sim/fault/fault_rows.h"
#include "tests/sim/fault/simulated_process.h"

namespace clusterd::sim {
namespace {

constexpr char kHccnConf[] = "etc/hccn.conf";
constexpr char kUfw[] = "/usr/sbin/ufw";
constexpr char kNoRule[] =
    "no rule reads it: the controller refuses a second machine that attaches "
    "under the name of a host, and each server has its own name";

// Reasons why a fault cannot act, and its needs in namespaces.
FaultRow Refused(FaultRow row, const std::string& side_by_side,
                 const std::string& in_namespaces,
                 const std::string& without_program = "") {
  row.key.not_side_by_side = side_by_side;
  row.key.not_in_namespaces = in_namespaces;
  row.key.program = without_program;
  return row;
}

bool InNamespaces(const HostFolder& folder) {
  return ModeOf(folder) == Mode::kNamespaces;
}

Act WriteTo(const std::string& path) {
  return [path](const HostFolder& folder, int, const std::string& value) {
    return folder.Write(path, value + "\n");
  };
}

Act AppendTo(const std::string& path) {
  return [path](const HostFolder& folder, int, const std::string& value) {
    return folder.Write(path, folder.Read(path) + value + "\n");
  };
}

absl::Status ApplyPersistent(const HostFolder& folder, int,
                             const std::string& value) {
  if (value == "none") return folder.Remove("etc/sysctl.d/90-clusterd.conf");
  return folder.Write("etc/sysctl.d/99-zz-site.conf",
                      "net.core.somaxconn = 128\n"
                      "net.ipv4.tcp_max_syn_backlog = 128\n"
                      "net.ipv4.ip_local_reserved_ports = 8080\n");
}

absl::Status ApplyListen(const HostFolder& folder, int,
                         const std::string& value) {
  int port = 0;
  (void)absl::SimpleAtoi(value, &port);
  if (InNamespaces(folder)) return StartListener(folder, port);
  return folder.Write(
      "proc/net/tcp",
      folder.Read("proc/net/tcp") +
          absl::StrFormat("   9: 00000000:%04X 00000000:0000 0A "
                          "00000000:00000000 00:00000000 00000000     0        "
                          "0 4242 1 0000000000000000 100 0 0 10 0\n",
                          port));
}

std::vector<FaultRow> KernelRows() {
  return {
      OfServer("somaxconn", "N", "running net.core.somaxconn",
               {"128", "listen-backlog", FAIL}, IsNumber,
               WriteTo("proc/sys/net/core/somaxconn")),
      OfServer("syn_backlog", "N", "running net.ipv4.tcp_max_syn_backlog",
               {"128", "syn-backlog", FAIL}, IsNumber,
               WriteTo("proc/sys/net/ipv4/tcp_max_syn_backlog")),
      OfServer(
          "reserved_ports", "PORTS|none",
          "running net.ipv4.ip_local_reserved_ports",
          {"none", "ports-reserved", FAIL},
          [](const std::string& value) {
            return value == "none" || PortSet::Parse(value).ok();
          },
          [](const HostFolder& folder, int, const std::string& value) {
            return folder.Write("proc/sys/net/ipv4/ip_local_reserved_ports",
                                value == "none" ? "\n" : value + "\n");
          }),
      OfServer("persistent", "none|stale",
               "no sysctl.d file, or one that a later file overrides",
               {"stale", "sysctl-persistent", FAIL}, OneOf({"none", "stale"}),
               ApplyPersistent),
      OfServer(
          "listen", "PORT", "a process listens on this TCP port",
          {"60003", "ports-free", WARN},
          [](const std::string& value) {
            int port;
            return absl::SimpleAtoi(value, &port) && port > 0 && port < 65536;
          },
          ApplyListen),
  };
}

absl::Status ApplyConfFault(const HostFolder& folder, int,
                            const std::string& value) {
  std::string text = folder.Read(kHccnConf);
  if (value == "no-newline") {
    while (!text.empty() && text.back() == '\n') text.pop_back();
  } else if (value == "crlf") {
    text = absl::StrReplaceAll(text, {{"\n", "\r\n"}});
  } else if (value == "empty") {
    text.clear();
  } else {
    absl::Status status = folder.Remove(kHccnConf);
    if (!status.ok() || value == "absent") return status;
    return folder.MakeFolder(kHccnConf);
  }
  return folder.Write(kHccnConf, text);
}

absl::Status ApplyTool(const HostFolder& folder, int,
                       const std::string& value) {
  constexpr char kTool[] = "usr/local/Ascend/driver/tools/hccn_tool";
  absl::Status status = folder.Remove(kTool);
  if (!status.ok() || value == "absent") return status;
  return folder.Write(
      kTool, value == "silent" ? "#!/bin/sh\n" : "not a program\n", 0555);
}

absl::Status ApplyDeviceAbsent(const HostFolder& folder, int,
                               const std::string& value) {
  const std::string id = value.substr(value.find('-') + 1);
  std::vector<std::string> left;
  const std::string devices =
      folder.state().Read().Find("devices").value_or("");
  for (absl::string_view one : absl::StrSplit(devices, ',')) {
    if (one != id) left.emplace_back(one);
  }
  absl::Status status = folder.Remove("dev/davinci" + id);
  if (!status.ok()) return status;
  return SetState(folder, "devices", absl::StrJoin(left, ","));
}

// The first line of the file holds the version; the others stay.
FaultRow VersionFile(const std::string& key, const std::string& file,
                     const std::string& word, const Noticed& noticed) {
  return OfServer(
      key, "VERSION|absent",
      key + " version, or no such file (only noted for cann)", noticed,
      IsFilled, [=](const HostFolder& folder, int, const std::string& value) {
        const std::string path = "usr/local/Ascend/" + file;
        if (value == "absent") return folder.Remove(path);
        std::string rest = folder.Read(path);
        rest.erase(0, rest.find('\n'));
        if (rest.empty()) rest = "\n";
        return folder.Write(path, absl::StrCat(word, "=", value, rest));
      });
}

// The form of the driver's own table. The process is one of the container's, as
// /proc of the server shows it.
absl::Status ApplyOwner(const HostFolder& folder, int,
                        const std::string& value) {
  const std::vector<std::string> devices =
      absl::StrSplit(folder.state().Read().Find("devices").value_or(""), ',',
                     absl::SkipEmpty());
  std::string table = absl::StrCat("ns_id 0 identify ", value,
                                   " root_tgid 731804 dev_num ", devices.size(),
                                   " namespace 00000000d4c3b2a1, udev list:\n"
                                   "logic_devid udevid\n");
  for (size_t i = 0; i < devices.size(); ++i) {
    absl::StrAppend(&table, "       ", i, "        ", devices[i], "\n");
  }
  absl::Status status = folder.Write("proc/731804/comm", "bash\n");
  if (!status.ok()) return status;
  return folder.Write("proc/uda/namespace_node", table + "\n\n");
}

std::vector<FaultRow> FileRows() {
  return {
      OfServer("hccn_conf", "absent|directory|empty|no-newline|crlf",
               "state of /etc/hccn.conf", {"crlf", "hccn-conf", FAIL},
               OneOf({"absent", "directory", "empty", "no-newline", "crlf"}),
               ApplyConfFault),
      OfServer("tool", "absent|broken|silent",
               "hccn_tool is missing, is not a program, or prints nothing and "
               "exits 0",
               {"absent", "hccn-tool", UNKNOWN},
               OneOf({"absent", "broken", "silent"}), ApplyTool),
      OfServer(
          "device", "absent-ID", "the device is not there",
          {"absent-3", "device-count", FAIL},
          [](const std::string& value) {
            return absl::StartsWith(value, "absent-") &&
                   IsNumber(value.substr(value.find('-') + 1));
          },
          ApplyDeviceAbsent),
      VersionFile("driver", "driver/version.info", "Version",
                  {"24.1.0", "version-uniform", WARN}),
      VersionFile("firmware", "firmware/version.info", "Version",
                  {"7.9.9", "driver-compat", FAIL}),
      VersionFile("cann", CannInfoFile(), "version",
                  {"8.2.RC1", "version-uniform", WARN}),
      Refused(
          OfServer(
              "uda", "CONTAINER",
              "that container owns all devices and uses none of them "
              "(/proc/uda/namespace_node)",
              {"5b0c7e21d9f4", "device-namespace", WARN},
              [](const std::string& value) {
                return IsFilled(value) &&
                       value.find_first_not_of("0123456789abcdef") ==
                           std::string::npos;
              },
              ApplyOwner),
          "",
          "/proc is the kernel's there, and only the driver makes /proc/uda"),
      OfServer("profile", "LINE", "one more line of /etc/profile.d/hccl.sh",
               {"export HCCL_RDMA_TIMEOUT=99", "hccl-environment", FAIL},
               IsFilled, AppendTo("etc/profile.d/hccl.sh")),
      OfServer("environment", "LINE", "one more line of /etc/environment",
               {"HCCL_BUFFSIZE=0", "hccl-environment", FAIL}, IsFilled,
               AppendTo("etc/environment")),
  };
}

// A fake one in a folder, which has no packets to drop. It starts with the
// server, so its state is that of its file.
constexpr char kFakeUfw[] = R"sh(#!/bin/sh
conf=${0%/*}/../../etc/ufw/ufw.conf
say() { printf '%s\n' "$@"; }
case "$*" in
  status*)
    read -r state <"$conf"
    if [ "$state" = ENABLED=yes ]; then
      say 'Status: active' 'Logging: on (low)' \
        'Default: deny (incoming), allow (outgoing), disabled (routed)' \
        'New profiles: skip'
    else
      say 'Status: inactive'
    fi
    ;;
  enable | '--force enable')
    say ENABLED=yes LOGLEVEL=low >"$conf" &&
      say 'Firewall is active and enabled on system startup'
    ;;
  disable | '--force disable')
    say ENABLED=no LOGLEVEL=low >"$conf" &&
      say 'Firewall stopped and disabled on system startup'
    ;;
  reload) say 'Firewall reloaded' ;;
  *)
    say "ERROR: the simulated ufw does not know: $*" >&2
    exit 1
    ;;
esac
)sh";

absl::Status ApplyUfw(const HostFolder& folder, int, const std::string& value) {
  const bool active = value == "active";
  if (InNamespaces(folder)) {
    return RunHere({kUfw, "--force", active ? "enable" : "disable"});
  }
  absl::Status status = folder.Write(
      "etc/ufw/ufw.conf",
      absl::StrCat("ENABLED=", active ? "yes" : "no", "\nLOGLEVEL=low\n"));
  status.Update(folder.Write("usr/sbin/ufw", kFakeUfw, 0755));
  return status;
}

bool IsInterface(const std::string& name) {
  // The other end of the pair has the name with two characters more.
  constexpr size_t kMaxName = 13;
  return IsFilled(name) && name.size() <= kMaxName && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || absl::StrContains("-_.", c);
         });
}

std::string StateFileOf(const std::string& interface) {
  return absl::StrCat("sys/class/net/", interface, "/operstate");
}

absl::Status AddInterface(const HostFolder& folder, int,
                          const std::string& value) {
  const std::vector<std::string> parts = absl::StrSplit(value, '/');
  const std::string& name = parts[0];
  const std::string address = parts[1] + "/30";
  absl::Status status;
  if (!InNamespaces(folder)) {
    status = folder.Write(
        "usr/sbin/ip",
        absl::StrCat(folder.Read("usr/sbin/ip"), "echo '9: ", name, "    inet ",
                     address, " scope global ", name, "'\n"),
        0755);
    status.Update(folder.Write(StateFileOf(name), "up\n"));
    return status;
  }
  const std::string peer = name + "-2";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{
           {"link", "add", name, "type", "veth", "peer", "name", peer},
           {"addr", "add", address, "dev", name},
           {"link", "set", peer, "up"},
           {"link", "set", name, "up"}}) {
    std::vector<std::string> argv = {"ip"};
    argv.insert(argv.end(), words.begin(), words.end());
    if (status.ok()) status = RunHere(argv);
  }
  return status;
}

// The link is dormant in namespaces, as if it waits for its switch. A link that
// is down would also cut off the server's answer to the controller.
absl::Status StopInterface(const HostFolder& folder, int,
                           const std::string& name) {
  const std::string path = StateFileOf(name);
  if (!folder.Exists(path)) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder.Path(path), ": the server has no such interface"));
  }
  if (!InNamespaces(folder)) return folder.Write(path, "down\n");
  absl::Status status = RunHere(
      {"ip", "link", "set", name, "mode", "dormant", "state", "dormant"});
  if (!status.ok() || folder.Read(path) != "up\n") return status;
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": the link is still up"));
}

std::vector<FaultRow> NetworkRows() {
  return {
      Refused(
          OfServer("ufw", "active|inactive", "ufw is installed, and on or off",
                   {"active", "firewall", FAIL}, OneOf({"active", "inactive"}),
                   ApplyUfw),
          "", "", kUfw),
      OfServer(
          "interface", "NAME/IPV4",
          "one more interface of the host that is up, e.g. a proxy's tunnel",
          {"Meta/198.18.0.1", "host-interface", WARN},
          [](const std::string& value) {
            const std::vector<std::string> parts = absl::StrSplit(value, '/');
            return parts.size() == 2 && IsInterface(parts[0]) &&
                   IsIpv4(parts[1]);
          },
          AddInterface),
      OfServer("interface_down", "NAME",
               "the link of the host's interface is DOWN, and in namespaces "
               "DORMANT; eth0 has the host's address",
               {"eth0", "host-interface", FAIL}, IsInterface, StopInterface),
      OfServer("hostname", "NAME", "host name that the kernel reports",
               {"other", "host-name", WARN}, IsFilled,
               WriteTo("proc/sys/kernel/hostname")),
      Refused(OfServer("machine_id", "HEX",
                       "/etc/machine-id, e.g. of a cloned server",
                       {"51a0c0de000000000000000000000000", "", PASS}, IsFilled,
                       WriteTo("etc/machine-id")),
              kNoRule, kNoRule),
  };
}

}  // namespace

std::vector<FaultRow> ServerRows() {
  std::vector<FaultRow> all;
  for (auto& group : {KernelRows(), FileRows(), NetworkRows()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

}  // namespace clusterd::sim
