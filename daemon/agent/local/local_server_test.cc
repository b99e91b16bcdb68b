#include "daemon/agent/local/local_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

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
  static LocalServer::Answers Answers() {
    LocalServer::Answers answers;
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
  std::unique_ptr<LocalServer> Started(LocalServer::Answers answers) const {
    return LocalServer::Start(path(), std::move(answers)).value();
  }
  std::unique_ptr<LocalAgent::Stub> Client() {
    return LocalAgent::NewStub(grpc::CreateChannel(
        "unix:" + path(), grpc::experimental::LocalCredentials(UDS)));
  }
  grpc::Status RunHook(grpc::ClientContext* context, HookAnswer* answer) {
    SetDeadline(context);
    HookRequest request;
    request.set_kind(HOOK_SLURM_PROLOG);
    return Client()->RunHook(context, request, answer);
  }
  static void SetDeadline(grpc::ClientContext* context) {
    context->set_deadline(PatientDeadline());
  }
  AgentStatus Status() {
    grpc::ClientContext context;
    SetDeadline(&context);
    AgentStatus status;
    EXPECT_TRUE(Client()->GetStatus(&context, {}, &status).ok());
    return status;
  }

 private:
  std::string folder_ = "/tmp/clusterd_test_XXXXXX";
};

TEST_F(LocalServerTest, AnswersOwnerAndGroupStatusAndSelfCheck) {
  const auto server = Started(Answers());
  EXPECT_EQ(Status().host(), "server0");
  EXPECT_EQ(Status().last_error(), "controller away");
  grpc::ClientContext check_context;
  SetDeadline(&check_context);
  CheckSelfResponse check;
  ASSERT_TRUE(Client()->CheckSelf(&check_context, {}, &check).ok());
  EXPECT_EQ(check.report().verdict(), WARN);
  struct stat info = {};
  ASSERT_EQ(lstat(path().c_str(), &info), 0);
  EXPECT_TRUE(S_ISSOCK(info.st_mode));
  EXPECT_EQ(info.st_mode & 0777, 0660u);
}

using ::testing::HasSubstr;

// Leaves a socket behind, as a killed process does.
void BindSocket(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
            0);
  close(fd);
}

bool Exists(const std::string& path) {
  struct stat info = {};
  return lstat(path.c_str(), &info) == 0;
}

TEST_F(LocalServerTest, RefusesSecondUntilFirstEnds) {
  {
    const auto first = Started(Answers());
    EXPECT_THAT(LocalServer::Start(path(), Answers()),
                Fails(absl::StatusCode::kFailedPrecondition,
                      HasText(Say("msg-hook-socket-held", path() + ".lock"))));
    EXPECT_TRUE(Exists(path()));
    EXPECT_EQ(Status().host(), "server0");
  }
  EXPECT_FALSE(Exists(path()));
  EXPECT_TRUE(LocalServer::Start(path(), Answers()).ok());
}

TEST_F(LocalServerTest, ReplacesSocketThatAKilledDaemonLeft) {
  BindSocket(path());
  const auto server = Started(Answers());
  EXPECT_EQ(Status().host(), "server0");
}

TEST_F(LocalServerTest, NeverRemovesWhatIsNoSocket) {
  std::ofstream(path()) << "precious";
  const absl::Status status = LocalServer::Start(path(), Answers()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is not a socket"));
  EXPECT_TRUE(Exists(path()));
}

TEST_F(LocalServerTest, RefusesPathsThatCannotWork) {
  const auto code = [](const std::string& path) {
    return LocalServer::Start(path, Answers()).status().code();
  };
  EXPECT_EQ(code("relative.sock"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("/tmp/" + std::string(200, 'a')),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("/nowhere/agent.sock"), absl::StatusCode::kNotFound);
  // Others could put their socket there.
  const std::string folder = path().substr(0, path().rfind('/'));
  ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  EXPECT_THAT(LocalServer::Start(path(), Answers()),
              Fails(absl::StatusCode::kPermissionDenied, HasText(folder)));
  EXPECT_FALSE(Exists(path()));
}

TEST_F(LocalServerTest, AnswersSixtyFourPrologsAtOnce) {
  absl::Mutex mutex;
  int inside = 0;
  LocalServer::Answers answers = Answers();
  answers.run_hook = [&](const HookRequest& request,
                         const std::function<bool()>&) {
    // Answers only once all 64 calls are here.
    const auto all = [&inside] { return inside == 64; };
    absl::MutexLock lock(&mutex);
    ++inside;
    EXPECT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&all), kPatience));
    HookAnswer answer;
    answer.set_reason(HookKind_Name(request.kind()));
    return answer;
  };
  const auto server = Started(std::move(answers));
  std::vector<std::thread> prologs;
  std::atomic<int> answered{0};
  for (int i = 0; i < 64; ++i) {
    prologs.emplace_back([this, &answered] {
      grpc::ClientContext context;
      HookAnswer answer;
      const grpc::Status status = RunHook(&context, &answer);
      EXPECT_TRUE(status.ok()) << status.error_message();
      if (answer.reason() == "HOOK_SLURM_PROLOG") ++answered;
    });
  }
  for (std::thread& prolog : prologs) prolog.join();
  EXPECT_EQ(answered, 64);
}

TEST_F(LocalServerTest, NoticesThatAHookIsGone) {
  absl::Notification begun;
  absl::Notification noticed;
  LocalServer::Answers answers = Answers();
  answers.run_hook =
      [&](const HookRequest&,
          const std::function<bool()>& gone) -> absl::StatusOr<HookAnswer> {
    begun.Notify();
    while (!gone()) std::this_thread::yield();
    noticed.Notify();
    return absl::CancelledError("nobody asks any more");
  };
  const auto server = Started(std::move(answers));
  grpc::ClientContext context;
  std::thread killer([&] {
    begun.WaitForNotification();
    context.TryCancel();
  });
  HookAnswer answer;
  EXPECT_FALSE(RunHook(&context, &answer).ok());
  EXPECT_TRUE(noticed.WaitForNotificationWithTimeout(kPatience));
  killer.join();
}

TEST_F(LocalServerTest, TellsWhatIsWrongWithAHooksRequest) {
  LocalServer::Answers answers = Answers();
  answers.run_hook =
      [](const HookRequest&,
         const std::function<bool()>&) -> absl::StatusOr<HookAnswer> {
    return absl::InvalidArgumentError("hook: kind 99");
  };
  const auto server = Started(std::move(answers));
  grpc::ClientContext context;
  HookAnswer answer;
  const grpc::Status status = RunHook(&context, &answer);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "hook: kind 99");
}

TEST_F(LocalServerTest, TellsWhoCallsAsTheKernelKnowsThem) {
  absl::Mutex mutex;
  std::vector<std::string> calls;
  LocalServer::Answers answers = Answers();
  answers.called = [&](const std::string& call) {
    absl::MutexLock lock(&mutex);
    calls.push_back(call);
  };
  const auto server = Started(std::move(answers));
  Status();
  absl::MutexLock lock(&mutex);
  EXPECT_THAT(calls, testing::ElementsAre("GetStatus by uid " +
                                          std::to_string(geteuid()) + " gid " +
                                          std::to_string(getegid()) + " pid " +
                                          std::to_string(getpid())));
}

}  // namespace
}  // namespace clusterd
