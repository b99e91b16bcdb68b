#include "tests/support/http/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "config/identity/pem_objects.h"
#include "gtest/gtest.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

int ConnectTo(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval longest = absl::ToTimeval(kPatience);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
      0);
  return fd;
}

}  // namespace

std::string GetRequest(absl::string_view path) {
  return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
}

HttpClient::HttpClient(int port) : fd_(ConnectTo(port)) {}

HttpClient::HttpClient(int port, const TlsPem& pem, int max_tls_version)
    : fd_(ConnectTo(port)), context_(SSL_CTX_new(TLS_client_method())) {
  // Otherwise OpenSSL would not even offer old versions.
  SSL_CTX_set_security_level(context_, 0);
  SSL_CTX_set_max_proto_version(context_, max_tls_version);
  if (!pem.ca.empty()) {
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    for (const auto& each : AllCertificates(pem.ca)) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), each.get());
    }
  }
  if (!pem.certificate.empty()) {
    const auto chain = AllCertificates(pem.certificate);
    const auto key = FirstOf(pem.key, PEM_read_bio_PrivateKey);
    EXPECT_EQ(SSL_CTX_use_certificate(context_, chain.at(0).get()), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey(context_, key.get()), 1);
  }
  tls_ = SSL_new(context_);
  SSL_set_fd(tls_, fd_);
  is_shaken_ = SSL_connect(tls_) == 1;
  ERR_clear_error();
}

HttpClient::~HttpClient() {
  SSL_free(tls_);
  SSL_CTX_free(context_);
  close(fd_);
}

std::string HttpClient::ServerSerial() const {
  const Owned<X509> shown(SSL_get1_peer_certificate(tls_));
  if (shown == nullptr) return "";
  const Owned<BIGNUM> number(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(shown.get()), nullptr));
  char* const hex = BN_bn2hex(number.get());
  std::string text(hex);
  OPENSSL_free(hex);
  return text;
}

bool HttpClient::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent =
        tls_ == nullptr
            ? send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL)
            : SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()));
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool HttpClient::Fill() {
  char bytes[16384];
  const auto count = tls_ == nullptr ? recv(fd_, bytes, sizeof(bytes), 0)
                                     : SSL_read(tls_, bytes, sizeof(bytes));
  if (count <= 0) return false;
  read_.append(bytes, static_cast<size_t>(count));
  return true;
}

HttpReply HttpClient::Read(bool has_body) {
  HttpReply reply;
  size_t end;
  while ((end = read_.find("\r\n\r\n")) == std::string::npos) {
    if (!Fill()) return reply;
  }
  reply.head = read_.substr(0, end + 2);
  read_.erase(0, end + 4);
  const std::string lower = absl::AsciiStrToLower(reply.head);
  const size_t field = lower.find("content-length: ");
  size_t size = 0;
  if (has_body && field != std::string::npos) {
    size = static_cast<size_t>(std::atoll(lower.c_str() + field + 16));
  }
  while (read_.size() < size) {
    if (!Fill()) return reply;
  }
  reply.body = read_.substr(0, size);
  read_.erase(0, size);
  const size_t code = reply.head.find(' ');
  if (code != std::string::npos) {
    reply.code = std::atoi(reply.head.c_str() + code);
  }
  return reply;
}

HttpReply HttpClient::Get(absl::string_view path) {
  Send(GetRequest(path));
  return Read();
}

bool HttpClient::HasNews(int ms) const {
  pollfd waited = {fd_, POLLIN, 0};
  return poll(&waited, 1, ms) > 0;
}

bool HttpClient::WaitForNews() const {
  return HasNews(static_cast<int>(absl::ToInt64Milliseconds(kPatience)));
}

std::string HttpClient::ReadToEnd() {
  while (Fill()) continue;
  return std::move(read_);
}

}  // namespace clusterd
