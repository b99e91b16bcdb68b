// The attached hosts, and the tasks that wait for their answers. Independent of
// gRPC: a stream is a HostLink. Names come from certificates; a host outside
// the spec may attach and is listed as such. host_claims.cc decides between
// two streams under one name.
#ifndef DAEMON_CONTROLLER_HOSTS_ATTACHED_HOSTS_H_
#define DAEMON_CONTROLLER_HOSTS_ATTACHED_HOSTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "proto/agent_hub.pb.h"
#include "proto/controller.pb.h"
#include "proto/facts.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// The sending half of a host's stream. Thread-safe; never blocks or calls back.
class HostLink {
 public:
  virtual ~HostLink() = default;
  // Silently dropped if the stream has ended.
  virtual void Send(HubMessage message) = 0;
  // Ends the stream; `why` goes to the host.
  virtual void Close(const absl::Status& why) = 0;
};

struct HostLimits {
  size_t max_attached = 20000;
  // Open tasks of one host, besides its place in the cluster's one change.
  size_t max_pending = 64;
  // Consecutive answers to unknown tasks. A few may be late, or cancelled.
  int max_unsolicited = 128;
  absl::Duration ask = absl::Seconds(5);  // For proof that it is alive.
  // How long the last try of a second machine counts as a conflict.
  absl::Duration conflict_memory = absl::Minutes(3);
};

struct Attachment {
  std::string host;  // From the certificate.
  std::string peer;  // Address that it connects from.
  Hello hello;       // REQUIRES: CheckHello is OK.
  std::shared_ptr<HostLink> link;
  int64_t certificate_ends_ms = 0;  // Unix time; 0: unknown.
  bool certificate_renews = false;  // With this controller.
  // Another machine that the name is bound to; empty: none.
  std::string bound_to = {};
  // Called once and soon if Attach returns 0; must not block.
  std::function<void(absl::StatusOr<uint64_t> session)> decided = nullptr;
};

// A task for one host.
struct HostTask {
  std::string host;
  // The kind of task; RunTask sets the id, and deadline_ms if it is 0.
  Task task;
  // How long to wait for the answer.
  absl::Duration deadline;
  // Called for each step that has ended, on the stream's thread and never after
  // `done` has begun; must not block. A hostile host may send any step, any
  // number of times.
  std::function<void(StepOutcome step)> progress = [](const auto&) {};
};

// Unrequested reports of hosts. Called on the streams' threads, without a lock;
// must not block. All texts are clean, and sizes within fact_limits.h.
struct HostHooks {
  std::function<void(const std::string& host, DriftReport report)> drift =
      [](const auto&, const auto&) {};
  // Includes late answers to an apply or rollback.
  std::function<void(const std::string& host, PastApplies past)> past_applies =
      [](const auto&, const auto&) {};
  // Adds what the controller knows to requested facts.
  std::function<HostFacts(HostFacts)> facts = [](auto facts) { return facts; };
};

// Safe for concurrent use. Calls no link or callback under its lock.
class AttachedHosts {
 public:
  using SessionId = uint64_t;
  using TaskId = uint64_t;
  // Gets the host's answer, with an outcome, limited in size and cleaned, or:
  //   FailedPrecondition  not attached; nothing was sent
  //   Unimplemented       its clusterd does not know the task; it did nothing
  //   ResourceExhausted   it has too many open tasks; nothing was sent
  //   Unavailable         its stream has ended; it may have got the task
  //   DeadlineExceeded    no answer in time; it may still be busy
  //   InvalidArgument     an answer without an outcome or beyond the limits
  using TaskDone = std::function<void(absl::StatusOr<TaskResult> result)>;
  // Gets facts under the host's name, with its clock's offset from ours. If
  // there are none, `missing` is set.
  using Done = std::function<void(HostFacts facts)>;

  // Both pointers must outlive this object.
  AttachedHosts(Scheduler* scheduler, Log* log, HostLimits limits = {},
                HostHooks hooks = {})
      : scheduler_(scheduler),
        log_(log),
        limits_(limits),
        hooks_(std::move(hooks)) {}
  // REQUIRES: all streams have ended.
  ~AttachedHosts() = default;

  // Returns 0 if the stream that holds the name is asked first; see `decided`.
  //   FailedPrecondition  another machine holds the name
  //   PermissionDenied    another machine is bound to it
  //   Unavailable         the holder is already being asked
  //   ResourceExhausted   the controller's bound on hosts is reached
  absl::StatusOr<SessionId> Attach(Attachment attachment);
  // The stream has ended, and with it its pending tasks. Unknown ids are
  // ignored: the session may have been replaced.
  void Detach(SessionId session, const FindingValue& reason);
  // Handles any answer with an outcome. Returns why to close the stream, or OK.
  absl::Status OnResult(SessionId session, TaskResult result);
  // Handles any other message after the hello; the same.
  absl::Status OnProgress(SessionId session, TaskProgress progress);
  absl::Status OnDrift(SessionId session, DriftReport report);
  absl::Status OnPastApplies(SessionId session, PastApplies past);

  // Gives a task to a host. Unless the task is cancelled, calls `done` exactly
  // once, possibly before this returns.
  TaskId RunTask(HostTask task, const TaskDone& done);
  // Like RunTask, for a task from ObservationOf.
  TaskId Observe(const HostTask& task, Done done);
  // No call of the task's `done` begins after this. The host gets a cancel,
  // which stops an observation but never an apply.
  void Cancel(TaskId task);
  // A step was reported: waits this long for the next one or the answer.
  // Ignored for a task that has ended.
  void Extend(TaskId task, absl::Duration deadline);
  bool IsAttached(const std::string& host);
  // The last hello of the machine that is attached under this name.
  std::optional<Hello> HelloOf(const std::string& host);
  // FailedPrecondition for an attached host, NotFound for an unknown one.
  absl::Status Forget(const std::string& host);
  // Every host of the spec in its order, then the others: attached ones and,
  // until they are forgotten, detached ones.
  std::vector<HostEntry> Entries(const ClusterSpec& spec);
  // Fills in the hosts of ClusterNow. Copies no entries: called every second.
  void CountHosts(const ClusterSpec& spec, ClusterNow* now);
  HostEntry Entry(const ClusterSpec& spec, const std::string& host);
  // Ends the host's stream, if it has one.
  void CloseHost(const std::string& host, const absl::Status& why);
  void TellWaivers(const ClusterSpec& spec);
  // Asks all hosts to leave; shortly after closes the remaining streams.
  void CloseAll(const absl::Status& why, absl::Duration come_back_within);

 private:
  struct Pending {
    TaskDone done;
    std::function<void(StepOutcome)> progress;
    Scheduler::TimerId timer = 0;
  };
  struct Session {
    SessionId id = 0;
    Attachment attachment;
    std::map<TaskId, Pending> pending;
    int unsolicited = 0;
    uint64_t heard = 0;  // Messages.
  };
  // A refused second machine.
  struct OtherClaimant {
    Hello hello;
    std::string peer;
    absl::Time last_try;
  };
  // A host that has attached before.
  struct Host {
    std::unique_ptr<Session> session;  // Null: not attached now.
    bool asked = false;                // Was asked if it is alive.
    std::optional<OtherClaimant> other_claimant;
    // The entry as listed, without conflict and in_spec. It keeps the last
    // drift report after the host detaches.
    HostEntry entry;
  };

  // Three functions of host_claims.cc. Returns 0 if `held` must be asked.
  absl::StatusOr<SessionId> AdmitLocked(const Attachment& attachment,
                                        SessionId* held)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Remembers the second machine of `host`.
  absl::Status RefuseLocked(const Attachment& second, Host* host)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `heard`: how many messages `held` had sent when it was asked.
  void OnAsked(const Attachment& claim, SessionId held, uint64_t heard,
               bool answered) ABSL_LOCKS_EXCLUDED(mutex_);
  // Null if the host is not attached.
  const Session* SessionLocked(const std::string& host) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The attached hosts' names and links.
  std::vector<std::pair<std::string, std::shared_ptr<HostLink>>> Links()
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Null if the session has ended; otherwise notes a sign of life.
  Session* HearLocked(SessionId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Registers the task and returns its link, or why not.
  absl::StatusOr<std::shared_ptr<HostLink>> AdmitTaskLocked(
      const HostTask& task, TaskId id, const TaskDone& done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes and returns a session, and remembers it.
  std::unique_ptr<Session> RemoveLocked(SessionId id,
                                        const FindingValue& reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Empty unless a second machine has tried recently.
  std::optional<FindingValue> ConflictLocked(const Host& host) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  HostEntry EntryLocked(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Ends the task with DeadlineExceeded; `none` says which answer is missing.
  Scheduler::TimerId TimerOf(TaskId task, absl::Duration deadline,
                             const char* none);
  void EndPending(std::unique_ptr<Session> session, const FindingValue& reason)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes a task and sends its host a cancel; nullopt if it has ended.
  std::optional<Pending> TakeTask(TaskId task) ABSL_LOCKS_EXCLUDED(mutex_);
  // An observation's outcome, with the controller's own facts on the host.
  HostFacts FactsOf(const std::string& host, absl::Time asked,
                    absl::StatusOr<TaskResult> result)
      ABSL_LOCKS_EXCLUDED(mutex_);

  Scheduler* const scheduler_;
  Log* const log_;
  const HostLimits limits_;
  const HostHooks hooks_;

  absl::Mutex mutex_;
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Host> hosts_ ABSL_GUARDED_BY(mutex_);
  std::map<SessionId, Session*> sessions_ ABSL_GUARDED_BY(mutex_);
  // The session that must answer each task.
  std::map<TaskId, Session*> tasks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_ATTACHED_HOSTS_H_
