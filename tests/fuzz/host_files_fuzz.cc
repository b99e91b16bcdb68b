// Readers of the machine's files. They never crash, and their values have the
// properties that their headers promise.
#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "config/hccl/job_variables.h"
#include "config/values/ipv4.h"
#include "config/words/quoted_text.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/hccn_conf.h"
#include "daemon/host/kernel/kernel_observer.h"
#include "daemon/host/launch_observer.h"
#include "daemon/host/sockets/socket_observer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

// Results are bounded, printable, and can be sent.
void CheckHccnConf(const std::string& text) {
  const absl::StatusOr<HccnConf> conf = ParseHccnConf(text);
  if (!conf.ok()) return;
  Require(conf->problems_size() <= 100);
  for (const HccnConf::Entry& entry : conf->entries()) {
    RequirePrintable(entry.key(), kHccnConfMaxLineBytes);
    RequirePrintable(entry.value(), kHccnConfMaxLineBytes);
    Require(entry.line() != 0 && !entry.key().empty());
    Require(!entry.has_device() || entry.device() <= 99);
  }
  for (const HccnConf::Problem& problem : conf->problems()) {
    RequirePrintable(problem.text(), kHccnConfMaxLineBytes);
  }
}

// A path is absolute and climbs nowhere; values are printable.
void CheckInfoFiles(const std::string& text) {
  for (const auto& value :
       {ParseInfoValue(text, "Version"), ParseInfoValue(text, "PRETTY_NAME")}) {
    if (!value.ok()) continue;
    Require(!value->empty());
    RequirePrintable(*value, 256);
  }
  const absl::StatusOr<std::string> path = ParseInstallPath(text);
  if (!path.ok()) return;
  Require((*path)[0] == '/' && !absl::StrContains(*path + "/", "/../"));
}

// The two parsers of a line agree about the port.
void CheckSocketLine(const std::string& text) {
  const absl::StatusOr<uint32_t> port = ParseSocketPort(text);
  Require(!port.ok() || *port <= 65535);
  for (const char* table : {"tcp", "tcp6", "udp", "udp6"}) {
    const absl::StatusOr<SocketLine> line = ParseSocketLine(table, text);
    if (!line.ok()) continue;
    Require(port.ok() && line->socket.port() == *port);
    Require(!line->socket.address().empty());
  }
}

// Assignments are printable, stand in lines that exist, and in order.
void CheckSysctlConf(const std::string& text) {
  const uint32_t lines = 1 + std::count(text.begin(), text.end(), '\n');
  const SysctlFiles files = {{"a.conf", {"/etc/sysctl.d/a.conf", text}}};
  for (const char* key : {"net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog",
                          "net.ipv4.ip_local_reserved_ports"}) {
    uint32_t last = 0;
    const PersistentValue found = FindSysctlAssignments(files, key);
    for (const PersistentValue::Assignment& assignment : found.assignments()) {
      Require(assignment.line() > last && assignment.line() <= lines);
      last = assignment.line();
      RequirePrintable(assignment.value(), 8192);
    }
  }
}

// Every address is one, and no variable is empty-named or of another kind.
void CheckLaunchTexts(const std::string& text) {
  const auto interfaces = ParseInterfaces(text);
  if (interfaces.ok()) {
    for (const HostInterface& each : interfaces->interfaces()) {
      Require(!each.name().empty() && !each.addresses().empty());
      for (const std::string& address : each.addresses()) {
        Require(Ipv4Address::Parse(address).ok());
      }
    }
  }
  const auto resolved = ParseResolved(text);
  if (resolved.ok()) {
    for (const std::string& address : resolved->addresses()) {
      Require(Ipv4Address::Parse(address).ok());
    }
  }
  const auto files = ParseOpenFilesLimit(text);
  if (files.ok()) Require(absl::StrContains(text, "Max open files"));
  JobVariables variables;
  for (const char* file : {"/etc/environment", "/etc/profile.d/a.sh"}) {
    EnvironmentFact::Variables login;
    AddLoginFile(file, text, &login);
    Require(login.variables_size() <= 256);
    for (const EnvironmentVariable& each : login.variables()) {
      Require(each.line() > 0 && !each.name().empty());
      Require(!each.computed() || (each.value().empty() && !IsSure(each)));
      Require(each.value().find_first_of("\n\r") == std::string::npos);
      variables[each.name()] = each.value();
    }
  }
  variables["HCCL_SOCKET_IFNAME"] = text;
  variables["HCCL_HOST_SOCKET_PORT_RANGE"] = text;
  for (const JobVariableMistake& mistake : FindVariableMistakes(variables)) {
    Require(variables.count(mistake.name) > 0 && !mistake.expected.empty());
  }
  // One name and its negation never match both.
  if (text.empty() || text[0] == '^' || text[0] == '=') return;
  Require(MatchesSocketIfname(text, "eth0") !=
          MatchesSocketIfname("^" + text, "eth0"));
}

constexpr void (*kChecks[])(const std::string&) = {
    CheckHccnConf, CheckInfoFiles, CheckSocketLine, CheckSysctlConf,
    CheckLaunchTexts};

FUZZ_TEXT(host_files, 4, "tests/testdata/host/conf/*",
          "tests/testdata/host/info/*", "tests/testdata/host/sockets/*",
          "tests/testdata/host/sysctl/*") {
  for (const auto check : kChecks) check(text);
}

}  // namespace
}  // namespace clusterd
