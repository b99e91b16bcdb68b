// Ctrl-C on an apply or rollback that a command follows: the controller
// finishes the busy hosts and begins no further wave.
#ifndef CLIENT_COMMAND_RUN_CANCELLER_H_
#define CLIENT_COMMAND_RUN_CANCELLER_H_

#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/connection/rpc_client.h"

namespace clusterd {

// Asks the controller to cancel the run, in parallel to the call that follows
// it, once that is wanted and the run has an id. If the controller cannot be
// reached, it also ends the followed call: otherwise the user would wait for
// further waves. Safe for concurrent use.
class RunCanceller {
 public:
  // Both must outlive it, or Close.
  RunCanceller(ControllerClient& client, Interrupt& interrupt)
      : client_(client), interrupt_(interrupt) {}
  ~RunCanceller() { Close().IgnoreError(); }
  RunCanceller(const RunCanceller&) = delete;
  RunCanceller& operator=(const RunCanceller&) = delete;

  void OnInterrupt() { AskIfDue(/*wanted=*/true, ""); }
  void OnRunId(const std::string& run_id) { AskIfDue(false, run_id); }

  // Waits for the answer, at most kShortTimeout; sends nothing afterwards. Ok:
  // the controller accepted it; NotFound: it was not asked; otherwise why not.
  absl::Status Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void AskIfDue(bool wanted, const std::string& run_id)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnAnswer(const grpc::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  ControllerClient& client_;
  Interrupt& interrupt_;
  absl::Mutex mutex_;
  std::string run_id_ ABSL_GUARDED_BY(mutex_);
  bool wanted_ ABSL_GUARDED_BY(mutex_) = false;
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> answer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // CLIENT_COMMAND_RUN_CANCELLER_H_
