// The listening sockets of a gRPC server, in our hands: gRPC 1.51 takes
// whatever comes, is deaf for ever after EMFILE, and holds a peer that heeds no
// protocol to no number of calls or bytes. Here connections are accepted,
// admitted to TLS as fast as they can be served (admission.h), handed to gRPC,
// and watched: what has come in (TCP_INFO), how many calls there are, and how
// many were begun, which counts those that their peer has reset at once. The
// descriptor is gRPC's then, and its number may be another's any time; the
// kernel's cookie of the socket (SO_COOKIE) tells whether it still is.
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
#include "daemon/process/log.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"

namespace clusterd {

struct AcceptorOptions {
  // ADDRESS:PORT; port 0 takes a free one. Without an address: all of the
  // machine. A name: all of its addresses.
  std::string listen;
  const char* option = "--listen";  // What the user sets it with.
  AdmissionLimits admission;
  // Sockets that listen already, which are ours then; none: it binds its own.
  std::vector<int> listeners;
  // Of one connection.
  AllowanceLimits bytes = {20 << 20, 2 << 20};
  // Of one connection, while nothing is sent to it. Messages wait for windows
  // of HTTP/2: 1 MiB and 64 KiB in gRPC 1.51, as Serve sets it. Headers do not,
  // and gRPC reads a string in them from its beginning with every frame.
  uint64_t unanswered = 3 << 19;
  int calls = 32;
  // As `bytes`, of calls that it begins; none a second: then it is closed.
  AllowanceLimits begun = {1000, 200};
  // How many bytes may come in before calls are counted again. Of a call that
  // has only begun HTTP/2 needs some 20, and gRPC 1.51 some 7 kB of memory.
  uint64_t count_every_bytes = 64 << 10;
  // What the kernel keeps of it, unread, about; 0: as the kernel likes.
  int receive_buffer_bytes = 0;
  // Who has not sent a ClientHello for so long is closed, who sends anything
  // else at once. Until then it costs a descriptor, of as many as may wait.
  absl::Duration silence = absl::Seconds(75);
  bool tls = true;  // False: for tests without certificates.
  // Where all places of handshakes are taken and others wait: who says nothing
  // amid one for so long is closed.
  absl::Duration stalled = absl::Seconds(5);
  // Hears of each failed handshake that is logged; must not block.
  std::function<void(const std::string& peer, const std::string& line)> failed;
  // For what was sent to a peer to be acknowledged (TCP_USER_TIMEOUT).
  absl::Duration unacknowledged = absl::Seconds(10);
};

// Safe for concurrent use.
class ConnectionAcceptor {
 public:
  // Binds and listens; nothing is accepted yet. Unavailable as CannotListen.
  // `log` must outlive it.
  static absl::StatusOr<std::unique_ptr<ConnectionAcceptor>> Listen(
      const AcceptorOptions& options, Log* log);

  // The server must have shut down: its calls tell us that they end.
  ~ConnectionAcceptor();

  int port() const { return port_; }
  const std::vector<int>& listeners() const { return listeners_; }

  // Makes the server of `builder` take its connections from here, and count its
  // calls. Once.
  void Serve(grpc::ServerBuilder* builder,
             std::shared_ptr<grpc::ServerCredentials> credentials);
  // Begins to accept, once the server has started.
  void Open();
  // Accepts no more, before the server shuts down; who waits is closed. What is
  // open stays.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  // A call of `peer`, as gRPC's ServerContext names it, has begun or ended.
  void OnCall(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnCallEnd(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);

  // How many connections have begun TLS and wait to be admitted.
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
    int fd;  // Ours until it is admitted.
    uint64_t cookie;
    std::string peer;
    std::string network;  // PeerNetwork.
    Allowance bytes;
    Allowance begun;
    absl::Time arrived;
    UnansweredBytes unanswered = {};
    std::string random = {};  // Of its ClientHello.
    bool silent = true;
    bool admitted = false;
    bool is_cut = false;         // By us.
    bool known = false;          // A call has come.
    int calls = 0;               // That we were told of and have not ended.
    uint64_t calls_told = 0;     // That we were told of.
    uint64_t bytes_counted = 0;  // When its calls were last counted.
  };

  ConnectionAcceptor(const AcceptorOptions& options, Log* log);
  absl::Status Bind();
  void TakeListener(int fd);
  bool BindOne(const sockaddr* address, socklen_t size, int family);

  void Run();
  void OnEvent(uint64_t id, uint32_t events) ABSL_LOCKS_EXCLUDED(mutex_);
  // The peer whose calls have to be counted; empty: none.
  std::string OnConnectionLocked(Id id, uint32_t events)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Something has come of a connection that had not begun TLS.
  void HearLocked(Id id, Connection* connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountCalls(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  // When the next one has been silent for too long.
  absl::Time EndSilentLocked(absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets connections that gRPC has closed, and looks at the bytes of all:
  // epoll tells nothing of what gRPC was faster to read. When to look again;
  // adds the peers whose calls have to be counted.
  absl::Time SweepLocked(absl::Time now, std::vector<std::string>* to_count)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False: there is none, or none can be.
  bool AcceptOne(int listener) ABSL_LOCKS_EXCLUDED(mutex_);
  // Closes the next connection; false: it could not.
  bool ShedOne(int listener);
  // When there is more to do.
  absl::Time AdmitSome() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the calls of the connection have to be counted.
  bool WatchBytesLocked(Connection* connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Cuts off who has more calls open, or has begun more, than it may.
  void WatchCallsLocked(Connection* connection, int64_t open, uint64_t begun)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CutLocked(Connection* connection, const std::string& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellCutLocked(const Connection& connection, const std::string& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // It has ended without a call, as one whose handshake failed. The same of an
  // address is said once in ten minutes.
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
  int spare_;  // Given up for a moment where no descriptor is left.
  // The thread's.
  absl::Time shed_told_ = absl::InfinitePast();
  OpenStreams streams_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server_;

  mutable absl::Mutex mutex_;
  Admission admission_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<Id, Connection> connections_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Id> by_peer_ ABSL_GUARDED_BY(mutex_);
  Id last_id_ ABSL_GUARDED_BY(mutex_);
  // Of the last connection with each descriptor's number.
  std::unordered_map<int, Id> by_fd_ ABSL_GUARDED_BY(mutex_);
  absl::Time swept_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // gRPC is closing one: until then it is looked for often.
  absl::Time ending_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // All that have not said a word, by since when; others among them.
  std::deque<std::pair<absl::Time, Id>> silent_ ABSL_GUARDED_BY(mutex_);
  // Up to the longest that a host waits for TLS.
  Histogram first_call_waits_ ABSL_GUARDED_BY(mutex_){
      {0.01, 0.1, 0.5, 1, 5, 10, 30, 75}};
  uint64_t cut_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time cut_told_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // The addresses of failed handshakes that were told of, and why; emptied now
  // and then.
  std::set<std::string> failed_ ABSL_GUARDED_BY(mutex_);
  absl::Time failed_since_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  // Connections that were admitted are being handed to gRPC.
  bool handing_over_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // Last: uses everything above.
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_ADMISSION_CONNECTION_ACCEPTOR_H_
