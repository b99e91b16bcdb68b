// One connection to a server on 127.0.0.1, plain or by TLS, that sends a test's
// bytes and reads the answer. It waits at most kPatience (tests/support/wait).
#ifndef TESTS_SUPPORT_HTTP_HTTP_CLIENT_H_
#define TESTS_SUPPORT_HTTP_HTTP_CLIENT_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "config/identity/certificate.h"
#include "openssl/ssl.h"

namespace clusterd {

struct HttpReply {
  int code = 0;  // 0: the connection ended before a whole reply.
  std::string head;
  std::string body;
};

// A whole "GET path HTTP/1.1" whose Host: is an address.
std::string GetRequest(absl::string_view path);

class HttpClient {
 public:
  explicit HttpClient(int port);
  // Performs the handshake. Without a certificate in `pem` it shows none;
  // without a CA it trusts any server.
  HttpClient(int port, const TlsPem& pem, int max_tls_version = TLS1_3_VERSION);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // True if the handshake has ended on this side.
  bool is_shaken() const { return is_shaken_; }
  // Serial number of the server's certificate.
  std::string ServerSerial() const;

  // False: the other end has closed.
  bool Send(absl::string_view bytes);
  // The next reply; `has_body` is false for the reply to a HEAD.
  HttpReply Read(bool has_body = true);
  HttpReply Get(absl::string_view path);
  // True if data or the end comes within this time.
  bool HasNews(int ms) const;
  // Blocks until data or the end has come; false if neither comes.
  bool WaitForNews() const;
  // Blocks until the other end closes; returns all it sent until then.
  std::string ReadToEnd();

 private:
  // Reads more bytes into `read_`; false at the end.
  bool Fill();

  int fd_;
  SSL_CTX* context_ = nullptr;
  SSL* tls_ = nullptr;
  bool is_shaken_ = false;
  std::string read_;
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_HTTP_HTTP_CLIENT_H_
