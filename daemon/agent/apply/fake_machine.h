// A server in memory, for tests of what changes one: devices with the vendor's
// hccn_tool, hccn.conf, /proc/sys, sysctl.d, ufw and firewalld, each with the
// side effects of the real thing, and faults that a test switches on.
// hccn_tool behaves as hicann/driver ef377e95 was seen to: routes outside a new
// subnet leave the file before the device is asked, a key is deleted by
// substring, status 4 leaves the device changed, the query for the TLS switch
// writes a key that is not there.
#ifndef DAEMON_AGENT_APPLY_FAKE_MACHINE_H_
#define DAEMON_AGENT_APPLY_FAKE_MACHINE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/host/change/fake_file_system.h"
#include "daemon/host/change/host_reader.h"
#include "daemon/host/command_runner.h"

namespace clusterd {

// One thread.
class FakeMachine final : public CommandRunner, public HostReader {
 public:
  enum class Fault {
    kNone,
    kDeviceRefuses,  // Fails; routes are gone from hccn.conf already.
    kActsAndFails,   // Device changed, file old, status 1.
    kSuccessChangesNothing,
    kSuccessLosesKey,  // Device changed, key not in the file.
    kHangs,            // Killed at the deadline before anything.
    kHangsHalfWay,     // Killed with the device changed and the file not.
    kBusy,             // "busy", status 11.
    kSpeaksNoUtf8,     // Fails, and says so in GBK.
    kSilent,           // Nothing can be read from the device any more.
  };

  struct Device {
    std::string address;  // Empty: none.
    std::string netmask;
    std::string gateway;
    std::string detect = "0.0.0.0";
    bool tls = true;
    std::set<std::string> routes;  // "172.16.0.0 10.0.0.253 255.255.0.0"
    Fault fault = Fault::kNone;
    int faults_left = -1;  // Runs that still meet the fault; -1: all.
  };

  struct Firewall {
    bool installed = false;
    bool active = false;
    std::set<std::string> rules;  // What runs, one text a rule.
    bool ignores_commands = false;
  };

  // `host` names the facts. Starts with hccn.conf empty, empty reserved ports,
  // somaxconn 4096, tcp_max_syn_backlog 2048, no firewall.
  explicit FakeMachine(std::string host);
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;

  FakeFileSystem& files() { return files_; }
  Device& device(uint32_t id) { return devices_[id]; }
  // The device with its settings in hccn.conf too.
  void AddDevice(uint32_t id, const Device& device);
  // Installed, active and enabled at boot.
  void AddUfw();
  void AddFirewalld();
  Firewall& firewall(FirewallProgram program) { return firewalls_[program]; }
  std::map<std::string, std::string>& sysctl() { return sysctl_; }
  // Set commands of the tool and other programs that ran, in order.
  const std::vector<std::string>& commands() const { return commands_; }

  // Everything that can be told from outside, but for files below `except`.
  std::map<std::string, std::string> State(const std::string& except) const;

  // Runs a command that is killed in the middle.
  CommandRunner* half() { return &half_; }

  // What is not on disk is gone, and the machine boots: sysctl.d is applied,
  // devices take their settings from hccn.conf, enabled firewalls start.
  void PowerCycle();

  // As a check observes it for a spec that states `tls`: like ReadHost, and if
  // `allow_tls_query` the devices without tls_enable are asked as well, which
  // writes it unless hccn.conf has a problem.
  HostFacts Observe(bool allow_tls_query);

  absl::StatusOr<CommandResult> Run(const Command& command) override;
  HostFacts ReadHost() override;
  DeviceFacts ReadDevice(uint32_t device) override;
  FirewallFacts ReadFirewall(FirewallProgram program) override;

 private:
  class Half final : public CommandRunner {
   public:
    explicit Half(FakeMachine* machine) : machine_(machine) {}
    absl::StatusOr<CommandResult> Run(const Command& command) override;

   private:
    FakeMachine* const machine_;
  };
  using Words = std::vector<std::string>;

  CommandResult Tool(const Words& argv);
  CommandResult SetAddress(uint32_t id, const Words& argv, Fault fault);
  CommandResult SetKeys(
      uint32_t id, Fault fault,
      const std::vector<std::pair<std::string, std::string>>& keys);
  CommandResult RouteCommand(uint32_t id, const Words& argv);
  CommandResult Ufw(const Words& argv);
  CommandResult FirewallCmd(const Words& argv);
  CommandResult Systemctl(const Words& argv);
  Fault TakeFault(uint32_t id);

  std::string Conf() const;
  void WriteConf(const std::string& text);
  // In place, as programs do that keep the inode.
  void Overwrite(const std::string& path, const std::string& text);
  void DropRoutesOutside(uint32_t id);
  void AddSysctl(const std::string& key, bool is_ports,
                 const std::string& value);
  bool Enabled(FirewallProgram program) const;
  std::set<std::string> StoredRules(FirewallProgram program) const;
  void ApplySysctlFiles();

  const std::string host_;
  FakeFileSystem files_;
  std::map<uint32_t, Device> devices_;
  std::map<std::string, std::string> sysctl_;
  std::map<FirewallProgram, Firewall> firewalls_;
  std::vector<std::string> commands_;
  bool half_way_ = false;
  Half half_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_FAKE_MACHINE_H_
