// Runs the checks of `schedule` in cluster.yaml under the controller's SPIFFE
// id. It keeps each in the history with the changes since the previous one, and
// reports news: another verdict, or failures that began.
//
//   one schedule          one check at a time; a check that comes due while it
//                         runs is left out
//   all schedules         two checks at a time; the longest waiting is next
//   the first check       after a random part of its interval, at most a
//                         minute; after a start, once hosts had time to return
//   the queue is full     another try in 10 s
//   a second round         within two minutes (VerdictWatch)
//   cluster.yaml re-read  new and changed schedules start again; removed ones
//                         are cancelled
//
// A restart hides no change: the history has the check before. News of the ten
// minutes before it may be sent twice, then with UNKNOWN as the verdict before.
// A second round that was due is made after the restart.
#ifndef DAEMON_CONTROLLER_SCHEDULE_CHECK_SCHEDULE_H_
#define DAEMON_CONTROLLER_SCHEDULE_CHECK_SCHEDULE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/notify/news_sender.h"
#include "daemon/controller/queue/fact_queue.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/scheduler.h"
#include "proto/controller.pb.h"
#include "proto/finding.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Decides if a scheduled check is news: its verdict differs from the last one
// sent (VerdictWatch), or a rule fails on a host where it was not sent as
// failing (ReportWatch). A first PASS is not. A waived finding counts as PASS.
// Pure.
//
//   the change rests on            sent
//   rules about the host, its      at once
//   settings, the spec, …
//   rules about the network alone  when a round that begins within five minutes
//   (link, optics, ping, a host    sees a change again, or at the third change
//   without facts)                 in a row: a flapping cable, a booting switch
//                                  and a returning host send nothing
// Seeing the sent verdict again restarts the count of a better verdict. It does
// not for a worse one, so that a flapping failure is sent eventually.
inline constexpr absl::Duration kSeenTwiceWithin = absl::Minutes(5);

// The rules about the network.
absl::Span<const absl::string_view> NetworkRules();

struct Verdicts {
  State all = PASS;
  State without_network = PASS;  // By the other rules.
};
Verdicts VerdictsOf(const Report& report);

enum class News {
  kNone,
  kCheckAgain,  // It may be, if another round confirms it.
  kTell,
};

class VerdictWatch {
 public:
  // `sent`: the verdicts that were already sent.
  explicit VerdictWatch(Verdicts sent = {}) : sent_(sent) {}

  // Adds a round from `began` to `ended`; rounds do not overlap.
  News See(const Verdicts& seen, absl::Time began, absl::Time ended);
  // PASS before the first verdict is sent.
  State sent() const { return sent_.all; }
  // True if earlier rounds cannot affect one that begins at that time.
  bool IsQuiet(absl::Time at) const {
    return sent_.all == PASS && at - seen_at_ > kSeenTwiceWithin;
  }

 private:
  Verdicts sent_;
  // When a round last differed from `sent`, and if it was better.
  absl::Time seen_at_ = absl::InfinitePast();
  bool seen_better_ = false;
  int in_a_row_ = 0;  // Consecutive rounds that differed from `sent`.
};

// Rules and the hosts on which each fails; "": the cluster.
using Failures = std::set<std::pair<std::string, std::string>>;

// The result of one scheduled check.
struct CheckRound {
  Verdicts verdicts;
  // Failures. A host without facts fails host-identity.
  Failures failing;
  // Not judged: a rule, or all rules on a host if the rule is empty.
  Failures unjudged;
  absl::Time began, ended;
};
CheckRound RoundOf(const Report& report, absl::Time began, absl::Time ended);

// Watches the verdict, and each failure as a verdict of its own. A sent failure
// is new again once it was seen fixed; an unjudged one is not fixed.
class ReportWatch {
 public:
  // Assumes that all of `sent` was sent, unless it is null.
  explicit ReportWatch(const CheckRound* sent = nullptr) {
    if (sent != nullptr) MarkSent(*sent);
  }

  // Rounds do not overlap. If there is news, sets `started`, unless null, to
  // the failures that were not sent yet.
  News See(const CheckRound& round, NewFailures* started = nullptr);
  // UNKNOWN after Doubt until the next news: another may have been sent.
  State sent() const { return in_doubt_ ? UNKNOWN : verdict_.sent(); }
  void Doubt() { in_doubt_ = true; }

 private:
  void MarkSent(const CheckRound& round);

  VerdictWatch verdict_;
  bool in_doubt_ = false;
  std::map<Failures::value_type, VerdictWatch> failures_;
};

inline constexpr absl::Duration kMostJitter = absl::Minutes(1);
inline constexpr absl::Duration kSecondRound = absl::Minutes(2);
inline constexpr absl::Duration kScheduleRetry = absl::Seconds(10);

// Safe for concurrent use; calls nothing under its lock.
class CheckSchedule {
 public:
  // Called on a thread of the pool, which may block.
  using Tell = std::function<void(VerdictNews news)>;

  // Everything must live until Stop. `notes`: as ControllerService has it.
  CheckSchedule(const ControllerParts& parts,
                std::function<std::vector<std::string>()> notes, Tell tell)
      : parts_(parts), notes_(std::move(notes)), tell_(std::move(tell)) {}
  ~CheckSchedule() { Stop(); }

  // The spec may have changed. Begins no check before `settle`. Does not block.
  void ReadSpec(absl::Duration settle = absl::ZeroDuration())
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Sorted as in cluster.yaml.
  std::vector<ClusterNow::ScheduleNow> Now() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Nothing begins or is sent after it returns. Not to be called in a callback.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Scheduled {
    ScheduledCheck check;
    bool gone = false;  // Removed from cluster.yaml.
    Scheduler::TimerId timer = 0;
    absl::Time next_at;
    Scheduler::TimerId round = 0;  // Also: a second round, or a retry.
    FactQueue::Ticket ticket = 0;  // A waiting or running check's.
    absl::Time due_since;
    bool wait_logged = false;
    ReportWatch watch;
    // The result of Now(), except next_at_ms.
    std::shared_ptr<const ClusterNow::ScheduleNow> newest;
    // The previous report, if the history could not keep it.
    std::shared_ptr<const Report> unkept;
  };
  // mutex_ guards the members, which the analysis cannot express.
  using ScheduledPtr = std::shared_ptr<Scheduled>;

  // Recalls the history, then schedules the first check after `settle`.
  void Recall(const ScheduledPtr& one, absl::Duration settle)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void ArmLocked(const ScheduledPtr& one, absl::Duration delay)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RoundLocked(const ScheduledPtr& one, absl::Duration delay)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CancelTimersLocked(Scheduled* one) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnTimer(const ScheduledPtr& one) ABSL_LOCKS_EXCLUDED(mutex_);
  // A check is due; it is left out while another waits or runs.
  void Begin(const ScheduledPtr& one, absl::Time due_since)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<FactOrder>> Prepare(
      const ScheduledCheck& check) const;
  void Conclude(const ScheduledPtr& one, const FactOrder& order,
                const ScheduledCheck& check,
                const std::vector<HostFacts>& facts)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Compares the record with the previous one, and keeps it.
  ReportDiff Keep(const ScheduledPtr& one, HistoryRecord* record)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Finish(const ScheduledPtr& one, FactQueue::Ticket ticket,
              const std::string& name, const absl::Status& end)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The schedule's checks in the history, newest first.
  std::vector<HistoryEntry> Newest(const std::string& name, size_t count) const;
  // Null if it is missing or unreadable.
  std::shared_ptr<const Report> Read(const HistoryEntry& entry) const;
  void LogUnread(const std::string& name, const absl::Status& status) const;
  // Restores from these, newest first, what was sent and what is unconfirmed.
  ReportWatch WatchOf(const std::vector<HistoryEntry>& newest) const;

  const ControllerParts parts_;
  const std::function<std::vector<std::string>()> notes_;
  const Tell tell_;
  const CallbackGate gate_;

  mutable absl::Mutex mutex_;
  absl::BitGen random_ ABSL_GUARDED_BY(mutex_);
  std::vector<ScheduledPtr> all_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SCHEDULE_CHECK_SCHEDULE_H_
