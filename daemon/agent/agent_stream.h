// Keeps this host attached to its controller: dials, says hello, does the tasks
// that come down the stream, and after any end of it waits and dials again.
//   attaching -> attached -> (ended: wait) -> attaching -> ...
// An apply outlives the stream that asked for it: its result goes to whatever
// stream there is when it ends, or among the past applies to the next.
#ifndef DAEMON_AGENT_AGENT_STREAM_H_
#define DAEMON_AGENT_AGENT_STREAM_H_

#include "absl/synchronization/notification.h"
#include "config/identity/tls_credentials.h"
#include "daemon/agent/apply_tasks.h"
#include "daemon/agent/hub_connection.h"
#include "daemon/agent/task_runner.h"

namespace clusterd {

// Questions of one host that may be open; a host has no more hooks under way.
inline constexpr size_t kMaxOpenQuestions = 512;

// The questions that this host asks its controller over the stream: each has an
// id of its stream and ends in exactly one answer, at the latest when its time
// is over or the stream ends. Held by a shared_ptr. Safe for concurrent use.
class HubQuestions : public std::enable_shared_from_this<HubQuestions> {
 public:
  // Called once, from any thread.
  using Answered = std::function<void(absl::StatusOr<HubMessage>)>;

  // `scheduler` must outlive it.
  explicit HubQuestions(Scheduler* scheduler) : scheduler_(scheduler) {}

  // The id of a new question, to be sent then; 0, and `answered` has been
  // called with ResourceExhausted, if there are too many. DeadlineExceeded
  // after `wait`.
  uint64_t Open(absl::Duration wait, Answered answered)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // An answer; one that nobody waits for is dropped.
  void Answer(uint64_t id, absl::StatusOr<HubMessage> answer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // No question waits for its answer.
  bool IsIdle() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return waiting_.empty();
  }
  // The stream has ended, or there is none.
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

// From dialling to the controller's welcome: more than kConnectTimeout.
inline constexpr absl::Duration kWelcomeTimeout = absl::Seconds(90);

struct AgentStreamOptions {
  DialOptions dial;
  std::string cluster;
  // The files that the credentials come from, to name them where the controller
  // is not reached; none where there are no files.
  TlsFiles tls;
  // As in the own certificate; the controller reads it there, not here.
  std::string host;
  // Which machine it is, and the name of the simulation where it is no real
  // one; the rest is filled in.
  Hello hello;
  BackoffOptions backoff;
  // The first dial waits a random part of it: racks are switched on at once.
  absl::Duration first_dial_within;
  // What the next connection shows, asked on the loop's thread before each.
  std::function<std::shared_ptr<grpc::ChannelCredentials>()> credentials;
  // Called on the loop's thread with Welcome.roots_bundle, before on_change.
  std::function<void(uint64_t bundle)> on_offered_roots;
  // Called on the loop's thread with what replaces the waivers told before.
  std::function<void(HostWaivers waivers)> on_waivers;
  // Called on the loop's thread whenever the host has attached or detached.
  std::function<void(bool attached)> on_change;
};

// What the stream needs and does not own. All must outlive it; `pool` and
// `scheduler` must be destroyed, and `applies` stopped, before `loop` is
// destroyed.
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
  // What else it does when asked; work in `pool` calls it.
  OtherTasks others = {};
  // Whose newest line the controller is told, and which keeps the
  // controller's; nullptr: none.
  AuditLog* audit = nullptr;
};

// Held by a shared_ptr. The first eight members are safe for concurrent use;
// all else happens on the loop's thread.
class AgentStream : public std::enable_shared_from_this<AgentStream> {
 public:
  AgentStream(AgentStreamOptions options, const AgentStreamParts& parts);

  // Begins to attach. Once; then it must be stopped before the owner lets go.
  void Start();
  // Takes leave of the controller, without waiting for it.
  void BeginStop();
  // BeginStop, and waits until all has ended: a second at most.
  void Stop();

  // Tells the controller; dropped while there is none.
  void SendDrift(DriftReport report);
  // How the newest applies ended, after one was taken back that no task's
  // answer tells of. Without a controller the next one hears of it anyway.
  void SendPast();

  // Asks the controller; the question's id is filled in. `answered` is called
  // once, from any thread, with a message that answers this kind of question;
  // Unavailable without a stream, or when it ends; DeadlineExceeded after
  // `wait`.
  void Ask(AgentMessage question, absl::Duration wait,
           HubQuestions::Answered answered);

  // Ends the stream and opens it anew, with what `credentials` give by then;
  // does nothing while a task, a change or a question is under way.
  void ReattachIfIdle();

  AgentStatus Status() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Attach();
  // On the stream that there is, with the newest line of the audit file.
  void Send(AgentMessage message);
  void OnMessage(const HubMessage& message);
  void Take(const HubMessage& message);
  void OnWelcome(const Welcome& welcome);
  void OnTask(const Task& task);
  void OnChange(const Task& task,
                const std::function<void(AgentMessage message)>& send);
  // Sends what is to be said to who asked on that connection.
  void Answer(const std::weak_ptr<HubConnection>& asker, AgentMessage message);
  void OnEnd(const absl::Status& end);
  // The same in words that name our files.
  absl::Status Explained(const absl::Status& why) const;
  void SetAttached(bool attached, const std::string& error)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs `run` on the loop after `delay`, if this object is still there.
  void After(absl::Duration delay, void (AgentStream::*run)());
  void GiveUpWaiting();
  void Leave();
  void BreakOff();
  void EndStop();

  const AgentStreamOptions options_;
  const AgentStreamParts parts_;
  Backoff backoff_;
  const std::shared_ptr<TaskRunner> tasks_;
  const std::shared_ptr<HubQuestions> questions_;
  std::shared_ptr<HubConnection> connection_;
  bool attached_ = false;
  AuditHead told_head_;  // On this connection.
  bool stopping_ = false;
  bool reattaching_ = false;  // The end of this stream is our own wish.
  bool asked_to_leave_ = false;
  Scheduler::TimerId timer_ = 0;
  std::string logged_error_;
  absl::Notification stopped_;

  mutable absl::Mutex mutex_;
  AgentStatus status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_AGENT_STREAM_H_
