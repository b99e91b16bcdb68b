// For any call of a stranger on the port of hosts that join, the controller
// answers with a certificate of a host, or with a reason.
#include <fstream>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "config/identity/certificate.h"
#include "config/identity/signing_request.h"
#include "config/spec/spec_loader.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/trust/enrolment_service.h"
#include "daemon/process/scheduler.h"
#include "tests/fuzz/messages/inputs.pb.h"
#include "tests/fuzz/messages/message_input.h"
#include "tests/fuzz/require.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/config/ca_dir.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/process/test_audit.h"

namespace clusterd {
namespace {

constexpr int kMaxCalls = 8;

struct Enroller {
  Enroller() {
    std::ofstream(folder + "/cluster.yaml")
        << SpecToYaml(MakeSpec("atlas-training", "", 2));
    spec =
        SpecHolder::Open(folder + "/cluster.yaml", "test", &scheduler).value();
    IdentityGateOptions options;
    options.cluster = "test";
    options.state = folder;
    gate = IdentityGate::Open(options, &scheduler, &log).value();
    parts.spec = spec.get();
    parts.scheduler = &scheduler;
    parts.pool = &pool;
    parts.log = &log;
    parts.hosts = &hosts;
    parts.audit = audit.log();
    parts.gate = gate.get();
    authority = CertificateAuthority::Open(ca_dir, absl::Now()).value();
    store = TrustStore::Open(folder).value();
    service = std::make_unique<EnrolmentService>(parts, authority.get(),
                                                 store.get(), kDefaultLeafLife);
    CreateTokenRequest ask;
    ask.set_ttl_ms(24 * 3600'000);
    ask.set_uses(1000'000);
    const SpiffeId admin{"test", IdentityKind::kUser, "ann", Role::kAdmin};
    token = service->CreateToken(ask, admin).value().token();
  }

  const std::string folder = NewStateFolder();
  const std::unique_ptr<TestAuthority> root = TestAuthority::Create();
  const std::string ca_dir = MakeCaDir(*root);
  ThreadScheduler scheduler;
  CapturedLog log;
  WorkerPool pool{1, 16};
  AttachedHosts hosts{&scheduler, &log};
  ControllerParts parts;
  TestAudit audit;
  std::unique_ptr<IdentityGate> gate;
  std::unique_ptr<SpecHolder> spec;
  std::unique_ptr<CertificateAuthority> authority;
  std::unique_ptr<TrustStore> store;
  std::unique_ptr<EnrolmentService> service;
  std::string token;
  const std::string request = *MakeSigningRequest(*MakePrivateKey());
};

// The certificate is a host's of the cluster, and of our CA.
void Check(const Enroller& enroller, const absl::StatusOr<Enrolled>& answer) {
  if (!answer.ok()) {
    return Require(!answer.status().message().empty() &&
                   !absl::IsInternal(answer.status()) &&
                   !absl::IsUnknown(answer.status()));
  }
  const auto info = ParseCertificate(answer->certificate_pem());
  Require(info.ok() && info->id.kind == IdentityKind::kHost &&
          info->id.cluster == "test" && info->id.name == answer->name());
  Require(answer->name() == "server0" || answer->name() == "server1");
  Require(CheckChain(answer->certificate_pem(),
                     enroller.root->certificate_pem(), absl::Now())
              .ok());
}

FUZZ_MESSAGE(stranger_calls, 2, StrangerInput,
             "tests/testdata/messages/stranger-*.txtpb") {
  static auto* const own = new Enroller();
  std::string shown;  // By who renews.
  for (int i = 0; i < input.calls_size() && i < kMaxCalls; ++i) {
    StrangerInput::Call call = input.calls(i);
    if (call.has_join()) {
      JoinRequest& join = *call.mutable_join();
      if (join.token() == "TOKEN") join.set_token(own->token);
      if (join.signing_request() == "REQUEST") {
        join.set_signing_request(own->request);
      }
      const auto joined = own->service->Join(join, "ipv4:10.0.0.5:4");
      if (joined.ok()) shown = joined->certificate_pem();
      Check(*own, joined);
    } else if (call.has_renew_late()) {
      RenewLateRequest& renew = *call.mutable_renew_late();
      if (renew.signing_request() == "REQUEST") {
        renew.set_signing_request(own->request);
      }
      Check(*own, own->service->RenewLate("server0", shown, renew,
                                          "ipv4:10.0.0.5:4"));
    } else if (call.has_roots()) {
      Require(!own->service->authority().roots_pem().empty());
    }
  }
}

}  // namespace
}  // namespace clusterd
