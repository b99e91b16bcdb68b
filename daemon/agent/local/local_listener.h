// Accepts connections on a unix socket, so that it is known who is at the other
// end of each: gRPC's own listener keeps that to itself.
#ifndef DAEMON_AGENT_LOCAL_LOCAL_LISTENER_H_
#define DAEMON_AGENT_LOCAL_LOCAL_LISTENER_H_

#include <sys/socket.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace clusterd {

class LocalListener {
 public:
  // Makes the socket at `path`, for root and its group, and listens. Sets the
  // umask for a moment. Unavailable, with the reason, if that cannot be done.
  static absl::StatusOr<std::unique_ptr<LocalListener>> Listen(
      const std::string& path);
  // The socket's file stays.
  ~LocalListener();

  // Gives each connection to `take`, which owns it then, on a thread of its
  // own. Once.
  void Start(std::function<void(int connection)> take);

  // Accepts no more.
  void Stop();

  // Who made a connection, as the kernel has it (SO_PEERCRED, unix(7)): "uid 0
  // gid 0 pid 4711". `peer`: what gRPC calls the connection, "fd:17". "unknown"
  // if there is none. Of a connection that was closed in this moment it may be
  // who got its number next.
  std::string Who(absl::string_view peer) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  LocalListener(int listening, int stop) : listening_(listening), stop_(stop) {}
  void Accept(const std::function<void(int connection)>& take)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const int listening_;
  const int stop_;  // An eventfd: written to, it ends the thread.
  mutable absl::Mutex mutex_;
  // By their number, which is given anew only after a connection is closed.
  std::map<int, ucred> callers_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_LOCAL_LOCAL_LISTENER_H_
