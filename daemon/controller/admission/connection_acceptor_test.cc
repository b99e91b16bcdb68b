#include "daemon/controller/admission/connection_acceptor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/controller/admission/connection_state.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// Has no methods, except one call that lasts until its connection ends.
class OneMethod final : public grpc::CallbackGenericService {
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Call(bool stays) : stays_(stays) {
      if (!stays) Finish({grpc::StatusCode::UNIMPLEMENTED, ""});
    }
    void OnCancel() override {
      if (stays_) Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    const bool stays_;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    const bool stays = context->method() == "/that/Stays";
    if (stays) {
      absl::MutexLock lock(&mutex_);
      ++staying_;
    }
    return new Call(stays);
  }

 public:
  bool WaitStaying(int calls) {
    absl::MutexLock lock(&mutex_);
    const auto reached = [this, calls]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return staying_ >= calls;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&reached), kPatience);
  }

 private:
  absl::Mutex mutex_;
  int staying_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A server; a call that it answers with UNIMPLEMENTED was served.
class Served {
 public:
  explicit Served(AcceptorOptions options, bool tls = false) {
    options.tls = tls;
    if (options.listen.empty()) options.listen = "127.0.0.1:0";
    acceptor_ = ConnectionAcceptor::Listen(options, &log_).value();
    grpc::ServerBuilder builder;
    acceptor_->Serve(&builder, grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    acceptor_->Open();
  }
  ~Served() {
    acceptor_->Close();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  ConnectionAcceptor& acceptor() { return *acceptor_; }
  CapturedLog& log() { return log_; }
  OneMethod& method() { return service_; }

  // Uses a new connection.
  grpc::StatusCode Call(const std::string& host) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    grpc::GenericStub stub(grpc::CreateCustomChannel(
        absl::StrCat(host, ":", acceptor_->port()),
        grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    context.set_deadline(PatientDeadline());
    grpc::CompletionQueue queue;
    const grpc::ByteBuffer nothing(nullptr, 0);
    const auto call =
        stub.PrepareUnaryCall(&context, "/no/Method", nothing, &queue);
    call->StartCall();
    grpc::ByteBuffer answer;
    grpc::Status status;
    call->Finish(&answer, &status, &queue);
    void* tag = nullptr;
    bool good = false;
    queue.Next(&tag, &good);
    queue.Shutdown();
    while (queue.Next(&tag, &good)) continue;
    return status.error_code();
  }

 private:
  CapturedLog log_;
  OneMethod service_;
  std::unique_ptr<ConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

// The client's preface of HTTP/2 (RFC 9113, 3.4), with empty SETTINGS.
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const std::string kSettings("\0\0\0\4\0\0\0\0\0", 9);

class RawClient {
 public:
  explicit RawClient(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  }
  ~RawClient() { Leave(); }

  void Leave() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  std::string Name() const {
    sockaddr_storage own = {};
    socklen_t size = sizeof(own);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &size), 0);
    return PeerName(own);
  }
  bool Send(const std::string& bytes) {
    return send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0;
  }
  // Waits until the server has sent something.
  bool Hears() {
    char bytes[64];
    return HasNews() && recv(fd_, bytes, sizeof(bytes), 0) > 0;
  }
  // Begins HTTP/2 and waits until gRPC has answered: from then on a handshake
  // is under way, which a call would end.
  bool TakesAPlace() {
    return Send(absl::StrCat(kPreface, kSettings)) && Hears();
  }
  // Waits until the server has closed, whatever it sends before.
  bool WaitClosed() {
    while (HasNews()) {
      char bytes[4096];
      if (recv(fd_, bytes, sizeof(bytes), 0) <= 0) return true;
    }
    return false;
  }

 private:
  bool HasNews() const {
    pollfd waiting = {fd_, POLLIN, 0};
    const int most = static_cast<int>(absl::ToInt64Milliseconds(kPatience));
    return poll(&waiting, 1, most) == 1;
  }

  int fd_;
};

AcceptorOptions OneCallAtMost() {
  AcceptorOptions options;
  options.calls = 0;
  return options;
}

class ConnectionAcceptorTest : public testing::Test {
 protected:
  AcceptorOptions options_;
};

TEST_F(ConnectionAcceptorTest, ServesIpv4AndIpv6) {
  options_.listen = "[::]:0";
  Served served(options_);
  for (const char* host : {"127.0.0.1", "[::1]"}) {
    EXPECT_EQ(served.Call(host), grpc::StatusCode::UNIMPLEMENTED) << host;
  }
}

// A call can be cut only if its connection is found by the peer's name.
TEST_F(ConnectionAcceptorTest, NamesPeersAsGrpcDoes) {
  AcceptorOptions options = OneCallAtMost();
  options.listen = ":0";
  Served served(options);
  for (const char* host : {"127.0.0.1", "[::1]"}) {
    EXPECT_EQ(served.Call(host), grpc::StatusCode::UNAVAILABLE) << host;
  }
  EXPECT_THAT(served.log().Lines(), HasSubstr("more calls at once"));
}

TEST_F(ConnectionAcceptorTest, DisconnectsPeersThatSendMoreThanAHandshake) {
  options_.bytes = {1000, 0};
  Served served(options_);
  RawClient peer(served.acceptor().port());
  // The HTTP/2 preface and empty SETTINGS; then WINDOW_UPDATE of the connection
  // by 1, which is always valid and harmless (RFC 9113, 6.9).
  EXPECT_TRUE(peer.TakesAPlace());
  std::string updates;
  for (int i = 0; i < 100; ++i) {
    updates += std::string("\0\0\4\10\0\0\0\0\0\0\0\0\1", 13);
  }
  peer.Send(updates);
  EXPECT_TRUE(peer.WaitClosed());
  EXPECT_TRUE(served.log().WaitFor("more bytes than a connection may send"));
}

// HTTP/2 windows do not bound endless headers.
TEST_F(ConnectionAcceptorTest, DisconnectsPeersThatSendMuchUnanswered) {
  options_.unanswered = 64 << 10;
  Served served(options_);
  RawClient peer(served.acceptor().port());
  ASSERT_TRUE(peer.TakesAPlace());
  // HEADERS of stream 1 without END_HEADERS, then CONTINUATION: a header of
  // 16 MiB (RFC 7541, 6.2.2 and 5.1) that has only begun.
  std::string begun("\0\1\170\x7f\x81\xff\xff\7", 8);
  peer.Send(std::string("\0\0\10\1\0\0\0\0\1", 9) + begun);
  const std::string more =
      std::string("\0\x40\0\x9\0\0\0\0\1", 9) + std::string(16384, 'a');
  int sent = 0;
  while (sent < 10000 && peer.Send(more)) ++sent;
  EXPECT_LT(sent, 10000);
  EXPECT_TRUE(served.log().WaitFor("without an answer"));
}

// Looks like the beginning of a TLS ClientHello of this many bytes.
std::string HelloOf(size_t bytes) {
  const auto two = [](size_t number) {
    return std::string{static_cast<char>(number >> 8),
                       static_cast<char>(number)};
  };
  return absl::StrCat("\x16\3\1", two(bytes + 4), std::string("\1\0", 2),
                      two(bytes), std::string(bytes, 'h'));
}

TEST_F(ConnectionAcceptorTest, HalfAHelloTakesNoPlaceOfAHandshake) {
  options_.admission.handshakes = 1;
  options_.admission.longest = absl::Hours(1);
  Served served(options_, /*tls=*/true);
  const std::string hello = HelloOf(300);
  std::vector<std::unique_ptr<RawClient>> halves;
  for (const size_t bytes :
       {size_t{1}, size_t{5}, size_t{8}, size_t{9}, hello.size() - 1}) {
    halves.push_back(std::make_unique<RawClient>(served.acceptor().port()));
    halves.back()->Send(hello.substr(0, bytes));
  }
  // The server behind has no TLS, and greets every admitted connection.
  RawClient whole(served.acceptor().port());
  whole.Send(hello);
  EXPECT_TRUE(whole.Hears());
  EXPECT_TRUE(whole.WaitClosed());
  // The rest still arrives in time.
  halves.back()->Send(hello.substr(hello.size() - 1));
  EXPECT_TRUE(halves.back()->Hears());
}

TEST_F(ConnectionAcceptorTest, WhoDoesNotBeginTlsIsClosedAtOnce) {
  options_.silence = absl::Hours(1);
  Served served(options_, /*tls=*/true);
  std::string fragment = HelloOf(300);
  fragment[7] = 2;  // A message that goes on in another record.
  std::string other = HelloOf(300);
  other[5] = 2;  // ServerHello.
  for (const std::string& text :
       {std::string(kPreface), std::string("\x80\x2e\1\3\1", 5), fragment,
        other, HelloOf(20000)}) {
    RawClient peer(served.acceptor().port());
    peer.Send(text);
    EXPECT_TRUE(peer.WaitClosed());
  }
  EXPECT_TRUE(served.log().WaitFor("does not begin TLS"));
}

TEST_F(ConnectionAcceptorTest, WhoFallsSilentAmidAHandshakeMakesRoom) {
  options_.admission.handshakes = 1;
  options_.admission.longest = absl::Hours(1);
  options_.stalled = absl::Milliseconds(50);
  Served served(options_);
  RawClient one(served.acceptor().port());
  ASSERT_TRUE(one.TakesAPlace());
  EXPECT_EQ(served.Call("127.0.0.1"), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(one.WaitClosed());
  EXPECT_TRUE(served.log().WaitFor("silent amid a handshake"));
}

// A header without indexing (RFC 7541, 6.2.2).
std::string Header(const std::string& name, const std::string& value) {
  std::string header(1, '\0');
  for (const std::string& text : {name, value}) {
    header += static_cast<char>(text.size());
    header += text;
  }
  return header;
}

TEST(OpenStreamsTest, CountsCallsThatHaveOnlyBegun) {
  Served served({});
  RawClient peer(served.acceptor().port());
  OpenStreams streams;
  EXPECT_EQ(streams.Count(peer.Name(), 0).open, 0);
  const std::string headers =
      Header(":method", "POST") + Header(":scheme", "http") +
      Header(":path", "/that/Stays") + Header(":authority", "here") +
      Header("content-type", "application/grpc") + Header("te", "trailers");
  std::string bytes = absl::StrCat(kPreface, kSettings);
  for (char stream : {1, 3, 5}) {
    // HEADERS, with END_HEADERS and without END_STREAM.
    bytes += std::string("\0\0", 2) + static_cast<char>(headers.size()) +
             std::string("\1\4\0\0\0", 5) + stream + headers;
  }
  peer.Send(bytes);
  ASSERT_TRUE(served.method().WaitStaying(3));
  EXPECT_EQ(streams.Count(peer.Name(), 1).open, 3);
  EXPECT_EQ(streams.Count("ipv4:127.0.0.1:1", 1).open, 0);
  // RST_STREAM, CANCEL.
  std::string resets;
  for (char stream : {1, 3, 5}) {
    resets += std::string("\0\0\4\3\0\0\0\0", 8) + stream +
              std::string("\0\0\0\x08", 4);
  }
  peer.Send(resets);
  EXPECT_TRUE(
      WaitUntil([&] { return streams.Count(peer.Name(), 1).open == 0; }));
  EXPECT_EQ(streams.Count(peer.Name(), 1).begun, 3u);
}

TEST_F(ConnectionAcceptorTest, SilentOnesMakeRoomForWhoWaits) {
  options_.admission.handshakes = 2;
  options_.admission.longest = absl::Milliseconds(50);
  Served served(options_);
  RawClient one(served.acceptor().port());
  RawClient two(served.acceptor().port());
  for (RawClient* client : {&one, &two}) client->Send("P");
  EXPECT_EQ(served.Call("127.0.0.1"), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(one.WaitClosed());
}

TEST_F(ConnectionAcceptorTest, WhoSaysNothingHoldsNobodyUp) {
  options_.admission.handshakes = 1;
  options_.silence = absl::Hours(1);
  Served served(options_);
  RawClient one(served.acceptor().port());
  RawClient two(served.acceptor().port());
  EXPECT_EQ(served.Call("127.0.0.1"), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(ConnectionAcceptorTest, WhoSaysNothingIsClosedInTheEnd) {
  options_.silence = absl::Milliseconds(50);
  Served served(options_);
  RawClient one(served.acceptor().port());
  RawClient two(served.acceptor().port());
  EXPECT_TRUE(one.WaitClosed());
  EXPECT_TRUE(two.WaitClosed());
}

TEST_F(ConnectionAcceptorTest, OfTooManyThatSayNothingTheOldestIsClosed) {
  options_.admission.waiting = 1;
  Served served(options_);
  RawClient one(served.acceptor().port());
  RawClient two(served.acceptor().port());
  EXPECT_TRUE(one.WaitClosed());
}

TEST_F(ConnectionAcceptorTest, WhoWaitsAndLeavesIsForgotten) {
  options_.admission.handshakes = 1;
  options_.admission.longest = absl::Hours(1);
  options_.stalled = absl::Hours(1);
  Served served(options_);
  RawClient first(served.acceptor().port());
  ASSERT_TRUE(first.TakesAPlace());
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<RawClient>(served.acceptor().port()));
    clients.back()->Send("P");
  }
  ASSERT_TRUE(WaitUntil([&] { return served.acceptor().waiting() == 20; }));
  clients.clear();
  EXPECT_TRUE(WaitUntil([&] { return served.acceptor().waiting() == 0; }));
  first.Leave();
  EXPECT_EQ(served.Call("127.0.0.1"), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(ConnectionAcceptorTest, WhoWaitsIsClosedWhenNobodyIsAcceptedAnyMore) {
  options_.admission.handshakes = 1;
  options_.admission.longest = absl::Hours(1);
  options_.stalled = absl::Hours(1);
  Served served(options_);
  RawClient first(served.acceptor().port());
  ASSERT_TRUE(first.TakesAPlace());
  RawClient waiting(served.acceptor().port());
  waiting.Send("P");
  ASSERT_TRUE(WaitUntil([&] { return served.acceptor().waiting() == 1; }));
  served.acceptor().Close();
  EXPECT_TRUE(waiting.WaitClosed());
}

TEST_F(ConnectionAcceptorTest, AddressInUseIsNamedWithItsOption) {
  Served served({});
  AcceptorOptions options;
  options.listen = absl::StrCat("127.0.0.1:", served.acceptor().port());
  CapturedLog log;
  const auto second = ConnectionAcceptor::Listen(options, &log);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr("--listen"));
  EXPECT_THAT(second.status().message(), HasSubstr("another program"));
  for (const char* wrong : {"nowhere", "10.300.0.1:80", "127.0.0.1:port"}) {
    options.listen = wrong;
    EXPECT_FALSE(ConnectionAcceptor::Listen(options, &log).ok()) << wrong;
  }
}

sockaddr_storage Address(const char* text, int port) {
  sockaddr_storage address = {};
  auto& in = reinterpret_cast<sockaddr_in&>(address);
  auto& in6 = reinterpret_cast<sockaddr_in6&>(address);
  if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
    in.sin_family = AF_INET;
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    in6.sin6_family = AF_INET6;
  }
  in.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

TEST(PeerNetworkTest, IsAnIpv4AddressOrTheFirstHalfOfAnIpv6One) {
  const std::string one = PeerNetwork(Address("192.0.2.1", 1));
  EXPECT_EQ(one, PeerNetwork(Address("::ffff:192.0.2.1", 2)));
  EXPECT_NE(one, PeerNetwork(Address("192.0.2.2", 1)));
  EXPECT_EQ(PeerNetwork(Address("2001:db8::1", 1)),
            PeerNetwork(Address("2001:db8::ffff:1", 1)));
  EXPECT_NE(PeerNetwork(Address("2001:db8::1", 1)),
            PeerNetwork(Address("2001:db8:1::1", 1)));
}

TEST(UnansweredBytesTest, CountsWhatNothingWasSentFor) {
  UnansweredBytes bytes;
  EXPECT_EQ(bytes.Take(1000, 0), 0u);  // The kernel does not report it.
  EXPECT_EQ(bytes.Take(1100, 500), 0u);
  EXPECT_EQ(bytes.Take(1600, 500), 500u);
  EXPECT_EQ(bytes.Take(2000, 500), 900u);
  EXPECT_EQ(bytes.Take(2500, 513), 0u);
  EXPECT_EQ(bytes.Take(2501, 513), 1u);
}

}  // namespace
}  // namespace clusterd
