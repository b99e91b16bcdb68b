// A whole cluster of the real programs on loopback. It has certificates from
// deploy/certificates.sh, simulated servers with a root folder each, a
// controller and one clusterd per server over mutual TLS. Ends with its object.
// Its servers allow only observing until Allow is called.
#ifndef TESTS_E2E_DEMO_CLUSTER_H_
#define TESTS_E2E_DEMO_CLUSTER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "proto/finding.pb.h"
#include "tests/e2e/process.h"

namespace clusterd {

// A spec like the two-server example for hosts server0 .. serverN-1, with
// deadlines for a loaded machine. `command` is the deadline of each tool: tests
// of a tool that hangs forever shorten it.
std::string DemoSpec(int servers, const std::string& command = "1m");

// The result of clusterctl check.
struct CheckOutcome {
  ProcessResult process;
  Report report;  // Empty unless standard output was a JSON report.
};

// Not thread-safe. Every method calls ADD_FAILURE if a program misbehaves.
class DemoCluster {
 public:
  // Folder, certificates, spec and servers; starts nothing yet. `tool` is the
  // runfile that stands in for hccn_tool on all of them.
  DemoCluster(const std::string& spec, const std::vector<std::string>& hosts,
              const std::string& tool = "tests/sim/hccn_tool");
  ~DemoCluster();

  const std::string& folder() const { return folder_; }
  std::string Root(const std::string& host) const;
  // Folder of the certificates: ca.crt, NAME.crt, NAME.key.
  std::string Certificates() const;
  std::string Socket(const std::string& host) const;
  // The controller's port, reserved also while it is down.
  int port() const { return port_; }

  // Writes the agent.yaml of the server: the allowed kinds, e.g. "observe,
  // sysctl", from its next change on.
  void Allow(const std::string& host, const std::string& kinds);
  // A certificate of one more user, for Clusterctl.
  void AddUser(const std::string& name, const std::string& role);
  // Later starts of clusterd run `launcher`, which must exec the clusterd
  // command line that follows it.
  void LaunchWith(const std::string& host, std::vector<std::string> launcher);

  // `fault` as simhost takes it, e.g. "3:link=DOWN".
  void SetFault(const std::string& host, const std::string& fault);

  // Starts the controller and waits until it listens.
  void StartController(const std::vector<std::string>& more_flags = {});
  // The command that it runs.
  std::vector<std::string> ControllerCommand() const;
  // Starts clusterd; waits until the controller reports it as attached.
  void StartHost(const std::string& host);
  // Starts clusterd with another host's certificate, without waiting.
  Process& StartHostAs(const std::string& host, const std::string& certificate);
  void StartAll();

  Process& controller() { return *controller_; }
  Process& host(const std::string& name) { return *daemons_.at(name); }
  // Ends a daemon and the tools that it runs at once, as a power cut would.
  void KillHost(const std::string& name);

  // A clusterctl command line: `arguments`, then the user's connection flags.
  std::vector<std::string> Clusterctl(std::vector<std::string> arguments,
                                      const std::string& user = "admin") const;
  ProcessResult RunClusterctl(std::vector<std::string> arguments,
                              const std::string& user = "admin") const;
  // clusterctl check -o json with further arguments.
  CheckOutcome Check(std::vector<std::string> arguments = {}) const;

 private:
  std::string folder_;
  std::vector<std::string> hosts_;
  int port_ = 0;
  // Bound to the port, never listening, so that the controller can bind it too.
  int reserved_;
  std::unique_ptr<Process> controller_;
  std::map<std::string, std::vector<std::string>> launchers_;
  std::map<std::string, std::unique_ptr<Process>> daemons_;
};

// The message that a program has printed as JSON; fails the test if it has not.
template <typename Message>
Message FromJson(const ProcessResult& result) {
  Message message;
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      result.standard_output, &message);
  EXPECT_TRUE(parsed.ok()) << parsed.ToString() << "\n"
                           << result.standard_output << result.standard_error;
  return message;
}

// Path of a program or file of this workspace inside the test's runfiles.
std::string Runfile(const std::string& path);

// The findings of one rule; empty if the report has none.
std::vector<Finding> FindingsOf(const Report& report, const std::string& rule);
// The same as text, a line each.
inline std::string Shown(const Report& report, const std::string& rule) {
  std::string text;
  for (const Finding& finding : FindingsOf(report, rule)) {
    text += finding.ShortDebugString() + "\n";
  }
  return text;
}
// State of one rule; STATE_UNSPECIFIED if the report does not list it.
State StateOf(const Report& report, const std::string& rule);

}  // namespace clusterd

#endif  // TESTS_E2E_DEMO_CLUSTER_H_
