// NewsSender and what it asks: a real web server on loopback, a real program.
#include "daemon/controller/notify/news_sender.h"

#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// The deadline of a notifier that a test does not want to see expire.
constexpr uint32_t kLongMs = 3'600'000;

// A certificate of its own authority for that name, "DNS:a.example" or
// "IP:127.0.0.1", and its key, ready for a server.
struct ServerTls {
  explicit ServerTls(const char* name)
      : key(EVP_EC_gen("P-256")), certificate(X509_new()) {
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_NAME_add_entry_by_txt(
        X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
        reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    X509_set_pubkey(certificate, key);
    X509_EXTENSION* const names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, name);
    X509_add_ext(certificate, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate, key, EVP_sha256());
    context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(context, certificate);
    SSL_CTX_use_PrivateKey(context, key);
  }
  ~ServerTls() {
    SSL_CTX_free(context);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  void Write(const std::string& path) const {
    FILE* const file = fopen(path.c_str(), "w");
    PEM_write_X509(file, certificate);
    fclose(file);
  }
  // What this process trusts from now on.
  void Trust() const {
    const std::string path =
        absl::StrCat(testing::TempDir(), "/trusted.", getpid());
    Write(path);
    setenv("SSL_CERT_FILE", path.c_str(), 1);
  }

  EVP_PKEY* key;
  X509* certificate;
  SSL_CTX* context;
};

// Answers with one status after the other, and then with the last one for ever;
// 0: not at all.
class WebServer {
 public:
  struct Request {
    std::string path, host, type, authorization, body;
  };

  explicit WebServer(std::vector<int> answers, ServerTls* tls = nullptr)
      : answers_(std::move(answers)), tls_(tls) {
    base_ = event_base_new();
    http_ = evhttp_new(base_);
    evhttp_set_gencb(http_, OnRequest, this);
    if (tls_ != nullptr) evhttp_set_bevcb(http_, NewStream, this);
    evhttp_bound_socket* const bound =
        evhttp_bind_socket_with_handle(http_, "127.0.0.1", 0);
    sockaddr_in address = {};
    socklen_t length = sizeof(address);
    getsockname(evhttp_bound_socket_get_fd(bound),
                reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    stopping_ = event_new(
        base_, stop_.fd(), EV_READ,
        [](evutil_socket_t, short, void* base) {
          event_base_loopbreak(static_cast<event_base*>(base));
        },
        base_);
    event_add(stopping_, nullptr);
    thread_ = std::thread([this] { event_base_dispatch(base_); });
  }
  ~WebServer() {
    stop_.Set();
    thread_.join();
    event_free(stopping_);
    evhttp_free(http_);
    event_base_free(base_);
  }

  std::string Url(const char* host = "127.0.0.1") const {
    return absl::StrCat(tls_ == nullptr ? "http" : "https", "://", host, ":",
                        port_, "/hook?a=b");
  }
  std::vector<Request> requests() {
    absl::MutexLock lock(&mutex_);
    return requests_;
  }
  void WaitForRequests(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return requests_.size() >= count;
    };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&there), kPatience));
  }

 private:
  static void OnRequest(evhttp_request* request, void* self) {
    static_cast<WebServer*>(self)->Answer(request);
  }
  static bufferevent* NewStream(event_base* base, void* self) {
    return bufferevent_openssl_socket_new(
        base, -1, SSL_new(static_cast<WebServer*>(self)->tls_->context),
        BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
  }
  void Answer(evhttp_request* request) {
    const evkeyvalq* const headers = evhttp_request_get_input_headers(request);
    const auto header = [headers](const char* name) -> std::string {
      const char* const value = evhttp_find_header(headers, name);
      return value == nullptr ? "" : value;
    };
    evbuffer* const body = evhttp_request_get_input_buffer(request);
    std::string text(evbuffer_get_length(body), '\0');
    evbuffer_copyout(body, text.data(), text.size());
    int answer = 0;
    {
      absl::MutexLock lock(&mutex_);
      requests_.push_back({evhttp_request_get_uri(request), header("Host"),
                           header("Content-Type"), header("Authorization"),
                           text});
      answer = answers_[std::min(requests_.size(), answers_.size()) - 1];
    }
    if (answer != 0) evhttp_send_reply(request, answer, "so", nullptr);
  }

  const std::vector<int> answers_;
  ServerTls* const tls_;
  const StopSignal stop_;
  event_base* base_;
  evhttp* http_;
  event* stopping_;
  uint16_t port_ = 0;
  absl::Mutex mutex_;
  std::vector<Request> requests_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

absl::Status Post(const std::string& url, absl::Duration deadline = kPatience,
                  int stop = -1) {
  const auto parsed = ParseWebhookUrl(url);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return PostWebhook({*parsed, "s3cret", "{}", deadline}, stop);
}

TEST(PostWebhookTest, PostsJsonWithItsToken) {
  WebServer server({204});
  EXPECT_TRUE(Post(server.Url()).ok());
  const auto requests = server.requests();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].path, "/hook?a=b");
  EXPECT_EQ(requests[0].type, "application/json");
  EXPECT_EQ(requests[0].authorization, "Bearer s3cret");
  EXPECT_EQ(requests[0].body, "{}");
  EXPECT_THAT(requests[0].host, testing::StartsWith("127.0.0.1:"));
}

TEST(PostWebhookTest, TellsWhatIsWorthAnotherTryFromWhatIsNot) {
  WebServer server({500, 503, 429, 404, 301});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(absl::IsUnavailable(Post(server.Url())));
  }
  const absl::Status missing = Post(server.Url());
  EXPECT_TRUE(absl::IsFailedPrecondition(missing));
  EXPECT_EQ(missing.message(), "answered 404");
  EXPECT_TRUE(absl::IsFailedPrecondition(Post(server.Url())));
  EXPECT_THAT(server.requests(), SizeIs(5)) << "nothing is followed";
}

TEST(PostWebhookTest, NobodyThereIsWorthAnotherTry) {
  // Nobody else may take the port, and nobody listens there.
  const int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), length), 0);
  getsockname(taken, reinterpret_cast<sockaddr*>(&address), &length);
  const absl::Status status =
      Post(absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port), "/hook"));
  close(taken);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no connection"));
}

TEST(PostWebhookTest, EndsAtTheDeadlineAndWhenTheControllerStops) {
  WebServer silent({0});
  const absl::Status late = Post(silent.Url(), absl::Milliseconds(300));
  EXPECT_TRUE(absl::IsUnavailable(late)) << late;
  EXPECT_EQ(late.message(), "no answer in 300ms");
  const StopSignal stop;
  stop.Set();
  EXPECT_TRUE(absl::IsCancelled(Post(silent.Url(), kPatience, stop.fd())));
}

TEST(PostWebhookTest, AsksServersThatProveTheirName) {
  ServerTls tls("IP:127.0.0.1");
  tls.Trust();
  WebServer server({200}, &tls);
  const absl::Status status = Post(server.Url());
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST(PostWebhookTest, TellsNothingToAServerWithAnotherName) {
  ServerTls tls("DNS:hooks.example.com");
  tls.Trust();
  WebServer server({200}, &tls);
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const absl::Status status = Post(server.Url(host));
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("its certificate is not trusted: "));
  }
  EXPECT_THAT(server.requests(), SizeIs(0));
}

TEST(PostWebhookTest, TellsNothingToAServerOfAnUnknownAuthority) {
  ServerTls tls("IP:127.0.0.1");
  const ServerTls other("IP:127.0.0.1");
  other.Trust();
  WebServer server({200}, &tls);
  const absl::Status status = Post(server.Url());
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("its certificate is not trusted: "));
  EXPECT_THAT(server.requests(), SizeIs(0));
}

// A system whose CAs are not where OpenSSL looks, while none are named.
class SystemCaBundleTest : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("SSL_CERT_FILE");
    unsetenv("SSL_CERT_DIR");
    std::filesystem::remove_all(root_);
  }
  // Its place, for what is to be written there.
  std::string Make(const std::string& path) const {
    const std::string whole = root_ + path;
    std::filesystem::create_directories(
        std::filesystem::path(whole).parent_path());
    std::ofstream{whole};
    return whole;
  }

  const std::string root_ =
      absl::StrCat(testing::TempDir(), "/system.", getpid());
};

TEST_F(SystemCaBundleTest, IsTheFirstOneThatADistributionHas) {
  EXPECT_EQ(SystemCaBundle(root_), "");
  for (const char* const path :
       {"/etc/ssl/ca-bundle.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/certs/ca-certificates.crt"}) {
    const std::string bundle = Make(path);
    EXPECT_EQ(SystemCaBundle(root_), bundle);
  }
}

TEST_F(SystemCaBundleTest, IsNoneWhereOpenSslFindsItsOwnOrIsToldOne) {
  const std::string bundle = Make("/etc/pki/tls/certs/ca-bundle.crt");
  for (const char* const variable : {"SSL_CERT_FILE", "SSL_CERT_DIR"}) {
    setenv(variable, "/nowhere", 1);
    EXPECT_EQ(SystemCaBundle(root_), "") << variable;
    unsetenv(variable);
  }
  for (const char* const own :
       {X509_get_default_cert_file(), X509_get_default_cert_dir()}) {
    EXPECT_EQ(SystemCaBundle(root_), bundle);
    const std::string made = Make(own);
    EXPECT_EQ(SystemCaBundle(root_), "") << own;
    std::filesystem::remove(made);
  }
}

TEST_F(SystemCaBundleTest, IsWhatServersAreTrustedBy) {
  ServerTls tls("IP:127.0.0.1");
  tls.Write(Make("/etc/pki/tls/certs/ca-bundle.crt"));
  WebServer server({200}, &tls);
  const auto url = ParseWebhookUrl(server.Url());
  ASSERT_TRUE(url.ok()) << url.status();
  WebhookPost post{*url, "", "{}", kPatience};
  post.root = root_.c_str();
  const absl::Status status = PostWebhook(post, -1);
  EXPECT_TRUE(status.ok()) << status;
}

// How many SSL objects there are in this process.
std::atomic<int>* TlsObjects() {
  static std::atomic<int> count{0};
  static const int index = SSL_get_ex_new_index(
      0, nullptr,
      [](void*, void*, CRYPTO_EX_DATA*, int, long, void*) { ++count; }, nullptr,
      [](void*, void*, CRYPTO_EX_DATA*, int, long, void*) { --count; });
  EXPECT_GE(index, 0);
  return &count;
}

TEST(PostWebhookTest, KeepsNothingOfATryWhoseNameNobodyLooksUp) {
  const int nameserver = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(nameserver, reinterpret_cast<sockaddr*>(&address), length), 0);
  getsockname(nameserver, reinterpret_cast<sockaddr*>(&address), &length);
  const std::string conf =
      absl::StrCat(testing::TempDir(), "/resolv.conf.", getpid());
  std::ofstream(conf) << "nameserver 127.0.0.1:" << ntohs(address.sin_port)
                      << "\n";
  const std::atomic<int>* const kept = TlsObjects();
  const auto url = ParseWebhookUrl("https://hooks.example.com/");
  ASSERT_TRUE(url.ok()) << url.status();
  const absl::Status status =
      PostWebhook({*url, "", "{}", absl::Milliseconds(300), conf.c_str()}, -1);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(status.message(), "no answer in 300ms");
  char question = 0;
  EXPECT_EQ(recv(nameserver, &question, 1, MSG_DONTWAIT), 1);
  EXPECT_EQ(*kept, 0);
  close(nameserver);
}

VerdictNews FailNews(const std::string& run_id = "0123456789abcdef") {
  VerdictNews news;
  news.report.set_cluster("demo");
  news.report.set_schedule("links");
  news.report.set_run_id(run_id);
  news.report.set_verdict(FAIL);
  HostStatus* host = news.report.add_hosts();
  host->set_host("good");
  host->set_state(PASS);
  host = news.report.add_hosts();
  host->set_host("bad");
  host->set_state(FAIL);
  return news;
}

class NewsSenderTest : public testing::Test {
 protected:
  ClusterSpec ToUrl(const std::string& url) {
    ClusterSpec spec;
    Notifier* const to = spec.add_notify();
    to->set_url(url);
    to->set_deadline_ms(kLongMs);
    return spec;
  }

  void Send(const ClusterSpec& spec, VerdictNews news) {
    sender_.ReadSpec(spec);
    sender_.Send(std::move(news));
  }

  ManualScheduler scheduler_;
  CapturedLog log_;
  NewsSender sender_{&scheduler_, &log_};
};

TEST_F(NewsSenderTest, AProgramReadsTheNews) {
  const std::string file = absl::StrCat(testing::TempDir(), "/news.", getpid());
  ClusterSpec spec;
  Notifier* const to = spec.add_notify();
  for (const std::string& word :
       {std::string("/bin/sh"), std::string("-c"),
        absl::StrCat("cat > ", file, "; echo paged")}) {
    to->add_command(word);
  }
  to->set_deadline_ms(kLongMs);
  Send(spec, FailNews());
  ASSERT_TRUE(log_.WaitFor(
      "schedule links: fail, was pass (check 0123456789abcdef): told /bin/sh: "
      "paged"));
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  google::protobuf::Struct json;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(text.str(), &json).ok())
      << text.str();
  const auto& fields = json.fields();
  EXPECT_EQ(fields.at("cluster").string_value(), "demo");
  EXPECT_EQ(fields.at("schedule").string_value(), "links");
  EXPECT_EQ(fields.at("verdict_before").string_value(), "pass");
  EXPECT_EQ(fields.at("verdict").string_value(), "fail");
  const auto& report = fields.at("report").struct_value().fields();
  ASSERT_EQ(report.at("hosts").list_value().values_size(), 1);
  EXPECT_EQ(report.at("hosts")
                .list_value()
                .values(0)
                .struct_value()
                .fields()
                .at("host")
                .string_value(),
            "bad");
}

TEST_F(NewsSenderTest, AServerInTroubleIsAskedAgain) {
  WebServer server({500, 500, 200});
  Send(ToUrl(server.Url()), FailNews());
  for (const int seconds : {5, 30}) {
    ASSERT_TRUE(scheduler_.WaitForPending(1));
    EXPECT_EQ(scheduler_.UntilNext(), absl::Seconds(seconds));
    scheduler_.Advance(absl::Seconds(seconds));
  }
  ASSERT_TRUE(log_.WaitFor("told http://127.0.0.1:"));
  EXPECT_THAT(server.requests(), SizeIs(3));
  EXPECT_THAT(log_.Lines(), Not(HasSubstr("could not")));
}

TEST_F(NewsSenderTest, AServerThatIsAwayForLongIsToldWhenItIsBack) {
  WebServer server({500, 500, 500, 500, 500, 200});
  Send(ToUrl(server.Url()), FailNews());
  for (const int seconds : {5, 30, 120, 120, 120}) {
    ASSERT_TRUE(scheduler_.WaitForPending(1));
    EXPECT_EQ(scheduler_.UntilNext(), absl::Seconds(seconds));
    scheduler_.Advance(absl::Seconds(seconds));
  }
  ASSERT_TRUE(log_.WaitFor(": told http://127.0.0.1:"));
  EXPECT_THAT(server.requests(), SizeIs(6));
  const std::string lines = log_.Lines();
  EXPECT_THAT(lines, HasSubstr("yet, tried again every 2 minutes for a day: "));
  EXPECT_EQ(lines.find("yet"), lines.rfind("yet")) << lines;
}

TEST_F(NewsSenderTest, AServerIsToldOnceItsCertificateIsTrusted) {
  ServerTls tls("IP:127.0.0.1");
  const ServerTls other("IP:127.0.0.1");
  other.Trust();
  WebServer server({200}, &tls);
  Send(ToUrl(server.Url()), FailNews());
  ASSERT_TRUE(scheduler_.WaitForPending(1));
  EXPECT_THAT(server.requests(), SizeIs(0));
  tls.Trust();
  scheduler_.Advance(absl::Seconds(5));
  ASSERT_TRUE(log_.WaitFor(": told https://127.0.0.1:"));
  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST_F(NewsSenderTest, ATryWithoutEndIsGivenUpAfterADayAndLoggedOnce) {
  WebServer server({500});
  Send(ToUrl(server.Url()), FailNews());
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(scheduler_.WaitForPending(1));
    scheduler_.Advance(absl::Minutes(2));
  }
  ASSERT_TRUE(scheduler_.WaitForPending(1));
  EXPECT_THAT(log_.Lines(), Not(HasSubstr("could not")));
  scheduler_.Advance(absl::Hours(24));
  ASSERT_TRUE(log_.WaitFor("could not tell http://127.0.0.1:"));
  EXPECT_THAT(server.requests(), SizeIs(6));
  EXPECT_EQ(scheduler_.pending(), 0);
  const std::string lines = log_.Lines();
  EXPECT_EQ(lines.find("could not"), lines.rfind("could not")) << lines;
  EXPECT_THAT(lines, Not(HasSubstr("/hook")));
}

TEST_F(NewsSenderTest, ANotifierThatHangsInManySchedulesHoldsUpNoOther) {
  WebServer silent({0});
  WebServer server({200});
  ClusterSpec spec = ToUrl(silent.Url());
  *spec.add_notify() = ToUrl(server.Url()).notify(0);
  for (const char* schedule : {"a", "b", "c"}) {
    VerdictNews news = FailNews();
    news.report.set_schedule(schedule);
    Send(spec, std::move(news));
  }
  server.WaitForRequests(3);
  silent.WaitForRequests(1);
  EXPECT_THAT(silent.requests(), SizeIs(1)) << "one after the other";
  sender_.Stop();
}

TEST_F(NewsSenderTest, SchedulesOfOneNotifierTakeTurns) {
  WebServer server({500, 200});
  const ClusterSpec spec = ToUrl(server.Url());
  for (const char* schedule : {"a", "b", "c"}) {
    VerdictNews news = FailNews();
    news.report.set_schedule(schedule);
    Send(spec, std::move(news));
  }
  ASSERT_TRUE(
      log_.WaitFor("schedule c: fail, was pass (check "
                   "0123456789abcdef): told http://"));
  ASSERT_TRUE(scheduler_.WaitForPending(1));
  scheduler_.Advance(absl::Seconds(5));
  ASSERT_TRUE(
      log_.WaitFor("schedule a: fail, was pass (check "
                   "0123456789abcdef): told http://"));
}

TEST_F(NewsSenderTest, TheNewestOfWhatWaitsIsTold) {
  WebServer server({500, 200});
  const ClusterSpec spec = ToUrl(server.Url());
  Send(spec, FailNews("0000000000000001"));
  ASSERT_TRUE(scheduler_.WaitForPending(1));
  Send(spec, FailNews("0000000000000002"));
  Send(spec, FailNews("0000000000000003"));
  scheduler_.Advance(absl::Seconds(5));
  ASSERT_TRUE(log_.WaitFor("(check 0000000000000003): told"));
  const auto requests = server.requests();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_THAT(requests[1].body, HasSubstr("0000000000000003"));
  EXPECT_THAT(log_.Lines(), HasSubstr("(check 0000000000000001): could not "
                                      "tell"));
}

TEST_F(NewsSenderTest, TheTokenIsReadForEachTryAndNeverLogged) {
  const std::string file =
      absl::StrCat(testing::TempDir(), "/token.", getpid());
  std::ofstream(file) << "first\n";
  WebServer server({500, 200});
  ClusterSpec spec = ToUrl(server.Url());
  spec.mutable_notify(0)->set_token_file(file);
  Send(spec, FailNews());
  ASSERT_TRUE(scheduler_.WaitForPending(1));
  std::ofstream(file) << "second\n";
  scheduler_.Advance(absl::Seconds(5));
  ASSERT_TRUE(log_.WaitFor("told http://"));
  const auto requests = server.requests();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[0].authorization, "Bearer first");
  EXPECT_EQ(requests[1].authorization, "Bearer second");
  std::ofstream(file) << "two words\n";
  Send(spec, FailNews());
  ASSERT_TRUE(log_.WaitFor("is no token, expected one line"));
  EXPECT_THAT(server.requests(), SizeIs(2));
  EXPECT_THAT(log_.Lines(), Not(HasSubstr("words")));
}

TEST_F(NewsSenderTest, WhatIsLeftOfACorrectedNotifierIsToldTheNewOneAlone) {
  WebServer wrong({500});
  WebServer right({200});
  WebServer other({200});
  ClusterSpec spec = ToUrl(wrong.Url());
  *spec.add_notify() = ToUrl(other.Url()).notify(0);
  Send(spec, FailNews());
  ASSERT_TRUE(scheduler_.WaitForPending(1));
  sender_.ReadSpec(spec);
  *spec.mutable_notify(0) = ToUrl(right.Url()).notify(0);
  sender_.ReadSpec(spec);
  right.WaitForRequests(1);
  EXPECT_THAT(right.requests()[0].body, HasSubstr("0123456789abcdef"));
  scheduler_.Advance(absl::Seconds(5));
  ASSERT_TRUE(log_.WaitFor(": cluster.yaml has it no more"));
  EXPECT_THAT(wrong.requests(), SizeIs(1));
  EXPECT_EQ(scheduler_.pending(), 0);
  // What still waits for its turn would be replaced by what is newer.
  other.WaitForRequests(1);
  sender_.Send(FailNews("0000000000000002"));
  right.WaitForRequests(2);
  other.WaitForRequests(2);
  EXPECT_THAT(right.requests(), SizeIs(2));
  EXPECT_THAT(other.requests()[1].body, HasSubstr("0000000000000002"));
  EXPECT_THAT(wrong.requests(), SizeIs(1));
}

TEST_F(NewsSenderTest, ANotifierThatIsBeingToldWhenItGoesIsNotAskedAgain) {
  auto silent = std::make_unique<WebServer>(std::vector<int>{0});
  WebServer right({200});
  Send(ToUrl(silent->Url()), FailNews());
  silent->WaitForRequests(1);
  sender_.ReadSpec(ToUrl(right.Url()));
  right.WaitForRequests(1);
  silent.reset();
  ASSERT_TRUE(log_.WaitFor(": could not tell http://127.0.0.1:"));
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(NewsSenderTest, StopsWhileANotifierHangs) {
  WebServer server({0});
  Send(ToUrl(server.Url()), FailNews());
  server.WaitForRequests(1);
  sender_.Stop();
  EXPECT_THAT(log_.Lines(), HasSubstr("the controller is stopping"));
}

}  // namespace
}  // namespace clusterd
