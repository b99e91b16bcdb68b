// A controller without cluster.yaml: hosts attach, and calls that need a spec
// are refused.
#include <memory>
#include <string>
#include <vector>

#include "config/identity/grpc_status.h"
#include "config/identity/tls_credentials.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

// The controller, and three hosts that are attached to it.
class LearnTest : public testing::Test {
 protected:
  LearnTest() : controller_(&certificates_, 0, &scheduler_) {
    controller_.Start();
    for (const ServerSpec& server : spec_.servers()) {
      observers_.push_back(
          std::make_unique<MemoryObserver>(MakeHealthyHost(spec_, server)));
      TestHost::Options options;
      options.controller = controller_.address();
      options.name = server.host();
      options.tls = certificates_.Host(server.host());
      options.machine_id = server.host();
      hosts_.push_back(
          std::make_unique<TestHost>(options, observers_.back().get()));
      EXPECT_TRUE(hosts_.back()->WaitAttached());
    }
  }

  // The status of the call; sets its answer.
  absl::Status Learn(const LearnRequest& request, LearnedHosts* learned) {
    const auto context = NewContext();
    const auto client = controller_.Client();
    const auto stream = client->Learn(context.get(), request);
    LearnEvent event;
    while (stream->Read(&event)) {
      if (event.has_learned()) *learned = event.learned();
    }
    return ToAbslStatus(stream->Finish());
  }

  const ClusterSpec spec_ = MakeSpec("atlas-a2", "", 3);
  TestCertificates certificates_;
  ThreadScheduler scheduler_;
  TestController controller_;
  std::vector<std::unique_ptr<MemoryObserver>> observers_;
  std::vector<std::unique_ptr<TestHost>> hosts_;
};

TEST_F(LearnTest, OtherCallsSayThatItLearnsAndWhatIsNext) {
  Report report;
  const absl::Status check = controller_.Check({}, &report);
  EXPECT_EQ(check.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(check.message(), Tells("msg-hub-no-spec-yet"));
  GetSpecResponse spec;
  EXPECT_EQ(
      controller_.Client()->GetSpec(NewContext().get(), {}, &spec).error_code(),
      grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(controller_.ListHosts().hosts_size(), 3);
  EXPECT_FALSE(controller_.Entry("server1").in_spec());
}

TEST_F(LearnTest, HostsThatNeverAttachedAreNamedAndThoseThatLeftAreSilent) {
  LearnRequest request;
  request.add_hosts("server1");
  request.add_hosts("nobody");
  LearnedHosts learned;
  EXPECT_THAT(Learn(request, &learned),
              Fails(absl::StatusCode::kInvalidArgument, HasText("nobody")));
  hosts_[1].reset();
  ASSERT_TRUE(
      WaitUntil([this] { return !controller_.Entry("server1").attached(); }));
  request.mutable_hosts()->RemoveLast();
  ASSERT_TRUE(Learn(request, &learned).ok());
  ASSERT_EQ(learned.hosts_size(), 1);
  EXPECT_TRUE(learned.hosts(0).facts().has_missing());
  EXPECT_EQ(learned.hosts(0).peer(), "");
}

}  // namespace
}  // namespace clusterd
