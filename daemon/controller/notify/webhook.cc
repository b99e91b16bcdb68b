#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/http.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "config/values/version.h"
#include "daemon/controller/notify/news_sender.h"

namespace clusterd {
namespace {

constexpr int kMaxAnswerBytes = 1 << 20;
constexpr int kTooManyRequests = 429;

// Where distributions keep them, as Go's crypto/x509 knows (root_linux.go).
constexpr const char* kCaBundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
};

template <typename Type, void (*Free)(Type*)>
struct FreedBy {
  void operator()(Type* object) const { Free(object); }
};
template <typename Type, void (*Free)(Type*)>
using Held = std::unique_ptr<Type, FreedBy<Type, Free>>;

// A name that is still looked up holds the stream that wants it, and with it
// its TLS, until the look-up fails, which only the loop tells.
struct FailLookups {
  event_base* base;
  void operator()(evdns_base* dns) const {
    evdns_base_free(dns, /*fail_requests=*/1);
    event_base_loop(base, EVLOOP_NONBLOCK);
  }
};

// How the one request ended.
struct Outcome {
  event_base* base;
  bool over = false;
  bool stopped = false;
  int code = 0;  // Of HTTP; 0: no answer.
};

void OnAnswer(evhttp_request* request, void* outcome) {
  auto* const told = static_cast<Outcome*>(outcome);
  told->over = true;
  if (request != nullptr)
    told->code = evhttp_request_get_response_code(request);
  event_base_loopbreak(told->base);
}

void OnStop(evutil_socket_t, short, void* outcome) {
  auto* const told = static_cast<Outcome*>(outcome);
  told->stopped = true;
  event_base_loopbreak(told->base);
}

bool ReadAuthorities(SSL_CTX* context, const std::string& root) {
  const std::string bundle = SystemCaBundle(root);
  return bundle.empty()
             ? SSL_CTX_set_default_verify_paths(context) == 1
             : SSL_CTX_load_verify_file(context, bundle.c_str()) == 1;
}

// Verifies chain and name before a byte of ours is sent. Null: no context, no
// memory, or no list of CAs.
Held<SSL, SSL_free> MakeTls(SSL_CTX* context, const WebhookPost& post) {
  const std::string& host = post.url.host;
  if (context == nullptr || !ReadAuthorities(context, post.root) ||
      SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
    return nullptr;
  }
  Held<SSL, SSL_free> tls(SSL_new(context));
  if (tls == nullptr) return nullptr;
  X509_VERIFY_PARAM* const verified = SSL_get0_param(tls.get());
  X509_VERIFY_PARAM_set_hostflags(verified,
                                  X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool is_address =
      X509_VERIFY_PARAM_set1_ip_asc(verified, host.c_str()) == 1;
  if (!is_address && (SSL_set1_host(tls.get(), host.c_str()) != 1 ||
                      SSL_set_tlsext_host_name(tls.get(), host.c_str()) != 1)) {
    return nullptr;
  }
  SSL_set_verify(tls.get(), SSL_VERIFY_PEER, nullptr);
  return tls;
}

// Not yet under way. `tls`: null for none.
Held<evhttp_connection, evhttp_connection_free> Connect(
    event_base* base, evdns_base* dns, SSL* tls, const WebhookPost& post) {
  bufferevent* stream = nullptr;
  if (tls == nullptr) {
    stream = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
  } else {
    SSL_up_ref(tls);  // The stream's own.
    stream = bufferevent_openssl_socket_new(
        base, -1, tls, BUFFEREVENT_SSL_CONNECTING, BEV_OPT_CLOSE_ON_FREE);
    if (stream == nullptr) SSL_free(tls);
    // Many servers just close.
    if (stream != nullptr) {
      bufferevent_openssl_set_allow_dirty_shutdown(stream, 1);
    }
  }
  if (stream == nullptr) return nullptr;
  Held<evhttp_connection, evhttp_connection_free> connection(
      evhttp_connection_base_bufferevent_new(
          base, dns, stream, post.url.host.c_str(), post.url.port));
  if (connection == nullptr) {
    bufferevent_free(stream);
    return nullptr;
  }
  // Of a step of it; the deadline of all is the loop's.
  const timeval longer = absl::ToTimeval(2 * post.deadline);
  evhttp_connection_set_timeout_tv(connection.get(), &longer);
  evhttp_connection_set_max_headers_size(connection.get(), kMaxAnswerBytes);
  evhttp_connection_set_max_body_size(connection.get(), kMaxAnswerBytes);
  return connection;
}

evhttp_request* MakeRequest(const WebhookPost& post, Outcome* outcome) {
  evhttp_request* const request = evhttp_request_new(OnAnswer, outcome);
  if (request == nullptr) return nullptr;
  evkeyvalq* const headers = evhttp_request_get_output_headers(request);
  const bool is_v6 = post.url.host.find(':') != std::string::npos;
  const std::string name =
      is_v6 ? absl::StrCat("[", post.url.host, "]") : post.url.host;
  const auto add = [headers](const char* key, const std::string& value) {
    evhttp_add_header(headers, key, value.c_str());
  };
  add("Host", absl::StrCat(name, ":", post.url.port));
  add("User-Agent", absl::StrCat("clusterd-controller/", kClusterdVersion));
  add("Content-Type", "application/json");
  add("Connection", "close");
  if (!post.token.empty()) {
    add("Authorization", absl::StrCat("Bearer ", post.token));
  }
  evbuffer_add(evhttp_request_get_output_buffer(request), post.body.data(),
               post.body.size());
  return request;
}

absl::Status StatusOf(const Outcome& outcome, const WebhookPost& post,
                      const SSL* tls) {
  if (outcome.stopped) {
    return absl::CancelledError("the controller is stopping");
  }
  if (outcome.code >= 200 && outcome.code < 300) return absl::OkStatus();
  if (outcome.code != 0) {
    const std::string message = absl::StrCat("answered ", outcome.code);
    return outcome.code >= 500 || outcome.code == kTooManyRequests
               ? absl::UnavailableError(message)
               : absl::FailedPreconditionError(message);
  }
  const long verified = tls == nullptr ? X509_V_OK : SSL_get_verify_result(tls);
  if (verified != X509_V_OK) {
    return absl::UnavailableError(
        absl::StrCat("its certificate is not trusted: ",
                     X509_verify_cert_error_string(verified)));
  }
  if (!outcome.over) {
    return absl::UnavailableError(
        absl::StrCat("no answer in ", absl::FormatDuration(post.deadline)));
  }
  return absl::UnavailableError(
      tls == nullptr || SSL_is_init_finished(tls)
          ? "no connection, or one that ended without an answer"
          : "no connection, or none with TLS");
}

}  // namespace

std::string SystemCaBundle(const std::string& root) {
  for (const char* const variable :
       {X509_get_default_cert_file_env(), X509_get_default_cert_dir_env()}) {
    if (secure_getenv(variable) != nullptr) return "";
  }
  const auto is_there = [&root](const char* path) {
    return access((root + path).c_str(), R_OK) == 0;
  };
  if (is_there(X509_get_default_cert_file()) ||
      is_there(X509_get_default_cert_dir())) {
    return "";
  }
  for (const char* const path : kCaBundles) {
    if (is_there(path)) return root + path;
  }
  return "";
}

absl::Status PostWebhook(const WebhookPost& post, int stop) {
  const absl::Status no_memory = absl::UnavailableError("no memory");
  const Held<event_base, event_base_free> base(event_base_new());
  if (base == nullptr) return no_memory;
  const std::unique_ptr<evdns_base, FailLookups> dns(
      evdns_base_new(base.get(), EVDNS_BASE_DISABLE_WHEN_INACTIVE),
      FailLookups{base.get()});
  if (dns == nullptr) return no_memory;
  // Where it cannot be read, a server on this machine is asked.
  evdns_base_resolv_conf_parse(dns.get(), DNS_OPTIONS_ALL, post.resolv_conf);
  const Held<SSL_CTX, SSL_CTX_free> context(
      post.url.tls ? SSL_CTX_new(TLS_client_method()) : nullptr);
  const Held<SSL, SSL_free> tls = MakeTls(context.get(), post);
  if (post.url.tls && tls == nullptr) {
    return absl::UnavailableError(absl::StrCat(
        "TLS cannot be had: ", ERR_error_string(ERR_get_error(), nullptr)));
  }
  const Held<evhttp_connection, evhttp_connection_free> connection =
      Connect(base.get(), dns.get(), tls.get(), post);
  if (connection == nullptr) return no_memory;
  Outcome outcome{base.get()};
  const Held<event, event_free> stopping(
      stop < 0 ? nullptr
               : event_new(base.get(), stop, EV_READ, OnStop, &outcome));
  if (stopping != nullptr) event_add(stopping.get(), nullptr);
  const timeval deadline = absl::ToTimeval(post.deadline);
  event_base_loopexit(base.get(), &deadline);
  // Takes the request, also where it fails.
  evhttp_request* const request = MakeRequest(post, &outcome);
  if (request == nullptr ||
      evhttp_make_request(connection.get(), request, EVHTTP_REQ_POST,
                          post.url.path.c_str()) != 0) {
    return no_memory;
  }
  event_base_dispatch(base.get());
  return StatusOf(outcome, post, tls.get());
}

}  // namespace clusterd
