// A check as those who watch are told of it: a few kilobytes however large the
// cluster is; and what runs, in words.
#ifndef DAEMON_CONTROLLER_WATCH_CHECK_NOW_H_
#define DAEMON_CONTROLLER_WATCH_CHECK_NOW_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

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

// ClusterNow.asked, worked out once for each check. Not thread-safe.
class AskedCheck {
 public:
  // Of the newest check of all hosts and the one before it; null: there is
  // none. Nullopt also for one of a schedule.
  std::optional<ClusterNow::ScheduleNow> Of(
      const std::shared_ptr<const Report>& newest,
      const std::shared_ptr<const Report>& before);

 private:
  std::weak_ptr<const Report> report_;
  ClusterNow::ScheduleNow now_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_WATCH_CHECK_NOW_H_
