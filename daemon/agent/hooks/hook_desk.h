// Answers a scheduler's hooks on this host. How each kind is answered:
//
//   kind              | judged by                               | drains by
//   name
//   ------------------ | --------------------------------------- |
//   -------------- slurm-prolog      | the controller's verdict; while it is |
//   yes pbs, lsf, plain   | away fresh own facts and a kept verdict | no
//   slurm-health      | fresh own facts, no job                 | yes, and back
//   slurm-epilog      | fresh own facts, once the job's devices | yes, and back
//                     | are idle or `grace` is over             |
//   slurm-task-prolog | nothing: the kept verdict's addresses   | no
//
// hook_decision.h has what follows from what was judged. 64 prologs at once
// share their questions: one to the controller per job digest, one look at the
// host.
//
// The brake. Who must be drained is asked of the controller first, which counts
// how many hosts fail in a window. When it says no, something is more likely
// wrong with what is judged than with so many hosts, and a person has to look.
// Then nobody is drained, and the answer is:
//   Slurm  ALLOW, with the failure in `let_through`: a prolog or epilog that
//          exits with a failure drains its node whatever its answer, which is
//          what the brake is there to prevent. One job may be lost; an emptied
//          cluster loses all. What refuses such jobs without draining anybody
//          is PrologSlurmctld.
//   others REFUSE: nothing of theirs is drained by an exit status.
// The same while the controller is there and does not say: it may be busy with
// very many that fail. Only one that is away is no brake: this host cannot know
// of others then, and drains for what is broken for sure by its own facts.
#ifndef DAEMON_AGENT_HOOKS_HOOK_DESK_H_
#define DAEMON_AGENT_HOOKS_HOOK_DESK_H_

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/agent/hooks/drainer.h"
#include "daemon/agent/hooks/hook_decision.h"
#include "daemon/agent/hooks/hook_settings.h"
#include "daemon/agent/hooks/shared_work.h"
#include "daemon/agent/hooks/verdict_store.h"
#include "daemon/host/command/clock.h"
#include "daemon/process/log.h"
#include "proto/agent_hub.pb.h"
#include "proto/facts.pb.h"
#include "proto/job.pb.h"

namespace clusterd {

// What is asked, and how long it may take in all; zero in the request: the
// default of its kind (hook_desk.cc).
inline constexpr absl::Duration kMaxHookWait = absl::Minutes(5);

// What a hook asks the controller, over the stream that this host has open.
// Both block, at most for `wait`, and fill in the question's id. Unavailable:
// this host is not attached, or was cut off before the answer.
// DeadlineExceeded: no answer in time, as of a controller that knows no such
// question. AskJob also passes on the controller's own error. Safe for
// concurrent use.
class ControllerLine {
 public:
  virtual ~ControllerLine() = default;

  virtual absl::StatusOr<SignedVerdict> AskJob(JobQuestion question,
                                               absl::Duration wait) = 0;
  virtual absl::StatusOr<DrainAnswer> AskDrain(DrainQuestion question,
                                               absl::Duration wait) = 0;
};

// Safe for concurrent use.
class HookDesk {
 public:
  // All pointers must outlive it; the functions are called from many threads.
  struct Parts {
    std::string host;  // The name in this host's certificate.
    // Looks at this host now, in at most that time.
    std::function<HostFacts(absl::Duration host_deadline)> observe;
    // Judges it by the rules that need one host, with the job narrowed to it;
    // nullptr: no job.
    std::function<Report(const HostFacts& facts, const JobSpec* job)> judge;
    // agent.yaml as it is now.
    std::function<HookSettings()> settings;
    ControllerLine* controller = nullptr;
    VerdictStore* verdicts = nullptr;
    Drainer* drainer = nullptr;
    Clock* clock = nullptr;
    Log* log = nullptr;
    // Whether `judge` knows which failures are waived. Null: it does.
    std::function<bool()> knows_waivers = nullptr;
  };

  explicit HookDesk(Parts parts) : parts_(std::move(parts)) {}
  // No answer may be under way; waits for the drainer, which calls back.
  ~HookDesk() {
    Stop();
    parts_.drainer->Settle();
  }

  // Blocks at most about as long as the hook can wait. `gone`: whether who
  // asked is there no more; nobody is drained for a hook that was killed.
  // InvalidArgument, with every mistake, for a request that is none.
  absl::StatusOr<HookAnswer> Answer(const HookRequest& request,
                                    const std::function<bool()>& gone);

  // Answers go on; nobody waits for a grace any more.
  void Stop() { stopping_ = true; }

 private:
  struct Call;

  HookAnswer Decided(const Call& call);
  JudgedHost JudgeJob(const Call& call, JobVerdict* verdict);
  // Adds this host's own facts. `kept`: nullptr, or the verdict to add, too.
  void JudgeAlone(const Call& call, const JobVerdict* kept, JudgedHost* judged);
  JudgedHost JudgeAfterJob(const Call& call);
  absl::StatusOr<JobVerdict> AskController(const JobSpec& job,
                                           const std::string& digest,
                                           absl::Duration max_age,
                                           absl::Duration wait);
  HookAnswer TaskEnvironment(const Call& call);
  HostFacts Look(absl::Duration wait);
  // Asks the brake and drains, or lets the host be used again.
  void Act(const Call& call, HookAnswer* answer);
  bool BrakeIsOn(const Call& call, HookAnswer* answer);
  // For a drain of ours that is to be taken back.
  bool RuleHolds(const std::string& rule, const Report& report);
  void LogAnswer(const Call& call, const HookAnswer& answer);

  const Parts parts_;
  std::atomic<bool> stopping_{false};
  SharedWork<absl::StatusOr<JobVerdict>> questions_;
  SharedWork<HostFacts> looks_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_HOOKS_HOOK_DESK_H_
