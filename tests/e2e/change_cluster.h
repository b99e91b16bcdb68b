// A cluster of real programs whose servers allow every change, and helpers for
// tests of plan, apply and rollback.
#ifndef TESTS_E2E_CHANGE_CLUSTER_H_
#define TESTS_E2E_CHANGE_CLUSTER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/controller.pb.h"
#include "proto/plan.pb.h"
#include "tests/e2e/demo_cluster.h"
#include "tests/support/wait/patience.h"

namespace clusterd {

// The state of a simulated server that an apply could change: each file with
// its mode and content, and its devices' values.
using ServerState = std::map<std::string, std::string>;

ServerState ReadServer(const std::string& root);
// Differences with both texts; empty: identical.
std::vector<std::string> DifferencesFrom(const ServerState& before,
                                         const ServerState& after);

// While it exists, device changes of the server below `root` wait, and reads
// continue: like a tool that hangs half way.
class DeviceGate {
 public:
  explicit DeviceGate(const std::string& root);
  ~DeviceGate();
  DeviceGate(const DeviceGate&) = delete;
  DeviceGate& operator=(const DeviceGate&) = delete;

  void Open();

 private:
  int fd_;
};

// The result of clusterctl apply or rollback.
struct ChangeOutcome {
  ProcessResult process;
  ApplyReport report;  // Empty unless standard output was a JSON report.

  // The host's result; empty if the report has none.
  ApplyResult Host(const std::string& host) const;
};

// Like DemoSpec, with the longest deadline of a command in an apply, so that a
// tool can wait at a DeviceGate as long as a test needs.
std::string ChangeSpec(int servers, const std::string& command = "2m");

// Not thread-safe.
class ChangeCluster : public DemoCluster {
 public:
  // server0, server1 and so on, by default of ChangeSpec; starts nothing yet.
  explicit ChangeCluster(int servers, const std::string& spec = "");

  void Break(const std::string& host, const std::vector<std::string>& faults);
  ServerState Server(const std::string& host) const {
    return ReadServer(Root(host));
  }
  // The host's journal of an apply so far; empty: none.
  std::vector<JournalEntry> Journal(const std::string& host,
                                    const std::string& apply_id) const;
  // Waits until it has at least this many entries; false on a timeout.
  bool WaitForJournal(const std::string& host, const std::string& apply_id,
                      size_t entries) const;

  // Plan saves here, and Apply reads it.
  std::string PlanPath() const { return folder() + "/plan.json"; }
  // clusterctl plan --out; must succeed.
  ClusterPlan Plan(const std::vector<std::string>& arguments = {}) const;
  ClusterPlan StartAllAndPlan() {
    StartAll();
    return Plan();
  }
  // clusterctl apply --yes --confirm demo -o json, as a user.
  ChangeOutcome Apply(const std::vector<std::string>& arguments = {},
                      const std::string& user = "admin") const;
  // The same without waiting; FinishChange waits.
  std::unique_ptr<Process> StartApply(
      const std::vector<std::string>& arguments = {},
      const std::string& user = "admin") const;
  ChangeOutcome RollBack(const std::string& apply_id,
                         const std::vector<std::string>& arguments = {}) const;

  // Newest first.
  std::vector<HistoryEntry> History() const;
  // clusterctl show -o json of an apply or rollback.
  ApplyReport Show(const std::string& id) const;
  // The text of clusterctl show.
  std::string ShowText(const std::string& id) const;
  // clusterctl hosts -o json.
  HostEntry Entry(const std::string& host) const;
};

ChangeOutcome FinishChange(Process* clusterctl);
// The id that clusterctl prints when its run has begun; without it, fails the
// test and returns an empty id.
std::string WaitForRunId(Process* clusterctl);

}  // namespace clusterd

#endif  // TESTS_E2E_CHANGE_CLUSTER_H_
