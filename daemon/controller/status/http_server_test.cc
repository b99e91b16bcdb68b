#include "daemon/controller/status/http_server.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/test_authority.h"
#include "tests/support/http/http_client.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using testing::HasSubstr;
using testing::Not;

absl::Status AdmitAll(const std::string&, const std::string&) {
  return absl::OkStatus();
}

// Clients are never too slow, unless a test lowers these.
HttpServerOptions Patient(const std::string& listen) {
  HttpServerOptions options;
  options.listen = listen;
  options.silence = options.longest = absl::Hours(1);
  return options;
}

HttpServerOptions OnLoopback() { return Patient("127.0.0.1:0"); }

std::unique_ptr<HttpServer> Serve(
    const HttpServerOptions& options = OnLoopback(),
    std::map<std::string, HttpPage> pages = {},
    HttpServer::Admit admit = &AdmitAll) {
  pages["/hello"] = {[] { return TextAnswer(200, "hello"); }};
  return HttpServer::Start(options, std::move(pages), std::move(admit)).value();
}

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(HttpServerTest, ShowsAPageThatNoBrowserKeepsOrGuessesAt) {
  const auto server = Serve();
  HttpClient client(server->port());
  const HttpReply reply = client.Get("/hello");
  EXPECT_EQ(reply.code, 200);
  EXPECT_EQ(reply.body, "hello\n");
  for (const char* const field :
       {"Content-Type: text/plain; charset=utf-8\r\n", "Content-Length: 6\r\n",
        "Cache-Control: no-store\r\n", "X-Content-Type-Options: nosniff\r\n",
        "Content-Security-Policy: frame-ancestors 'none'\r\n"}) {
    EXPECT_THAT(reply.head, HasSubstr(field));
  }
  // The connection stays open for the next request.
  EXPECT_EQ(client.Get("/hello?a=b").code, 200);
}

TEST(HttpServerTest, AHeadHasAllButTheBody) {
  const auto server = Serve();
  HttpClient client(server->port());
  client.Send("HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const HttpReply reply = client.Read(/*has_body=*/false);
  EXPECT_EQ(reply.code, 200);
  EXPECT_THAT(reply.head, HasSubstr("Content-Length: 6\r\n"));
  // A leftover body would precede the next reply.
  EXPECT_EQ(client.Get("/hello").body, "hello\n");
}

TEST(HttpServerTest, RefusesWhatIsNoReading) {
  const auto server = Serve();
  const std::pair<const char*, int> requests[] = {
      {"GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 404},
      {"GET /hello/../hello HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 404},
      {"POST /hello HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n",
       501},
      {"DELETE /hello HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 501},
      {"CONNECT 10.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 501},
  };
  for (const auto& [request, code] : requests) {
    HttpClient client(server->port());
    client.Send(request);
    EXPECT_EQ(client.Read().code, code) << request;
  }
  // The server waits for the rest of some of these.
  HttpServerOptions options = OnLoopback();
  options.silence = absl::Milliseconds(500);
  const auto impatient = Serve(options);
  for (const char* const nonsense :
       {"\r\n\r\n\r\n", "GET\r\n\r\n", "\x16\x03\x01\x02\x00\x01\r\n\r\n",
        "POST /hello HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n"
        "hello!!!!"}) {
    HttpClient client(impatient->port());
    client.Send(nonsense);
    EXPECT_NE(client.Read().code, 200) << nonsense;
  }
}

TEST(HttpServerTest, EndsHeadersThatAreTooLong) {
  const auto server = Serve();
  HttpClient client(server->port());
  client.Send("GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\n");
  const std::string line = absl::StrCat("X: ", std::string(4000, 'x'), "\r\n");
  int sent = 0;
  while (sent < 10000 && client.Send(line)) ++sent;
  EXPECT_LT(sent, 10000);
  EXPECT_THAT(client.ReadToEnd(), Not(HasSubstr("200 OK")));
}

TEST(HttpServerTest, ASitesOwnNameThatLeadsHereReadsNothing) {
  const auto server = Serve();
  for (const auto& [host, code] : std::vector<std::pair<std::string, int>>{
           {"evil.example", 421},
           {"evil.example:7445", 421},
           {"127.0.0.1.evil.example", 421},
           {"localhost", 200},
           {absl::StrCat("localhost:", server->port()), 200},
           {absl::StrCat("127.0.0.1:", server->port()), 200},
           {"[::1]:7445", 200}}) {
    HttpClient client(server->port());
    client.Send(
        absl::StrCat("GET /hello HTTP/1.1\r\nHost: ", host, "\r\n\r\n"));
    EXPECT_EQ(client.Read().code, code) << host;
  }
}

TEST(HttpServerTest, EndsWhoSaysNothingAndWhoIsSlow) {
  HttpServerOptions options = OnLoopback();
  options.silence = absl::Milliseconds(300);
  const auto impatient = Serve(options);
  HttpClient silent(impatient->port());
  EXPECT_EQ(silent.ReadToEnd(), "");
  // Bytes come all the while, so that only its whole time ends this one.
  options.silence = absl::Hours(1);
  options.longest = absl::Seconds(1);
  const auto server = Serve(options);
  const auto began = std::chrono::steady_clock::now();
  HttpClient slow(server->port());
  const std::string request = GetRequest(std::string(4000, 'a'));
  size_t sent = 0;
  while (sent < request.size() && !slow.HasNews(100) &&
         slow.Send(request.substr(sent, 1))) {
    ++sent;
  }
  EXPECT_LT(sent, request.size());
  EXPECT_EQ(slow.Read().code, 0);
  EXPECT_GE(absl::FromChrono(std::chrono::steady_clock::now() - began),
            options.longest)
      << "after " << sent << " bytes";
}

// Makes a page that holds one reference to the text.
HttpPage PageOf(const std::shared_ptr<const std::string>& text) {
  return {[text] {
    HttpAnswer answer;
    answer.body = text;
    return answer;
  }};
}

TEST(HttpServerTest, AReaderThatDoesNotReadHoldsNobodyUp) {
  const auto large =
      std::make_shared<const std::string>(std::string(64 << 20, 'x'));
  const auto server = Serve(OnLoopback(), {{"/large", PageOf(large)}});
  HttpClient slow(server->port());
  slow.Send(GetRequest("/large"));
  EXPECT_TRUE(slow.WaitForNews());
  for (int i = 0; i < 10; ++i) {
    HttpClient other(server->port());
    EXPECT_EQ(other.Get("/hello").code, 200);
  }
  EXPECT_GT(large.use_count(), 2) << "it is still being sent";
}

TEST(HttpServerTest, ReaderThatDoesNotReadIsDisconnected) {
  HttpServerOptions options = OnLoopback();
  options.longest = absl::Seconds(1);
  const auto large =
      std::make_shared<const std::string>(std::string(64 << 20, 'x'));
  const auto server = Serve(options, {{"/large", PageOf(large)}});
  HttpClient slow(server->port());
  slow.Send(GetRequest("/large"));
  EXPECT_TRUE(slow.WaitForNews());
  // All readers share one copy, freed once the slow one is disconnected.
  EXPECT_TRUE(WaitUntil([&] { return large.use_count() <= 2; }));
  EXPECT_LT(slow.ReadToEnd().size(), large->size());
}

TEST(HttpServerTest, WhoIsOneTooManyWaitsWithoutADescriptor) {
  HttpServerOptions options = OnLoopback();
  options.connections = 4;
  const auto server = Serve(options);
  const size_t before = OpenDescriptors();
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server->port()));
    if (i < 4) {
      EXPECT_EQ(clients.back()->Get("/hello").code, 200) << i;
    }
  }
  for (int i = 4; i < 20; ++i) clients[i]->Send(GetRequest("/hello"));
  EXPECT_EQ(clients[0]->Get("/hello").code, 200);
  EXPECT_FALSE(clients[4]->HasNews(0));
  EXPECT_LE(OpenDescriptors(), before + 20 + 4);
  // Each one that is closed makes room for the next.
  for (int i = 0; i < 16; ++i) {
    clients[i].reset();
    EXPECT_EQ(clients[i + 4]->Read().code, 200) << i;
  }
}

TEST(HttpServerTest, APageThatHangsHoldsUpNeitherTheOneApartNorTheRest) {
  absl::Notification begun, go_on;
  std::map<std::string, HttpPage> pages;
  pages["/hangs"] = {[&] {
    if (!begun.HasBeenNotified()) begun.Notify();
    go_on.WaitForNotification();
    return TextAnswer(200, "at last");
  }};
  pages["/apart"] = {[] { return TextAnswer(200, "apart"); },
                     /*is_apart=*/true};
  HttpServerOptions options = OnLoopback();
  options.connections = 8;
  const auto server = Serve(options, std::move(pages));
  HttpClient waits(server->port());
  waits.Send(GetRequest("/hangs"));
  begun.WaitForNotification();
  HttpClient other(server->port());
  EXPECT_EQ(other.Get("/apart").body, "apart\n");
  EXPECT_EQ(other.Get("/nowhere").code, 404);
  // A client that has left meanwhile does no harm.
  { HttpClient(server->port()).Send(GetRequest("/hangs")); }
  go_on.Notify();
  EXPECT_EQ(waits.Read().body, "at last\n");
  EXPECT_EQ(other.Get("/hello").code, 200);
}

TEST(HttpServerTest, EndsWithARequestThatWaits) {
  absl::Notification begun;
  std::map<std::string, HttpPage> pages;
  pages["/slow"] = {[&] {
    begun.Notify();
    return TextAnswer(200, "x");
  }};
  auto server = Serve(OnLoopback(), std::move(pages));
  HttpClient client(server->port());
  client.Send(GetRequest("/slow"));
  begun.WaitForNotification();
  server.reset();
  client.ReadToEnd();
}

TEST(HttpServerTest, ListensOnAddressesAloneAndSaysWhyNot) {
  for (const char* const listen :
       {"", "localhost:7445", "127.0.0.1", "127.0.0.1:", "7445", "[::1",
        "127.0.0.1:99999"}) {
    HttpServerOptions options;
    options.listen = listen;
    EXPECT_THAT(
        HttpServer::Start(options, {}, &AdmitAll),
        Fails(absl::StatusCode::kInvalidArgument, HasText("--status-listen")));
  }
  const auto first = Serve();
  HttpServerOptions options;
  options.listen = absl::StrCat("127.0.0.1:", first->port());
  const auto second = HttpServer::Start(options, {}, &AdmitAll);
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
}

// With TLS: on every address, and with its own files.
class HttpServerTlsTest : public testing::Test {
 protected:
  void SetUp() override {
    options_ = Patient("0.0.0.0:0");
    options_.tls = {folder_ + "/ca.crt", folder_ + "/own.crt",
                    folder_ + "/own.key"};
    options_.refresh = absl::Milliseconds(50);
    WriteFiles(authority_->Issue({"spiffe://test/controller"}));
  }

  void WriteFiles(const TlsPem& pem) {
    const std::pair<std::string, std::string> files[] = {
        {options_.tls.ca, pem.ca},
        {options_.tls.certificate, pem.certificate},
        {options_.tls.key, pem.key}};
    for (const auto& [path, text] : files) {
      std::ofstream(path + ".new") << text;
      std::filesystem::permissions(path + ".new",
                                   std::filesystem::perms::owner_read |
                                       std::filesystem::perms::owner_write);
      std::filesystem::rename(path + ".new", path);
    }
  }

  TlsPem User() const { return authority_->Issue({"spiffe://test/user/ann"}); }

  const std::string folder_ = NewStateFolder();
  const std::unique_ptr<TestAuthority> authority_ = TestAuthority::Create();
  HttpServerOptions options_;
};

TEST_F(HttpServerTlsTest, AsksWhetherTheCertificateIsAdmitted) {
  const TlsPem user = User();
  absl::Mutex mutex;
  std::string shown, peer;
  absl::Status verdict;
  const auto server =
      Serve(options_, {}, [&](const std::string& pem, const std::string& from) {
        absl::MutexLock lock(&mutex);
        shown = pem;
        peer = from;
        return verdict;
      });
  HttpClient client(server->port(), user);
  EXPECT_EQ(client.Get("/hello").body, "hello\n");
  {
    absl::MutexLock lock(&mutex);
    EXPECT_EQ(CertificateSerial(shown), CertificateSerial(user.certificate));
    EXPECT_THAT(peer, HasSubstr("127.0.0.1:"));
    // Each request is checked.
    verdict = absl::PermissionDeniedError("ann is locked");
  }
  const HttpReply refused = client.Get("/hello");
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.body, "ann is locked\n");
}

TEST_F(HttpServerTlsTest, NobodyGetsInWithoutACertificateOfTheCa) {
  std::atomic<bool> was_asked = false;
  const auto server =
      Serve(options_, {}, [&](const std::string&, const std::string&) {
        was_asked = true;
        return absl::OkStatus();
      });
  TlsPem none = User();
  none.certificate.clear();
  HttpClient without(server->port(), none);
  EXPECT_EQ(without.Get("/hello").code, 0);
  TlsPem other = TestAuthority::Create()->Issue({"spiffe://test/user/ann"});
  other.ca.clear();
  HttpClient stranger(server->port(), other);
  EXPECT_EQ(stranger.Get("/hello").code, 0);
  HttpClient ended(server->port(),
                   authority_->Issue({"spiffe://test/user/ann"},
                                     {-absl::Hours(2), -absl::Hours(1)}));
  EXPECT_EQ(ended.Get("/hello").code, 0);
  HttpClient plain(server->port());
  EXPECT_EQ(plain.Get("/hello").code, 0);
  HttpClient old(server->port(), User(), TLS1_1_VERSION);
  EXPECT_FALSE(old.is_shaken());
  EXPECT_FALSE(was_asked);
  HttpClient tls12(server->port(), User(), TLS1_2_VERSION);
  EXPECT_EQ(tls12.Get("/hello").code, 200);
}

TEST_F(HttpServerTlsTest, TakesUpARenewedPairAndNoBrokenOne) {
  const auto server = Serve(options_);
  const TlsPem user = User();
  const std::string first = HttpClient(server->port(), user).ServerSerial();
  std::ofstream(options_.tls.certificate) << "no certificate";
  EXPECT_EQ(HttpClient(server->port(), user).ServerSerial(), first);
  WriteFiles(authority_->Issue({"spiffe://test/controller"}));
  EXPECT_TRUE(WaitUntil([&] {
    HttpClient client(server->port(), user);
    EXPECT_EQ(client.Get("/hello").code, 200);
    return client.ServerSerial() != first;
  }));
}

TEST_F(HttpServerTlsTest, ManyThatConnectAndSayNothingHoldNoneUp) {
  const auto server = Serve(options_);
  std::vector<std::unique_ptr<HttpClient>> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(std::make_unique<HttpClient>(server->port()));
  }
  HttpClient user(server->port(), User());
  EXPECT_EQ(user.Get("/hello").code, 200);
  // Only those that took all places have gone.
  EXPECT_TRUE(silent.front()->WaitForNews());
  EXPECT_FALSE(silent.back()->HasNews(0));
}

TEST_F(HttpServerTlsTest, WhoAsksForNothingMakesRoomForOthers) {
  options_.connections = 4;
  const auto server = Serve(options_);
  HttpClient first(server->port(), User());
  EXPECT_EQ(first.Get("/hello").code, 200);
  // With TLS 1.3 the client's handshake would end before the server's.
  const HttpClient shaken(server->port(), User(), TLS1_2_VERSION);
  EXPECT_TRUE(shaken.is_shaken());
  const HttpClient older(server->port());
  const HttpClient newer(server->port());
  HttpClient second(server->port(), User());
  EXPECT_EQ(second.Get("/hello").code, 200);
  for (const HttpClient* const silent : {&shaken, &older, &newer}) {
    EXPECT_TRUE(silent->WaitForNews());
  }
  EXPECT_EQ(first.Get("/hello").code, 200) << "it has asked before";
}

TEST_F(HttpServerTlsTest, DoesNotStartWithoutItsFiles) {
  std::filesystem::remove(options_.tls.key);
  const auto server = HttpServer::Start(options_, {}, &AdmitAll);
  EXPECT_TRUE(absl::IsNotFound(server.status())) << server.status();
}

}  // namespace
}  // namespace clusterd
