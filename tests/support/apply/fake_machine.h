// A server in memory, for tests of changes: devices with the vendor's
// hccn_tool, hccn.conf, /proc/sys, sysctl.d, ufw and firewalld. Each has the
// side effects of the real one, and faults that a test switches on. The tool is
// simulated (fake_devices.h).
#ifndef TESTS_SUPPORT_APPLY_FAKE_MACHINE_H_
#define TESTS_SUPPORT_APPLY_FAKE_MACHINE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/host/change/host_reader.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "tests/support/apply/fake_devices.h"
#include "tests/support/apply/fake_firewalls.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_file_system.h"

namespace clusterd {

// One thread.
class FakeMachine final : public CommandRunner, public HostReader {
 public:
  using Device = FakeDevices::Device;
  using Fault = FakeDevices::Fault;
  using Firewall = FakeFirewalls::Firewall;

  // `host` names the facts. Starts with hccn.conf empty, empty reserved ports,
  // somaxconn 4096, tcp_max_syn_backlog 2048, no firewall.
  explicit FakeMachine(std::string host);
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;

  FakeFileSystem& files() { return files_; }
  void SetProduct(const std::string& name) { devices_.SetProduct(name); }
  Device& device(uint32_t id) { return devices_.device(id); }
  // The device with its settings in hccn.conf too.
  void AddDevice(uint32_t id, const Device& device) {
    devices_.Add(id, device);
  }
  // Installed, active and enabled at boot.
  void AddUfw() { firewalls_.AddUfw(); }
  void AddFirewalld() { firewalls_.AddFirewalld(); }
  Firewall& firewall(FirewallProgram program) {
    return firewalls_.firewall(program);
  }
  std::map<std::string, std::string>& sysctl() { return sysctl_; }
  // Every program that ran, in order, except to read the machine.
  const std::vector<std::string>& commands() const { return commands_; }

  // The whole state that other programs see, without files below `except`.
  std::map<std::string, std::string> State(const std::string& except) const;

  // Runs a command that is killed in the middle.
  CommandRunner* half() { return &half_; }

  // Drops unsynced data, and boots: sysctl.d is applied, devices take their
  // settings from hccn.conf, enabled firewalls start.
  void PowerCycle();

  absl::StatusOr<CommandResult> Run(const Command& command) override;
  HostFacts ReadHost() override;
  // The product's own reader reads the tool's answers.
  DeviceFacts ReadDevice(uint32_t device) override;
  FirewallFacts ReadFirewall(FirewallProgram program) override;

 private:
  // The machine's programs for other purposes than Run's.
  class Programs final : public CommandRunner {
   public:
    using Function =
        absl::StatusOr<CommandResult> (FakeMachine::*)(const Command&);
    Programs(FakeMachine* machine, Function run)
        : machine_(machine), run_(run) {}
    absl::StatusOr<CommandResult> Run(const Command& command) override {
      return (machine_->*run_)(command);
    }

   private:
    FakeMachine* const machine_;
    const Function run_;
  };

  DeviceFacts AskDevice(uint32_t id);
  absl::StatusOr<CommandResult> RunHalf(const Command& command);
  absl::StatusOr<CommandResult> RunToRead(const Command& command);
  absl::StatusOr<CommandResult> RunProgram(const std::vector<std::string>& argv,
                                           bool half);
  std::string Conf() const;
  void AddSysctl(const std::string& key, bool is_ports,
                 const std::string& value);
  void ApplySysctlFiles();

  const std::string host_;
  FakeFileSystem files_;
  FakeDevices devices_{&files_};
  FakeFirewalls firewalls_{&files_};
  std::map<std::string, std::string> sysctl_;
  std::vector<std::string> commands_;
  int boots_ = 1;
  Programs half_{this, &FakeMachine::RunHalf};
  Programs to_read_{this, &FakeMachine::RunToRead};
  // For reading devices.
  FakeClock clock_;
  DeviceLocks locks_;
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_APPLY_FAKE_MACHINE_H_
