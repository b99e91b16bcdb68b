#include "daemon/controller/status/http_server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "config/identity/pem_objects.h"
#include "config/values/status_macros.h"
#include "daemon/process/listen_trouble.h"
#include "openssl/err.h"

namespace clusterd {
namespace {

constexpr size_t kMaxHeaderBytes = 8 << 10;
// Waiting connections cost little, and the server accepts a flood quickly.
constexpr int kBacklog = 512;
constexpr absl::Duration kTick = absl::Seconds(1);
// The tick while other connections wait.
constexpr absl::Duration kFullTick = absl::Milliseconds(50);
// How long a handshake and a request may take while others wait.
constexpr absl::Duration kTimeToAsk = absl::Milliseconds(500);

bool IsLoopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
}

// The port has the same offset in both address families.
in_port_t& PortOf(sockaddr_storage* address) {
  return reinterpret_cast<sockaddr_in*>(address)->sin_port;
}

// Parses a bare address, with or without brackets; false: it is invalid.
bool ReadIp(const std::string& text, sockaddr_storage* address, int* size) {
  *size = sizeof(*address);
  return evutil_parse_sockaddr_port(
             text.c_str(), reinterpret_cast<sockaddr*>(address), size) == 0 &&
         PortOf(address) == 0;
}

absl::StatusOr<sockaddr_storage> ParseAddress(const HttpServerOptions& options,
                                              int* size) {
  sockaddr_storage address = {};
  const size_t colon = options.listen.rfind(':');
  int port = -1;
  if (colon != std::string::npos &&
      absl::SimpleAtoi(options.listen.substr(colon + 1), &port) && port >= 0 &&
      port <= 65535 &&
      ReadIp(options.listen.substr(0, colon), &address, size)) {
    PortOf(&address) = htons(static_cast<uint16_t>(port));
    return address;
  }
  return InvalidArgument(
      options.option, ": \"", options.listen,
      "\" is not an address and port, expected e.g. 127.0.0.1:7445");
}

// "127.0.0.1", "[::1]" and "localhost", with any port. A web site could resolve
// its own name to this machine, and a browser would send that name.
bool OwnsName(const std::string& host) {
  if (absl::EqualsIgnoreCase(host, "localhost")) return true;
  sockaddr_storage unused = {};
  int size = 0;
  return ReadIp(host, &unused, &size);
}

bool TakePair(SSL_CTX* context, const TlsPem& pem) {
  const std::vector<Owned<X509>> chain = AllCertificates(pem.certificate);
  const Owned<EVP_PKEY> key = FirstOf(pem.key, PEM_read_bio_PrivateKey);
  if (chain.empty() || key == nullptr) return false;
  if (SSL_CTX_use_certificate(context, chain[0].get()) != 1) return false;
  for (size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) return false;
  }
  return SSL_CTX_use_PrivateKey(context, key.get()) == 1 &&
         SSL_CTX_check_private_key(context) == 1;
}

bool TakeAuthorities(SSL_CTX* context, const std::string& ca) {
  const std::vector<Owned<X509>> authorities = AllCertificates(ca);
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  for (const Owned<X509>& each : authorities) {
    // A browser offers certificates by these names.
    if (X509_STORE_add_cert(store, each.get()) != 1 ||
        SSL_CTX_add_client_CA(context, each.get()) != 1) {
      return false;
    }
  }
  return !authorities.empty();
}

// TLS 1.2 or 1.3 with this pair. The handshake requires a client certificate of
// this CA. Sessions are never resumed, since they would outlive the
// certificate. InvalidArgument, with OpenSSL's reason, for invalid texts.
absl::StatusOr<TlsContext> MakeServerContext(const TlsPem& pem) {
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  ERR_clear_error();
  const bool is_made =
      context != nullptr &&
      SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) == 1 &&
      SSL_CTX_set_num_tickets(context.get(), 0) == 1 &&
      TakePair(context.get(), pem) && TakeAuthorities(context.get(), pem.ca);
  if (!is_made) {
    const char* const why = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return InvalidArgument("certificate files: OpenSSL does not take them: ",
                           why == nullptr ? "no certificate or key" : why);
  }
  SSL_CTX_set_verify(context.get(),
                     SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     // OpenSSL's own verdict: rejects ended certificates of
                     // hosts, unlike gRPC's port (AdmitEndedCertificates).
                     [](int is_good, X509_STORE_CTX*) { return is_good; });
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET |
                                         SSL_OP_NO_RENEGOTIATION |
                                         SSL_OP_NO_COMPRESSION);
  return context;
}

// The client's certificate, PEM; empty if it has shown none.
std::string PeerCertificate(const SSL* connection) {
  const Owned<X509> shown(SSL_get1_peer_certificate(connection));
  const bool is_good =
      shown != nullptr && SSL_get_verify_result(connection) == X509_V_OK;
  return is_good ? PemOf(shown.get()) : "";
}

}  // namespace

HttpAnswer TextAnswer(int code, absl::string_view text) {
  HttpAnswer answer;
  answer.code = code;
  answer.body = std::make_shared<const std::string>(absl::StrCat(text, "\n"));
  return answer;
}

HttpServer::HttpServer(const HttpServerOptions& options,
                       std::map<std::string, HttpPage> pages, Admit admit)
    : options_(options),
      pages_(std::move(pages)),
      admit_(std::move(admit)),
      base_(event_base_new()),
      http_(evhttp_new(base_)),
      pool_(std::in_place, 1, options.connections),
      apart_(std::in_place, 1, options.connections) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    const HttpServerOptions& options, std::map<std::string, HttpPage> pages,
    Admit admit) {
  // Strangers could cause lines on standard error.
  event_set_log_callback([](int, const char*) {});
  evthread_use_pthreads();  // For bases that are made from now on.
  std::unique_ptr<HttpServer> server(
      new HttpServer(options, std::move(pages), std::move(admit)));
  RETURN_IF_ERROR(server->Listen());
  server->thread_ = std::thread([raw = server.get()] { raw->Run(); });
  return server;
}

HttpServer::~HttpServer() {
  if (thread_.joinable()) {
    const auto stop = [](int, short, void* base) {
      event_base_loopbreak(static_cast<event_base*>(base));
    };
    event_base_once(base_, -1, EV_TIMEOUT, stop, base_, nullptr);
    thread_.join();
  } else {
    EndAll();
  }
  // The pools add events to the base, so they end first.
  pool_.reset();
  apart_.reset();
  event_base_free(base_);
}

void HttpServer::EndAll() {
  for (const auto& [id, request] : waiting_) {
    Reply(request, TextAnswer(503, "the controller is stopping"));
  }
  evhttp_free(http_);
  for (const Connection& each : connections_) bufferevent_decref(each.events);
  for (event* const each : events_) event_free(each);
}

absl::Status HttpServer::Listen() {
  int size = 0;
  ASSIGN_OR_RETURN(const sockaddr_storage address,
                   ParseAddress(options_, &size));
  has_tls_ = !IsLoopback(address);
  if (has_tls_) {
    ASSIGN_OR_RETURN(pair_, ReadTlsFiles(options_.tls));
    ASSIGN_OR_RETURN(CertificateInfo info, ParseCertificate(pair_.certificate));
    self_ = std::move(info.id);
    ASSIGN_OR_RETURN(tls_, MakeServerContext(pair_));
  }
  listener_ = evconnlistener_new_bind(
      base_, nullptr, nullptr,
      LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
      kBacklog, reinterpret_cast<const sockaddr*>(&address), size);
  if (listener_ == nullptr) {
    return CannotListen(options_.listen, options_.option, errno);
  }
  sockaddr_storage bound = {};
  socklen_t bound_size = sizeof(bound);
  getsockname(evconnlistener_get_fd(listener_),
              reinterpret_cast<sockaddr*>(&bound), &bound_size);
  port_ = ntohs(PortOf(&bound));
  // No descriptors are left, and it would report the same connection at once.
  // The port of hosts and users logs that.
  evconnlistener_set_error_cb(listener_, [](evconnlistener* listener, void*) {
    evconnlistener_disable(listener);
  });
  evhttp_bind_listener(http_, listener_);
  evhttp_set_max_headers_size(http_, kMaxHeaderBytes);
  evhttp_set_max_body_size(http_, 0);
  evhttp_set_allowed_methods(http_, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
  const timeval silence = absl::ToTimeval(options_.silence);
  evhttp_set_timeout_tv(http_, &silence);
  evhttp_set_bevcb(
      http_,
      [](event_base*, void* self) {
        return static_cast<HttpServer*>(self)->NewConnection();
      },
      this);
  evhttp_set_gencb(
      http_,
      [](evhttp_request* request, void* self) {
        static_cast<HttpServer*>(self)->OnRequest(request);
      },
      this);
  return absl::OkStatus();
}

// The port of hosts and users reads the same files and logs their errors.
void HttpServer::ReadCertificates() {
  absl::StatusOr<TlsPem> read = ReadPairOf(self_, options_.tls);
  if (!read.ok() || (read->ca == pair_.ca && read->key == pair_.key &&
                     read->certificate == pair_.certificate)) {
    return;
  }
  absl::StatusOr<TlsContext> context = MakeServerContext(*read);
  if (!context.ok()) return;
  tls_ = *std::move(context);
  pair_ = *std::move(read);
}

void HttpServer::RunEvery(absl::Duration every,
                          void (*run)(int fd, short what, void* self)) {
  events_.push_back(event_new(base_, -1, EV_PERSIST, run, this));
  const timeval interval = absl::ToTimeval(every);
  event_add(events_.back(), &interval);
}

void HttpServer::Run() {
  // libevent and OpenSSL may write to connections whose peer has gone.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  const auto sweep = [](int, short, void* self) {
    static_cast<HttpServer*>(self)->Sweep();
  };
  RunEvery(kTick, sweep);
  soon_ = event_new(base_, -1, 0, sweep, this);
  events_.push_back(soon_);
  if (has_tls_) {
    RunEvery(options_.refresh, [](int, short, void* self) {
      static_cast<HttpServer*>(self)->ReadCertificates();
    });
  }
  event_base_dispatch(base_);
  EndAll();
}

bufferevent* HttpServer::NewConnection() {
  Sweep();
  bufferevent* const made =
      has_tls_ ? bufferevent_openssl_socket_new(base_, -1, SSL_new(tls_.get()),
                                                BUFFEREVENT_SSL_ACCEPTING,
                                                BEV_OPT_CLOSE_ON_FREE)
               : bufferevent_socket_new(base_, -1, BEV_OPT_CLOSE_ON_FREE);
  // evhttp then makes a plain connection, whose requests have no certificate.
  if (made == nullptr) return nullptr;
  // The connection is read for a moment after evhttp has released it.
  bufferevent_setwatermark(made, EV_READ, 0, 2 * kMaxHeaderBytes);
  bufferevent_incref(made);
  connections_.push_back({made, std::chrono::steady_clock::now()});
  AcceptIfNotFull();
  return made;
}

void HttpServer::Sweep() {
  const auto now = std::chrono::steady_clock::now();
  connections_.remove_if([](const Connection& each) {
    bufferevent_event_cb in_use = nullptr;
    bufferevent_getcb(each.events, nullptr, nullptr, &in_use, nullptr);
    if (in_use != nullptr) return false;
    bufferevent_decref(each.events);  // evhttp has freed it.
    return true;
  });
  const bool is_full = connections_.size() >= options_.connections;
  for (const Connection& each : connections_) {
    const absl::Duration most =
        is_full && !each.has_asked ? kTimeToAsk : options_.longest;
    if (absl::FromChrono(now - each.since) > most) {
      shutdown(bufferevent_getfd(each.events), SHUT_RDWR);
    }
  }
  AcceptIfNotFull();
}

void HttpServer::AcceptIfNotFull() {
  if (connections_.size() < options_.connections) {
    evconnlistener_enable(listener_);
    return;
  }
  evconnlistener_disable(listener_);
  const timeval soon = absl::ToTimeval(kFullTick);
  event_add(soon_, &soon);
}

absl::Status HttpServer::WhyRefused(evhttp_request* request) {
  evhttp_connection* const connection = evhttp_request_get_connection(request);
  if (!has_tls_) {
    const char* const host = evhttp_request_get_host(request);
    if (host == nullptr || OwnsName(host)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "the name in Host: is not this machine's, expected an address or "
        "localhost");
  }
  char* address = nullptr;
  ev_uint16_t port = 0;
  evhttp_connection_get_peer(connection, &address, &port);
  const SSL* const tls = bufferevent_openssl_get_ssl(
      evhttp_connection_get_bufferevent(connection));
  const std::string pem = tls == nullptr ? "" : PeerCertificate(tls);
  if (pem.empty()) {
    return absl::UnauthenticatedError("no certificate was shown");
  }
  return admit_(pem,
                absl::StrCat(address == nullptr ? "" : address, ":", port));
}

void HttpServer::OnRequest(evhttp_request* request) {
  const absl::Status refused = WhyRefused(request);
  if (!refused.ok()) {
    return Reply(request, TextAnswer(has_tls_ ? 403 : 421, refused.message()));
  }
  bufferevent* const events =
      evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));
  for (Connection& each : connections_) {
    if (each.events == events) each.has_asked = true;
  }
  const char* const path =
      evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
  const auto page = pages_.find(path == nullptr ? "" : path);
  if (page == pages_.end()) {
    return Reply(request,
                 TextAnswer(404, "there is no such page; / lists all"));
  }
  const Id id = ++last_id_;
  waiting_[id] = request;
  WorkerPool& pool = page->second.is_apart ? *apart_ : *pool_;
  const bool taken = pool.TryRun(
      [this, id, &make = page->second.make] { Answer(id, make()); });
  if (taken) return;
  waiting_.erase(id);
  Reply(request, TextAnswer(503, "too many wait for this, try again later"));
}

void HttpServer::Reply(evhttp_request* request, const HttpAnswer& answer) {
  evkeyvalq* const headers = evhttp_request_get_output_headers(request);
  const std::string size = absl::StrCat(answer.body->size());
  const std::pair<const char*, const char*> fields[] = {
      {"Content-Type", answer.type.c_str()},
      {"Content-Length", size.c_str()},
      {"Cache-Control", "no-store"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      // The page has its other policies itself.
      {"Content-Security-Policy", "frame-ancestors 'none'"},
  };
  for (const auto& [name, value] : fields) {
    evhttp_add_header(headers, name, value);
  }
  evbuffer* const body = evbuffer_new();
  if (body != nullptr &&
      evhttp_request_get_command(request) != EVHTTP_REQ_HEAD) {
    auto* const held = new std::shared_ptr<const std::string>(answer.body);
    const auto drop = [](const void*, size_t, void* dropped) {
      delete static_cast<std::shared_ptr<const std::string>*>(dropped);
    };
    if (evbuffer_add_reference(body, answer.body->data(), answer.body->size(),
                               drop, held) != 0) {
      delete held;
    }
  }
  // libevent knows the reason phrases of other codes.
  evhttp_send_reply(request, answer.code,
                    answer.code == 421 ? "Misdirected Request" : nullptr, body);
  if (body != nullptr) evbuffer_free(body);
}

void HttpServer::Answer(Id id, HttpAnswer answer) {
  {
    absl::MutexLock lock(&mutex_);
    answers_.emplace_back(id, std::move(answer));
  }
  const auto take = [](int, short, void* self) {
    static_cast<HttpServer*>(self)->TakeAnswers();
  };
  event_base_once(base_, -1, EV_TIMEOUT, take, this, nullptr);
}

void HttpServer::TakeAnswers() {
  std::vector<std::pair<Id, HttpAnswer>> answers;
  {
    absl::MutexLock lock(&mutex_);
    answers.swap(answers_);
  }
  for (const auto& [id, answer] : answers) {
    const auto waiting = waiting_.find(id);
    evhttp_request* const request = waiting->second;
    waiting_.erase(waiting);
    Reply(request, answer);
  }
}

}  // namespace clusterd
