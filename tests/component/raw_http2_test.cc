// A client that speaks HTTP/2 by hand: gRPC's own heeds what the controller has
// announced, and never sends what is over its limits.
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "daemon/process/scheduler.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"

namespace clusterd {
namespace {

constexpr uint8_t kData = 0;
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kReset = 3;
constexpr uint8_t kSettings = 4;
constexpr uint8_t kContinuation = 9;
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kEndHeaders = 4;

std::string BigEndian(size_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) {
    text.push_back(static_cast<char>((number >> (8 * i)) & 0xff));
  }
  return text;
}

// A header that no table keeps; both texts are shorter than 127.
std::string Header(absl::string_view name, absl::string_view value) {
  return absl::StrCat(BigEndian(0, 1), BigEndian(name.size(), 1), name,
                      BigEndian(value.size(), 1), value);
}

std::string HeadersOf(absl::string_view method) {
  return absl::StrCat(
      Header(":method", "POST"), Header(":scheme", "https"),
      Header(":path", absl::StrCat("/clusterd.Controller/", method)),
      Header(":authority", "controller"), Header("te", "trailers"),
      Header("content-type", "application/grpc"));
}

// 132 bytes as HTTP/2 counts them.
std::string Padding(int headers) {
  std::string text;
  for (int i = 0; i < headers; ++i) {
    absl::StrAppend(&text, Header("x-pad", std::string(95, 'a')));
  }
  return text;
}

class RawHttp2 {
 public:
  RawHttp2(const std::string& address, const TlsFiles& tls) {
    std::signal(SIGPIPE, SIG_IGN);
    context_.reset(SSL_CTX_new(TLS_client_method()));
    EXPECT_EQ(SSL_CTX_use_certificate_chain_file(context_.get(),
                                                 tls.certificate.c_str()),
              1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context_.get(), tls.key.c_str(),
                                          SSL_FILETYPE_PEM),
              1);
    ssl_.reset(SSL_new(context_.get()));
    const unsigned char protocols[] = {2, 'h', '2'};
    EXPECT_EQ(SSL_set_alpn_protos(ssl_.get(), protocols, sizeof(protocols)), 0);
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience = {20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<uint16_t>(
        std::stoi(address.substr(address.find(':') + 1))));
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    SSL_set_fd(ssl_.get(), fd_);
    EXPECT_EQ(SSL_connect(ssl_.get()), 1);
    EXPECT_TRUE(Write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    EXPECT_TRUE(Send(kSettings, 0, 0, ""));
  }
  ~RawHttp2() {
    ssl_.reset();
    close(fd_);
  }

  bool Send(uint8_t type, uint8_t flags, uint32_t stream,
            absl::string_view payload) {
    return Write(absl::StrCat(BigEndian(payload.size(), 3), BigEndian(type, 1),
                              BigEndian(flags, 1), BigEndian(stream, 4),
                              payload));
  }

  // Until the stream, or the connection, has ended: whether there was a
  // message.
  bool IsAnswered(uint32_t stream) {
    bool answered = false;
    while (true) {
      const std::string head = Read(9);
      if (head.size() < 9) return answered;
      const auto byte = [&head](size_t at) {
        return static_cast<uint8_t>(head[at]);
      };
      const size_t size = (size_t{byte(0)} << 16) | (byte(1) << 8) | byte(2);
      const uint32_t of = (uint32_t{byte(5)} << 24) | (byte(6) << 16) |
                          (byte(7) << 8) | byte(8);
      Read(size);
      if (of != stream) continue;
      if (byte(3) == kData) answered |= size > 0;
      if (byte(3) == kReset) return answered;
      if (byte(3) <= kHeaders && (byte(4) & kEndStream) != 0) return answered;
    }
  }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  bool Write(absl::string_view text) {
    return SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())) >
           0;
  }
  // Less at the end of the connection.
  std::string Read(size_t size) {
    std::string text(size, '\0');
    size_t got = 0;
    while (got < size) {
      const int more =
          SSL_read(ssl_.get(), text.data() + got, static_cast<int>(size - got));
      if (more <= 0) break;
      got += static_cast<size_t>(more);
    }
    text.resize(got);
    return text;
  }

  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
  int fd_ = -1;
};

// What this process, and so the controller in it, holds.
size_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  size_t pages = 0;
  file >> pages >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

class RawHttp2Test : public testing::Test {
 protected:
  RawHttp2Test() { controller_.Start(); }

  bool OthersAreServed() {
    ListHostsResponse response;
    return controller_.Client()
        ->ListHosts(NewContext().get(), {}, &response)
        .ok();
  }

  TestCertificates certificates_;
  ThreadScheduler scheduler_;
  TestController controller_{&certificates_, 1, &scheduler_};
};

TEST_F(RawHttp2Test, ManyHeadersAreTakenUpToTheLimitAndNotBeyond) {
  for (const int headers : {25, 32, 300}) {
    RawHttp2 peer(controller_.address(), certificates_.User("eve"));
    std::string rest = absl::StrCat(HeadersOf("ListHosts"), Padding(headers));
    uint8_t type = kHeaders;
    while (!rest.empty()) {
      // A frame has at most 16 KiB.
      const std::string part = rest.substr(0, 16'000);
      rest.erase(0, part.size());
      peer.Send(type, rest.empty() ? kEndHeaders : 0, 1, part);
      type = kContinuation;
    }
    // An empty message.
    peer.Send(kData, kEndStream, 1, std::string(5, '\0'));
    EXPECT_EQ(peer.IsAnswered(1), headers == 25) << headers;
  }
  EXPECT_TRUE(OthersAreServed());
}

TEST_F(RawHttp2Test, HeadersWithoutEndCostNoMemoryAndNobodyElse) {
  RawHttp2 peer(controller_.address(), certificates_.User("eve"));
  ASSERT_TRUE(OthersAreServed());
  const std::string flood = Padding(150);
  const size_t before = ResidentBytes();
  ASSERT_TRUE(peer.Send(kHeaders, 0, 1, HeadersOf("ListHosts")));
  size_t sent = 0;
  while (sent < size_t{48} << 20 && peer.Send(kContinuation, 0, 1, flood)) {
    sent += flood.size();
  }
  EXPECT_TRUE(OthersAreServed());
  EXPECT_LT(ResidentBytes(), before + (size_t{24} << 20));
}

TEST_F(RawHttp2Test, MessageOfAGigabyteIsRefusedByItsAnnouncement) {
  RawHttp2 peer(controller_.address(), certificates_.User("eve"));
  ASSERT_TRUE(OthersAreServed());
  const size_t before = ResidentBytes();
  ASSERT_TRUE(peer.Send(kHeaders, kEndHeaders, 1, HeadersOf("DescribeHost")));
  ASSERT_TRUE(peer.Send(
      kData, 0, 1,
      absl::StrCat(BigEndian(0, 1), BigEndian(size_t{1} << 30, 4), "begins")));
  EXPECT_FALSE(peer.IsAnswered(1));
  EXPECT_LT(ResidentBytes(), before + (size_t{24} << 20));
  EXPECT_TRUE(OthersAreServed());
}

}  // namespace
}  // namespace clusterd
