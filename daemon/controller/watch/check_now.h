// A check as those who watch are told of it: a few kilobytes however large the
// cluster is; and the newest one that somebody asked for.
#ifndef DAEMON_CONTROLLER_WATCH_CHECK_NOW_H_
#define DAEMON_CONTROLLER_WATCH_CHECK_NOW_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/controller/hosts/running_checks.h"
#include "proto/controller.pb.h"
#include "proto/finding.pb.h"

namespace clusterd {

// Bounds of what is told.
inline constexpr int kMaxWrongTold = 20;     // Rules, and changes.
inline constexpr int kMaxFindingsTold = 3;   // Of a rule.
inline constexpr int kMaxSubjectsTold = 20;  // Of a finding or a change.

// Without name and next_at_ms. `wrong` has no rule whose findings another one
// explains; its `summary` says in words about whom it is, also where not all
// subjects are there. Of more changes than are told a note says how many.
// `changes`: null: there was none to compare with.
ClusterNow::ScheduleNow CheckNow(const Report& newest,
                                 const ReportDiff* changes);

// "check 0123456789abcdef of ann, 12 hosts"; at most 10, and how many more.
std::vector<std::string> RunningTexts(const std::vector<RunningCheck>& checks);

// The newest check of all hosts that somebody asked for, since the controller
// started. Safe for concurrent use.
class NewestAsked {
 public:
  // Of a check that is over. One of a part of the hosts or rules, of a network
  // namespace, or without a verdict is passed over. Compares it with the one
  // before: takes as long as DiffReports.
  void Note(const FactOrder& order, const RuleSelection& selection,
            const Report& report) ABSL_LOCKS_EXCLUDED(mutex_);

  // Nullopt: there is none yet.
  std::optional<ClusterNow::ScheduleNow> now() const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  std::shared_ptr<const Report> report_ ABSL_GUARDED_BY(mutex_);
  ClusterNow::ScheduleNow now_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_WATCH_CHECK_NOW_H_
