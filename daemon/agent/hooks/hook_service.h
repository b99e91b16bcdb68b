// Answers a scheduler's hooks on this host: config/launch/hook_table.h says
// what each judges, and Decide gives the answers.
//
// 64 concurrent prologs share their questions: one to the controller for each
// job digest, and one observation of the host.
//
// The brake. Before it drains, the service asks the controller, which counts
// the hosts that fail in a window. A "no" means that the check is more likely
// wrong than that many hosts: a person must check. No host is drained then, and
// the answer is:
//   Slurm  ALLOW, with the failure in `let_through`: a prolog or epilog that
//          fails drains its node, which the brake must prevent. One job may be
//          lost; an emptied cluster loses all. PrologSlurmctld refuses such
//          jobs and drains no node.
//   others REFUSE: their exit status drains no host.
// The brake also holds while an attached controller does not answer, as it may
// be busy with many failing hosts. Without a controller there is no brake: this
// host drains for failures that its own facts prove.
#ifndef DAEMON_AGENT_HOOKS_HOOK_SERVICE_H_
#define DAEMON_AGENT_HOOKS_HOOK_SERVICE_H_

#include <cstdint>

#include "config/identity/signature.h"
#include "daemon/agent/hooks/drainer.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/command/clock.h"
#include "proto/agent_hub.pb.h"
#include "proto/facts.pb.h"
#include "proto/job.pb.h"

namespace clusterd {

// The last verdicts on jobs of this host, for times without a controller and
// for a job's task prologs. Each is a file of its own,
//   state/verdicts/0001764000000000-<job digest>.verdict
// with the verdict's time before the digest. So names sort by age and no text
// of a job is ever part of a path. Every verdict that is read is verified
// again: a file that the controller of this cluster has not signed is rejected.

// A verdict on 1,152 failing servers has some 300 kB.
inline constexpr size_t kMaxVerdictBytes = 4 << 20;
inline constexpr size_t kMaxKeptVerdicts = 64;
// The longest time for which a running job may begin steps.
inline constexpr absl::Duration kMaxKeptAge = absl::Hours(24 * 14);
// How far a controller's clock may be ahead of this host's.
inline constexpr absl::Duration kMaxClockLead = absl::Minutes(1);

// Safe for concurrent use; `files` is used by one thread at a time.
class VerdictStore {
 public:
  struct Options {
    std::string folder;  // Made when first needed, in an existing one.
    std::string cluster;
    // Reads the current PEM of this cluster's CA.
    std::function<absl::StatusOr<std::string>()> read_ca;
  };

  // Both pointers must outlive it.
  VerdictStore(Options options, FileSystem* files, Clock* clock)
      : options_(std::move(options)), files_(files), clock_(clock) {}

  // Returns the verdict if a controller of the cluster signed it, and it is for
  // this cluster and not older than `max_age`. FailedPrecondition if it is too
  // old, otherwise PermissionDenied.
  absl::StatusOr<JobVerdict> Prove(const SignedVerdict& verdict,
                                   absl::Duration max_age) const;

  // Replaces the verdict of the same job; drops surplus and old ones. REQUIRES:
  // Prove(verdict) returned `proved`.
  absl::Status Keep(const SignedVerdict& verdict, const JobVerdict& proved)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The newest of this JobDigest. NotFound if there is none; others as Prove.
  absl::StatusOr<JobVerdict> Find(absl::string_view digest,
                                  absl::Duration max_age) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void DropOld(const std::string& kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string PathOf(const std::string& name) const {
    return options_.folder + "/" + name;
  }

  const Options options_;
  FileSystem* const files_;
  Clock* const clock_;
  mutable SignatureVerifier verifier_;
  mutable absl::Mutex mutex_;
};

// Decides a hook's answer from what is known about the host and the job. Pure.
// The first line that holds wins; an unknown rule never drains.
//
//   what fails (see hook_settings.h)      answer
//   a rule about this host                REFUSE_AND_DRAIN; REFUSE if the rule
//                                         is of the job, or for `drain: false`
//   a rule about another host of the job  REFUSE: that host drains itself
//   a rule about the job or the cluster   REFUSE
//   a rule is waived                      ALLOW, named in `let_through`
//   a rule is unknown                     ALLOW, named in `let_through`;
//                                         REFUSE for `fail_closed_unknown`
//   nothing                               ALLOW

// Version of HookAnswer; increased when the meaning of a field changes.
inline constexpr uint32_t kHookSchemaVersion = 1;

// Input of a decision. Strangers may have written any of its texts.
struct JudgedHost {
  // Reasons about this host, from a verdict and its own fresh facts.
  std::vector<JobReason> by_verdict;
  std::vector<JobReason> by_itself;
  // Reasons about the job, and about its other hosts, each with its host.
  std::vector<JobReason> others;
  // Failed questions and rejected answers with their reasons; a line each.
  std::vector<FindingValue> trouble;
  std::string basis;
};

// Splits a verdict into reasons. A state without a reason in the bounded list
// becomes a reason without a rule; a verdict without the host is trouble.
void AddVerdict(const JobVerdict& verdict, absl::string_view host,
                JudgedHost* judged);

// Applies the host's current waivers to an older verdict's reasons about it,
// and drops rule maintenance, which the host judges itself. nullptr: no change.
void HeedWaivers(const HostWaivers* waivers, absl::Time now,
                 std::vector<JobReason>* reasons);

HookAnswer Decide(const JudgedHost& judged, const HookSettings& settings);

// Adds a line, and its words, about a problem that does not block the job.
void AddLetThrough(const FindingValue& words, HookAnswer* answer);

// Changes the answer for a brake that holds for `why`, added after the failures
// that do not block the job: all of them if `opens`. If not, the job is
// refused.
void HoldBrake(const FindingValue& why, bool opens, HookAnswer* answer);

// NAME=VALUE lines for the job: HCCL_WHITELIST_DISABLE, and what `verdict`
// (nullptr: none) proves: HCCL_IF_IP of `host`, MASTER_ADDR, MASTER_PORT,
// HCCL_IF_BASE_PORT unless a login file of `host` sets it, and NNODES and
// NODE_RANK by the order of the job's servers. Only IPv4 addresses.
std::vector<std::string> JobEnvironment(const JobVerdict* verdict,
                                        const JobSpec& job,
                                        absl::string_view host);

// The longest wait that a request may set; 0 is the default of its kind.
inline constexpr absl::Duration kMaxHookWait = absl::Minutes(5);

// Asks the controller a hook's questions, over this host's open stream. Both
// calls block, at most for `wait`, and set the question's id. Unavailable: this
// host is not attached, or was disconnected before the answer.
// DeadlineExceeded: no answer in time, as from a controller that does not know
// the question. AskJob also returns the controller's own error. Safe for
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
class HookService {
 public:
  // All pointers must outlive it; the functions are called from many threads.
  struct Parts {
    std::string host;  // The name in this host's certificate.
    // Observes this host now, in at most that time.
    std::function<HostFacts(absl::Duration host_deadline)> observe;
    // Judges it by the rules of one host. `job`: narrowed to it; nullptr: none.
    std::function<Report(const HostFacts& facts, const JobSpec* job)> judge;
    // Reads the current agent.yaml.
    std::function<HookSettings()> settings;
    ControllerLine* controller = nullptr;
    VerdictStore* verdicts = nullptr;
    Drainer* drainer = nullptr;
    Clock* clock = nullptr;
    Log* log = nullptr;
    // The waivers for `judge`; null: unknown. No function: none are needed.
    std::function<std::shared_ptr<const HostWaivers>()> waivers = nullptr;
  };

  explicit HookService(Parts parts) : parts_(std::move(parts)) {}
  // REQUIRES: no call of Answer runs. Waits for the drainer, which calls back.
  ~HookService() {
    Stop();
    parts_.drainer->Settle();
  }

  // Blocks about as long as the hook can wait. If the hook was killed, so that
  // `gone` is true, no host is drained. InvalidArgument, with every mistake of
  // the request.
  absl::StatusOr<HookAnswer> Answer(const HookRequest& request,
                                    const std::function<bool()>& gone);

  // Calls of Answer continue, but do not wait for a grace.
  void Stop() { stopping_ = true; }

 private:
  struct Call;

  HookAnswer Decided(const Call& call);
  JudgedHost JudgeJob(const Call& call, JobVerdict* verdict);
  // Adds this host's own facts. `kept`: a verdict to add too, or nullptr.
  void JudgeAlone(const Call& call, const JobVerdict* kept, JudgedHost* judged);
  JudgedHost JudgeAfterJob(const Call& call);
  absl::StatusOr<JobVerdict> AskController(const JobSpec& job,
                                           const std::string& digest,
                                           absl::Duration max_age,
                                           absl::Duration wait);
  HostFacts Observe(absl::Duration wait);
  // Asks the brake and drains, or has the drainer recheck the host.
  void Act(const Call& call, HookAnswer* answer);
  bool BrakeIsOn(const Call& call, HookAnswer* answer);
  // True if our own drain for this rule may be undone.
  bool RuleHolds(const std::string& rule, const Report& report);
  void LogAnswer(const Call& call, const HookAnswer& answer);

  const Parts parts_;
  std::atomic<bool> stopping_{false};
  SharedWork<absl::StatusOr<JobVerdict>> questions_;
  SharedWork<HostFacts> observations_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_HOOKS_HOOK_SERVICE_H_
