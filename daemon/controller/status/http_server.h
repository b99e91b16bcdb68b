// A read-only port: HTTP/1.1 through libevent's evhttp, on its own thread, so
// that a flood does not affect the port of hosts and users. On a loopback
// address, every user of this machine may read. Any other address needs mutual
// TLS, 1.2 or 1.3, with the controller's own certificate; the client's
// certificate is checked at each request. Pages are made on further threads;
// all readers of a page share its bytes.
//
//   more connections than the bound  wait in the kernel, without a descriptor;
//                                    connections that have not sent a request
//                                    for half a second end
//   a request that is slow           10 s without a byte; 60 s in total with
//   its
//                                    answers
//   headers, a body                  8 KiB, none: 413
//   other than GET and HEAD          501
//   a name in Host: that is not      421: a page in a browser on this machine
//   this address, without TLS             must not read this one
#ifndef DAEMON_CONTROLLER_STATUS_HTTP_SERVER_H_
#define DAEMON_CONTROLLER_STATUS_HTTP_SERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/identity/tls_credentials.h"
#include "daemon/process/worker_pool.h"
#include "openssl/ssl.h"

struct bufferevent;
struct evconnlistener;
struct event;
struct event_base;
struct evhttp;
struct evhttp_request;

namespace clusterd {

struct HttpAnswer {
  int code = 200;
  std::string type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body;
};

// A plain text with a final newline.
HttpAnswer TextAnswer(int code, absl::string_view text);

struct HttpPage {
  // Called on a thread of the server, one at a time. It may take long.
  std::function<HttpAnswer()> make;
  // True: it gets its own thread, so that other pages cannot delay it.
  bool is_apart = false;
};

struct HttpServerOptions {
  // A numeric address and a port; 0 takes a free one.
  std::string listen;
  const char* option = "--status-listen";
  TlsFiles tls;  // Read only with TLS.
  absl::Duration refresh = absl::Seconds(kTlsRefreshSeconds);
  size_t connections = 64;
  absl::Duration silence = absl::Seconds(10);
  absl::Duration longest = absl::Seconds(60);
};

struct FreeTlsContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTlsContext>;

class HttpServer {
 public:
  // Admits the holder of a certificate of the CA; the client gets the error.
  using Admit = std::function<absl::Status(const std::string& pem,
                                           const std::string& peer)>;

  // `pages`: by path. InvalidArgument for an invalid address; Unavailable if it
  // cannot listen there; with TLS also the errors of ReadTlsFiles.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      const HttpServerOptions& options, std::map<std::string, HttpPage> pages,
      Admit admit);
  // Waits for pages under way.
  ~HttpServer();

  int port() const { return port_; }
  bool has_tls() const { return has_tls_; }

 private:
  using Id = uint64_t;
  struct Connection {
    bufferevent* events;  // Owned reference: shows its end.
    std::chrono::steady_clock::time_point since;
    bool has_asked = false;  // Requested a page.
  };

  HttpServer(const HttpServerOptions& options,
             std::map<std::string, HttpPage> pages, Admit admit);
  absl::Status Listen();

  // All of these run on the loop's thread.
  void Run();
  bufferevent* NewConnection();
  // Frees ended connections, ends old ones, and accepts if there is room.
  void Sweep();
  void AcceptIfNotFull();
  void ReadCertificates();
  void OnRequest(evhttp_request* request);
  void RunEvery(absl::Duration every,
                void (*run)(int fd, short what, void* self));
  absl::Status WhyRefused(evhttp_request* request);
  void Reply(evhttp_request* request, const HttpAnswer& answer);
  // Closes connections and port; on the constructing thread if it is alone.
  void EndAll();
  void TakeAnswers() ABSL_LOCKS_EXCLUDED(mutex_);

  // Called on the threads of pages.
  void Answer(Id id, HttpAnswer answer) ABSL_LOCKS_EXCLUDED(mutex_);

  const HttpServerOptions options_;
  const std::map<std::string, HttpPage> pages_;
  const Admit admit_;
  int port_ = 0;
  bool has_tls_ = false;

  // Belongs to the loop, except that other threads add events to the base.
  event_base* const base_;
  evhttp* const http_;
  evconnlistener* listener_ = nullptr;
  std::vector<event*> events_;
  event* soon_ = nullptr;
  TlsContext tls_;
  TlsPem pair_;
  SpiffeId self_;
  std::list<Connection> connections_;
  std::map<Id, evhttp_request*> waiting_;
  Id last_id_ = 0;

  absl::Mutex mutex_;
  std::vector<std::pair<Id, HttpAnswer>> answers_ ABSL_GUARDED_BY(mutex_);

  std::optional<WorkerPool> pool_;
  std::optional<WorkerPool> apart_;
  std::thread thread_;  // Last: uses everything above.
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_STATUS_HTTP_SERVER_H_
