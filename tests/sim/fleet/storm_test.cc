// Hundreds of hosts connect at once, and again when the controller has
// restarted. As many as one machine serves in a fraction of the time that a
// handshake may take, also beside other work; fleet_bench has the thousands.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_certificate_verifier.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/sim/fleet/fleet.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

namespace tls = ::grpc::experimental;

constexpr absl::Duration kHandshake = absl::Milliseconds(100);
constexpr int kHosts = 300;

// A host that checks the controller's certificate slowly.
class SlowVerifier final : public tls::ExternalCertificateVerifier {
 public:
  explicit SlowVerifier(Scheduler* scheduler) : scheduler_(scheduler) {}

  bool Verify(tls::TlsCustomVerificationCheckRequest*,
              std::function<void(grpc::Status)> decided,
              grpc::Status*) override {
    scheduler_->RunAfter(kHandshake, [decided = std::move(decided)] {
      decided(grpc::Status::OK);
    });
    return false;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  Scheduler* const scheduler_;
};

std::shared_ptr<grpc::ChannelCredentials> SlowCredentials(
    const TlsPem& pem, Scheduler* scheduler) {
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<tls::StaticDataCertificateProvider>(
          pem.ca,
          std::vector<tls::IdentityKeyCertPair>{{pem.key, pem.certificate}}));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(
      tls::ExternalCertificateVerifier::Create<SlowVerifier>(scheduler));
  options.set_check_call_host(false);
  return tls::TlsCredentials(options);
}

TEST(StormTest, OfHundredsOfHostsIsServedAsFastAsMayBeAndNoneIsLost) {
  RaiseDescriptorLimit();
  TestCertificates certificates;
  ThreadScheduler scheduler;
  ControllerServerOptions options;
  // Handshakes take their time, and few may be under way: many wait for long,
  // as on a slow machine.
  options.admission.handshakes = 16;
  options.admission.handshakes_of_address = 8;
  options.admission.most_rate = 250;
  TestController controller(&certificates, kHosts, &scheduler, options);
  controller.Start();
  CapturedLog log;
  ThreadScheduler verifying;
  const absl::Time start = absl::Now();
  Fleet fleet(controller.address(), "test",
              MakeHealthyFacts(*controller.spec().spec()),
              certificates.authority(), &log,
              [&verifying](const TlsPem& pem, const std::string&) {
                return SlowCredentials(pem, &verifying);
              });
  ASSERT_TRUE(fleet.WaitAllAttached(kPatience)) << fleet.attached();
  // All of one address, so no more than 8 at a time.
  EXPECT_GE(absl::Now() - start, kHandshake * kHosts / 8);
  EXPECT_EQ(fleet.lost(), 0) << log.Lines();

  controller.Stop();
  controller.Start();

  ASSERT_TRUE(fleet.WaitLost(kHosts, kPatience));
  ASSERT_TRUE(fleet.WaitAllAttached(kPatience)) << fleet.attached();
  EXPECT_EQ(fleet.lost(), kHosts);
  EXPECT_THAT(controller.log().Lines(), Not(HasSubstr("cut off")));
}

}  // namespace
}  // namespace clusterd
