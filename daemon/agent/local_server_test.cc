#include "daemon/agent/local_server.h"

#include <sys/stat.h>
#include <sys/types.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

class LocalServerTest : public testing::Test {
 protected:
  LocalServerTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~LocalServerTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string path() const { return folder_ + "/agent.sock"; }
  static LocalService::Answers Answers() {
    LocalService::Answers answers;
    answers.status = [] {
      AgentStatus status;
      status.set_host("server0");
      status.set_last_error("controller away");
      return status;
    };
    answers.check_self = [] {
      CheckSelfResponse response;
      response.mutable_report()->set_verdict(WARN);
      return response;
    };
    return answers;
  }
  std::unique_ptr<LocalAgent::Stub> Client() {
    return LocalAgent::NewStub(grpc::CreateChannel(
        "unix:" + path(), grpc::experimental::LocalCredentials(UDS)));
  }
  static void SetDeadline(grpc::ClientContext* context) {
    context->set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(30));
  }

 private:
  std::string folder_ = "/tmp/clusterd_test_XXXXXX";
};

TEST_F(LocalServerTest, AnswersStatusAndSelfCheck) {
  const auto server = LocalServer::Start(path(), Answers());
  ASSERT_TRUE(server.ok()) << server.status();
  const auto client = Client();
  grpc::ClientContext status_context;
  SetDeadline(&status_context);
  AgentStatus status;
  ASSERT_TRUE(client->GetStatus(&status_context, {}, &status).ok());
  EXPECT_EQ(status.host(), "server0");
  EXPECT_EQ(status.last_error(), "controller away");
  grpc::ClientContext check_context;
  SetDeadline(&check_context);
  CheckSelfResponse check;
  ASSERT_TRUE(client->CheckSelf(&check_context, {}, &check).ok());
  EXPECT_EQ(check.report().verdict(), WARN);
}

TEST_F(LocalServerTest, LetsOwnerAndGroupConnectOnly) {
  const auto server = LocalServer::Start(path(), Answers());
  ASSERT_TRUE(server.ok()) << server.status();
  struct stat info = {};
  ASSERT_EQ(lstat(path().c_str(), &info), 0);
  EXPECT_TRUE(S_ISSOCK(info.st_mode));
  EXPECT_EQ(info.st_mode & 0777, 0660u);
}

TEST_F(LocalServerTest, RefusesToStartBesideAnother) {
  const auto first = LocalServer::Start(path(), Answers());
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = LocalServer::Start(path(), Answers());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  AgentStatus status;
  grpc::ClientContext context;
  SetDeadline(&context);
  EXPECT_TRUE(Client()->GetStatus(&context, {}, &status).ok());
}

TEST_F(LocalServerTest, LeavesNoSocketBehind) {
  { ASSERT_TRUE(LocalServer::Start(path(), Answers()).ok()); }
  EXPECT_FALSE(std::filesystem::exists(path()));
}

}  // namespace
}  // namespace clusterd
