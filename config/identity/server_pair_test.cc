// Tests the switch of a running server to new files.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "config/identity/tls_credentials.h"
#include "config/values/owned_fd.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "tests/support/config/ca_dir.h"
#include "tests/support/config/test_authority.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

constexpr char kController[] = "spiffe://demo/controller";

// Refusals reported to a server; outlives the server's last thread.
struct Refusals {
  absl::Mutex mutex;
  std::vector<std::string> all ABSL_GUARDED_BY(mutex);

  // Waits until one of them holds `text`; returns how many do.
  int WaitFor(const std::string& text) {
    absl::MutexLock lock(&mutex);
    const auto count = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex) {
      return std::count_if(all.begin(), all.end(), [&](const auto& why) {
        return absl::StrContains(why, text);
      });
    };
    const auto is_there = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex) {
      return count() > 0;
    };
    mutex.AwaitWithTimeout(absl::Condition(&is_there), kPatience);
    return static_cast<int>(count());
  }
};

class ServerPairTest : public testing::Test {
 protected:
  ServerPairTest() {
    std::string folder = testing::TempDir() + "/server.XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    files_ = {folder + "/ca.crt", folder + "/own.crt", folder + "/own.key"};
    Write(first_);
    const auto credentials = MakeServerCredentials(
        files_, 1, [refusals = refusals_](const std::string& why) {
          absl::MutexLock lock(&refusals->mutex);
          refusals->all.push_back(why);
        });
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&service_);
    builder.AddListeningPort("127.0.0.1:0", *credentials, &port_);
    server_ = builder.BuildAndStart();
    EXPECT_NE(server_, nullptr);
  }
  ~ServerPairTest() override { server_->Shutdown(); }

  // Replaces each file by one rename.
  void Write(const TlsPem& pem) {
    const auto replace = [](const std::string& path, const std::string& text,
                            unsigned mode) {
      WriteTestFile(path + ".new", text, mode);
      EXPECT_EQ(std::rename((path + ".new").c_str(), path.c_str()), 0);
    };
    replace(files_.ca, pem.ca, 0644);
    replace(files_.certificate, pem.certificate, 0644);
    replace(files_.key, pem.key, 0600);
  }
  // True once a new handshake with a client of this authority succeeds, perhaps
  // not the first one.
  bool ShakesHands(const TestAuthority& authority) {
    return ClientOf(authority)->WaitForConnected(PatientDeadline());
  }
  // True if the first handshake with a client of this authority fails.
  bool IsRefused(const TestAuthority& authority) {
    const auto channel = ClientOf(authority);
    for (;;) {
      const grpc_connectivity_state state = channel->GetState(true);
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) return true;
      if (state == GRPC_CHANNEL_READY ||
          !channel->WaitForStateChange(state, PatientDeadline())) {
        return false;
      }
    }
  }
  std::shared_ptr<grpc::Channel> ClientOf(const TestAuthority& authority) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
    return grpc::CreateCustomChannel(
        "127.0.0.1:" + std::to_string(port_),
        MakeChannelCredentialsFromPem(
            authority.Issue({"spiffe://demo/user/ada"}), "demo"),
        arguments);
  }

  const std::unique_ptr<TestAuthority> authority_ = TestAuthority::Create();
  const std::unique_ptr<TestAuthority> next_ = TestAuthority::Create();
  const TlsPem first_ = authority_->Issue({kController});
  const std::shared_ptr<Refusals> refusals_ = std::make_shared<Refusals>();
  TlsFiles files_;
  grpc::CallbackGenericService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(ServerPairTest, GoesOnWithTheLastGoodPairAndTakesUpTheNext) {
  EXPECT_TRUE(ShakesHands(*authority_));
  TlsPem mixed = next_->Issue({kController});
  mixed.key = first_.key;
  Write(mixed);
  EXPECT_EQ(refusals_->WaitFor("the key is not the certificate's"), 1);
  EXPECT_TRUE(ShakesHands(*authority_));
  Write(next_->Issue({kController}));
  EXPECT_TRUE(ShakesHands(*next_));
  EXPECT_TRUE(IsRefused(*authority_));
}

TEST_F(ServerPairTest, RefusesAPairOfSomebodyElseAndSaysSoOnce) {
  Write(authority_->Issue({"spiffe://demo/host/node07"}));
  const std::string other =
      "is spiffe://demo/host/node07, expected spiffe://demo/controller";
  EXPECT_EQ(refusals_->WaitFor(other), 1);
  EXPECT_TRUE(ShakesHands(*authority_));
  TlsPem cut = authority_->Issue({kController});
  cut.certificate.resize(cut.certificate.size() / 2);
  Write(cut);
  EXPECT_EQ(refusals_->WaitFor("own.crt: no certificate"), 1);
  EXPECT_EQ(refusals_->WaitFor(other), 1);
  EXPECT_TRUE(ShakesHands(*authority_));
}

TEST(MemoryFileTest, IsReplacedAsAWholeUnderOnePath) {
  MemoryFile file;
  const auto text = [&file] {
    std::ostringstream all;
    all << std::ifstream(file.path()).rdbuf();
    return all.str();
  };
  ASSERT_TRUE(file.Replace("a longer text"));
  const std::string path = file.path();
  std::ifstream opened_before(path);
  EXPECT_EQ(text(), "a longer text");
  ASSERT_TRUE(file.Replace("short"));
  EXPECT_EQ(file.path(), path);
  EXPECT_EQ(text(), "short");
  std::string before;
  std::getline(opened_before, before);
  EXPECT_EQ(before, "a longer text");
}

}  // namespace
}  // namespace clusterd
