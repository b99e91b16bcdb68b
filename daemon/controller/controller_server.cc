#include "daemon/controller/controller_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "config/html/report_html.h"
#include "config/identity/plain_messages.h"
#include "config/identity/regular_file.h"
#include "config/identity/root_bundle.h"
#include "config/identity/signature.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server_builder.h"

namespace clusterd {
namespace {

constexpr absl::Duration kMaxIdle = absl::Minutes(5);
// Messages are small; saves 8 MB with 1,152 hosts over the usual 16384.
constexpr int kTlsFrameBytes = 4096;
// Headers of a call. Ours take some 300: path, authority, user agent, deadline.
constexpr int kMaxHeaderBytes = 4096;
// A host has one call, a client few. A peer with more is disconnected.
constexpr int kMaxCallsPerConnection = 16;
constexpr int kDisconnectAtCalls = 2 * kMaxCallsPerConnection;
// gRPC counts this much of its memory for each connection.
constexpr size_t kConnectionBytes = 32 << 10;
// The most threads on which gRPC 1.51 serves, whatever the number of cores.
constexpr unsigned kMostThreads = 16;
// Descriptors of files, the database and child programs.
constexpr size_t kOtherFiles = 512;
// The largest message may come twice in a row, then one every five seconds.
constexpr AllowanceLimits kBytesOfConnection = {2.5 * kMaxMessageBytes,
                                                kMaxMessageBytes / 5.0};
// How long hosts have to attach before the first scheduled check.
constexpr absl::Duration kHostsSettle = absl::Seconds(30);
// Judging the largest cluster takes seconds, and so does a slow disk.
constexpr absl::Duration kLongestWork = absl::Minutes(10);
// About as often as gRPC re-reads the files of its credentials.
constexpr absl::Duration kRootsInterval = absl::Seconds(10);
// How long running checks have to end with partial results and send them.
constexpr std::chrono::seconds kShutdownGrace(10);

void SetArguments(const ControllerServerOptions& options,
                  grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder->SetMaxSendMessageSize(-1);  // A report is as long as the cluster.
  // At this bound gRPC closes idle connections first, and ends calls last.
  // Without it, one peer with a certificate could use all memory.
  grpc::ResourceQuota memory("wire");
  memory.Resize(options.wire_memory_bytes);
  builder->SetResourceQuota(memory);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                              ToMs<int>(options.keepalive_time));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                              ToMs<int>(options.keepalive_timeout));
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder->AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      ToMs<int>(options.min_ping_interval));
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                              ToMs<int>(kHandshakeTimeout));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                              ToMs<int>(kMaxIdle));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                              kMaxCallsPerConnection);
  // gRPC 1.51 reads headers before it knows the peer, and not safely
  // (CVE-2023-33953, CVE-2023-1428). threat-model.md says what this stops.
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxHeaderBytes);
  // Every connection has buffers for one TLS frame.
  builder->AddChannelArgument(GRPC_ARG_TSI_MAX_FRAME_SIZE, kTlsFrameBytes);
}

double StartRate(const ControllerServerOptions& options) {
  const unsigned cores = std::thread::hardware_concurrency();
  return options.admission.rate * std::clamp(cores, 1u, kMostThreads);
}

AcceptorOptions AcceptAs(const ControllerServerOptions& options,
                         AuditLog* audit) {
  AcceptorOptions accept;
  accept.listen = options.listen;
  accept.option = "--listen";
  accept.admission = options.admission;
  accept.admission.rate = StartRate(options);
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  const size_t most =
      files.rlim_cur > kOtherFiles ? files.rlim_cur - kOtherFiles : kOtherFiles;
  accept.admission.connections =
      std::min({accept.admission.connections, most,
                options.wire_memory_bytes / kConnectionBytes});
  accept.admission.waiting = std::min(accept.admission.waiting, most);
  accept.bytes = kBytesOfConnection;
  accept.calls = kDisconnectAtCalls;
  accept.unacknowledged = options.keepalive_timeout;
  accept.failed = [audit](const std::string& peer, const std::string& line) {
    audit->Refuse(MakeAuditEntry("handshake", "", "", peer),
                  absl::UnauthenticatedError(line));
  };
  return accept;
}

// The port this many places after the main one; 0 if the main port is 0.
std::string PortAfter(const std::string& listen, int places) {
  const size_t colon = listen.rfind(':');
  int port = 0;
  const bool is_number = colon != std::string::npos &&
                         absl::SimpleAtoi(listen.substr(colon + 1), &port);
  return absl::StrCat(is_number && port != 0 ? port + places : 0);
}

// Hosts join at the port after the main one, unless an option sets it.
EnrolmentListener::Options EnrolmentOptions(
    const ControllerServerOptions& options) {
  EnrolmentListener::Options enrolment;
  enrolment.tls = options.tls;
  enrolment.listen = options.trust.enrol_listen;
  if (enrolment.listen.empty()) {
    enrolment.listen =
        absl::StrCat(options.listen.substr(0, options.listen.rfind(':')), ":",
                     PortAfter(options.listen, 1));
  }
  const std::string& program = options.trust.enrolment_program;
  if (!program.empty()) enrolment.program = program;
  return enrolment;
}

absl::StatusOr<VerdictSigner> MakeSigner(const TlsFiles& tls) {
  ASSIGN_OR_RETURN(TlsPem pem, ReadTlsFiles(tls));
  ASSIGN_OR_RETURN(TextSigner signer, TextSigner::Create(pem.key));
  return [signer = std::move(signer), certificate = std::move(pem.certificate)](
             std::string verdict) -> absl::StatusOr<SignedVerdict> {
    SignedVerdict made;
    ASSIGN_OR_RETURN(*made.mutable_signature(), signer.Sign(verdict));
    made.set_verdict(std::move(verdict));
    made.set_certificate(certificate);
    return made;
  };
}

ControllerParts WithOwn(ControllerParts parts, AttachedHosts* hosts,
                        FactQueue* queue, NewestReport* newest) {
  parts.hosts = hosts;
  parts.queue = queue;
  parts.newest = newest;
  return parts;
}

}  // namespace

ControllerServer::ControllerServer(const ControllerServerOptions& options,
                                   const ControllerParts& parts,
                                   Trusted trusted)
    // Last: no host may attach before all members exist.
    : hosts_(
          parts.scheduler, parts.log, {},
          {/*drift=*/[this](const std::string& host,
                            const DriftReport& report) {
             enforcer_.OnDrift(host, report);
           },
           /*past_applies=*/
           [this](const std::string& host, const PastApplies& past) {
             changes_.OnPastApplies(host, past);
           },
           /*facts=*/
           [this](HostFacts facts) { return WithOwnRoots(std::move(facts)); }}),
      start_rate_(StartRate(options)),
      parts_(WithOwn(parts, &hosts_, &queue_, newest_.get())),
      queue_(parts_),
      trusted_(std::move(trusted)),
      enrolment_(trusted_.store == nullptr
                     ? nullptr
                     : std::make_unique<EnrolmentService>(
                           parts_, trusted_.authority.get(),
                           trusted_.store.get(), options.trust.leaf_life)),
      listener_(enrolment_ == nullptr
                    ? nullptr
                    : std::make_unique<EnrolmentListener>(
                          EnrolmentOptions(options), enrolment_.get(), parts_)),
      changes_(parts_),
      enforcer_(EnforcerParts()),
      jobs_(parts_, [tls = options.tls] { return MakeSigner(tls); }),
      brake_(parts_, options.drain),
      news_(parts.scheduler, parts.log),
      schedule_(parts_, Notes(options, parts),
                [this](VerdictNews news) { news_.Send(std::move(news)); }),
      watch_(parts_.spec->cluster(), WatchedSettings(), parts_.scheduler,
             parts_.pool),
      hub_(parts_, Questions()),
      controller_(parts_, &changes_, &jobs_, &watch_, Notes(options, parts)),
      trust_(TrustService::Make(parts_, options.tls, enrolment_.get(),
                                listener_.get())) {}

std::function<std::vector<std::string>()> ControllerServer::Notes(
    const ControllerServerOptions& options, const ControllerParts& parts) {
  return [tls = options.tls, ca_dir = options.trust.ca_dir,
          scheduler = parts.scheduler] {
    return EndingOfController(tls, ca_dir, scheduler->Now());
  };
}

absl::StatusOr<ControllerServer::Trusted> ControllerServer::OpenTrusted(
    const TrustOptions& options, const ControllerParts& parts) {
  Trusted trusted;
  if (options.ca_dir.empty()) return trusted;
  ASSIGN_OR_RETURN(
      trusted.authority,
      CertificateAuthority::Open(options.ca_dir, parts.scheduler->Now()));
  ASSIGN_OR_RETURN(trusted.store, TrustStore::Open(options.state));
  return trusted;
}

HostQuestions ControllerServer::Questions() {
  HostQuestions questions = {
      [this](const std::string& host, JobQuestion question,
             std::function<void(JobAnswer)> reply) {
        jobs_.AskAs(host, std::move(question), std::move(reply));
      },
      [this](const std::string& host, const DrainQuestion& question) {
        return brake_.Ask(host, question);
      },
      nullptr, nullptr, [this] { return Spread(); }};
  if (enrolment_ == nullptr) return questions;
  questions.roots_bundle = trusted_.authority->newest_bundle();
  questions.admit =
      [this](const std::string& host, const std::string& machine_id,
             const std::string& pem) -> absl::StatusOr<AdmittedHost> {
    ASSIGN_OR_RETURN(const bool renews, enrolment_->Admit(host, pem));
    return AdmittedHost{renews, enrolment_->BoundTo(host, machine_id)};
  };
  questions.renew = [this](const std::string& host, const std::string& pem,
                           const std::string& signing_request) {
    return enrolment_->Renew(host, pem, signing_request);
  };
  return questions;
}

void ControllerServer::ReadOwnRoots(const std::string& ca) {
  const auto pem = ReadRegularFile(ca, kMaxBundleBytes);
  std::optional<RootsFact::Roots> roots;
  if (pem.ok()) {
    roots.emplace();
    for (const std::string& hash : RootHashes(*pem)) roots->add_hashes(hash);
  }
  {
    absl::MutexLock lock(&roots_mutex_);
    roots_ = std::move(roots);
  }
  // Only now: while the disk hangs, no second thread should wait for it.
  const auto read = [this, ca] { ReadOwnRoots(ca); };
  parts_.scheduler->RunAfter(kRootsInterval, callbacks_.Wrap([this, read] {
    callbacks_.RunSoon(parts_.pool, parts_.scheduler, read);
  }));
}

HostFacts ControllerServer::WithOwnRoots(HostFacts facts) const {
  if (facts.has_missing() || !facts.simulation().empty()) return facts;
  RootsFact::Roots* roots;
  {
    absl::MutexLock lock(&roots_mutex_);
    // The reading thread logs a file that cannot be read.
    if (!roots_.has_value()) return facts;
    roots = facts.mutable_controller_roots();
    *roots = *roots_;
  }
  if (trusted_.authority != nullptr) {
    roots->set_bundle(trusted_.authority->newest_bundle());
  }
  return facts;
}

absl::Duration ControllerServer::Spread() const {
  return absl::Seconds(parts_.spec->spec()->servers_size() / start_rate_);
}

WatchSources ControllerServer::WatchedSettings() {
  WatchSources sources;
  sources.hosts = [this](ClusterNow* now) {
    hosts_.CountHosts(*parts_.spec->spec(), now);
  };
  sources.schedules = [this] { return schedule_.Now(); };
  sources.asked = [this, asked = std::make_shared<AskedCheck>()] {
    const std::shared_ptr<const Report> newest = newest_->Get();
    return asked->Of(newest, newest ? newest_->Before(*newest) : nullptr);
  };
  sources.running = [this] {
    std::vector<FindingValue> running = RunningWords(queue_.Running());
    const FindingValue change = changes_.Running();
    if (!change.words().empty()) running.insert(running.begin(), change);
    return running;
  };
  sources.pending = [this] { return changes_.Pending(); };
  return sources;
}

DriftEnforcer::Parts ControllerServer::EnforcerParts() {
  return {[this] { return parts_.spec->spec(); },
          [this](std::shared_ptr<const ClusterPlan> plan,
                 DriftEnforcer::OnApplied done) {
            ApplyWatcher watcher;
            watcher.on_end = std::move(done);
            return changes_
                .Start(EnforcedChange(std::move(plan)), std::move(watcher))
                .status();
          },
          &queue_, parts_.scheduler, parts_.log};
}

absl::StatusOr<std::unique_ptr<ControllerServer>> ControllerServer::Start(
    const ControllerServerOptions& options,
    std::shared_ptr<grpc::ServerCredentials> credentials,
    const ControllerParts& parts) {
  ASSIGN_OR_RETURN(Trusted trusted, OpenTrusted(options.trust, parts));
  if (trusted.authority != nullptr) {
    RETURN_IF_ERROR(trusted.authority->CheckBundle(
        options.tls, parts.spec->cluster(), parts.scheduler->Now()));
  }
  std::unique_ptr<ControllerServer> server(
      new ControllerServer(options, parts, std::move(trusted)));
  const absl::StatusOr<std::vector<Waiver>> kept = parts.history->Waivers();
  if (kept.ok() && !kept->empty()) {
    parts.spec->ChangeWaivers(
        [&kept](auto* waivers) { waivers->Add(kept->begin(), kept->end()); });
  }
  server->changes_.Recover();
  server->ReadOwnRoots(options.tls.ca);
  ASSIGN_OR_RETURN(
      server->acceptor_,
      ConnectionAcceptor::Listen(AcceptAs(options, parts.audit), parts.log));
  grpc::ServerBuilder builder;
  SetArguments(options, &builder);
  server->acceptor_->Serve(&builder, std::move(credentials));
  builder.RegisterService(&server->hub_);
  builder.RegisterService(&server->controller_);
  builder.RegisterService(server->trust_.get());
  server->server_ = StartServer(&builder);
  if (server->server_ == nullptr) {
    return InternalWords("msg-hub-no-server");
  }
  server->acceptor_->Open();
  server->trust_->set_main_port(server->port());
  if (server->listener_ != nullptr) server->listener_->Start();
  // Hosts that the previous controller disconnected return within one Spread().
  server->ReadSpec(kHostsSettle + 2 * server->Spread());
  if (!parts.spec->learns()) {
    // Reads a report, for which no start should wait.
    parts.pool->TryRun([newest = server->newest_, parts] {
      newest->Restore(*parts.history, *parts.spec->spec(),
                      parts.scheduler->Now());
    });
  }
  if (options.status_listen != kNoStatusPort) {
    RETURN_IF_ERROR(server->StartStatus(options));
  }
  return server;
}

absl::Status ControllerServer::StartStatus(
    const ControllerServerOptions& options) {
  StatusSources sources;
  sources.cluster = parts_.spec->cluster();
  sources.numbers = [this, tls = options.tls, trust = options.trust] {
    return Numbers(tls, trust);
  };
  sources.newest = [this] { return newest_->Get(); };
  sources.html = [this](const Report& report) {
    return ReportHtml(report, newest_->Before(report).get());
  };
  sources.parts = PartsToWatch();
  HttpServerOptions http;
  http.listen = options.status_listen.empty()
                    ? absl::StrCat("127.0.0.1:", PortAfter(options.listen, 2))
                    : options.status_listen;
  http.tls = options.tls;
  absl::StatusOr<std::unique_ptr<HttpServer>> status = HttpServer::Start(
      http, MakeStatusPages(sources),
      [this](const std::string& pem, const std::string& peer) {
        return AdmitToStatus(pem, peer);
      });
  if (!status.ok() && options.status_listen.empty()) {
    parts_.log->Error("no status port: ", status.status().message());
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(status.status());
  status_ = *std::move(status);
  parts_.log->Notice(
      "status, metrics and the newest report on ",
      status_->has_tls() ? "https" : "http", "://",
      http.listen.substr(0, http.listen.rfind(':')), ":", status_->port(),
      status_->has_tls() ? "/" : "/, for everybody on this machine");
  return absl::OkStatus();
}

absl::Status ControllerServer::AdmitToStatus(const std::string& pem,
                                             const std::string& peer) {
  const absl::StatusOr<SpiffeId> user =
      parts_.gate->AdmitCertificate(pem, IdentityKind::kUser);
  const absl::Status status =
      user.ok() ? RequireRole(*user, Role::kViewer, "the status port")
                : user.status();
  if (!status.ok()) {
    const std::string who = user.ok() ? user->ToString() : "";
    parts_.audit->Refuse(MakeAuditEntry("status", "", who, peer), status);
  }
  return status;
}

ClusterNumbers ControllerServer::Numbers(const TlsFiles& tls,
                                         const TrustOptions& trust) {
  ClusterNumbers numbers;
  numbers.hosts = hosts_.Entries(*parts_.spec->spec());
  numbers.now = parts_.scheduler->Now();
  numbers.newest = newest_->Get();
  numbers.applies = changes_.Ended();
  numbers.attach_waits = acceptor_->first_call_waits();
  std::vector<std::pair<std::string, std::string>> files = {
      {"controller", tls.certificate}, {"ca", tls.ca}};
  if (!trust.ca_dir.empty()) {
    files.emplace_back("issuing-ca", trust.ca_dir + "/intermediate.crt");
  }
  numbers.certificate_ends = FirstEnds(files);
  // Hosts begin to renew at half of their certificate's life.
  numbers.late_renewal = trust.leaf_life / 4;
  return numbers;
}

std::vector<WatchdogPart> ControllerServer::PartsToWatch() {
  // Every call of a host or user needs these locks.
  const auto take_locks = [this] {
    parts_.spec->spec();
    hosts_.IsAttached("");
  };
  return {TimersPart(parts_.scheduler, take_locks),
          WorkersPart(parts_.pool, kLongestWork)};
}

ControllerServer::~ControllerServer() {
  callbacks_.Close();
  status_.reset();
  enforcer_.Stop();
  schedule_.Stop();
  news_.Stop();
  changes_.Stop();
  queue_.Close();
  watch_.Stop();
  if (server_ == nullptr) {
    queue_.Stop();
    return;
  }
  acceptor_->Close();
  hosts_.CloseAll(UnavailableWords("msg-hub-stopping"), Spread());
  server_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
  server_->Wait();
  queue_.Stop();
  // Calls have queued work there that uses these members.
  parts_.pool->Drain();
}

void ControllerServer::OnSpecRead() {
  ReadSpec(absl::ZeroDuration());
  hosts_.TellWaivers(*parts_.spec->spec());
}

void ControllerServer::ReadSpec(absl::Duration settle) {
  news_.ReadSpec(*parts_.spec->spec());
  schedule_.ReadSpec(settle);
}

std::vector<std::string> EndingOfController(const TlsFiles& tls,
                                            const std::string& ca_dir,
                                            absl::Time now) {
  std::vector<FindingValue> ending = EndingCertificates(tls, now);
  if (!ca_dir.empty()) {
    const std::vector<FindingValue> issuing = EndingCertificates(
        {ca_dir + "/root.crt", ca_dir + "/intermediate.crt", ""}, now,
        "noticed-after-a-restart");
    ending.insert(ending.end(), issuing.begin(), issuing.end());
  }
  return Each<std::string>(ending, EnglishText);
}

}  // namespace clusterd
