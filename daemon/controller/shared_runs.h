// Runs that ask hosts for their facts, a few at once (run_turns.h), and the
// calls that wait for them. Equal calls share a queued run, so that a thousand
// concurrent schedulers cost two runs. Calls never join a run that has begun:
// its facts may be older than what the caller has just fixed.
//
//   runs.Join(key, hosts, who, stream, begin, refused);  // From the handler.
#ifndef DAEMON_CONTROLLER_SHARED_RUNS_H_
#define DAEMON_CONTROLLER_SHARED_RUNS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "config/words/subject_text.h"
#include "daemon/controller/event_stream.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/controller/run_turns.h"
#include "daemon/controller/send_budget.h"
#include "proto/controller.pb.h"

namespace clusterd {

// Safe for concurrent use. Must outlive all calls that have joined.
template <typename Event>
class SharedRuns {
 public:
  using Stream = EventStream<Event>;
  // The run reports its progress and end here, from any thread.
  struct Callers {
    std::function<void()> on_progress;
    std::function<void(Event last)> on_end;
  };
  // Makes the run when it may begin. Called at most once.
  using Begin = std::function<std::shared_ptr<FactRun>(Callers callers)>;
  using Refused = std::function<void(const absl::Status& why)>;

  explicit SharedRuns(const RunTurnsLimits& limits) : turns_(limits) {}

  // The call joins the queued run with the same key, or a new one over this
  // many hosts; then runs that may begin do. The handler calls this once. If
  // the queue is full, for all or for that user, or the controller is
  // overloaded, calls `refused` and ends the call with ResourceExhausted.
  void Join(const std::string& key, size_t hosts, const std::string& who,
            const std::shared_ptr<Stream>& stream, Begin begin, Refused refused)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const std::shared_ptr<Run> run =
        Find(key, hosts, who, {stream, std::move(refused)}, std::move(begin));
    if (run == nullptr) return;
    EventStreamOptions options;
    options.on_end = [this, run, who] { Leave(run, who); };
    options.budget = std::make_shared<CallBudget>(&budget_, who);
    stream->Begin(std::move(options));
    stream->Show([this, run](Event* event) {
      *event->mutable_progress() = ProgressOf(*run);
    });
    BeginNext();
    stream->NoteProgress();
  }

 private:
  // Bytes of reports that one user's streams hold until they are taken.
  static constexpr size_t kBytesToOne = 64 << 20;

  struct Call {
    std::weak_ptr<Stream> stream;
    Refused refused;
  };
  // SharedRuns' mutex guards all members, which the analysis cannot express.
  struct Run final : RunTurns::Run {
    size_t hosts = 0;
    Begin begin;
    std::vector<Call> calls;
    std::shared_ptr<FactRun> facts;
  };

  // Null if the call has ended.
  std::shared_ptr<Run> Find(const std::string& key, size_t hosts,
                            const std::string& who, const Call& call,
                            Begin begin) ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto fresh = std::make_shared<Run>();
    fresh->hosts = hosts;
    fresh->begin = std::move(begin);
    absl::Status full;
    {
      absl::MutexLock lock(&mutex_);
      const auto run =
          std::static_pointer_cast<Run>(turns_.Join(key, who, fresh));
      if (run != nullptr) {
        // Drop ended streams, which would accumulate.
        DropIf(&run->calls,
               [](const Call& each) { return each.stream.expired(); });
        run->calls.push_back(call);
        return run;
      }
      full = turns_.WhyFull(who);
    }
    Refuse(call, full);
    return nullptr;
  }

  void Refuse(const Call& call, const absl::Status& why) {
    const auto stream = call.stream.lock();
    if (stream == nullptr) return;
    call.refused(why);
    stream->End(why);
  }

  // One call of the run has ended. After the last one, the run ends and frees
  // its slot: until then its answer may be on its way to a client.
  void Leave(const std::shared_ptr<Run>& run, const std::string& who)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<FactRun> unwanted;
    {
      absl::MutexLock lock(&mutex_);
      if (!turns_.Leave(run, who)) return;
      unwanted = std::move(run->facts);
    }
    if (unwanted != nullptr) unwanted->Cancel();
    BeginNext();
  }

  void BeginNext() ABSL_LOCKS_EXCLUDED(mutex_) {
    while (const std::shared_ptr<Run> run = TakeNext()) BeginOne(run);
  }

  std::shared_ptr<Run> TakeNext() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return std::static_pointer_cast<Run>(turns_.TakeNext());
  }

  void BeginOne(const std::shared_ptr<Run>& run) ABSL_LOCKS_EXCLUDED(mutex_) {
    // A weak reference avoids a cycle: the run holds its callers' functions.
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
      wanted = !run->callers.empty();
      if (wanted) run->facts = facts;
    }
    if (!wanted) return;
    const absl::Status started = facts->Start();
    if (started.ok()) return NoteAllProgress();
    std::vector<Call> calls;
    {
      absl::MutexLock lock(&mutex_);
      calls = run->calls;
    }
    for (const Call& call : calls) Refuse(call, started);
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

  // Queued runs have moved up.
  void NoteAllProgress() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<RunTurns::RunPtr> runs;
    {
      absl::MutexLock lock(&mutex_);
      runs = turns_.All();
    }
    for (const auto& run : runs) NoteProgress(static_cast<const Run&>(*run));
  }

  std::vector<std::shared_ptr<Stream>> StreamsOf(const Run& run) const
      ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<std::shared_ptr<Stream>> streams;
    absl::MutexLock lock(&mutex_);
    for (const Call& call : run.calls) {
      if (auto stream = call.stream.lock()) {
        streams.push_back(std::move(stream));
      }
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
      waiting.set_place(turns_.PlaceOf(run));
    }
    return facts == nullptr ? waiting : facts->progress();
  }

  SendBudget budget_{kBytesToOne};
  mutable absl::Mutex mutex_;
  RunTurns turns_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SHARED_RUNS_H_
