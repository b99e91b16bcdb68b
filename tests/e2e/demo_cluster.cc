#include "tests/e2e/demo_cluster.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

// bash for the certificate script, with a path to openssl.
void RunOrFail(std::vector<std::string> argv) {
  const std::string shown = absl::StrCat(argv[0], " ", argv[1]);
  const ProcessResult result = RunProgram(std::move(argv));
  if (result.exit_status != 0) {
    ADD_FAILURE() << shown << " ended with " << result.exit_status << ":\n"
                  << result.standard_output << result.standard_error;
  }
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Stops all threads of the process, so that it cannot start others.
void Freeze(pid_t pid) {
  kill(pid, SIGSTOP);
  // "pid (name) state ...": T is stopped, Z has ended.
  EXPECT_TRUE(WaitUntil([pid] {
    const std::string stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
    const size_t name_end = stat.rfind(") ");
    return name_end == std::string::npos ||
           absl::StrContains("TZ", stat.substr(name_end + 2, 1));
  })) << "process "
      << pid << " does not stop";
}

// A loopback port that the kernel gives to no other process while the socket is
// open. The socket does not listen, and both sides set SO_REUSEADDR, so that
// the controller can bind the port, also after a restart.
int ReservePort(int* port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(fd, any, size) != 0 || getsockname(fd, any, &size) != 0) {
    ADD_FAILURE() << "no port of loopback";
  }
  *port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

std::string Runfile(const std::string& path) {
  return (std::filesystem::current_path() / path).string();
}

std::string DemoSpec(int servers, const std::string& command) {
  return absl::StrCat(R"(version: 1
name: demo
product: atlas-training
servers:
  - hosts: server[0-)",
                      servers - 1, R"(]
    address: 192.168.7.[22-)",
                      21 + servers, R"(]
devices:
  netmask: 255.255.255.0
  rails:
    - device: 0-3
      subnet: 192.168.[100-103].0/24
      host: 101 + 10*n
    - device: 4-7
      subnet: 192.168.[100-103].0/24
      host: 100 + 10*n
  detect_address: 192.168.[100-103,100-103].1
kernel: {somaxconn: 65535, tcp_max_syn_backlog: 65535, persistent: true}
firewall: disabled
deadlines: {command: )",
                      command, R"(, host: 10m, run: 20m}
)");
}

DemoCluster::DemoCluster(const std::string& spec,
                         const std::vector<std::string>& hosts,
                         const std::string& tool)
    : hosts_(hosts), reserved_(ReservePort(&port_)) {
  std::string pattern = "/tmp/clusterd-e2e.XXXXXX";
  const char* made = mkdtemp(pattern.data());
  if (made == nullptr) {
    ADD_FAILURE() << "no temporary folder under /tmp";
    return;
  }
  folder_ = made;
  std::ofstream(folder_ + "/cluster.yaml") << spec;
  const std::string script = Runfile("deploy/certificates.sh");
  const std::string certificates = Certificates();
  RunOrFail({"/bin/bash", script, "init", certificates, "demo"});
  RunOrFail({"/bin/bash", script, "controller", certificates, "demo"});
  RunOrFail(
      {"/bin/bash", script, "user", certificates, "demo", "admin", "admin"});
  std::vector<std::string> host_certificates = {"/bin/bash", script, "host",
                                                certificates, "demo"};
  for (const std::string& host : hosts) host_certificates.push_back(host);
  RunOrFail(host_certificates);
  for (const std::string& host : hosts) {
    RunOrFail({Runfile("tests/sim/simhost"), "create", "--tool", Runfile(tool),
               "--root", Root(host), "--spec", folder_ + "/cluster.yaml",
               "--host", host});
    Allow(host, "observe");
  }
}

DemoCluster::~DemoCluster() {
  while (!daemons_.empty()) KillHost(std::string(daemons_.begin()->first));
  controller_.reset();
  close(reserved_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string DemoCluster::Root(const std::string& host) const {
  return absl::StrCat(folder_, "/hosts/", host);
}

std::string DemoCluster::Certificates() const { return folder_ + "/tls"; }

std::string DemoCluster::Socket(const std::string& host) const {
  return absl::StrCat(folder_, "/", host, ".sock");
}

void DemoCluster::Allow(const std::string& host, const std::string& kinds) {
  std::ofstream(absl::StrCat(folder_, "/", host, ".yaml"))
      << "allow: [" << kinds
      << "]\nstate: /var/lib/clusterd\ndrift_interval: 0\n";
}

void DemoCluster::AddUser(const std::string& name, const std::string& role) {
  RunOrFail({"/bin/bash", Runfile("deploy/certificates.sh"), "user",
             Certificates(), "demo", name, role});
}

void DemoCluster::LaunchWith(const std::string& host,
                             std::vector<std::string> launcher) {
  launchers_[host] = std::move(launcher);
}

void DemoCluster::SetFault(const std::string& host, const std::string& fault) {
  RunOrFail({Runfile("tests/sim/simhost"), "set", "--root", Root(host), fault});
}

std::vector<std::string> DemoCluster::ControllerCommand() const {
  const std::string listen = absl::StrCat("127.0.0.1:", port_);
  return {Runfile("daemon/controller/clusterd-controller"),
          "--spec",
          folder_ + "/cluster.yaml",
          "--cluster",
          "demo",
          "--listen",
          listen,
          "--port-file",
          folder_ + "/port",
          "--state",
          folder_ + "/state",
          "--ca",
          Certificates() + "/ca.crt",
          "--cert",
          Certificates() + "/controller.crt",
          "--key",
          Certificates() + "/controller.key"};
}

void DemoCluster::StartController(const std::vector<std::string>& more_flags) {
  const std::string port_file = folder_ + "/port";
  std::filesystem::remove(port_file);
  std::vector<std::string> argv = ControllerCommand();
  argv.insert(argv.end(), more_flags.begin(), more_flags.end());
  controller_.reset();  // The old one must have ended: they share a folder.
  controller_ = std::make_unique<Process>(argv);
  controller_->ExpectError("listening on port");
  int listens = 0;
  ASSERT_TRUE(absl::SimpleAtoi(ReadFile(port_file), &listens));
  ASSERT_EQ(listens, port_);
}

Process& DemoCluster::StartHostAs(const std::string& host,
                                  const std::string& certificate) {
  std::vector<std::string> argv = launchers_[host];
  for (const std::string& word :
       {Runfile("daemon/agent/clusterd"), std::string("--config"),
        absl::StrCat(folder_, "/", host, ".yaml"), std::string("--controller"),
        absl::StrCat("127.0.0.1:", port_), std::string("--cluster"),
        std::string("demo"), std::string("--ca"), Certificates() + "/ca.crt",
        std::string("--cert"),
        absl::StrCat(Certificates(), "/", certificate, ".crt"),
        std::string("--key"),
        absl::StrCat(Certificates(), "/", certificate, ".key"),
        std::string("--root"), Root(host), std::string("--socket"),
        Socket(host)}) {
    argv.push_back(word);
  }
  daemons_[host].reset();
  daemons_[host] = std::make_unique<Process>(std::move(argv));
  return *daemons_[host];
}

void DemoCluster::StartHost(const std::string& host) {
  StartHostAs(host, host);
  controller_->ExpectError(absl::StrCat("host ", host, ": attached from"));
}

void DemoCluster::StartAll() {
  ASSERT_NO_FATAL_FAILURE(StartController());
  for (const std::string& host : hosts_) StartHost(host);
}

void DemoCluster::KillHost(const std::string& name) {
  // -1 if it has ended already; then no tool is left.
  const pid_t pid = daemons_.at(name)->pid();
  if (pid > 0) {
    Freeze(pid);
    for (const pid_t tool : ChildrenOf(pid)) kill(tool, SIGKILL);
  }
  daemons_.erase(name);
}

std::vector<std::string> DemoCluster::Clusterctl(
    std::vector<std::string> arguments, const std::string& user) const {
  arguments.insert(arguments.begin(), Runfile("client/clusterctl"));
  for (const std::string& flag :
       {std::string("--controller"), absl::StrCat("127.0.0.1:", port_),
        std::string("--cluster"), std::string("demo"), std::string("--ca"),
        Certificates() + "/ca.crt", std::string("--cert"),
        absl::StrCat(Certificates(), "/user-", user, ".crt"),
        std::string("--key"),
        absl::StrCat(Certificates(), "/user-", user, ".key")}) {
    arguments.push_back(flag);
  }
  return arguments;
}

ProcessResult DemoCluster::RunClusterctl(std::vector<std::string> arguments,
                                         const std::string& user) const {
  return RunProgram(Clusterctl(std::move(arguments), user));
}

CheckOutcome DemoCluster::Check(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {"check", "-o", "json"});
  CheckOutcome outcome;
  outcome.process = RunClusterctl(std::move(arguments));
  outcome.report = FromJson<Report>(outcome.process);
  return outcome;
}

std::vector<Finding> FindingsOf(const Report& report, const std::string& rule) {
  std::vector<Finding> findings;
  for (const RuleResult& result : report.rules()) {
    if (result.rule() != rule) continue;
    findings.assign(result.findings().begin(), result.findings().end());
  }
  return findings;
}

State StateOf(const Report& report, const std::string& rule) {
  for (const RuleResult& result : report.rules()) {
    if (result.rule() == rule) return result.state();
  }
  return STATE_UNSPECIFIED;
}

}  // namespace clusterd
