// Owns the listening sockets of a gRPC server. gRPC 1.51 accepts every
// connection, never accepts again after EMFILE, and does not bound the calls or
// bytes of a peer that ignores the protocol. This class accepts connections,
// admits them to TLS as fast as they can be served (admission.h), and hands
// them to gRPC. It then watches the bytes received (TCP_INFO), the open calls
// and the begun ones, including those that the peer has reset at once. gRPC
// owns the descriptor then and may reuse its number; the socket's cookie
// (SO_COOKIE) detects that.
#ifndef DAEMON_CONTROLLER_ADMISSION_CONNECTION_ACCEPTOR_H_
#define DAEMON_CONTROLLER_ADMISSION_CONNECTION_ACCEPTOR_H_

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/values/histogram.h"
#include "daemon/controller/admission/admission.h"
#include "daemon/controller/admission/connection_state.h"
#include "daemon/process/allowance.h"
#include "daemon/process/log.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"

namespace clusterd {

struct AcceptorOptions {
  // ADDRESS:PORT; port 0 takes a free one. Without an address it listens on all
  // of the machine; a name stands for all of its addresses.
  std::string listen;
  const char* option = "--listen";  // The option with this address.
  AdmissionLimits admission;
  // Owned sockets that already listen; if empty, it binds its own.
  std::vector<int> listeners;
  // For one connection.
  AllowanceLimits bytes = {20 << 20, 2 << 20};
  // For one connection while nothing is sent to it. HTTP/2 windows bound
  // messages: 1 MiB and 64 KiB in gRPC 1.51, as Serve sets it. They do not
  // bound headers, and gRPC re-reads a string in them with every frame.
  uint64_t unanswered = 3 << 19;
  int calls = 32;
  // As `bytes`, but for begun calls; a peer above the rate is disconnected.
  AllowanceLimits begun = {1000, 200};
  // Calls are re-counted after this many received bytes. A call that has only
  // begun takes some 20 in HTTP/2, and some 7 kB of memory in gRPC 1.51.
  uint64_t count_every_bytes = 64 << 10;
  // Roughly what the kernel keeps unread; 0: the kernel's default.
  int receive_buffer_bytes = 0;
  // A connection that sends no ClientHello in this time is closed. If it sends
  // other bytes, it is closed at once. Until then it holds only a descriptor.
  absl::Duration silence = absl::Seconds(75);
  bool tls = true;  // False: for tests without certificates.
  // While others wait for a handshake slot, a peer that is silent this long
  // during its handshake is closed.
  absl::Duration stalled = absl::Seconds(5);
  // Called for each failed handshake that is logged; must not block.
  std::function<void(const std::string& peer, const std::string& line)> failed;
  // A peer must acknowledge sent data within this time (TCP_USER_TIMEOUT).
  absl::Duration unacknowledged = absl::Seconds(10);
};

// Safe for concurrent use.
class ConnectionAcceptor {
 public:
  // Binds and listens without accepting. Unavailable as CannotListen. `log`
  // must outlive it.
  static absl::StatusOr<std::unique_ptr<ConnectionAcceptor>> Listen(
      const AcceptorOptions& options, Log* log);

  // The server must have shut down first: its calls report their ends here.
  ~ConnectionAcceptor();

  int port() const { return port_; }
  const std::vector<int>& listeners() const { return listeners_; }

  // Makes the server of `builder` take its connections from this object and
  // report its calls. Call once.
  void Serve(grpc::ServerBuilder* builder,
             std::shared_ptr<grpc::ServerCredentials> credentials);
  // Begins to accept, once the server has started.
  void Open();
  // Stops accepting, before the server shuts down, and closes waiting
  // connections. Open ones stay.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  // A call of `peer`, as gRPC's ServerContext names it, has begun or ended.
  void OnCall(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnCallEnd(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);

  // Connections that have begun TLS and wait to be admitted.
  size_t waiting() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return admission_.waiting();
  }

  // Seconds from a connection's arrival to its first call.
  Histogram first_call_waits() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return first_call_waits_;
  }

 private:
  using Id = Admission::Id;
  struct Connection {
    int fd;  // Owned until it is admitted.
    uint64_t cookie;
    std::string peer;
    std::string network;  // PeerNetwork.
    absl::Time arrived;
    Allowance bytes = {};
    Allowance begun = {};
    UnansweredBytes unanswered = {};
    std::string random = {};  // From its ClientHello.
    bool silent = true;
    bool admitted = false;
    bool is_cut = false;         // Closed by us.
    bool known = false;          // A call has arrived.
    int calls = 0;               // Reported and not yet ended.
    uint64_t calls_seen = 0;     // All that were reported.
    uint64_t bytes_counted = 0;  // When its calls were last counted.
  };

  ConnectionAcceptor(const AcceptorOptions& options, Log* log);
  absl::Status Bind();
  void TakeListener(int fd);
  bool BindOne(const sockaddr* address, socklen_t size, int family);

  void Run();
  void OnEvent(uint64_t id, uint32_t events) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the peer whose calls have to be counted; empty: none.
  std::string OnConnectionLocked(Id id, uint32_t events)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The connection has sent its first bytes.
  void HearLocked(Id id, Connection* connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountCalls(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns when the next connection will have been silent for too long.
  absl::Time EndSilentLocked(absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets connections that gRPC has closed, and reads the byte counts of all:
  // epoll misses bytes that gRPC has read first. Returns the time of the next
  // sweep; adds the peers whose calls have to be counted.
  absl::Time SweepLocked(absl::Time now, std::vector<std::string>* to_count)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False: no connection waits, or the next one cannot be accepted.
  bool AcceptOne(int listener) ABSL_LOCKS_EXCLUDED(mutex_);
  // Closes the next waiting connection; false: it failed.
  bool ShedOne(int listener);
  // Returns when it must be called again.
  absl::Time AdmitSome() ABSL_LOCKS_EXCLUDED(mutex_);
  // True: the calls of the connection have to be counted.
  bool WatchBytesLocked(Connection* connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Cuts off a connection with too many open or begun calls.
  void WatchCallsLocked(Connection* connection, int64_t open, uint64_t begun)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CutLocked(Connection* connection, const std::string& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellCutLocked(const Connection& connection, const std::string& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Logs a connection that ended without a call, as a failed handshake. One
  // address is logged at most once in ten minutes.
  void TellFailedLocked(const Connection& connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropLocked(Id id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Wake();

  const AcceptorOptions options_;
  Log* const log_;
  int port_ = 0;
  std::vector<int> listeners_;
  const int epoll_;
  const int wake_;
  int spare_;  // Closed briefly when descriptors run out.
  // Only the thread uses these.
  absl::Time shed_logged_ = absl::InfinitePast();
  OpenStreams streams_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server_;

  mutable absl::Mutex mutex_;
  Admission admission_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<Id, Connection> connections_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Id> by_peer_ ABSL_GUARDED_BY(mutex_);
  Id last_id_ ABSL_GUARDED_BY(mutex_);
  // The newest connection with each descriptor's number.
  std::unordered_map<int, Id> by_fd_ ABSL_GUARDED_BY(mutex_);
  absl::Time swept_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // Sweeps are frequent until then, since gRPC is closing a connection.
  absl::Time ending_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // Silent connections by their arrival; some have sent bytes since.
  std::deque<std::pair<absl::Time, Id>> silent_ ABSL_GUARDED_BY(mutex_);
  // The longest bound is the longest time that a host waits for TLS.
  Histogram first_call_waits_ ABSL_GUARDED_BY(mutex_){
      {0.01, 0.1, 0.5, 1, 5, 10, 30, 75}};
  uint64_t cut_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time cut_logged_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // Addresses and reasons of logged failures; cleared periodically.
  std::set<std::string> failed_ ABSL_GUARDED_BY(mutex_);
  absl::Time failed_since_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  // Admitted connections are being handed to gRPC.
  bool handing_over_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // Last: uses everything above.
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_ADMISSION_CONNECTION_ACCEPTOR_H_
