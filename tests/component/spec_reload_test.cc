// What SIGHUP does: the spec is read again, and a bad one never takes over.
#include <fstream>
#include <string>

#include "config/spec/spec_loader.h"
#include "config/values/version.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

GetSpecResponse GetSpec(TestController& controller) {
  GetSpecResponse response;
  const grpc::Status status =
      controller.Client()->GetSpec(NewContext().get(), {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

TEST(SpecReloadTest, GoodSpecTakesOver) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 1, &scheduler);
  controller.Start();
  const GetSpecResponse before = GetSpec(controller);
  EXPECT_EQ(before.spec().servers_size(), 1);
  EXPECT_EQ(before.path(), controller.spec_path());
  EXPECT_EQ(before.controller_version(), kClusterdVersion);
  std::ofstream(controller.spec_path())
      << SpecToYaml(MakeSpec("atlas-training", "", 4));

  ASSERT_TRUE(controller.spec().Reload().ok());

  const GetSpecResponse after = GetSpec(controller);
  EXPECT_EQ(after.spec().servers_size(), 4);
  EXPECT_GE(after.loaded_at_ms(), before.loaded_at_ms());
  EXPECT_EQ(after.refused(), "");
  EXPECT_EQ(controller.ListHosts().hosts_size(), 4);
}

TEST(SpecReloadTest, BadSpecIsRefusedWithEveryMistakeAndTheOldOneStays) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 1, &scheduler);
  controller.Start();
  std::ofstream(controller.spec_path()) << "version: 1\nnmae: test\n"
                                           "product: abacus\n";

  const absl::Status refused = controller.spec().Reload();

  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  const GetSpecResponse response = GetSpec(controller);
  EXPECT_EQ(response.spec().servers_size(), 1);
  EXPECT_THAT(response.refused(), StartsWith(controller.spec_path() + ":"));
  EXPECT_THAT(response.refused(), HasSubstr("nmae"));
  EXPECT_THAT(response.refused(), HasSubstr("abacus"));
  EXPECT_EQ(controller.ListHosts().spec_refused(), response.refused());
}

TEST(SpecReloadTest, SpecThatIsGoneIsRefusedAndGoodOneEndsTheRefusal) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 1, &scheduler);
  controller.Start();
  const std::string text = SpecToYaml(*controller.spec().spec());
  ASSERT_EQ(std::remove(controller.spec_path().c_str()), 0);
  EXPECT_EQ(controller.spec().Reload().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(GetSpec(controller).refused(), HasSubstr("No such file"));
  std::ofstream(controller.spec_path()) << text;
  EXPECT_TRUE(controller.spec().Reload().ok());
  EXPECT_EQ(GetSpec(controller).refused(), "");
}

TEST(SpecReloadTest, SpecOfAnotherClusterIsRefused) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 1, &scheduler);
  ClusterSpec other = *controller.spec().spec();
  other.set_name("prod");
  std::ofstream(controller.spec_path()) << SpecToYaml(other);
  const absl::Status refused = controller.spec().Reload();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("name \"prod\" is not this controller's cluster"));
  EXPECT_EQ(controller.spec().spec()->name(), "test");
}

}  // namespace
}  // namespace clusterd
