// Servers with wrong settings, the spec that they should meet, and the plan for
// that: the start of the applier's tests.
#ifndef TESTS_SUPPORT_APPLY_APPLY_SCENARIOS_H_
#define TESTS_SUPPORT_APPLY_APPLY_SCENARIOS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/agent/apply/applier.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "proto/plan.pb.h"
#include "proto/spec.pb.h"
#include "tests/support/apply/fake_machine.h"
#include "tests/support/host/effect_log.h"
#include "tests/support/host/fake_clock.h"

namespace clusterd {

inline constexpr char kScenarioHost[] = "node-07";
inline constexpr char kScenarioStateFolder[] = "/var/lib/clusterd/apply";

// Lines of the log about apply "a1".
inline constexpr char kInterruptedLine[] = "apply a1 was cut off: UNDONE";
inline constexpr char kNotConfirmedLine[] =
    "apply a1 was not confirmed: ROLLED_BACK";

// One machine and its changes. Movable by pointer only.
struct Scenario {
  FakeMachine machine{kScenarioHost};
  FakeClock clock;
  DeviceLocks locks;
  ClusterSpec spec;

  // The plan for the machine as it is now. REQUIRES: nothing is blocked.
  HostPlan Plan();
  MachineAccess Access();
  // An applier on the machine that allows all kinds, with unused devices.
  std::unique_ptr<Applier> MakeApplier();
  // The same, but through a log that can end the process.
  std::unique_ptr<Applier> MakeApplier(EffectLog* log);
  // The result of the plan, or of undoing apply "a1", by MakeApplier's applier.
  absl::StatusOr<ApplyResult> Apply(const std::string& id = "a1");
  absl::StatusOr<ApplyResult> Rollback(bool force = false);
  // The whole machine except clusterd's own folder.
  std::map<std::string, std::string> State() const;

  std::unique_ptr<EffectFileSystem> logged_files;
  std::unique_ptr<EffectCommandRunner> logged_runner;
};

// Options of an applier on that host.
ApplierOptions ScenarioOptions();
HostAllows AllowsAll();

ApplyRequest RequestFor(const HostPlan& plan, const std::string& apply_id);
RollbackRequest RollbackOf(const std::string& apply_id, bool force = false);

// The result; if there is none, one with the error and no outcome.
ApplyResult Got(const absl::StatusOr<ApplyResult>& result);
// Returns the result of the only recovered apply.
ApplyResult OnlyOne(const absl::StatusOr<std::vector<ApplyResult>>& results);

// Three devices with addresses, gateways, routes, an IPv6 gateway and comments
// in an hccn.conf without a final newline; TLS on; low kernel parameters and
// another file of sysctl.d; ufw with a rule. The spec wants all of it changed
// and ports opened. Live settings and files agree, so that a reboot changes
// nothing.
std::unique_ptr<Scenario> OpenUfwScenario();
// One device's address differs in hccn.conf; an own sysctl file has foreign
// lines. Ports are to be opened in firewalld, and an MTU of 9000 is wanted.
std::unique_ptr<Scenario> OpenFirewalldScenario();
// ufw and firewalld, both to be stopped; device 1's address goes to device 0.
std::unique_ptr<Scenario> DisableFirewallsScenario();

// An hccn.conf with CR LF, a route without its "gateway_", a repeated key and
// no final newline. It lacks the MTU of a device; gateway, detect address and
// TLS switch of a device differ from the device. TLS is on where it should be
// off; the device with the route gets another address.
std::unique_ptr<Scenario> BrokenConfScenario();

// OpenUfwScenario, after the process ended half way through the effects of
// apply "a1".
std::unique_ptr<Scenario> CrashedScenario();

// OpenUfwScenario, after the process ended right before the last record of the
// journal of "a1": everything is set, and has to be undone.
std::unique_ptr<Scenario> AlmostAppliedScenario();

struct NamedScenario {
  std::string name;
  std::unique_ptr<Scenario> (*make)();
};
// All of the above except the crashed ones.
std::vector<NamedScenario> AllScenarios();

// TLS is on, should be off, and hccn.conf has no key for it: a plan that may
// query the device changes the file.
std::unique_ptr<Scenario> NoTlsKeyScenario();

}  // namespace clusterd

#endif  // TESTS_SUPPORT_APPLY_APPLY_SCENARIOS_H_
