// Hosts that break the protocol: each loses only its own stream.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/values/version.h"
#include "daemon/controller/hosts/agent_hub_service.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/running_controller.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProtocolTest, SilentHostIsDisconnected) {
  ManualController controller(1);
  const int before = controller.scheduler.pending();
  RawHost host(controller.address(), controller.certificates.Host("server0"));
  ASSERT_TRUE(controller.scheduler.WaitForPending(before + 1));
  controller.scheduler.Advance(absl::Seconds(10));
  EXPECT_THAT(host.End(), Fails(absl::StatusCode::kDeadlineExceeded,
                                HasText("no hello in 10s")));
}

TEST(ProtocolTest, FirstMessageMustBeTheHello) {
  RunningController controller(1);
  RawHost host(controller.address(), controller.certificates.Host("server0"));
  AgentMessage result;
  result.mutable_result()->set_task_id(1);
  ASSERT_TRUE(host.Send(result));
  EXPECT_THAT(host.End(), Fails(absl::StatusCode::kInvalidArgument,
                                HasText("first message was not a hello")));
  EXPECT_FALSE(controller.Entry("server0").attached());
}

TEST(ProtocolTest, SecondHelloEndsTheStream) {
  RunningController controller(1);
  RawHost host(controller.address(), controller.certificates.Host("server0"));
  ASSERT_TRUE(host.Attach());
  ASSERT_TRUE(host.Send(RawHost::Hello()));
  EXPECT_EQ(host.End().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ProtocolTest, UnknownProtocolVersionIsRefused) {
  RunningController controller(1);
  RawHost host(controller.address(), controller.certificates.Host("server0"));
  AgentMessage hello = RawHost::Hello();
  hello.mutable_hello()->set_protocol_version(99);
  ASSERT_TRUE(host.Send(hello));
  EXPECT_THAT(host.End(),
              Fails(absl::StatusCode::kFailedPrecondition,
                    HasText(absl::StrCat("protocol version 99, expected ",
                                         kProtocolVersion))));
}

TEST(ProtocolTest, MessageOverTheLimitEndsTheStream) {
  RunningController controller(1);
  RawHost host(controller.address(), controller.certificates.Host("server0"));
  ASSERT_TRUE(host.Attach());
  AgentMessage huge;
  huge.mutable_result()->set_unsupported(
      std::string(kMaxHostMessageBytes + 1, 'a'));
  host.Send(huge);
  EXPECT_EQ(host.End().code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(controller.log().WaitFor("host server0: detached"));
}

TEST(ProtocolTest, RequestOverTheLimitIsRefusedBeforeItIsParsed) {
  RunningController controller(1);
  DescribeHostRequest request;
  request.set_host(std::string(kMaxMessageBytes + 1, 'a'));
  DescribeHostResponse response;
  const grpc::Status huge =
      controller.Client()->DescribeHost(NewContext().get(), request, &response);
  EXPECT_EQ(huge.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
      << huge.error_message();
  // The same for a host's first message.
  RawHost host(controller.address(), controller.certificates.Host("server0"));
  AgentMessage hello = RawHost::Hello();
  hello.mutable_hello()->set_clusterd_version(
      std::string(kMaxMessageBytes + 1, 'a'));
  host.Send(hello);
  EXPECT_EQ(host.End().code(), absl::StatusCode::kResourceExhausted);
  // The names of a large cluster are within the limit.
  CheckRequest check;
  for (int i = 0; i < 10000; ++i) {
    check.add_hosts(absl::StrCat(std::string(95, 'n'), i));
  }
  Report report;
  EXPECT_TRUE(absl::IsInvalidArgument(controller.Check(check, &report)));
  // The longest rank table is accepted, and judged.
  CheckRequest job;
  job.mutable_job()->add_servers()->set_host("server0");
  job.mutable_job()->set_rank_table(std::string(kMaxRankTableBytes, ' '));
  ASSERT_TRUE(controller.Check(job, &report).ok());
  EXPECT_THAT(report.DebugString(), HasSubstr("rank table: not a JSON"));
}

TEST(ProtocolTest, HeadersOverTheLimitAreRefusedAndCostNobodyElse) {
  RunningController controller(1);
  const auto client = controller.Client();
  const auto other = controller.Client();
  ListHostsResponse response;
  EXPECT_TRUE(other->ListHosts(NewContext().get(), {}, &response).ok());
  // Below gRPC's own limit of 8 KiB.
  const auto context = NewContext();
  context->AddMetadata("x-long", std::string(6000, 'a'));
  EXPECT_EQ(client->ListHosts(context.get(), {}, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  // gRPC 1.51 may close only the connection with those headers.
  const grpc::Status next = other->ListHosts(NewContext().get(), {}, &response);
  EXPECT_TRUE(next.ok()) << next.error_message();
}

TEST(ProtocolTest, FloodOfConnectionsIsRefusedAndCostsNoHost) {
  ControllerServerOptions options;
  options.wire_memory_bytes = 2 << 20;
  RunningController controller(1, options);
  RawHost host(controller.address(), controller.certificates.Host("server0"));
  ASSERT_TRUE(host.Attach());
  const TlsFiles eve = controller.certificates.User("eve");
  std::vector<std::shared_ptr<grpc::Channel>> flood;
  ListHostsResponse response;
  for (int i = 0; i < 200; ++i) {
    flood.push_back(controller.ChannelAs(eve));
    // The call may fail: at the limit, idle connections are closed first.
    Controller::NewStub(flood.back())
        ->ListHosts(NewContext().get(), {}, &response);
  }
  // A client may notice later that it was disconnected.
  EXPECT_TRUE(WaitUntil([&flood] {
    const auto open =
        std::count_if(flood.begin(), flood.end(), [](const auto& channel) {
          return channel->GetState(/*try_to_connect=*/false) ==
                 GRPC_CHANNEL_READY;
        });
    return open < 100;
  }));
  flood.clear();
  const auto context = NewContext();
  context->set_wait_for_ready(true);
  const grpc::Status status =
      controller.Client()->ListHosts(context.get(), {}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(response.hosts(0).attached());
  EXPECT_THAT(controller.log().Lines(), Not(HasSubstr("detached")));
}

TEST(ProtocolTest, FloodOfAnswersToNothingEndsTheStream) {
  RunningController controller(1);
  RawHost host(controller.address(), controller.certificates.Host("server0"));
  ASSERT_TRUE(host.Attach());
  AgentMessage result;
  result.mutable_result()->set_task_id(12345);
  result.mutable_result()->mutable_facts();
  for (int i = 0; i < 200 && host.Send(result); ++i) {
  }
  EXPECT_THAT(host.End(), Fails(absl::StatusCode::kInvalidArgument,
                                HasText("answers to unknown tasks")));
}

TEST(ProtocolTest, BrokenHostLeavesOthersAlone) {
  RunningController controller(2);
  RawHost good(controller.address(), controller.certificates.Host("server0"));
  ASSERT_TRUE(good.Attach());
  RawHost broken(controller.address(), controller.certificates.Host("server1"));
  ASSERT_TRUE(broken.Send(AgentMessage()));
  EXPECT_FALSE(broken.End().ok());
  EXPECT_TRUE(controller.Entry("server0").attached());
}

AgentMessage DrainQuestionOf(uint64_t id) {
  AgentMessage message;
  message.mutable_drain_question()->set_question_id(id);
  return message;
}

TEST(ProtocolTest, HostThatAsksAndDoesNotReadIsDisconnected) {
  ManualController controller(1);  // It is not disconnected for being slow.
  RawHost host(controller.address(), controller.certificates.Host("server0"));
  ASSERT_TRUE(host.Attach());
  for (uint64_t i = 0; i < 16'000 && host.Send(DrainQuestionOf(i)); ++i) {
  }
  EXPECT_TRUE(controller.log().WaitFor(
      "host server0: detached: send buffer full, clusterd is not reading"));
}

TEST(ProtocolTest, HostThatTakesNoMessageForTooLongIsDisconnected) {
  ManualController controller(1);
  RawHost host(controller.address(), controller.certificates.Host("server0"));
  ASSERT_TRUE(host.Attach());
  const auto attached = [&] { return controller.Entry("server0").attached(); };
  const auto client = controller.Client(Role::kOperator);
  const auto has_read = [&](uint64_t id) {
    GetAuditHeadsResponse heads;
    EXPECT_TRUE(client->GetAuditHeads(NewContext().get(), {}, &heads).ok());
    return absl::c_any_of(heads.heads(), [id](const AuditHead& head) {
      return head.of() == "server0" && head.sequence() == id;
    });
  };
  // The host's window fills before the send buffer does: sent questions are
  // read before more are sent, and before time passes.
  uint64_t id = 0;
  EXPECT_TRUE(WaitUntil([&] {
    for (int i = 0; i < 50; ++i) {
      AgentMessage question = DrainQuestionOf(++id);
      question.mutable_audit_head()->set_sequence(id);
      question.mutable_audit_head()->set_sha256(std::string(64, 'a'));
      host.Send(question);
    }
    EXPECT_TRUE(WaitUntil([&] { return has_read(id) || !attached(); }));
    controller.scheduler.Advance(WriteTimeFor(1 << 20));
    return !attached();
  }));
  EXPECT_THAT(controller.log().Lines(), Not(HasSubstr("does not read")));
}

TEST(ProtocolTest, FloodOfWhatNobodyAskedForEndsTheStream) {
  ManualController controller(1);
  RawHost host(controller.address(), controller.certificates.Host("server0"));
  ASSERT_TRUE(host.Attach());
  AgentMessage progress;
  progress.mutable_progress()->set_task_id(12345);
  for (int i = 0; i < 2 * kUnasked.at_once && host.Send(progress); ++i) {
  }
  const absl::Status end = host.End();
  EXPECT_EQ(end.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(end.message(), Tells("msg-hub-too-many-messages", 16384, 64));
}

}  // namespace
}  // namespace clusterd
