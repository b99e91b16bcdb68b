// For any answer, a host that joins trusts only the roots of its hash, and
// takes only its own certificate.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "config/identity/certificate.h"
#include "config/identity/signing_request.h"
#include "config/identity/tls_credentials.h"
#include "daemon/agent/identity/enrolment_call.h"
#include "grpcpp/server_builder.h"
#include "proto/trust.grpc.pb.h"
#include "tests/component/test_certificates.h"
#include "tests/fuzz/messages/inputs.pb.h"
#include "tests/fuzz/messages/message_input.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

// Answers with the input.
class Answerer final : public Enrolment::Service {
 public:
  explicit Answerer(const TlsFiles& files) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0",
                             *MakeOneSidedServerCredentials(files), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    Require(server_ != nullptr);
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  void Answer(const JoinAnswersInput& answers) {
    absl::MutexLock lock(&mutex_);
    answers_ = answers;
  }
  grpc::Status Roots(grpc::ServerContext*, const RootsRequest*,
                     RootsResponse* response) override {
    absl::MutexLock lock(&mutex_);
    *response = answers_.roots();
    return grpc::Status::OK;
  }
  grpc::Status Join(grpc::ServerContext*, const JoinRequest*,
                    Enrolled* response) override {
    absl::MutexLock lock(&mutex_);
    *response = answers_.enrolled();
    return grpc::Status::OK;
  }

 private:
  int port_ = 0;
  absl::Mutex mutex_;
  JoinAnswersInput answers_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_;  // Last: uses the others.
};

struct Host {
  TestCertificates certificates;
  // The host's request, and the answer.
  const TlsPem own =
      certificates.authority().Issue({"spiffe://test/host/server0"});
  const std::string hash =
      absl::StrCat("sha256:", SplitCertificates(own.ca).front().spki_sha256);
  const std::string bundle = certificates.authority().RootBundle(
      "test", "1",
      SplitCertificates(own.ca).front().pem +
          TestAuthority::Create("next")->certificate_pem());
  const CallPatience patience = {1, [](absl::Duration) {}, [] { return 0.5; }};
  Answerer answerer{certificates.Controller()};
};

JoinAnswersInput Filled(JoinAnswersInput answers, const Host& host) {
  if (answers.roots().roots_pem() == "ROOTS") {
    answers.mutable_roots()->set_roots_pem(host.own.ca);
  }
  Enrolled& enrolled = *answers.mutable_enrolled();
  if (enrolled.roots_pem() == "ROOTS") enrolled.set_roots_pem(host.own.ca);
  if (enrolled.root_bundles() == "BUNDLE") {
    enrolled.set_root_bundles(host.bundle);
  }
  if (enrolled.certificate_pem() == "CERTIFICATE") {
    enrolled.set_certificate_pem(host.own.certificate);
  }
  return answers;
}

void Join(const Host& host) {
  const std::string address = host.answerer.address();
  const auto roots = FetchRoots(address, {host.hash}, host.patience);
  if (!roots.ok()) return Require(!roots.status().message().empty());
  // The answer has nothing more.
  Require(SplitCertificates(roots->roots_pem).size() == 1);
  Require(SplitCertificates(roots->roots_pem).front().pem ==
          SplitCertificates(host.own.ca).front().pem);
  const auto enrolled =
      AskToJoin(address, *roots, JoinRequest(), host.patience);
  if (!enrolled.ok()) return Require(!enrolled.status().message().empty());
  const Roots after =
      TakeRootBundles({roots->roots_pem, ""}, enrolled->root_bundles(),
                      enrolled->roots_pem(), roots->cluster, absl::Now());
  // The input's author does not have the root's key.
  Require(after.pem == roots->roots_pem || after.bundle == host.bundle);
  const auto pair =
      CheckedPair(*enrolled, roots->cluster, after, host.own.key, absl::Now());
  if (!pair.ok()) return Require(!pair.status().message().empty());
  Require(enrolled->name() == "server0" && pair->key == host.own.key);
}

FUZZ_MESSAGE(join_answers, 2, JoinAnswersInput,
             "tests/testdata/messages/join-*.txtpb") {
  static auto* const host = new Host();
  host->answerer.Answer(Filled(input, *host));
  Join(*host);
}

}  // namespace
}  // namespace clusterd
