// One user at full load: a viewer that holds as much as the controller gives
// one user, never reads it, and repeats calls. Tests and benchmarks measure its
// effect on others.
#ifndef TESTS_COMPONENT_VIEWER_BUSY_VIEWER_H_
#define TESTS_COMPONENT_VIEWER_BUSY_VIEWER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "proto/controller.grpc.pb.h"

namespace clusterd {

// Not safe for concurrent use.
class BusyViewer {
 public:
  struct Options {
    // Makes a new connection of the viewer.
    std::function<std::unique_ptr<Controller::Stub>()> connect;
    // An attached host of the spec that answers no task.
    std::string silent_host;
    // Ids in the history. The viewer reads one again and again. The other is
    // larger than any connection's window; its answers stay unread.
    std::string read_entry;
    std::string unread_entry;
  };

  explicit BusyViewer(Options options);
  // Stops the calls and drops everything.
  ~BusyViewer();
  BusyViewer(const BusyViewer&) = delete;
  BusyViewer& operator=(const BusyViewer&) = delete;

  // Drops many waiting checks. Then holds half of the running checks, a quarter
  // of the waiting ones, and four answers with the unread entry. False if the
  // controller does not give it that much within kPatience.
  bool HoldAll();
  // Asks for one more check; ok: the viewer holds that one, too.
  absl::Status HoldAnotherCheck();
  // Drops one unread answer and calls on four threads from now on. False if
  // fewer than twenty calls end within kPatience.
  bool BeginCalls();

 private:
  struct Held;

  const Options options_;
  int another_ = 2000;  // Larger than the number of any check of HoldAll.
  std::unique_ptr<Held> held_;
};

}  // namespace clusterd

#endif  // TESTS_COMPONENT_VIEWER_BUSY_VIEWER_H_
