// Answers a scheduler's hooks on this host: config/launch/hook_table.h has what
// each judges, and Decide the answers.
//
// 64 prologs at once share their questions: one to the controller for each job
// digest, and one look at the host.
//
// The brake. Before it drains, the desk asks the controller, which counts the
// hosts that fail in a window. A "no" means that the check is more likely wrong
// than so many hosts are: a person must look. No host is drained then, and the
// answer is:
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

// The last verdicts of jobs on this host, for when the controller is away and
// for a job's task prologs. Each is a file of its own,
//   state/verdicts/0001764000000000-<job digest>.verdict
// with the moment of the verdict before the digest, so that names sort by age
// and no text of a job is ever part of a path. What is read is proved again:
// a file that the controller of this cluster has not signed is nobody's word.

// One of 1,152 servers that all fail has some 300 kB.
inline constexpr size_t kMaxVerdictBytes = 4 << 20;
inline constexpr size_t kMaxKeptVerdicts = 64;
// A job may run for that long and still begin steps.
inline constexpr absl::Duration kMaxKeptAge = absl::Hours(24 * 14);
// How far ahead of this host the controller's clock may be.
inline constexpr absl::Duration kMaxClockLead = absl::Minutes(1);

// Safe for concurrent use; `files` is used by one thread at a time.
class VerdictStore {
 public:
  struct Options {
    std::string folder;  // Made when first needed; what is above it is there.
    std::string cluster;
    // The PEM of who signs this cluster's certificates, as it is now.
    std::function<absl::StatusOr<std::string>()> read_ca;
  };

  // Both pointers must outlive it.
  VerdictStore(Options options, FileSystem* files, Clock* clock)
      : options_(std::move(options)), files_(files), clock_(clock) {}

  // The verdict, if a controller of the cluster signed it, it is of the cluster
  // and no older than `max_age`. PermissionDenied otherwise, and
  // FailedPrecondition for its age.
  absl::StatusOr<JobVerdict> Prove(const SignedVerdict& verdict,
                                   absl::Duration max_age) const;

  // Replaces that of the same job; drops what is too much or too old. REQUIRES:
  // Prove(verdict) gave `proved`.
  absl::Status Keep(const SignedVerdict& verdict, const JobVerdict& proved)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The newest of that JobDigest. NotFound: none is kept; else as Prove.
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

// Decides what a hook answers, from what is known about the host and the job.
// Pure. The first line that holds wins; an unknown rule never drains.
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

// Of HookAnswer; goes up when the meaning of a field changes.
inline constexpr uint32_t kHookSchemaVersion = 1;

// What is known before a decision. All texts may be a stranger's.
struct JudgedHost {
  // About this host, by a controller's verdict and by its own fresh facts.
  std::vector<JobReason> by_verdict;
  std::vector<JobReason> by_itself;
  // About others of the job, each with its host, and about the job as a whole.
  std::vector<JobReason> others;
  // What could not be asked or believed, and why; a line each.
  std::vector<FindingValue> trouble;
  std::string basis;
};

// Splits a verdict. A state without a reason in the bounded list becomes a
// reason without a rule; a host that the verdict lacks is trouble.
void AddVerdict(const JobVerdict& verdict, absl::string_view host,
                JudgedHost* judged);

// Makes reasons of an older verdict about this host what they are by the
// waivers that the host knows now; nullptr: changes none. Drops those of rule
// maintenance, which the host judges itself.
void HeedWaivers(const HostWaivers* waivers, absl::Time now,
                 std::vector<JobReason>* reasons);

HookAnswer Decide(const JudgedHost& judged, const HookSettings& settings);

// Adds a line of what does not block the job, and its words.
void AddLetThrough(const FindingValue& words, HookAnswer* answer);

// The answer of a brake that holds for `why`, which stands behind the failures
// that do not block the job: all where `opens`. Otherwise the job is refused.
void HoldBrake(const FindingValue& why, bool opens, HookAnswer* answer);

// NAME=VALUE lines for the job: HCCL_WHITELIST_DISABLE, and what `verdict`
// (nullptr: none) is sure of: HCCL_IF_IP of `host`, MASTER_ADDR, MASTER_PORT,
// HCCL_IF_BASE_PORT unless a login file of `host` sets it, and NNODES and
// NODE_RANK by the order of the job's servers. Only IPv4 addresses.
std::vector<std::string> JobEnvironment(const JobVerdict* verdict,
                                        const JobSpec& job,
                                        absl::string_view host);

// The longest wait of a request; zero in it is its kind's default.
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
class HookService {
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
    // Those that `judge` heeds; null: not known. No function: it needs none.
    std::function<std::shared_ptr<const HostWaivers>()> waivers = nullptr;
  };

  explicit HookService(Parts parts) : parts_(std::move(parts)) {}
  // No answer may be under way; waits for the drainer, which calls back.
  ~HookService() {
    Stop();
    parts_.drainer->Settle();
  }

  // Blocks about as long as the hook can wait. `gone`: whether the hook was
  // killed, which then drains no host. InvalidArgument, with every mistake, for
  // an invalid request.
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

#endif  // DAEMON_AGENT_HOOKS_HOOK_SERVICE_H_
