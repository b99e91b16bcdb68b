// The programs of a cluster that is measured: a controller, and processes that
// have its simulated hosts. Over mutual TLS, all on this machine; they end with
// their objects.
#ifndef TESTS_BENCH_FLEET_CLUSTER_H_
#define TESTS_BENCH_FLEET_CLUSTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/identity/tls_credentials.h"
#include "proto/controller.grpc.pb.h"
#include "proto/spec.pb.h"
#include "tests/e2e/process.h"
#include "tests/support/config/test_authority.h"

namespace clusterd {

// Paths of programs.
struct ClusterPrograms {
  std::string controller;
  std::string fleet;
};

// A new folder that is removed with its object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // A file that only its owner may read; its path.
  std::string Write(const std::string& file, const std::string& text) const;
  const std::string& path() const { return name_; }

 private:
  std::string name_ = "/tmp/clusterd_bench_XXXXXX";
};

std::string ReadFile(const std::string& path);

// A cluster named "test".
class BenchCluster {
 public:
  BenchCluster(ClusterPrograms programs, ClusterSpec spec);

  // Starts the controller and waits until it listens.
  absl::Status Start();
  // Starts it again with the same port and state.
  void KillAndStart();

  const ClusterPrograms& programs() const { return programs_; }
  const ClusterSpec& spec() const { return spec_; }
  const Folder& folder() const { return folder_; }
  std::string state() const { return folder_.path() + "/state"; }
  std::string log() const { return folder_.path() + "/log"; }
  const std::string& address() const { return address_; }
  const TestAuthority& authority() const { return *authority_; }
  pid_t pid() const { return controller_->pid(); }

  // Files with a new certificate, e.g. of spiffe://test/host/server0.
  TlsFiles Files(const std::string& label, const std::string& uri_name) const;
  // A new connection, e.g. as spiffe://test/user/bench.
  std::unique_ptr<Controller::Stub> Client(const std::string& uri_name) const;
  // Arguments with which a fleet connects to this controller.
  std::vector<std::string> FleetArguments() const;

 private:
  const ClusterPrograms programs_;
  const ClusterSpec spec_;
  const Folder folder_;
  const std::unique_ptr<TestAuthority> authority_ = TestAuthority::Create();
  std::vector<std::string> command_;
  std::unique_ptr<Process> controller_;
  std::string address_;
};

// Processes that have `servers` of the cluster's spec among them.
class Fleets {
 public:
  // `processes` of them; all connect at once. `arguments` add to their own.
  Fleets(const BenchCluster& cluster, int servers, int processes = 1,
         const std::vector<std::string>& arguments = {});

  // Returns the time until all are attached, by the slowest process.
  // Certificates are made before.
  absl::StatusOr<absl::Duration> WaitAttached();
  absl::Status WaitAttachedAgain();
  // Ends them. Returns their output unless each host was lost just once.
  std::string EndLostOnce();

 private:
  std::vector<int> sizes_;
  std::vector<std::unique_ptr<Process>> fleets_;
};

double Median(std::vector<double> values);

// Prints a row with its share of the budget; 0: without one. False if the value
// is over its budget.
bool Print(const char* what, double value, const char* unit, double budget);
// The same of a ratio, which has a limit.
bool PrintRatio(const char* what, double ratio, double limit);

}  // namespace clusterd

#endif  // TESTS_BENCH_FLEET_CLUSTER_H_
