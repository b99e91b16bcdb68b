// A peer that heeds neither gRPC nor HTTP/2. gRPC 1.51 may cut others off to
// save memory (threat-model.md); the controller goes on, and they come back.
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "openssl/ssl.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"

namespace clusterd {
namespace {

constexpr char kDescribeHost[] = "/clusterd.Controller/DescribeHost";
// Of HTTP/2: RFC 9113, section 6.
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kSettings = 4;
constexpr uint8_t kContinuation = 9;
constexpr uint8_t kEndHeaders = 4;
constexpr size_t kLargestFrame = 16384;

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

// A header that no table keeps (RFC 7541, 6.2.2), its value below 127 bytes.
std::string Literal(absl::string_view name, absl::string_view value) {
  std::string header(1, '\0');
  for (const absl::string_view text : {name, value}) {
    header.push_back(static_cast<char>(text.size()));
    absl::StrAppend(&header, text);
  }
  return header;
}

std::string CallHeaders() {
  return absl::StrCat(
      Literal(":method", "POST"), Literal(":scheme", "https"),
      Literal(":path", kDescribeHost), Literal(":authority", "controller"),
      Literal("content-type", "application/grpc"), Literal("te", "trailers"));
}

// One connection that sends whatever it is told, over TLS.
class RawConnection {
 public:
  RawConnection(const std::string& address, const TlsFiles& files)
      : context_(SSL_CTX_new(TLS_client_method())),
        fd_(socket(AF_INET, SOCK_STREAM, 0)),
        tls_(SSL_new(context_)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int port = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    to.sin_port = htons(static_cast<uint16_t>(port));
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    // Who takes nothing for so long has stopped to read.
    const timeval patience = {5, 0};
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    static constexpr unsigned char kH2[] = {2, 'h', '2'};
    EXPECT_EQ(SSL_set_alpn_protos(tls_, kH2, sizeof(kH2)), 0);
    EXPECT_EQ(SSL_use_certificate_chain_file(tls_, files.certificate.c_str()),
              1);
    EXPECT_EQ(
        SSL_use_PrivateKey_file(tls_, files.key.c_str(), SSL_FILETYPE_PEM), 1);
    SSL_set_fd(tls_, fd_);
    EXPECT_EQ(SSL_connect(tls_), 1);
    EXPECT_TRUE(Send(absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                                  Frame(kSettings, 0, 0, ""))));
  }
  ~RawConnection() {
    SSL_free(tls_);
    close(fd_);
    SSL_CTX_free(context_);
  }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  // False once the other side has closed, or takes no more.
  bool Send(absl::string_view bytes) {
    return SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size())) ==
           static_cast<int>(bytes.size());
  }

 private:
  SSL_CTX* const context_;
  const int fd_;
  SSL* const tls_;
};

class WireTest : public testing::Test {
 protected:
  WireTest() {
    options_.wire_memory_bytes = kWireMemory;
    controller_ = std::make_unique<TestController>(&certificates_, 1,
                                                   &scheduler_, options_);
    controller_->Start();
    host_ = std::make_unique<RawHost>(controller_->address(),
                                      certificates_.Host("server0"));
    EXPECT_TRUE(host_->Attach());
  }

  // While the peer is still there; those who are cut off come again.
  void ExpectServesOthers() {
    bool listed = false;
    bool attached = false;
    const absl::Time give_up = absl::Now() + absl::Seconds(30);
    while (!(listed && attached) && absl::Now() < give_up) {
      const auto context = NewContext();
      context->set_wait_for_ready(true);
      ListHostsResponse response;
      listed =
          listed ||
          controller_->Client()->ListHosts(context.get(), {}, &response).ok();
      RawHost again(controller_->address(), certificates_.Host("server0"));
      attached = attached || again.Attach();
    }
    EXPECT_TRUE(listed);
    EXPECT_TRUE(attached);
  }

  static constexpr size_t kWireMemory = size_t{64} << 20;
  TestCertificates certificates_;
  ThreadScheduler scheduler_;
  ControllerServerOptions options_;
  std::unique_ptr<TestController> controller_;
  std::unique_ptr<RawHost> host_;
};

TEST_F(WireTest, OutlivesHeadersWithoutAnEnd) {
  RawConnection peer(controller_->address(), certificates_.User("eve"));
  ASSERT_TRUE(peer.Send(Frame(kHeaders, 0, 1, CallHeaders())));
  std::string block;
  while (block.size() + 130 < kLargestFrame) {
    block += Literal("x-flood", std::string(110, 'a'));
  }
  const std::string more = Frame(kContinuation, 0, 1, block);
  size_t sent = 0;
  while (sent < (size_t{64} << 20) && peer.Send(more)) sent += more.size();
  ExpectServesOthers();
}

TEST_F(WireTest, OutlivesCallsBeyondTheLimitOfAConnection) {
  RawConnection peer(controller_->address(), certificates_.User("eve"));
  const std::string headers = CallHeaders();
  // Who never acknowledges the settings is held to none by gRPC 1.51.
  for (uint32_t stream = 1; stream < 20000; stream += 2) {
    if (!peer.Send(Frame(kHeaders, kEndHeaders, stream, headers))) break;
  }
  ExpectServesOthers();
}

TEST_F(WireTest, RefusesAGigabyteInOneMessage) {
  constexpr size_t kBytes = size_t{1} << 30;
  void* const zeros =
      mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(zeros, MAP_FAILED);
  {
    const auto credentials =
        MakeChannelCredentials(certificates_.User("eve"), "test");
    ASSERT_TRUE(credentials.ok());
    grpc::ChannelArguments arguments;
    arguments.SetMaxSendMessageSize(-1);
    grpc::GenericStub stub(grpc::CreateCustomChannel(controller_->address(),
                                                     *credentials, arguments));
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
    // Or its connection was closed for the memory that it took.
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
