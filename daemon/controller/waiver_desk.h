// Waivers that users ask for: checked, kept in the history's file, heeded by
// every check from then on, and told to the hosts that they cover.
#ifndef DAEMON_CONTROLLER_WAIVER_DESK_H_
#define DAEMON_CONTROLLER_WAIVER_DESK_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/controller/hosts/controller_parts.h"
#include "proto/controller.pb.h"

namespace clusterd {

// Of those that the controller keeps.
inline constexpr size_t kMaxKeptWaivers = 256;

// Safe for concurrent use. Calls wait for the disk, but for Tell.
class WaiverDesk {
 public:
  // The parts must outlive it.
  explicit WaiverDesk(const ControllerParts& parts) : parts_(parts) {}

  // Before hosts attach. What cannot be read is logged, and waives nothing.
  void Restore() ABSL_LOCKS_EXCLUDED(mutex_);
  // InvalidArgument, with every mistake of the request, a line each;
  // ResourceExhausted when as many are kept as may; the history's errors.
  absl::StatusOr<Waiver> Add(const WaiveRequest& request,
                             const std::string& owner)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // NotFound for an id that none has; the history's errors.
  absl::StatusOr<Waiver> End(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Attached hosts; to be called when the spec was read again, too.
  void Tell() const;

 private:
  absl::Status Check(const WaiveRequest& request, Waiver* waiver) const;
  // Puts them in force.
  void Heed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ControllerParts parts_;
  absl::Mutex mutex_;
  std::vector<Waiver> kept_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_WAIVER_DESK_H_
