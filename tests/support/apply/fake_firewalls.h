// ufw and firewalld of a machine in memory, with the files they keep in a fake
// file system. A rule is a text: "60000:60015/tcp from 10.0.0.0/24".
#ifndef TESTS_SUPPORT_APPLY_FAKE_FIREWALLS_H_
#define TESTS_SUPPORT_APPLY_FAKE_FIREWALLS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/host/command/command_runner.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"
#include "tests/support/host/fake_file_system.h"

namespace clusterd {

// One thread.
class FakeFirewalls {
 public:
  struct Firewall {
    bool installed = false;
    bool active = false;
    std::set<std::string> rules;  // The running rules.
    bool ignores_commands = false;
  };

  // `files` must outlive this object.
  explicit FakeFirewalls(FakeFileSystem* files) : files_(files) {}

  Firewall& firewall(FirewallProgram program) { return firewalls_[program]; }
  // Installed, active and enabled at boot.
  void AddUfw();
  void AddFirewalld();

  // nullopt: the program does not exist. `half`: killed in the middle, with the
  // files changed but not the running rules.
  std::optional<CommandResult> Run(const std::vector<std::string>& argv,
                                   bool half);
  FirewallFacts Read(FirewallProgram program);
  // Starts enabled firewalls, with the stored rules.
  void Boot();
  // The state that other programs see, without files.
  std::map<std::string, std::string> State() const;

 private:
  using Words = std::vector<std::string>;
  CommandResult Ufw(const Words& argv, bool half);
  CommandResult FirewallCmd(const Words& argv, bool half);
  CommandResult Systemctl(const Words& argv, bool half);
  bool Enabled(FirewallProgram program) const;
  std::set<std::string> StoredRules(FirewallProgram program) const;

  FakeFileSystem* const files_;
  std::map<FirewallProgram, Firewall> firewalls_;
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_APPLY_FAKE_FIREWALLS_H_
