// A peer that violates gRPC or HTTP/2 is dropped before it affects others.
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/controller/trust/enrolment_process.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "openssl/ssl.h"
#include "proto/trust.grpc.pb.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kDescribeHost[] = "/clusterd.Controller/DescribeHost";
// HTTP/2 constants: RFC 9113, section 6.
constexpr uint8_t kData = 0;
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kReset = 3;
constexpr uint8_t kSettings = 4;
constexpr uint8_t kContinuation = 9;
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kAck = 1;
constexpr uint8_t kEndHeaders = 4;
constexpr size_t kLargestFrame = 16384;
// More than a stranger can send before even a busy machine drops it.
constexpr size_t kMost = size_t{256} << 20;
// kPatience: by then a server has read more or closed the connection.
constexpr timeval kUntilItIsClosed = {120, 0};

std::string Frame(uint8_t type, uint8_t flags, uint32_t stream,
                  absl::string_view payload) {
  std::string frame;
  for (int shift : {16, 8, 0}) {
    frame.push_back(static_cast<char>(payload.size() >> shift));
  }
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  for (int shift : {24, 16, 8, 0}) {
    frame.push_back(static_cast<char>(stream >> shift));
  }
  return absl::StrCat(frame, payload);
}

// A header outside the table (RFC 7541, 6.2.2) with under 127 bytes.
std::string Literal(absl::string_view name, absl::string_view value) {
  std::string header(1, '\0');
  for (const absl::string_view text : {name, value}) {
    header.push_back(static_cast<char>(text.size()));
    absl::StrAppend(&header, text);
  }
  return header;
}

std::string CallHeaders(const char* path = kDescribeHost) {
  return absl::StrCat(
      Literal(":method", "POST"), Literal(":scheme", "https"),
      Literal(":path", path), Literal(":authority", "controller"),
      Literal("content-type", "application/grpc"), Literal("te", "trailers"));
}

sockaddr_in Loopback(int last, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr =
      htonl(INADDR_LOOPBACK - 1 + static_cast<uint32_t>(last));
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// A connection of 127.0.0.`last` that begins TLS and stops there.
class HalfHello {
 public:
  HalfHello(const std::string& address, int last)
      : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in from = Loopback(last, 0);
    const sockaddr_in to = Loopback(1, PortOf(address));
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&from), sizeof(from)),
              0);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)),
              0);
    // A record of 512 bytes (RFC 8446, 5.1), of which 100 come.
    const std::string half =
        std::string("\x16\3\1\2\0\1\0\1\xfc", 9) + std::string(100, 'h');
    EXPECT_EQ(send(fd_, half.data(), half.size(), 0),
              static_cast<ssize_t>(half.size()));
  }
  ~HalfHello() { close(fd_); }
  HalfHello(const HalfHello&) = delete;
  HalfHello& operator=(const HalfHello&) = delete;

  // True if the other side has received all of it.
  bool is_acknowledged() const {
    return WaitUntil([this] {
      int unsent = 1;
      return ioctl(fd_, SIOCOUTQ, &unsent) == 0 && unsent == 0;
    });
  }

 private:
  const int fd_;
};

// One connection that sends any bytes, over TLS.
class RawConnection {
 public:
  // The connection comes from 127.0.0.`last`. Without files it shows no
  // certificate. If a server takes nothing for `patience`, it has stopped
  // reading.
  RawConnection(const std::string& address, const TlsFiles& files, int last = 1,
                const timeval& patience = {5, 0})
      : context_(SSL_CTX_new(TLS_client_method())),
        fd_(socket(AF_INET, SOCK_STREAM, 0)),
        tls_(SSL_new(context_)) {
    // Otherwise some kernels would buffer megabytes.
    const int held_bytes = 64 << 10;
    setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &held_bytes, sizeof(held_bytes));
    const sockaddr_in from = Loopback(last, 0);
    const sockaddr_in to = Loopback(1, PortOf(address));
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&from), sizeof(from)),
              0);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)),
              0);
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    static constexpr unsigned char kH2[] = {2, 'h', '2'};
    EXPECT_EQ(SSL_set_alpn_protos(tls_, kH2, sizeof(kH2)), 0);
    if (!files.certificate.empty()) {
      EXPECT_EQ(SSL_use_certificate_chain_file(tls_, files.certificate.c_str()),
                1);
      EXPECT_EQ(
          SSL_use_PrivateKey_file(tls_, files.key.c_str(), SSL_FILETYPE_PEM),
          1);
    }
    SSL_set_fd(tls_, fd_);
    opened_ = SSL_connect(tls_) == 1 &&
              Send(absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                                Frame(kSettings, 0, 0, "")));
    EXPECT_TRUE(opened_ || files.certificate.empty());
  }
  ~RawConnection() {
    SSL_free(tls_);
    close(fd_);
    SSL_CTX_free(context_);
  }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  // False: the server refused the connection.
  bool opened() const { return opened_; }

  // False once the other side has closed, or does not read.
  bool Send(absl::string_view bytes) {
    return SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size())) ==
           static_cast<int>(bytes.size());
  }

  // Reads until the words arrive; false: the other side has closed before.
  bool Hears(absl::string_view words) {
    std::string heard;
    char some[4096];
    while (!absl::StrContains(heard, words)) {
      const int size = SSL_read(tls_, some, sizeof(some));
      if (size <= 0) return false;
      heard.append(some, static_cast<size_t>(size));
    }
    return true;
  }

 private:
  SSL_CTX* const context_;
  const int fd_;
  SSL* const tls_;
  bool opened_ = false;
};

// Begins and resets calls until that is refused or `most` bytes are sent.
// Returns the number of bytes.
size_t BeginAndReset(RawConnection* peer, const char* path, size_t most) {
  const std::string headers = CallHeaders(path);
  const std::string cancel("\0\0\0\x08", 4);
  size_t sent = 0;
  for (uint32_t stream = 1; sent < most; stream += 200) {
    std::string frames;
    for (uint32_t each = stream; each < stream + 200; each += 2) {
      absl::StrAppend(&frames, Frame(kHeaders, kEndHeaders, each, headers),
                      Frame(kReset, 0, each, cancel));
    }
    if (!peer->Send(frames)) break;
    sent += frames.size();
  }
  return sent;
}

// `what`: VmRSS or VmHWM.
size_t MemoryOf(const std::string& process, const std::string& what) {
  std::ifstream status("/proc/" + process + "/status");
  for (std::string line; std::getline(status, line);) {
    size_t kilobytes = 0;
    if (absl::StartsWith(line, what) &&
        absl::SimpleAtoi(
            absl::StripSuffix(line.substr(line.find(':') + 1), " kB"),
            &kilobytes)) {
      return kilobytes << 10;
    }
  }
  ADD_FAILURE() << process << " has no " << what;
  return 0;
}

class WireTest : public testing::Test {
 protected:
  explicit WireTest(bool joins = false) {
    if (joins) options_ = TrustedOptions(certificates_);
    // Raw peers answer no pings: a slow machine must not end them for that.
    options_.keepalive_time = absl::Hours(1);
    controller_ = std::make_unique<TestController>(&certificates_, 1,
                                                   &scheduler_, options_);
    controller_->Start();
    host_ = std::make_unique<RawHost>(controller_->address(),
                                      certificates_.Host("server0"));
    EXPECT_TRUE(host_->Attach());
  }

  // Call it while the peer is still connected.
  void ExpectServesOthers() {
    ListHostsResponse response;
    const grpc::Status listed =
        controller_->Client()->ListHosts(NewContext().get(), {}, &response);
    ASSERT_TRUE(listed.ok()) << listed.error_message();
    EXPECT_TRUE(response.hosts(0).attached());
    EXPECT_THAT(controller_->log().Lines(), Not(HasSubstr("detached")));
  }

  // Waits until the acceptor has read the counters of all connections: it does
  // so before it logs an ended connection without a call.
  void WaitForSweep() {
    RawConnection(controller_->address(), certificates_.User("bob"));
    EXPECT_TRUE(controller_->log().WaitFor("TLS handshake with"));
  }

  TestCertificates certificates_;
  ThreadScheduler scheduler_;
  ControllerServerOptions options_;
  std::unique_ptr<TestController> controller_;
  std::unique_ptr<RawHost> host_;
};

// Sends headers until it is dropped; expects that soon.
void FloodHeaders(RawConnection* peer, uint32_t stream) {
  ASSERT_TRUE(peer->Send(Frame(kHeaders, 0, stream, CallHeaders())));
  std::string block;
  while (block.size() + 130 < kLargestFrame) {
    block += Literal("x-flood", std::string(110, 'a'));
  }
  const std::string more = Frame(kContinuation, 0, stream, block);
  size_t sent = 0;
  const absl::Time began = absl::Now();
  while (sent < (size_t{1} << 30) && peer->Send(more)) sent += more.size();
  // The allowed amount, the allowed rate, and the kernel's buffers.
  const double seconds = absl::ToDoubleSeconds(absl::Now() - began);
  EXPECT_LT(static_cast<double>(sent),
            (24 << 20) + seconds * kMaxMessageBytes / 5);
}

TEST_F(WireTest, RefusesHeadersWithoutAnEnd) {
  RawConnection peer(controller_->address(), certificates_.User("eve"),
                     /*last=*/1, kUntilItIsClosed);
  FloodHeaders(&peer, 1);
  EXPECT_TRUE(controller_->log().WaitFor("without an answer"));
  ExpectServesOthers();
}

TEST_F(WireTest, RefusesHeadersWithoutAnEndAfterAGoodCallToo) {
  RawConnection peer(controller_->address(), certificates_.User("eve"),
                     /*last=*/1, kUntilItIsClosed);
  ASSERT_TRUE(peer.Send(absl::StrCat(
      Frame(kHeaders, kEndHeaders, 1, CallHeaders()),
      Frame(kData, kEndStream, 1, absl::string_view("\0\0\0\0\0", 5)))));
  ASSERT_TRUE(peer.Hears("grpc-status"));
  FloodHeaders(&peer, 3);
  EXPECT_TRUE(controller_->log().WaitFor("without an answer"));
  ExpectServesOthers();
}

// The most expensive headers: gRPC reads a string from its beginning with each
// frame. The time grows with the square of the allowed size; the test measures
// the size, since the time depends on the machine.
TEST_F(WireTest, HeaderInTinyFramesIsRefusedAfterAMegabyteAndAHalf) {
  RawConnection peer(controller_->address(), certificates_.User("eve"));
  std::signal(SIGPIPE, SIG_IGN);
  // Now the server sends nothing on its own, and the acceptor knows it.
  ASSERT_TRUE(peer.Hears(Frame(kSettings, kAck, 0, "")));
  WaitForSweep();
  // The value of the last header has 512 MiB.
  const std::string begins = absl::StrCat(
      CallHeaders(), std::string("\0\7x-flood\x7f\x81\xff\xff\xff\1", 15));
  ASSERT_TRUE(peer.Send(Frame(kHeaders, 0, 1, begins)));
  // Frames at its end cost most, so only those are small.
  const std::string large =
      Frame(kContinuation, 0, 1, std::string(kLargestFrame, 'a'));
  std::string small;
  while (small.size() < kLargestFrame) {
    small += Frame(kContinuation, 0, 1, "aaaaaaaaa");
  }
  constexpr size_t kInLargeFrames = size_t{23} << 16;
  constexpr size_t kInAll = size_t{7} << 18;
  size_t sent = 0;
  EXPECT_TRUE(WaitUntil([&] {
    const std::string& more = sent < kInLargeFrames ? large : small;
    if (sent < kInAll && peer.Send(more)) sent += more.size();
    return absl::StrContains(controller_->log().Lines(), "without an answer");
  })) << sent;
  // A valid call may send 1 MiB and 64 KiB before it is answered.
  EXPECT_GT(sent, size_t{17} << 16);
  ExpectServesOthers();
}

// A client that sends half a ClientHello delays only itself.
TEST_F(WireTest, HalfHellosOfManyAddressesKeepNoHostWaiting) {
  controller_->Stop();
  options_.admission.handshakes = 8;
  options_.admission.longest = absl::Hours(1);
  controller_ = std::make_unique<TestController>(&certificates_, 2, &scheduler_,
                                                 options_);
  controller_->Start();
  std::vector<std::unique_ptr<HalfHello>> halves;
  for (int i = 0; i < 64; ++i) {
    halves.push_back(
        std::make_unique<HalfHello>(controller_->address(), 2 + i % 16));
  }
  for (const auto& half : halves) ASSERT_TRUE(half->is_acknowledged());
  RawHost host(controller_->address(), certificates_.Host("server1"));
  EXPECT_TRUE(host.Attach());
  EXPECT_THAT(controller_->log().Lines(), Not(HasSubstr("cut off")));
}

TEST_F(WireTest, DisconnectsAboveTheCallLimitOfAConnection) {
  RawConnection peer(controller_->address(), certificates_.User("eve"),
                     /*last=*/1, kUntilItIsClosed);
  const std::string headers = CallHeaders();
  // gRPC 1.51 does not hold a client to settings that it never acknowledges.
  // It also does not report a call before its message arrives.
  uint32_t stream = 1;
  while (stream < 400000 &&
         peer.Send(Frame(kHeaders, kEndHeaders, stream, headers))) {
    stream += 2;
  }
  EXPECT_LT(stream, 100000u);
  ExpectServesOthers();
}

TEST_F(WireTest, EndsConnectionsThatBeginAndResetCalls) {
  RawConnection peer(controller_->address(), certificates_.User("eve"),
                     /*last=*/1, kUntilItIsClosed);
  // Far below its byte limit plus the kernels' buffers.
  constexpr size_t kFew = size_t{16} << 20;
  EXPECT_LT(BeginAndReset(&peer, kDescribeHost, kFew), kFew);
  EXPECT_TRUE(controller_->log().WaitFor("cut off: more calls"));
  ExpectServesOthers();
}

class StrangersTest : public WireTest {
 protected:
  StrangersTest() : WireTest(/*joins=*/true) {
    CreateTokenRequest request;
    request.set_ttl_ms(3600'000);
    const TlsFiles admin = certificates_.User("ann", Role::kAdmin);
    const grpc::Status status =
        Trust::NewStub(controller_->ChannelAs(admin))
            ->CreateToken(NewContext().get(), request, &token_);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }

  std::string address() const {
    return absl::StrCat("127.0.0.1:", token_.enrol_port());
  }
  // Asks like any host.
  grpc::Status AskForRoots() {
    const auto context = NewContext();
    context->set_deadline(PatientDeadline());
    context->set_wait_for_ready(true);
    RootsResponse roots;
    return Enrolment::NewStub(
               grpc::CreateChannel(
                   address(),
                   MakeChannelCredentialsFromRoots(
                       certificates_.authority().certificate_pem(), "test")))
        ->Roots(context.get(), {}, &roots);
  }

  CreateTokenResponse token_;
};

TEST_F(StrangersTest, CallsBegunAndTakenBackCostTheControllerNothing) {
  ASSERT_TRUE(AskForRoots().ok());
  const size_t before = MemoryOf("self", "VmRSS");
  std::vector<std::thread> strangers;
  std::atomic<size_t> most{0};
  std::atomic<bool> all_sent{false};
  for (int i = 0; i < 60; ++i) {
    strangers.emplace_back([this, &most] {
      RawConnection peer(address(), TlsFiles());
      if (!peer.opened()) return;
      const size_t sent =
          BeginAndReset(&peer, "/clusterd.Enrolment/Join", kMost);
      size_t other = most;
      while (other < sent && !most.compare_exchange_weak(other, sent)) continue;
    });
  }
  // Runs during all of that.
  std::thread user([this, &all_sent] {
    do {
      ExpectServesOthers();
    } while (!all_sent);
  });
  for (std::thread& stranger : strangers) stranger.join();
  all_sent = true;
  user.join();
  EXPECT_GT(most, 0u);
  EXPECT_LT(most, kMost);
  // Without its own process the port would take 1,000 MiB here. The strangers
  // are in this process too, and a sanitizer multiplies their memory.
  const size_t growth = size_t{kBoundsMemory ? 64 : 512} << 20;
  EXPECT_LT(MemoryOf("self", "VmRSS"), before + growth);
  EXPECT_TRUE(AskForRoots().ok());
  // With many cores it may be a new process by now, since it ends at its bound.
  // The bound is for its data; libraries and the program are extra.
  if (kBoundsMemory) {
    const std::string process = EnrolmentProcess();
    EXPECT_LT(MemoryOf(process, "VmHWM"), kEnrolmentMemoryBytes +
                                              MemoryOf(process, "VmExe") +
                                              MemoryOf(process, "VmLib"));
  }
}

// One kind of a stranger's bytes, sent over one connection again and again.
struct Attack {
  const char* name;
  std::string begins;
  std::string goes_on;
};

std::vector<Attack> AttacksOnMemory() {
  const std::string headers = CallHeaders("/clusterd.Enrolment/Join");
  // 62 MiB in 63 kB, after the five bytes with which gRPC begins a message.
  const std::string zeros(size_t{62} << 20, '\0');
  std::string packed(64 << 10, '\0');
  uLongf size = packed.size();
  EXPECT_EQ(compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                      reinterpret_cast<const Bytef*>(zeros.data()),
                      zeros.size(), Z_BEST_COMPRESSION),
            Z_OK);
  packed.resize(size);
  std::string message(1, '\1');
  for (const int shift : {24, 16, 8, 0}) {
    message.push_back(static_cast<char>(size >> shift));
  }
  message += packed;
  std::string compressed = Frame(kHeaders, kEndHeaders, 1,
                                 headers + Literal("grpc-encoding", "deflate"));
  for (size_t at = 0; at < message.size(); at += kLargestFrame) {
    compressed += Frame(kData, 0, 1, message.substr(at, kLargestFrame));
  }
  std::string block;
  while (block.size() + 130 < kLargestFrame) {
    block += Literal("x-flood", std::string(110, 'a'));
  }
  // Its value has 2^28 bytes, sent in frame after frame.
  const std::string endless =
      Literal("x", "").substr(0, 3) + std::string("\x7f\x80\xff\xff\x7f", 5);
  return {
      {"compressed messages", compressed,
       Frame(kData, 0, 1, packed.substr(0, kLargestFrame))},
      {"headers without an end", Frame(kHeaders, 0, 1, headers),
       Frame(kContinuation, 0, 1, block)},
      {"a header of 256 MiB", Frame(kHeaders, 0, 1, headers + endless),
       Frame(kContinuation, 0, 1, std::string(kLargestFrame, 'a'))},
  };
}

TEST_F(StrangersTest, AttacksStayWithinTheMemoryOfTheProcess) {
  // A connection may send a sixteenth of this before it is dropped, later on a
  // busy machine. The process can hold all that they send together.
  constexpr size_t kSent = size_t{2} << 20;
  host_.reset();
  MemoryObserver observer{HostFacts()};
  TestHost::Options options;
  options.controller = controller_->address();
  options.name = "server0";
  options.tls = certificates_.Host("server0");
  TestHost host(options, &observer);
  ASSERT_TRUE(host.WaitAttached());
  ASSERT_TRUE(AskForRoots().ok());
  const std::string process = EnrolmentProcess();
  for (const Attack& attack : AttacksOnMemory()) {
    SCOPED_TRACE(attack.name);
    // They stay, so that all bytes are held at once. They have five addresses,
    // since each has 16 places until its first call.
    std::vector<std::unique_ptr<RawConnection>> peers(60);
    std::atomic<int> opened{0};
    std::vector<std::thread> strangers;
    for (size_t i = 0; i < peers.size(); ++i) {
      strangers.emplace_back([&, i] {
        // A dropped stranger may only notice it by a failed write.
        peers[i] = std::make_unique<RawConnection>(
            address(), TlsFiles(), /*last=*/2 + static_cast<int>(i % 5),
            timeval{1, 0});
        if (!peers[i]->opened() || !peers[i]->Send(attack.begins)) return;
        ++opened;
        for (size_t sent = 0; sent < kSent && peers[i]->Send(attack.goes_on);) {
          sent += attack.goes_on.size();
        }
      });
    }
    Report report;
    EXPECT_EQ(controller_->Check({}, &report), absl::OkStatus());
    EXPECT_EQ(HostOf(report, "server0").no_facts_reason(), "");
    for (std::thread& stranger : strangers) stranger.join();
    EXPECT_GT(opened, 0);
  }
  EXPECT_TRUE(AskForRoots().ok());
  // Beyond its bound, the process would have ended and been replaced.
  EXPECT_EQ(EnrolmentProcess(), process);
  if (kBoundsMemory) {
    EXPECT_LT(MemoryOf(process, "VmHWM"), kEnrolmentMemoryBytes);
  }
}

TEST_F(WireTest, RefusesAGigabyteInOneMessage) {
  constexpr size_t kBytes = size_t{1} << 30;
  void* const zeros =
      mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(zeros, MAP_FAILED);
  {
    grpc::ChannelArguments arguments;
    arguments.SetMaxSendMessageSize(-1);
    grpc::GenericStub stub(
        controller_->ChannelAs(certificates_.User("eve"), arguments));
    grpc::CompletionQueue queue;
    const auto context = NewContext();
    const grpc::Slice slice(zeros, kBytes, grpc::Slice::STATIC_SLICE);
    const auto call = stub.PrepareUnaryCall(
        context.get(), kDescribeHost, grpc::ByteBuffer(&slice, 1), &queue);
    call->StartCall();
    grpc::ByteBuffer answer;
    grpc::Status status;
    call->Finish(&answer, &status, &queue);
    void* tag = nullptr;
    bool good = false;
    ASSERT_TRUE(queue.Next(&tag, &good));
    // The connection was dropped, or gRPC refused the length first.
    EXPECT_THAT(status.error_code(),
                testing::AnyOf(grpc::StatusCode::RESOURCE_EXHAUSTED,
                               grpc::StatusCode::UNAVAILABLE))
        << status.error_message();
    queue.Shutdown();
    while (queue.Next(&tag, &good)) {
    }
  }
  ExpectServesOthers();
  munmap(zeros, kBytes);
}

}  // namespace
}  // namespace clusterd
