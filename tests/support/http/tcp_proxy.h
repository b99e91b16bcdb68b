// A wire between two programs that a test can cut without notifying either, as
// if a switch dies or a host loses power.
#ifndef TESTS_SUPPORT_HTTP_TCP_PROXY_H_
#define TESTS_SUPPORT_HTTP_TCP_PROXY_H_

#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace clusterd {

// Passes connections to 127.0.0.1 on to a port of 127.0.0.1. Safe for
// concurrent use.
class TcpProxy {
 public:
  explicit TcpProxy(int target_port);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  // HOST:PORT to connect to.
  std::string address() const;

  // The first 64 KiB that the connecting ends have sent.
  std::string Heard() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return heard_;
  }
  // From now on the present connections drop all data in both directions
  // without notifying either end. New connections work.
  void CutPresentConnections() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for all present and future connections.
  void CutAll() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Wire {
    int from;
    int to;
    bool cut;
    bool is_dialled;  // From the connecting end.
  };

  void Run();
  void Accept();
  // Passes bytes from one end to the other; false when either has closed.
  bool Pass(const Wire& wire) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int target_port_;
  int listener_ = -1;
  int port_ = 0;
  int wake_read_ = -1;
  int wake_write_ = -1;
  absl::Mutex mutex_;
  std::vector<Wire> wires_ ABSL_GUARDED_BY(mutex_);
  std::string heard_ ABSL_GUARDED_BY(mutex_);
  bool cuts_all_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_HTTP_TCP_PROXY_H_
