// A port for reading alone: HTTP/1.1 through libevent's evhttp, on a thread of
// its own, so that whoever floods it costs the port of hosts and users nothing.
// On a loopback address everybody on this machine may read. On any other one it
// is mutual TLS with the controller's own certificate, 1.2 or 1.3, and each
// request is admitted by the client's. Pages are made on further threads; the
// bytes of one are shared by all who read it.
//
//   more connections than may be     wait in the kernel, without a descriptor;
//                                    whoever has asked for nothing in half a
//                                    second makes room for them, first who has
//                                    not even shaken hands, the oldest first
//   more than 16 of one address      the oldest of these goes, in that order
//   that have asked for nothing
//   a request that is slow           10 s without a byte; 60 s in all, with its
//                                    answers
//   headers, a body                  8 KiB, none: 413
//   other than GET and HEAD          501
//   a name in Host: that is no       421: a page that a browser has open on
//   this address, without TLS             machine must not read this one
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
#include "config/values/owned_fd.h"
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

// A text on its own, with a newline behind it.
HttpAnswer TextAnswer(int code, absl::string_view text);

struct HttpPage {
  // On a thread of the server, one call at a time. It may take long.
  std::function<HttpAnswer()> make;
  // It must not wait for the other pages: it has a thread of its own.
  bool is_apart = false;
};

struct HttpServerOptions {
  // An address, no name, and a port; 0 takes a free one.
  std::string listen;
  const char* option = "--status-listen";
  TlsFiles tls;  // Read only where TLS is spoken.
  absl::Duration refresh = absl::Seconds(kTlsRefreshSeconds);
  size_t connections = 64;
  size_t unfinished = 16;  // Of one address, or of a /64 of IPv6.
  absl::Duration silence = absl::Seconds(10);
  absl::Duration longest = absl::Seconds(60);
};

struct FreeTlsContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTlsContext>;

class HttpServer {
 public:
  // Of who shows this certificate, which the CA has issued; the message is for
  // the client.
  using Admit = std::function<absl::Status(const std::string& pem,
                                           const std::string& peer)>;

  // `pages`: by path. InvalidArgument for what is no address; Unavailable if it
  // cannot be listened on; of TLS errors also as ReadTlsFiles.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      const HttpServerOptions& options, std::map<std::string, HttpPage> pages,
      Admit admit);
  // Waits for pages that are being made.
  ~HttpServer();

  int port() const { return port_; }
  bool has_tls() const { return has_tls_; }

 private:
  using Id = uint64_t;
  struct Connection {
    bufferevent* events;  // A reference of our own: tells when it has gone.
    std::chrono::steady_clock::time_point since;
    std::string network;     // Of its other end, once it was looked at.
    bool has_asked = false;  // For what it may have.
    bool is_ended = false;   // By us; evhttp frees it soon.
  };

  HttpServer(const HttpServerOptions& options,
             std::map<std::string, HttpPage> pages, Admit admit);
  absl::Status Listen();

  // All of these on the loop's thread.
  void Run();
  bufferevent* NewConnection();
  // Lets go of what has ended, ends what has been open for too long, and
  // accepts again where there is room.
  void Sweep();
  // Of those that have asked for nothing.
  void EndUnfinished();
  void ReadCertificates();
  void OnRequest(evhttp_request* request);
  void AddEvent(int fd, short what, absl::Duration every,
                void (*run)(int fd, short what, void* self));
  absl::Status WhyRefused(evhttp_request* request);
  void Reply(evhttp_request* request, const HttpAnswer& answer);
  // Closes all, also the port. Without a thread, whoever makes the object.
  void EndAll();
  void TakeAnswers() ABSL_LOCKS_EXCLUDED(mutex_);

  // From the threads of pages.
  void Answer(Id id, HttpAnswer answer) ABSL_LOCKS_EXCLUDED(mutex_);
  void Wake();

  const HttpServerOptions options_;
  const std::map<std::string, HttpPage> pages_;
  const Admit admit_;
  int port_ = 0;
  bool has_tls_ = false;
  const OwnedFd wake_;

  // The loop's.
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
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::optional<WorkerPool> pool_;
  std::optional<WorkerPool> apart_;
  std::thread thread_;  // Last: uses everything above.
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_STATUS_HTTP_SERVER_H_
