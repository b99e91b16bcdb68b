#include "daemon/controller/admission/connection_acceptor.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "config/identity/tls_credentials.h"
#include "config/values/status_macros.h"
#include "daemon/controller/admission/call_watch.h"
#include "daemon/process/listen_trouble.h"

namespace clusterd {
namespace {

// Ids of epoll events; connections count up from after the listeners.
constexpr uint64_t kWakeId = 0;
constexpr uint64_t kFirstConnection = 1 << 10;
constexpr int kMaxEvents = 256;
constexpr int kBacklog = 65535;  // The kernel takes somaxconn, if that is less.
constexpr absl::Duration kTellEvery = absl::Minutes(1);
// Enough for accidental failures; those of a scan are not all logged.
constexpr size_t kMaxFailures = 1000;
constexpr absl::Duration kRepeatAfter = absl::Minutes(10);
constexpr absl::Duration kSweepEvery = absl::Seconds(2);
constexpr absl::Duration kSweepOftenEvery = absl::Milliseconds(100);
// The pause after accept() lacked kernel memory or a descriptor.
constexpr absl::Duration kPause = absl::Milliseconds(10);
constexpr absl::Duration kClosingTime = absl::Seconds(2);

// Setting the wall clock must not affect waits.
absl::Time Monotonic() {
  return absl::UnixEpoch() +
         absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

void WatchFd(int epoll, int fd, uint64_t id, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = id;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

}  // namespace

ConnectionAcceptor::ConnectionAcceptor(const AcceptorOptions& options, Log* log)
    : options_(options),
      log_(log),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      spare_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      admission_(options.admission),
      last_id_(kFirstConnection) {
  WatchFd(epoll_, wake_, kWakeId, EPOLLIN);
}

ConnectionAcceptor::~ConnectionAcceptor() {
  Close();
  if (thread_.joinable()) {
    {
      absl::MutexLock lock(&mutex_);
      ending_ = true;
    }
    Wake();
    thread_.join();
  }
  for (const int fd : listeners_) close(fd);
  for (const int fd : {epoll_, wake_, spare_}) close(fd);
}

absl::StatusOr<std::unique_ptr<ConnectionAcceptor>> ConnectionAcceptor::Listen(
    const AcceptorOptions& options, Log* log) {
  std::unique_ptr<ConnectionAcceptor> acceptor(
      new ConnectionAcceptor(options, log));
  RETURN_IF_ERROR(acceptor->Bind());
  return acceptor;
}

absl::Status ConnectionAcceptor::Bind() {
  for (const int fd : options_.listeners) TakeListener(fd);
  if (!listeners_.empty()) return absl::OkStatus();
  const absl::string_view listen = options_.listen;
  const char* const option = options_.option;
  const size_t colon = listen.rfind(':');
  if (colon == absl::string_view::npos) {
    return CannotListen(listen, option, "it has no port");
  }
  const std::string host(
      absl::StripPrefix(absl::StripSuffix(listen.substr(0, colon), "]"), "["));
  const std::string port(listen.substr(colon + 1));
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  // Without an address: IPv6, with IPv4 if the machine has both; otherwise
  // IPv4.
  const auto hosts = host.empty() ? std::vector<std::string>{"::", "0.0.0.0"}
                                  : std::vector<std::string>{host};
  absl::Status trouble;
  for (const std::string& each : hosts) {
    addrinfo* found = nullptr;
    const int unknown = getaddrinfo(each.c_str(), port.c_str(), &hints, &found);
    if (unknown != 0) {
      trouble = CannotListen(listen, option, gai_strerror(unknown));
      continue;
    }
    const auto freed = absl::MakeCleanup([found] { freeaddrinfo(found); });
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
      if (BindOne(one->ai_addr, one->ai_addrlen, one->ai_family)) continue;
      const int error = errno;
      trouble = CannotListen(listen, option, error);
      if (error == EADDRINUSE) return trouble;
    }
    if (!listeners_.empty()) return absl::OkStatus();
  }
  return trouble;
}

bool ConnectionAcceptor::BindOne(const sockaddr* address, socklen_t size,
                                 int family) {
  const int fd =
      socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
  if (fd < 0) return false;
  const int on = 1;
  const int off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (family == AF_INET6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  // Accepted sockets inherit both.
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const auto patience =
      static_cast<unsigned>(absl::ToInt64Milliseconds(options_.unacknowledged));
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof(patience));
  const int most = options_.receive_buffer_bytes;
  if (most > 0) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &most, sizeof(most));
  sockaddr_storage to = {};
  std::memcpy(&to, address, size);
  // All addresses of a name use the port that the first one was given.
  auto& port_of = reinterpret_cast<sockaddr_in&>(to).sin_port;
  if (port_of == 0) port_of = htons(static_cast<uint16_t>(port_));
  if (bind(fd, reinterpret_cast<const sockaddr*>(&to), size) != 0 ||
      listen(fd, kBacklog) != 0) {
    const int error = errno;
    close(fd);
    errno = error;
    return false;
  }
  TakeListener(fd);
  return true;
}

void ConnectionAcceptor::TakeListener(int fd) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
  port_ = ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port);
  listeners_.push_back(fd);
}

void ConnectionAcceptor::Serve(
    grpc::ServerBuilder* builder,
    std::shared_ptr<grpc::ServerCredentials> credentials) {
  server_ = builder->experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      std::move(credentials));
  std::vector<
      std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
      watches;
  watches.push_back(std::make_unique<CallWatchFactory>(this));
  builder->experimental().SetInterceptorCreators(std::move(watches));
  // Windows stay within the size that AcceptorOptions::unanswered assumes.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
}

void ConnectionAcceptor::Open() {
  uint64_t id = kWakeId;
  for (const int fd : listeners_) WatchFd(epoll_, fd, ++id, EPOLLIN);
  thread_ = std::thread([this] { Run(); });
}

void ConnectionAcceptor::Close() {
  absl::MutexLock lock(&mutex_);
  if (closing_) return;
  closing_ = true;
  // A server that has shut down never closes a socket handed to it.
  const auto handed_over = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !handing_over_;
  };
  mutex_.Await(absl::Condition(&handed_over));
  for (const int fd : listeners_) {
    epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
    shutdown(fd, SHUT_RDWR);  // The thread may still hold the number.
  }
  std::vector<Id> waiting;
  for (const auto& [id, connection] : connections_) {
    if (!connection.admitted) waiting.push_back(id);
  }
  for (const Id id : waiting) DropLocked(id);
}

void ConnectionAcceptor::Wake() {
  while (eventfd_write(wake_, 1) < 0 && errno == EINTR) continue;
}

void ConnectionAcceptor::Run() {
  std::vector<epoll_event> events(kMaxEvents);
  while (true) {
    const absl::Time next = AdmitSome();
    {
      absl::MutexLock lock(&mutex_);
      if (ending_) return;
    }
    int wait_ms = -1;
    if (next < absl::InfiniteFuture()) {
      wait_ms = static_cast<int>(std::ceil(std::clamp(
          absl::ToDoubleMilliseconds(next - Monotonic()), 0.0, 60000.0)));
    }
    const int count = epoll_wait(epoll_, events.data(), kMaxEvents, wait_ms);
    for (int i = 0; i < count; ++i) {
      OnEvent(events[i].data.u64, events[i].events);
    }
  }
}

void ConnectionAcceptor::OnEvent(uint64_t id, uint32_t events) {
  if (id == kWakeId) {
    eventfd_t count;
    while (eventfd_read(wake_, &count) < 0 && errno == EINTR) continue;
    return;
  }
  if (id < kFirstConnection) {
    // Each round is bounded, so that others are admitted and watched.
    for (int i = 0; i < kMaxEvents && AcceptOne(listeners_[id - 1]); ++i) {
    }
    return;
  }
  std::string peer;
  {
    absl::MutexLock lock(&mutex_);
    peer = OnConnectionLocked(id, events);
  }
  if (!peer.empty()) CountCalls(peer);
}

std::string ConnectionAcceptor::OnConnectionLocked(Id id, uint32_t events) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return "";
  Connection& connection = found->second;
  const bool ends = (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0;
  if (ends && connection.admitted) {
    ending_until_ = Monotonic() + kClosingTime;  // gRPC closes it.
  } else if (ends) {
    DropLocked(id);
  } else if (connection.silent) {
    HearLocked(id, &connection);
  } else if (connection.admitted && WatchBytesLocked(&connection)) {
    return connection.peer;
  }
  return "";
}

void ConnectionAcceptor::HearLocked(Id id, Connection* connection) {
  if (options_.tls) {
    const ClientHello hello =
        PeekClientHello(connection->fd, &connection->random);
    if (hello == ClientHello::kIncomplete) return;
    if (hello == ClientHello::kNone) {
      TellCutLocked(*connection, "does not begin TLS");
      return DropLocked(id);
    }
  }
  connection->silent = false;
  const std::optional<Id> gone = admission_.Arrive(id, connection->network);
  if (gone.has_value()) DropLocked(*gone);
}

void ConnectionAcceptor::CountCalls(const std::string& peer) {
  size_t connections;
  {
    absl::MutexLock lock(&mutex_);
    connections = connections_.size();
  }
  const StreamCounts counts = streams_.Count(peer, connections);
  absl::MutexLock lock(&mutex_);
  const auto named = by_peer_.find(peer);
  if (named == by_peer_.end()) return;
  WatchCallsLocked(&connections_.at(named->second), counts.open, counts.begun);
}

void ConnectionAcceptor::WatchCallsLocked(Connection* connection, int64_t open,
                                          uint64_t begun) {
  if (open > options_.calls) {
    CutLocked(connection, "more calls at once than a connection may have");
  } else if (!connection->begun.Take(options_.begun, begun, Monotonic())) {
    CutLocked(connection, "more calls begun than a connection may");
  }
}

absl::Time ConnectionAcceptor::EndSilentLocked(absl::Time now) {
  while (!silent_.empty()) {
    const auto [since, id] = silent_.front();
    const auto found = connections_.find(id);
    if (found != connections_.end() && found->second.silent) {
      const bool too_many = silent_.size() > options_.admission.waiting;
      if (!too_many && since + options_.silence > now) {
        return since + options_.silence;
      }
      TellCutLocked(found->second, "no ClientHello");
      DropLocked(id);
    }
    silent_.pop_front();
  }
  return absl::InfiniteFuture();
}

bool ConnectionAcceptor::AcceptOne(int listener) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  const int fd = accept4(listener, reinterpret_cast<sockaddr*>(&address), &size,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    // A peer that left before it was accepted must not stop the loop.
    if (errno == ECONNABORTED || errno == EINTR) return true;
    const bool is_shed =
        (errno == EMFILE || errno == ENFILE) && ShedOne(listener);
    // epoll would report the same connection at once.
    if (!is_shed && errno != EAGAIN) absl::SleepFor(kPause);
    return false;
  }
  const std::string peer = PeerName(address);
  const absl::Time now = Monotonic();
  absl::MutexLock lock(&mutex_);
  if (closing_) {
    close(fd);
    return false;
  }
  const Id id = ++last_id_;
  // The number was reused, so its previous connection has ended.
  if (const auto old = by_fd_.find(fd); old != by_fd_.end()) {
    DropLocked(old->second);
  }
  by_fd_[fd] = id;
  connections_.emplace(
      id, Connection{fd, SocketCookie(fd), peer, PeerNetwork(address), now});
  by_peer_[peer] = id;
  silent_.emplace_back(now, id);
  WatchFd(epoll_, fd, id, EPOLLIN | EPOLLRDHUP | EPOLLET);
  return true;
}

bool ConnectionAcceptor::ShedOne(int listener) {
  close(spare_);
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd >= 0) close(fd);
  spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const absl::Time now = Monotonic();
  if (now - shed_logged_ >= kTellEvery) {
    shed_logged_ = now;
    log_->Warning(
        "no file descriptor is left: connections are closed as they come; "
        "raise LimitNOFILE= of the unit, or ulimit -Hn");
  }
  return fd >= 0;
}

absl::Time ConnectionAcceptor::AdmitSome() {
  const absl::Time now = Monotonic();
  std::vector<int> admitted;
  std::vector<std::string> to_count;
  absl::Time next;
  {
    absl::MutexLock lock(&mutex_);
    if (closing_) return absl::InfiniteFuture();
    const Admission::Decision decision = admission_.Decide(now);
    for (const Id id : decision.gone) {
      Connection& connection = connections_.at(id);
      if (connection.admitted) {
        CutLocked(&connection, connection.known
                                   ? "idle, and others need the place"
                                   : "no call in the time of a handshake");
      } else {
        DropLocked(id);
      }
    }
    for (const Id id : decision.admitted) {
      Connection& connection = connections_.at(id);
      connection.admitted = true;
      admitted.push_back(connection.fd);
    }
    handing_over_ = !admitted.empty();
    next = std::min(
        {admission_.Next(), EndSilentLocked(now), SweepLocked(now, &to_count)});
  }
  // Not under the lock: gRPC may call back.
  for (const int fd : admitted) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
        taken;
    taken.fd = fd;
    server_->HandleNewConnection(&taken);
  }
  if (!admitted.empty()) {
    absl::MutexLock lock(&mutex_);
    handing_over_ = false;
  }
  for (const std::string& peer : to_count) CountCalls(peer);
  return next;
}

absl::Time ConnectionAcceptor::SweepLocked(absl::Time now,
                                           std::vector<std::string>* to_count) {
  if (connections_.empty()) return absl::InfiniteFuture();
  const bool often = ending_until_ > now || admission_.waiting() > 0;
  const absl::Duration every = often ? kSweepOftenEvery : kSweepEvery;
  if (swept_ + every > now) return swept_ + every;
  swept_ = now;
  // Stalled handshakes are closed only if they keep others waiting.
  const bool is_crowded =
      admission_.waiting() > 0 &&
      admission_.handshakes() >= options_.admission.handshakes;
  std::vector<Id> gone;
  for (auto& [id, connection] : connections_) {
    if (!connection.admitted) continue;
    if (SocketCookie(connection.fd) != connection.cookie) {
      gone.push_back(id);
    } else if (is_crowded && !connection.known &&
               IsPeerStalled(connection.fd, options_.stalled)) {
      CutLocked(&connection, "silent amid a handshake");
      gone.push_back(id);
    } else if (WatchBytesLocked(&connection)) {
      to_count->push_back(connection.peer);
    }
  }
  for (const Id id : gone) DropLocked(id);
  return now + every;
}

bool ConnectionAcceptor::WatchBytesLocked(Connection* connection) {
  if (SocketCookie(connection->fd) != connection->cookie) return false;
  const SocketBytes socket = BytesOf(connection->fd);
  const uint64_t bytes = socket.received;
  const char* wrong = nullptr;
  if (!connection->bytes.Take(options_.bytes, bytes, Monotonic())) {
    wrong = "more bytes than a connection may send";
  } else if (connection->unanswered.Take(bytes, socket.sent) >
             options_.unanswered) {
    wrong = "more bytes than a connection may send without an answer";
  }
  if (wrong != nullptr) {
    CutLocked(connection, wrong);
    return false;
  }
  if (bytes < connection->bytes_counted + options_.count_every_bytes)
    return false;
  connection->bytes_counted = bytes;
  return true;
}

void ConnectionAcceptor::CutLocked(Connection* connection,
                                   const std::string& why) {
  connection->is_cut = true;
  // gRPC sees an end of the stream.
  ShutSocket(connection->fd, connection->cookie);
  ending_until_ = Monotonic() + kClosingTime;
  TellCutLocked(*connection, why);
}

void ConnectionAcceptor::TellCutLocked(const Connection& connection,
                                       const std::string& why) {
  ++cut_;
  const absl::Time now = Monotonic();
  if (now - cut_logged_ < kTellEvery) return;
  cut_logged_ = now;
  log_->Warning("connection of ", connection.peer, " cut off: ", why, "; ",
                cut_, " in all");
}

void ConnectionAcceptor::TellFailedLocked(const Connection& connection) {
  const absl::Time now = Monotonic();
  if (now - failed_since_ >= kRepeatAfter) {
    failed_since_ = now;
    failed_.clear();
  }
  const std::string& peer = connection.peer;
  const std::string why = WhyHandshakeFailed(connection.random);
  // The port differs in each attempt, so it is left out.
  const std::string what = absl::StrCat(peer.substr(0, peer.rfind(':')), why);
  if (failed_.size() >= kMaxFailures || !failed_.insert(what).second) return;
  const std::string line =
      absl::StrCat("TLS handshake with ", peer, " failed: ", why);
  log_->Warning(line);
  if (options_.failed) options_.failed(peer, line);
}

void ConnectionAcceptor::DropLocked(Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const Connection& connection = found->second;
  if (!connection.admitted) {
    close(connection.fd);
  } else if (options_.tls && !connection.known && !connection.is_cut) {
    TellFailedLocked(connection);
  }
  const auto numbered = by_fd_.find(connection.fd);
  if (numbered != by_fd_.end() && numbered->second == id) {
    by_fd_.erase(numbered);
  }
  const auto named = by_peer_.find(connection.peer);
  if (named != by_peer_.end() && named->second == id) by_peer_.erase(named);
  connections_.erase(found);
  admission_.Leave(id);
}

void ConnectionAcceptor::OnCall(const std::string& peer) {
  bool was_handshake = false;
  {
    absl::MutexLock lock(&mutex_);
    const auto named = by_peer_.find(peer);
    if (named == by_peer_.end()) return;
    Connection& connection = connections_.at(named->second);
    const absl::Time now = Monotonic();
    if (connection.calls == 0) {
      was_handshake = admission_.Begin(named->second, now);
    }
    if (!connection.known) {
      first_call_waits_.Observe(
          absl::ToDoubleSeconds(now - connection.arrived));
    }
    connection.known = true;
    WatchCallsLocked(&connection, ++connection.calls, ++connection.calls_seen);
    was_handshake = was_handshake && admission_.waiting() > 0;
  }
  if (was_handshake) Wake();
}

void ConnectionAcceptor::OnCallEnd(const std::string& peer) {
  absl::MutexLock lock(&mutex_);
  const auto named = by_peer_.find(peer);
  if (named == by_peer_.end()) return;
  int& calls = connections_.at(named->second).calls;
  // Another connection may have the peer's port by now.
  if (calls == 0 || --calls > 0) return;
  admission_.Idle(named->second, Monotonic());
  if (admission_.waiting() > 0) Wake();
}

}  // namespace clusterd
