// Ctrl-C as an event that ends the call under way, so that a run still says
// what it knows. No signal here: main.cc turns SIGINT and SIGTERM into Fire().
#ifndef CLIENT_CONNECTION_INTERRUPT_H_
#define CLIENT_CONNECTION_INTERRUPT_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/client_context.h"

namespace clusterd {

// Safe for concurrent use.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Cancels the watched call. False if it had fired before.
  bool Fire() ABSL_LOCKS_EXCLUDED(mutex_);

  bool fired() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Readable once it has fired, for a poll() beside what a person types; -1 if
  // the system has no descriptor left, which poll() passes over.
  int descriptor() const { return descriptor_; }

  // A call that Fire cancels while it lives; at once if Fire came earlier. Only
  // the last one is watched.
  void Watch(const std::shared_ptr<grpc::ClientContext>& context)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const int descriptor_;
  mutable absl::Mutex mutex_;
  bool fired_ ABSL_GUARDED_BY(mutex_) = false;
  std::weak_ptr<grpc::ClientContext> watched_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // CLIENT_CONNECTION_INTERRUPT_H_
