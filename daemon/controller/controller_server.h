// The listening side of clusterd-controller: its mutual-TLS port, with a CA the
// port for joining hosts, and an optional status port.
#ifndef DAEMON_CONTROLLER_CONTROLLER_SERVER_H_
#define DAEMON_CONTROLLER_CONTROLLER_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/identity/tls_credentials.h"
#include "daemon/controller/admission/connection_acceptor.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/change/cluster_changes.h"
#include "daemon/controller/change/drift_enforcer.h"
#include "daemon/controller/history/newest_report.h"
#include "daemon/controller/hosts/agent_hub_service.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/jobs/drain_brake.h"
#include "daemon/controller/jobs/job_checks.h"
#include "daemon/controller/notify/news_sender.h"
#include "daemon/controller/queue/fact_queue.h"
#include "daemon/controller/schedule/check_schedule.h"
#include "daemon/controller/service/controller_service.h"
#include "daemon/controller/status/http_server.h"
#include "daemon/controller/status/status_pages.h"
#include "daemon/controller/trust/certificate_authority.h"
#include "daemon/controller/trust/enrolment_listener.h"
#include "daemon/controller/trust/enrolment_service.h"
#include "daemon/controller/trust/trust_service.h"
#include "daemon/controller/trust/trust_store.h"
#include "daemon/controller/watch/cluster_watch.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/watchdog.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "proto/facts.pb.h"

namespace clusterd {

// For a controller that issues certificates to hosts.
struct TrustOptions {
  // Folder of its CA (certificate_authority.h); empty: it issues nothing.
  std::string ca_dir;
  std::string state;  // Existing folder of trust.db.
  // ADDRESS:PORT for joining hosts; empty: the port after that of `listen`.
  std::string enrol_listen;
  absl::Duration leaf_life = kDefaultLeafLife;
  // The program that serves that port; empty: this program.
  std::string enrolment_program;
};

// Equals the hosts' connect deadline (hub_connection.h), so that neither side
// abandons a handshake that the other one still works on.
inline constexpr absl::Duration kHandshakeTimeout = absl::Seconds(75);

// The value of `status_listen` that turns the status port off.
inline constexpr char kNoStatusPort[] = "off";

struct ControllerServerOptions {
  // ADDRESS:PORT; port 0 takes a free one.
  std::string listen;
  // A dead connection is noticed after about the sum of these two.
  absl::Duration keepalive_time = absl::Seconds(15);
  absl::Duration keepalive_timeout = absl::Seconds(10);
  // The shortest time between two pings that a client may send.
  absl::Duration min_ping_interval = absl::Seconds(10);
  // gRPC's memory for all connections and incoming messages: enough for 10,000
  // hosts and 6,000 further connections, each counted as 32 kB.
  size_t wire_memory_bytes = size_t{512} << 20;
  // Bounds and initial rate of admission; the rate is for one core. The memory
  // above and this process's descriptors bound connections further.
  AdmissionLimits admission = {};
  // The key in these files signs verdicts of jobs. They are re-read for each
  // verdict; if they cannot be read, hosts get no answers.
  TlsFiles tls;
  DrainLimits drain;
  TrustOptions trust;
  // ADDRESS:PORT; empty: 127.0.0.1, and the port two after that of `listen`.
  std::string status_listen = kNoStatusPort;
};

class ControllerServer {
 public:
  // `parts`: all but the hosts and the newest report; all must outlive the
  // server. Unavailable if it cannot listen on the address; also the errors of
  // CertificateAuthority::Open and TrustStore::Open.
  static absl::StatusOr<std::unique_ptr<ControllerServer>> Start(
      const ControllerServerOptions& options,
      std::shared_ptr<grpc::ServerCredentials> credentials,
      const ControllerParts& parts);

  // Notifies every host and client, and waits for the end of all calls. A
  // running apply is interrupted.
  ~ControllerServer();

  int port() const { return acceptor_->port(); }
  // Null without a CA.
  EnrolmentListener* enrolment() { return listener_.get(); }

  // The owner calls it after re-reading the spec.
  void OnSpecRead();

  // 0: it is off.
  int status_port() const { return status_ == nullptr ? 0 : status_->port(); }

  // The parts that must make progress. Must not be called after destruction.
  std::vector<WatchdogPart> PartsToWatch();

 private:
  // The CA and the store of its certificates; null: it issues none.
  struct Trusted {
    std::unique_ptr<CertificateAuthority> authority;
    std::unique_ptr<TrustStore> store;
  };

  ControllerServer(const ControllerServerOptions& options,
                   const ControllerParts& parts, Trusted trusted);
  static absl::StatusOr<Trusted> OpenTrusted(const TrustOptions& options,
                                             const ControllerParts& parts);
  // A default address that is in use is only logged, not an error.
  absl::Status StartStatus(const ControllerServerOptions& options);
  absl::Status AdmitToStatus(const std::string& pem, const std::string& peer);
  ClusterNumbers Numbers(const TlsFiles& tls, const TrustOptions& trust);
  DriftEnforcer::Parts EnforcerParts();
  HostQuestions Questions();
  // Remarks about the controller itself for every check's report.
  static std::function<std::vector<std::string>()> Notes(
      const ControllerServerOptions& options, const ControllerParts& parts);
  WatchSources WatchedSettings();
  // No check begins before `settle` has passed.
  void ReadSpec(absl::Duration settle);
  // Reads the CA file, and then periodically on the pool.
  void ReadOwnRoots(const std::string& ca) ABSL_LOCKS_EXCLUDED(roots_mutex_);
  // Sets HostFacts.controller_roots, but not for a simulated host. It runs on
  // threads of streams, so it never waits for the disk.
  HostFacts WithOwnRoots(HostFacts facts) const
      ABSL_LOCKS_EXCLUDED(roots_mutex_);
  // How long all hosts of the spec may take to attach.
  absl::Duration Spread() const;

  const std::shared_ptr<NewestReport> newest_ =
      std::make_shared<NewestReport>();
  const CallbackGate callbacks_;
  mutable absl::Mutex roots_mutex_;
  // Unset while the CA file cannot be read.
  std::optional<RootsFact::Roots> roots_ ABSL_GUARDED_BY(roots_mutex_);
  AttachedHosts hosts_;
  const double start_rate_;  // Handshakes a second.
  const ControllerParts parts_;
  FactQueue queue_;
  const Trusted trusted_;
  const std::unique_ptr<EnrolmentService> enrolment_;
  const std::unique_ptr<EnrolmentListener> listener_;
  ClusterChanges changes_;
  DriftEnforcer enforcer_;
  JobChecks jobs_;
  DrainBrake brake_;
  NewsSender news_;
  CheckSchedule schedule_;
  ClusterWatch watch_;
  AgentHubService hub_;
  ControllerService controller_;
  const std::unique_ptr<TrustService> trust_;
  std::unique_ptr<ConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;  // Ends before its services.
  std::unique_ptr<HttpServer> status_;    // Ends before its services.
};

// The EndingCertificates lines for the controller's own certificate and CA and,
// unless `ca_dir` is empty, for its issuing CA.
std::vector<std::string> EndingOfController(const TlsFiles& tls,
                                            const std::string& ca_dir,
                                            absl::Time now);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CONTROLLER_SERVER_H_
