// Drains this host in Slurm with a reason, and takes that back. A prolog must
// not call Slurm's commands (prolog_epilog.html, "should not"). So the daemon
// runs them, on a thread of its own, one at a time and with a deadline:
//   scontrol show node N -o
//   scontrol update NodeName=N State=DRAIN "Reason=clusterd: link: DOWN …"
//   scontrol update NodeName=N State=UNDRAIN
// UNDRAIN and not RESUME: a node that is DOWN for another cause stays so
// (scontrol(1)). A drain that a person made or changed stays: the drainer reads
// the node before each change, and again after a drain. It never replaces our
// reason by one that is easier to undo, see ReturnOf. scontrol runs only if
// root alone can have changed it (program_path.h): to drain, after this daemon
// has drained, and once after its start.
#ifndef DAEMON_AGENT_HOOKS_DRAINER_H_
#define DAEMON_AGENT_HOOKS_DRAINER_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/agent/hooks/hook_settings.h"
#include "daemon/audit/audit_log.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"

namespace clusterd {

// Merges equal concurrent questions: the first one does the work, and those
// that arrive before it has ended share its result. Safe for concurrent use.
template <typename Found>
class SharedWork {
 public:
  // Returns the result of `work`, run here or by the thread that began it with
  // the same key; nullopt if that takes longer than `wait`.
  template <typename Work>
  std::optional<Found> Do(const std::string& key, absl::Duration wait,
                          const Work& work) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<UnderWay> mine;
    std::shared_ptr<UnderWay> others;
    {
      absl::MutexLock lock(&mutex_);
      std::shared_ptr<UnderWay>& entry = under_way_[key];
      others = entry;
      if (others == nullptr) mine = entry = std::make_shared<UnderWay>();
    }
    if (others != nullptr) {
      if (!others->done.WaitFor(wait)) return std::nullopt;
      return others->found;
    }
    mine->found.emplace(work());
    bool is_alone;
    {
      absl::MutexLock lock(&mutex_);
      under_way_.erase(key);
      is_alone = mine.use_count() == 1;  // No other thread can join.
    }
    if (is_alone) return std::move(mine->found);
    mine->done.Notify();
    return mine->found;
  }

 private:
  struct UnderWay {
    std::optional<Found> found;  // Set before `done`, only once.
    MonotonicNotification done;
  };

  absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<UnderWay>> under_way_
      ABSL_GUARDED_BY(mutex_);
};

// The state of this host in Slurm, as `scontrol show node NAME -o` prints it:
//   NodeName=n1 Arch=x86_64 … State=IDLE+DRAIN ThreadsPerCore=1 …
//   ExtSensorsTemp=n/s Reason=clusterd: link: device 3: DOWN (until fixed)
//   [root@2026-11-23T22:43:49] Comment=rack 7
// in one line (Slurm 22.05.8, as recorded; scontrol(1), "show"). The field is
// missing without a reason.
struct SlurmNode {
  std::string name;
  std::vector<std::string> states;  // "IDLE", "DRAIN".
  std::string reason;               // Without who set it and when.

  bool IsDrained() const;
  // True for a reason from DrainReason. A person who edits it takes over the
  // drain.
  bool IsOurs() const;
  // True if the reason is another's and must not be replaced. Slurm's own texts
  // for a hook that refused, or for a detached host, do not count.
  bool IsOfOthers() const;
};

// InvalidArgument, quoting the start, for another form.
absl::StatusOr<SlurmNode> ParseSlurmNode(absl::string_view line);

// The rule in our reason "clusterd: link: device 3: DOWN"; otherwise empty.
std::string RuleOfReason(absl::string_view reason);

// A reason as scontrol takes it: one printable line with our prefix and without
// the quotes that scontrol drops from its arguments, so that it is read
// unchanged. Its end says who undoes the drain: clusterd for "(until fixed)", a
// person for "(until RESUME)"; see ReturnOf.
std::string DrainReason(absl::string_view reason);

// Safe for concurrent use.
class Drainer {
 public:
  // All must outlive it. `audit` gets a line before each change of the node;
  // without that line there is no change. Null: no audit file.
  Drainer(CommandRunner* runner, Log* log, AuditLog* audit = nullptr)
      : runner_(runner), log_(log), audit_(audit) {}

  // Sets the reason; equal calls share one drain. Returns when it is done, or
  // after `wait`, and then it continues. Logs the outcome. InvalidArgument,
  // before any command, if `node` is not a valid node name.
  absl::Status Drain(const HookSettings& settings, const std::string& node,
                     const std::string& reason, absl::Duration wait);

  // Undoes our own drain of this host if `holds` says that the rule in its
  // reason is fulfilled now. Calls `holds` on the drainer's thread, only if
  // there is such a drain. Does not block.
  absl::Status Recheck(const HookSettings& settings, const std::string& node,
                       std::function<bool(const std::string& rule)> holds);

  // Blocks until the drainer is idle.
  void Settle() { pool_.Drain(); }

 private:
  absl::StatusOr<SlurmNode> Show(const HookSettings& settings,
                                 const std::string& node);
  // `what`: for the audit file.
  absl::Status Update(const HookSettings& settings, const std::string& node,
                      const char* what,
                      const std::vector<std::string>& changes);
  absl::StatusOr<std::string> Scontrol(
      const HookSettings& settings, const std::vector<std::string>& arguments);
  absl::Status DrainNow(const HookSettings& settings, const std::string& node,
                        const std::string& reason);
  absl::Status RecheckNow(const HookSettings& settings, const std::string& node,
                          const std::function<bool(const std::string&)>& holds);

  CommandRunner* const runner_;
  Log* const log_;
  AuditLog* const audit_;
  // False if clusterd has certainly not drained this host: do not recheck.
  std::atomic<bool> may_be_drained_{true};
  absl::Status logged_;  // By the last recheck; the pool's thread alone.
  SharedWork<bool> drains_;
  WorkerPool pool_{1, 8};  // Last: its thread uses the rest.
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_HOOKS_DRAINER_H_
