// Hosts attach to a controller over real connections with mutual TLS.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/words/words.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/running_controller.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

TEST(AttachTest, HostAttachesAndIsListed) {
  RunningController controller(2);
  AttachedHost host(controller, "server0");

  const ListHostsResponse list = controller.ListHosts();

  EXPECT_EQ(list.cluster(), "test");
  ASSERT_EQ(list.hosts_size(), 2);
  EXPECT_EQ(list.hosts(0).host(), "server0");
  EXPECT_TRUE(list.hosts(0).attached());
  EXPECT_TRUE(list.hosts(0).in_spec());
  EXPECT_GT(list.hosts(0).attached_since_ms(), 0);
  EXPECT_THAT(list.hosts(0).peer(), HasSubstr("127.0.0.1"));
  EXPECT_FALSE(list.hosts(1).attached());
  EXPECT_TRUE(host->Status().attached());
  EXPECT_EQ(host->Status().last_error(), "");
}

TEST(AttachTest, HostThatLeavesIsListedWithTheReason) {
  RunningController controller(1);
  AttachedHost host(controller, "server0");
  host->stream().Stop();
  ASSERT_TRUE(controller.log().WaitFor("host server0: detached"));
  const HostEntry entry = controller.Entry("server0");
  EXPECT_FALSE(entry.attached());
  EXPECT_EQ(entry.detached_reason(), Say("msg-hub-stream-ended"));
  EXPECT_GT(entry.last_seen_ms(), 0);
}

std::unique_ptr<Controller::Stub> Operator(TestCertificates& certificates,
                                           TestController& controller) {
  return controller.ClientAs(
      certificates.Issue("operator", {"spiffe://test/user/ann/role/operator"}));
}

grpc::StatusCode Forget(Controller::Stub& client, const std::string& host,
                        ForgetHostResponse* response) {
  ForgetHostRequest request;
  request.set_host(host);
  return client.ForgetHost(NewContext().get(), request, response).error_code();
}

TEST(ForgetHostTest, ForgetsAHostThatHasLeftAndNoOther) {
  RunningController controller(1);
  AttachedHost host(controller, "stranger");
  const auto client = Operator(controller.certificates, controller);
  ForgetHostResponse response;
  EXPECT_EQ(Forget(*client, "stranger", &response),
            grpc::StatusCode::FAILED_PRECONDITION);
  host->stream().Stop();
  ASSERT_TRUE(controller.log().WaitFor("host stranger: detached"));
  EXPECT_EQ(controller.ListHosts().hosts_size(), 2);

  EXPECT_EQ(Forget(*client, "stranger", &response), grpc::StatusCode::OK);
  EXPECT_FALSE(response.in_spec());
  EXPECT_EQ(controller.ListHosts().hosts_size(), 1);
  EXPECT_TRUE(controller.log().WaitFor("host stranger: forgotten by "));
  EXPECT_EQ(Forget(*client, "stranger", &response),
            grpc::StatusCode::NOT_FOUND);
}

TEST(AttachTest, HostReturnsAfterTheControllerRestarts) {
  RunningController controller(1);
  AttachedHost host(controller, "server0");
  controller.Stop();
  ASSERT_TRUE(host->WaitAttached(false));
  EXPECT_TRUE(host->log().WaitFor(Say("msg-hub-stopping")));
  controller.Start();
  ASSERT_TRUE(host->WaitAttached());
  EXPECT_TRUE(controller.Entry("server0").attached());
}

// Every user of the server can read both ids.
TEST(AttachTest, CopyOfACertificateAndIdsPushesNobodyOutWhoLives) {
  OwningController<PatientScheduler> controller(1);
  const TestHost::Options options = controller.HostAt("server0");
  MemoryObserver observer{HostFacts()};
  TestHost real(options, &observer);
  ASSERT_TRUE(real.WaitAttached());
  for (const int64_t booted_at_s :
       {int64_t{0}, absl::ToUnixSeconds(absl::Now()), int64_t{1} << 62}) {
    RawHost thief(controller.address(), options.tls);
    AgentMessage hello =
        RawHost::Hello("machine", booted_at_s == 0 ? "boot" : "later");
    hello.mutable_hello()->set_booted_at_s(booted_at_s);
    ASSERT_TRUE(thief.Send(hello));
    EXPECT_EQ(thief.End().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(controller.Entry("server0").conflict(), "");
  }
  EXPECT_TRUE(real.Status().attached());
  EXPECT_THAT(controller.log().Lines(),
              testing::Not(HasSubstr("host server0: detached")));
}

// A stream must not send before it has its name.
TEST(AttachTest, StreamThatWaitsForANameSaysNothingElse) {
  OwningController<PatientScheduler> controller(1);
  const TlsFiles tls = controller.certificates.Host("server0");
  RawHost first(controller.address(), tls);
  ASSERT_TRUE(first.Attach());
  RawHost second(controller.address(), tls);
  ASSERT_TRUE(second.Send(RawHost::Hello()));
  ASSERT_NE(first.ReceiveTask(), 0u) << "it is asked";
  second.Send(RawHost::Hello());
  EXPECT_EQ(second.End().code(), absl::StatusCode::kInvalidArgument);
}

TEST(AttachTest, RefusedMachineIsNeverWelcomed) {
  RunningController controller(1);
  TestHost::Options options = controller.HostAt("server0");
  RawHost first(controller.address(), options.tls);
  ASSERT_TRUE(first.Attach());
  MemoryObserver observer{HostFacts()};
  options.machine_id = "another machine";
  TestHost second(options, &observer);
  EXPECT_TRUE(second.log().WaitFor(RowPattern("msg-hub-two-machines")));
  // If it were welcomed, its waits would start over after each refusal.
  EXPECT_THAT(second.log().Lines(), testing::Not(HasSubstr("<6>attached")));
}

// A client that watches the cluster over a connection of its own.
class Watcher {
 public:
  explicit Watcher(TestController& controller)
      : client_(controller.Client()),
        context_(NewStreamContext()),
        reader_(client_->Watch(context_.get(), WatchRequest())) {}
  ~Watcher() {
    context_->TryCancel();
    if (!ended_) reader_->Finish();
  }

  // Reads until `holds` is true; false if the stream ends before.
  template <typename Condition>
  bool ReadUntil(const Condition& holds) {
    while (reader_->Read(&now_)) {
      ++notified_;
      if (holds(now_)) return true;
    }
    return false;
  }
  bool WaitUntilNotified() {
    return ReadUntil([](const ClusterNow&) { return true; });
  }
  grpc::Status End() {
    while (reader_->Read(&now_)) {
    }
    ended_ = true;
    return reader_->Finish();
  }
  const ClusterNow& now() const { return now_; }
  int notified() const { return notified_; }

 private:
  std::unique_ptr<Controller::Stub> client_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReader<ClusterNow>> reader_;
  ClusterNow now_;
  int notified_ = 0;
  bool ended_ = false;
};

TEST(WatchTest, TellsAtOnceAndWhenHostsComeAndGo) {
  RunningController controller(2);
  Watcher watcher(controller);
  ASSERT_TRUE(watcher.WaitUntilNotified());
  EXPECT_EQ(watcher.now().schema_version(), 1u);
  EXPECT_EQ(watcher.now().cluster(), "test");
  EXPECT_EQ(watcher.now().hosts_expected(), 2u);
  EXPECT_EQ(watcher.now().hosts_attached(), 0u);
  EXPECT_THAT(watcher.now().away(),
              ::testing::ElementsAre("server0", "server1"));
  EXPECT_FALSE(watcher.now().has_asked());

  AttachedHost host(controller, "server0");
  const AttachedHost stranger(controller, "stranger");
  ASSERT_TRUE(watcher.ReadUntil([](const ClusterNow& now) {
    return now.hosts_attached() == 1 && now.hosts_unexpected() == 1;
  }));
  EXPECT_THAT(watcher.now().away(), ::testing::ElementsAre("server1"));
  host->stream().Stop();
  EXPECT_TRUE(watcher.ReadUntil(
      [](const ClusterNow& now) { return now.hosts_attached() == 0; }));
  // The watcher receives only changes, not every round.
  EXPECT_LE(watcher.notified(), 4);
}

TEST(WatchTest, TellsOfTheNewestCheckAndWhatHasChanged) {
  RunningController controller(1);
  const auto spec = controller.spec().spec();
  HostFacts facts = MakeHealthyHost(*spec, spec->servers(0));
  Report report;
  {
    const AttachedHost healthy(controller, "server0", facts);
    ASSERT_TRUE(controller.Check(CheckRequest(), &report).ok());
    ASSERT_EQ(report.verdict(), PASS) << report.DebugString();
  }
  facts.mutable_devices(5)->mutable_link()->set_value(LinkFact::DOWN);
  const AttachedHost broken(controller, "server0", facts);
  Watcher watcher(controller);
  ASSERT_TRUE(watcher.WaitUntilNotified());
  EXPECT_EQ(watcher.now().asked().newest().verdict(), PASS);
  EXPECT_FALSE(watcher.now().asked().has_changes());

  ASSERT_TRUE(controller.Check(CheckRequest(), &report).ok());
  ASSERT_TRUE(watcher.ReadUntil([&](const ClusterNow& now) {
    return now.asked().newest().run_id() == report.run_id();
  }));
  const ClusterNow::ScheduleNow& asked = watcher.now().asked();
  EXPECT_EQ(asked.newest().verdict(), FAIL);
  ASSERT_GE(asked.wrong_size(), 1);
  EXPECT_EQ(asked.wrong(0).rule(), "link");
  EXPECT_EQ(asked.wrong(0).summary(), "server0 device 5");
  ASSERT_GE(asked.changes().changes_size(), 1);
  EXPECT_EQ(asked.changes().changes(0).after(), FAIL);
}

TEST(WatchTest, IsBoundedForOneUserAndFreeAgainWhenOneLeaves) {
  RunningController controller(1);
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < 8; ++i) {
    watchers.push_back(std::make_unique<Watcher>(controller));
    ASSERT_TRUE(watchers.back()->WaitUntilNotified());
  }
  const grpc::Status refused = Watcher(controller).End();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(),
              Tells("msg-hub-too-many-calls-of-user", 8,
                    Worded("hub-calls-watches"), "tester"));
  watchers.pop_back();
  // The controller notices it a moment later.
  EXPECT_TRUE(WaitUntil(
      [&controller] { return Watcher(controller).WaitUntilNotified(); }));
}

}  // namespace
}  // namespace clusterd
