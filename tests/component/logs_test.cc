// Logs of hosts over real gRPC: the allowed roles, a host's answers, and one
// event for each host, even if it fails.
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/identity/grpc_status.h"
#include "config/words/message.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// A host that answers every task with the result of `answer`.
class LogsHost {
 public:
  using AnswerFunction = std::function<void(const Task&, TaskResult*)>;

  LogsHost(const std::string& controller, const TlsFiles& tls,
           const std::string& name, bool knows_logs, AnswerFunction answer)
      : host_(controller, tls), answer_(std::move(answer)) {
    AgentMessage hello = RawHost::Hello(name);
    if (knows_logs) {
      hello.mutable_hello()->add_tasks("logs");
      hello.mutable_hello()->add_tasks("record");
    }
    HubMessage welcome;
    EXPECT_TRUE(host_.Send(hello) && host_.Receive(&welcome));
    EXPECT_TRUE(welcome.has_welcome());
    thread_ = std::thread([this] { Run(); });
  }
  ~LogsHost() {
    host_.Kill();
    thread_.join();
  }

 private:
  void Run() {
    HubMessage message;
    while (host_.Receive(&message)) {
      if (!message.has_task()) continue;
      AgentMessage reply;
      reply.mutable_result()->set_task_id(message.task().task_id());
      answer_(message.task(), reply.mutable_result());
      host_.Send(reply);
    }
  }

  RawHost host_;
  const AnswerFunction answer_;
  std::thread thread_;
};

class LogsTest : public testing::Test {
 protected:
  explicit LogsTest(int servers = 3)
      : controller_(&certificates_, servers, &scheduler_) {
    controller_.Start();
  }

  void AddHost(int number, bool knows_logs, LogsHost::AnswerFunction answer) {
    const std::string name = absl::StrCat("server", number);
    hosts_.push_back(std::make_unique<LogsHost>(controller_.address(),
                                                certificates_.Host(name), name,
                                                knows_logs, std::move(answer)));
  }

  // The status of the call; sets its events by host.
  absl::Status Read(Controller::Stub* client, const LogsRequest& request) {
    const auto context = NewContext();
    const auto stream = client->ReadLogs(context.get(), request);
    LogsEvent event;
    while (stream->Read(&event)) {
      if (event.has_host()) {
        EXPECT_EQ(answers_.count(event.host().host()), 0u);
        answers_[event.host().host()] = Rendered(event.host());
      } else {
        last_ = event.progress();
      }
    }
    return ToAbslStatus(stream->Finish());
  }

  TestCertificates certificates_;
  ThreadScheduler scheduler_;
  TestController controller_;
  std::vector<std::unique_ptr<LogsHost>> hosts_;
  std::map<std::string, LogsOfHost> answers_;
  CheckProgress last_;
};

TEST_F(LogsTest, EveryHostIsAnEventWhateverBecomesOfIt) {
  // More bytes than a text may have, and bytes that are not text.
  const std::string content = std::string(600 << 10, 'x') + "\x1b\xff\n";
  AddHost(0, true, [&](const Task& task, TaskResult* result) {
    if (task.has_record()) {
      result->mutable_recording()->mutable_facts()->set_host("another");
      result->mutable_recording()->add_runs()->set_standard_output("\x1b UP\n");
      return;
    }
    EXPECT_EQ(task.logs().query().user(), "ann");
    result->mutable_logs()->add_hits()->set_text("EI0006 \x1b[2J");
    result->mutable_logs()->add_files()->set_content(content);
  });
  AddHost(1, false, [](const Task&, TaskResult*) { ADD_FAILURE(); });
  LogsRequest request;
  request.mutable_query()->set_user("ann");
  request.set_record(true);
  const auto client = controller_.As("operator");
  EXPECT_EQ(Read(client.get(), request), absl::OkStatus());
  ASSERT_THAT(answers_, SizeIs(3));
  const LogsOfHost& good = answers_["server0"];
  EXPECT_EQ(good.error(), "");
  EXPECT_EQ(good.logs().hits(0).text(), "EI0006 \\x1b[2J");
  EXPECT_EQ(good.logs().files(0).content(), content);
  EXPECT_EQ(good.recording().facts().host(), "server0");
  EXPECT_EQ(good.recording().runs(0).standard_output(), "\x1b UP\n");
  EXPECT_THAT(answers_["server1"].error(), Tells("msg-hub-clusterd-too-old"));
  EXPECT_THAT(answers_["server2"].error(), HasSubstr("never attached"));
  EXPECT_EQ(last_.pending(), 0u);
  EXPECT_EQ(last_.failed(), 2u);
  EXPECT_EQ(last_.answered(), 1u);
}

TEST_F(LogsTest, OnlyOperatorsMayRead) {
  const auto viewer = controller_.As("viewer");
  EXPECT_EQ(Read(viewer.get(), {}).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(answers_, SizeIs(0));
  EXPECT_TRUE(controller_.log().WaitFor("refused ReadLogs"));
}

class ManyLogsTest : public LogsTest {
 protected:
  ManyLogsTest() : LogsTest(2000) {}
};

// Each absent host answers at once, on the caller's stack.
TEST_F(ManyLogsTest, HostsThatAreAwayCostNoStackAndNoEventIsLost) {
  const auto client = controller_.As("operator");
  EXPECT_EQ(Read(client.get(), {}), absl::OkStatus());
  EXPECT_THAT(answers_, SizeIs(2000));
  EXPECT_EQ(last_.failed(), 2000u);
}

}  // namespace
}  // namespace clusterd
