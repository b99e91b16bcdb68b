// Keeps this host attached to its controller: connects, says hello, runs the
// stream's tasks, and reconnects after a wait when the stream ends.
//   attaching -> attached -> (ended: wait) -> attaching -> ...
// An apply outlives its stream: its result goes to the stream that is open when
// it ends, or to the next one among the past applies.
#ifndef DAEMON_AGENT_AGENT_STREAM_H_
#define DAEMON_AGENT_AGENT_STREAM_H_

#include "absl/synchronization/notification.h"
#include "config/identity/tls_credentials.h"
#include "daemon/agent/apply_tasks.h"
#include "daemon/agent/hub_connection.h"
#include "daemon/agent/task_runner.h"

namespace clusterd {

// The most open questions of one host, and so the most hooks at once.
inline constexpr size_t kMaxOpenQuestions = 512;

// The questions that this host asks its controller over the stream. Each has an
// id in its stream and gets exactly one answer, at the latest when its time is
// over or the stream ends. Held by a shared_ptr. Safe for concurrent use.
class HubQuestions : public std::enable_shared_from_this<HubQuestions> {
 public:
  // Called once, from any thread.
  using Answered = std::function<void(absl::StatusOr<HubMessage>)>;

  // `scheduler` must outlive it.
  explicit HubQuestions(Scheduler* scheduler) : scheduler_(scheduler) {}

  // Returns the id of a new question, which the caller then sends. If too many
  // are open, calls `answered` with ResourceExhausted and returns 0.
  // DeadlineExceeded after `wait`.
  uint64_t Open(absl::Duration wait, Answered answered)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers a question; drops the answer if the question is closed.
  void Answer(uint64_t id, absl::StatusOr<HubMessage> answer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // True if no question waits for its answer.
  bool IsIdle() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return waiting_.empty();
  }
  // Answers all questions with `why`: the stream has ended, or there is none.
  void EndAll(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiting {
    Answered answered;
    Scheduler::TimerId timer = 0;
  };

  Scheduler* const scheduler_;
  absl::Mutex mutex_;
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
};

// From connecting to the controller's welcome: more than kConnectTimeout.
inline constexpr absl::Duration kWelcomeTimeout = absl::Seconds(90);

struct AgentStreamOptions {
  DialOptions dial;
  std::string cluster;
  // Files of the credentials, which errors name if the controller cannot be
  // reached; empty if there are none.
  TlsFiles tls;
  // The name in the own certificate, from which the controller reads it.
  std::string host;
  // The machine's ids, and its simulation, if any; the stream sets the rest.
  Hello hello;
  BackoffOptions backoff;
  // The first connect waits a random part: racks are switched on at once.
  absl::Duration first_dial_within;
  // The next connection's credentials; called before each, on the loop.
  std::function<std::shared_ptr<grpc::ChannelCredentials>()> credentials;
  // Called on the loop's thread with Welcome.roots_bundle, before on_change.
  std::function<void(uint64_t bundle)> on_offered_roots;
  // Called on the loop's thread with waivers that replace all earlier ones.
  std::function<void(HostWaivers waivers)> on_waivers;
  // Called on the loop's thread whenever the host has attached or detached.
  std::function<void(bool attached)> on_change;
};

// Objects that the stream uses and does not own. All must outlive it. Destroy
// `pool` and `scheduler`, and stop `applies`, before destroying `loop`.
struct AgentStreamParts {
  HostObserver* observer = nullptr;
  EventLoop* loop = nullptr;
  Scheduler* scheduler = nullptr;
  WorkerPool* pool = nullptr;
  Log* log = nullptr;
  // Draws from [0, 1); called on the loop's thread.
  std::function<double()> random;
  // nullptr: this daemon observes only.
  ApplyTasks* applies = nullptr;
  // Other tasks; work in `pool` calls them.
  OtherTasks others = {};
  // The newest line is sent to the controller, and the controller's line noted
  // in it; nullptr: there is none.
  AuditLog* audit = nullptr;
};

// Held by a shared_ptr. The first eight members are safe for concurrent use;
// everything else runs on the loop's thread.
class AgentStream : public std::enable_shared_from_this<AgentStream> {
 public:
  AgentStream(AgentStreamOptions options, const AgentStreamParts& parts);

  // Begins to attach. Call once; it must be stopped before it is released.
  void Start();
  // Says goodbye to the controller, without waiting for it.
  void BeginStop() {
    parts_.loop->Post([self = shared_from_this()] { self->Leave(); });
  }
  // Calls BeginStop and waits until everything has ended: at most a second.
  void Stop() {
    BeginStop();
    stopped_.WaitForNotification();
  }

  // Sends the report; it is dropped if there is no controller.
  void SendDrift(DriftReport report);
  // Sends the results of the newest applies, for an undo that no task reports.
  // If there is no controller, the next one gets them anyway.
  void SendPast();

  // Sends a question to the controller, after setting its id. Calls `answered`
  // once, from any thread, with a message of the matching kind. Unavailable if
  // there is no stream, or when it ends; DeadlineExceeded after `wait`.
  void Ask(AgentMessage question, absl::Duration wait,
           HubQuestions::Answered answered);

  // Ends the stream and reopens it with new `credentials`, unless a task, a
  // change or a question is open.
  void ReattachIfIdle();

  AgentStatus Status() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return status_;
  }

 private:
  void Attach();
  // Sends on the current stream, with the newest line of the audit file.
  void Send(AgentMessage message);
  void OnMessage(const HubMessage& message);
  void Take(const HubMessage& message);
  void OnWelcome(const Welcome& welcome);
  void OnTask(const Task& task);
  void OnChange(const Task& task,
                const std::function<void(AgentMessage message)>& send);
  // Sends `message` to the controller that asked on that connection.
  void Answer(const std::weak_ptr<HubConnection>& asker, AgentMessage message);
  void OnEnd(const absl::Status& end);
  // Returns the same error, with the names of our files.
  absl::Status Explained(const absl::Status& why) const;
  void SetAttached(bool attached, const std::string& error)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs `run` on the loop after `delay`, if this object still exists.
  void After(absl::Duration delay, void (AgentStream::*run)());
  void GiveUpWaiting();
  void Leave();
  void BreakOff() {
    if (connection_ == nullptr) return;
    connection_->Abort(absl::CancelledError("this clusterd is stopping"));
  }
  void EndStop() {
    parts_.scheduler->Cancel(timer_);
    stopped_.Notify();
  }

  const AgentStreamOptions options_;
  const AgentStreamParts parts_;
  Backoff backoff_;
  const std::shared_ptr<TaskRunner> tasks_;
  const std::shared_ptr<HubQuestions> questions_;
  std::shared_ptr<HubConnection> connection_;
  bool attached_ = false;
  AuditHead sent_head_;  // On this connection.
  bool stopping_ = false;
  bool reattaching_ = false;  // This daemon ends the stream itself.
  bool asked_to_leave_ = false;
  Scheduler::TimerId timer_ = 0;
  std::string logged_error_;
  absl::Notification stopped_;

  mutable absl::Mutex mutex_;
  AgentStatus status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_AGENT_STREAM_H_
