// Runs that ask hosts for their facts, and the calls that wait for them: a few
// at once, further ones in the order in which they came. Equal calls share a
// run that has not begun yet, so that a thousand schedulers that ask at once
// cost two runs. Nobody joins a run that has begun: what it was told may be
// older than what its caller has just mended.
//
//   runs.Join(key, hosts, stream, begin);  // From the handler.
#ifndef DAEMON_CONTROLLER_SHARED_RUNS_H_
#define DAEMON_CONTROLLER_SHARED_RUNS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "daemon/controller/event_stream.h"
#include "daemon/controller/hosts/fact_run.h"
#include "proto/controller.pb.h"

namespace clusterd {

struct SharedRunsLimits {
  size_t at_once = 8;
  size_t waiting = 64;     // Runs that have not begun.
  size_t callers = 4'096;  // Calls, over all runs.
};

// Safe for concurrent use. Must outlive all calls that have joined.
template <typename Event>
class SharedRuns {
 public:
  using Stream = EventStream<Event>;
  // Where a run tells how it is doing, from any thread.
  struct Callers {
    std::function<void()> on_progress;
    std::function<void(Event last)> on_end;
  };
  // Makes the run, when it is its turn. Called once at most.
  using Begin = std::function<std::shared_ptr<FactRun>(Callers callers)>;

  explicit SharedRuns(const SharedRunsLimits& limits) : limits_(limits) {}

  // The call joins the run that waits under the same key, or one of its own
  // over that many hosts, and begins what may begin. Ends the call with
  // ResourceExhausted if as many wait as may. From its handler, once.
  void Join(const std::string& key, size_t hosts,
            const std::shared_ptr<Stream>& stream, Begin begin)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const std::shared_ptr<Run> run = Find(key, hosts, stream, std::move(begin));
    if (run == nullptr) {
      return stream->End(absl::ResourceExhaustedError(absl::StrCat(
          "as many calls wait for their turn as may (", limits_.waiting,
          " runs, ", limits_.callers, " calls), try again later")));
    }
    EventStreamOptions options;
    options.on_end = [this, run] { Leave(run); };
    stream->Begin(std::move(options));
    stream->Show([this, run](Event* event) {
      *event->mutable_progress() = ProgressOf(*run);
    });
    BeginNext();
    stream->NoteProgress();
  }

 private:
  // All members are guarded by the mutex of SharedRuns, which the analysis
  // cannot be told.
  struct Run {
    std::string key;
    size_t hosts = 0;
    Begin begin;
    std::vector<std::weak_ptr<Stream>> streams;
    size_t callers = 0;  // Calls that are not over.
    bool begun = false;
    bool asks = false;  // Its last event is not there yet.
    std::shared_ptr<FactRun> facts;
  };

  std::shared_ptr<Run> Find(const std::string& key, size_t hosts,
                            const std::shared_ptr<Stream>& stream, Begin begin)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (callers_ >= limits_.callers) return nullptr;
    const auto same = absl::c_find_if(runs_, [&key](const auto& run) {
      return !run->begun && run->key == key;
    });
    std::shared_ptr<Run> run = same == runs_.end() ? nullptr : *same;
    if (run == nullptr) {
      if (runs_.size() - BegunLocked() >= limits_.waiting) return nullptr;
      run = std::make_shared<Run>();
      run->key = key;
      run->hosts = hosts;
      run->begin = std::move(begin);
      runs_.push_back(run);
    }
    run->streams.push_back(stream);
    ++run->callers;
    ++callers_;
    return run;
  }

  // One call of the run is over. With the last of them the run ends, too, and
  // makes room: until then its answer may be on its way to somebody.
  void Leave(const std::shared_ptr<Run>& run) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<FactRun> unwanted;
    {
      absl::MutexLock lock(&mutex_);
      --callers_;
      if (--run->callers > 0) return;
      runs_.remove(run);
      unwanted = std::move(run->facts);
    }
    if (unwanted != nullptr) unwanted->Cancel();
    BeginNext();
  }

  void BeginNext() ABSL_LOCKS_EXCLUDED(mutex_) {
    while (const std::shared_ptr<Run> run = TakeNext()) BeginOne(run);
  }

  // The first that waits for no equal one, if there is room; or null. The
  // others have moved up then.
  std::shared_ptr<Run> TakeNext() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (BegunLocked() >= limits_.at_once) return nullptr;
    auto next = runs_.begin();
    while (next != runs_.end() && !MayBeginLocked(**next)) ++next;
    if (next == runs_.end()) return nullptr;
    (*next)->begun = (*next)->asks = true;
    return *next;
  }

  // It waits, and no equal one asks.
  bool MayBeginLocked(const Run& run) const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    if (run.begun) return false;
    for (const auto& other : runs_) {
      if (other->asks && other->key == run.key) return false;
    }
    return true;
  }

  void BeginOne(const std::shared_ptr<Run>& run) ABSL_LOCKS_EXCLUDED(mutex_) {
    // The run holds its callers' functions: a strong reference would be a ring.
    const std::weak_ptr<Run> weak = run;
    Callers callers;
    callers.on_progress = [this, weak] {
      if (const auto to = weak.lock()) NoteProgress(*to);
    };
    callers.on_end = [this, weak](Event last) {
      if (const auto to = weak.lock()) End(to, std::move(last));
    };
    const std::shared_ptr<FactRun> facts = run->begin(std::move(callers));
    bool wanted;
    {
      absl::MutexLock lock(&mutex_);
      wanted = run->callers > 0;
      if (wanted) run->facts = facts;
    }
    if (!wanted) return;
    const absl::Status started = facts->Start();
    if (started.ok()) return NoteAllProgress();
    for (const auto& stream : StreamsOf(*run)) stream->End(started);
  }

  void End(const std::shared_ptr<Run>& run, Event last)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto shared = std::make_shared<const Event>(std::move(last));
    for (const auto& stream : StreamsOf(*run)) stream->End(shared);
    {
      absl::MutexLock lock(&mutex_);
      run->asks = false;
    }
    BeginNext();
  }

  void NoteProgress(const Run& run) ABSL_LOCKS_EXCLUDED(mutex_) {
    for (const auto& stream : StreamsOf(run)) stream->NoteProgress();
  }

  // Whoever waits has moved up.
  void NoteAllProgress() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<std::shared_ptr<Run>> runs;
    {
      absl::MutexLock lock(&mutex_);
      runs.assign(runs_.begin(), runs_.end());
    }
    for (const auto& run : runs) NoteProgress(*run);
  }

  std::vector<std::shared_ptr<Stream>> StreamsOf(const Run& run) const
      ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<std::shared_ptr<Stream>> streams;
    absl::MutexLock lock(&mutex_);
    for (const std::weak_ptr<Stream>& weak : run.streams) {
      if (auto stream = weak.lock()) streams.push_back(std::move(stream));
    }
    return streams;
  }

  CheckProgress ProgressOf(const Run& run) const ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<FactRun> facts;
    CheckProgress waiting;
    {
      absl::MutexLock lock(&mutex_);
      facts = run.facts;
      waiting.set_pending(static_cast<uint32_t>(run.hosts));
      uint32_t place = run.begun ? 0 : 1;
      for (const auto& other : runs_) {
        if (other.get() == &run) break;
        if (!run.begun && !other->begun) ++place;
      }
      waiting.set_place(place);
    }
    return facts == nullptr ? waiting : facts->progress();
  }

  size_t BegunLocked() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return static_cast<size_t>(
        absl::c_count_if(runs_, [](const auto& run) { return run->begun; }));
  }

  const SharedRunsLimits limits_;
  mutable absl::Mutex mutex_;
  // In the order in which they came.
  std::list<std::shared_ptr<Run>> runs_ ABSL_GUARDED_BY(mutex_);
  size_t callers_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SHARED_RUNS_H_
