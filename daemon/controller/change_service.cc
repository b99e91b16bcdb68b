#include "daemon/controller/change_service.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/spec/network_namespace.h"
#include "daemon/controller/admission.h"
#include "daemon/controller/fact_run.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/kept_plan.h"
#include "daemon/controller/plan_run.h"

namespace clusterd {
namespace {

// The run that a stream tells of, once it has begun. Safe for concurrent use.
class WatchedRun {
 public:
  void Set(std::shared_ptr<const ApplyRun> run) {
    absl::MutexLock lock(&mutex_);
    run_ = std::move(run);
  }
  std::shared_ptr<const ApplyRun> Get() const {
    absl::MutexLock lock(&mutex_);
    return run_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::shared_ptr<const ApplyRun> run_ ABSL_GUARDED_BY(mutex_);
};

ApplyWatcher WatchFor(const std::shared_ptr<EventStream<ApplyEvent>>& stream,
                      const std::shared_ptr<WatchedRun>& watched) {
  const std::weak_ptr<EventStream<ApplyEvent>> weak = stream;
  ApplyWatcher watcher;
  // The run holds its watcher: were it held in turn, neither would ever go.
  watcher.on_begin = [to = std::weak_ptr<WatchedRun>(watched)](
                         std::shared_ptr<const ApplyRun> run) {
    if (const auto held = to.lock()) held->Set(std::move(run));
  };
  watcher.on_progress = [weak] {
    if (const auto to = weak.lock()) to->NoteProgress();
  };
  watcher.on_event = [weak](ApplyEvent event) {
    if (const auto to = weak.lock()) to->Add(std::move(event));
  };
  watcher.on_end = [weak](absl::StatusOr<ApplyReport> report) {
    const auto to = weak.lock();
    if (to == nullptr) return;
    if (!report.ok()) {
      to->End(report.status());
      return;
    }
    ApplyEvent last;
    *last.mutable_report() = *std::move(report);
    to->End(std::move(last));
  };
  return watcher;
}

}  // namespace

ChangeService::ChangeService(std::string cluster, int plans,
                             const ChangeServiceParts& parts)
    : cluster_(std::move(cluster)), parts_(parts), plans_(plans) {}

grpc::ServerWriteReactor<PlanEvent>* ChangeService::Plan(
    grpc::CallbackServerContext* context, const PlanRequest* request) {
  const auto stream = EventStream<PlanEvent>::Create(context, parts_.scheduler);
  const absl::StatusOr<SpiffeId> user =
      AdmitUser(*context, cluster_, Role::kViewer, "Plan", parts_.log);
  if (!user.ok()) {
    stream->End(user.status());
    return stream.get();
  }
  PlanOrder order;
  order.plan_id = NewRunId();
  order.actor = user->name;
  order.spec = parts_.spec->spec();
  order.network_namespace = request->network_namespace();
  absl::StatusOr<std::vector<std::string>> hosts =
      SelectHosts(*order.spec, request->hosts());
  const absl::Status place = CheckNetworkNamespace(order.network_namespace);
  if (!hosts.ok() || !place.ok()) {
    stream->End(hosts.ok() ? place : hosts.status());
    return stream.get();
  }
  order.hosts = *std::move(hosts);
  if (!plans_.TryTake()) {
    stream->End(absl::ResourceExhaustedError(
        "as many plans are being made as may, try again later"));
    return stream.get();
  }
  const std::weak_ptr<EventStream<PlanEvent>> weak = stream;
  PlanCallbacks callbacks;
  callbacks.on_progress = [weak] {
    if (const auto to = weak.lock()) to->NoteProgress();
  };
  callbacks.on_plan = [this, weak,
                       started_at = parts_.scheduler->Now()](ClusterPlan plan) {
    const absl::Duration elapsed = parts_.scheduler->Now() - started_at;
    // Moved in and out: a plan of 10,000 hosts is large.
    HistoryRecord record =
        RecordOfPlan(std::move(plan),
                     static_cast<uint64_t>(absl::ToInt64Milliseconds(elapsed)));
    const absl::Status kept = parts_.history->Add(record);
    PlanEvent last;
    *last.mutable_plan() = std::move(*record.mutable_plan());
    if (!kept.ok()) {
      parts_.log->Warning(
          absl::StrCat("history: plan ", last.plan().plan_id(),
                       " is not kept: ", std::string(kept.message())));
      last.mutable_plan()->set_not_kept(std::string(kept.message()));
    }
    if (const auto to = weak.lock()) to->End(std::move(last));
  };
  const auto run =
      MakePlanRun(std::move(order),
                  FactRun::Parts{parts_.hosts, parts_.scheduler, parts_.pool},
                  std::move(callbacks));
  EventStreamOptions<PlanEvent> options;
  options.progress = [run](PlanEvent* event) {
    *event->mutable_progress() = run->progress();
  };
  options.on_leave = [run] { run->Cancel(); };
  options.on_end = [this] { plans_.Give(); };
  stream->Begin(std::move(options));
  const absl::Status started = run->Start();
  if (!started.ok()) stream->End(started);
  stream->NoteProgress();
  return stream.get();
}

absl::StatusOr<ChangeRequest> ChangeService::AdmitChange(
    const grpc::CallbackServerContext& context, const char* call,
    uint32_t wave_size, bool force) const {
  const absl::StatusOr<SpiffeId> user =
      AdmitUser(context, cluster_, force ? Role::kAdmin : Role::kOperator,
                force ? absl::StrCat(call, " with force") : call, parts_.log);
  if (!user.ok()) return user.status();
  ChangeRequest request;
  request.actor = user->name;
  request.from = absl::StrCat(RoleName(user->role), ", ", context.peer());
  request.wave_size = wave_size;
  request.force = force;
  return request;
}

void ChangeService::RunChange(const std::shared_ptr<ApplyStream>& stream,
                              const char* call, const ChangeRequest& request,
                              BeginChange begin) {
  const auto watched = std::make_shared<WatchedRun>();
  EventStreamOptions<ApplyEvent> options;
  options.progress = [watched](ApplyEvent* event) {
    *event->mutable_progress() = watched->Get()->progress();
  };
  stream->Begin(std::move(options));
  const std::weak_ptr<ApplyStream> weak = stream;
  const bool taken =
      parts_.pool->TryRun([this, weak, call, request, begin = std::move(begin),
                           watcher = WatchFor(stream, watched)]() mutable {
        const auto run = begin(std::move(watcher));
        if (run.ok()) return;
        parts_.log->Warning(absl::StrCat(
            "refused ", call, " to ", request.actor, " (", request.from,
            "): ", std::string(run.status().message())));
        if (const auto to = weak.lock()) to->End(run.status());
      });
  if (!taken) {
    stream->End(absl::ResourceExhaustedError(
        "the controller has too much to do, try again later"));
  }
}

grpc::ServerWriteReactor<ApplyEvent>* ChangeService::ApplyPlan(
    grpc::CallbackServerContext* context, const ApplyPlanRequest* request) {
  const auto stream = ApplyStream::Create(context, parts_.scheduler);
  const absl::StatusOr<ChangeRequest> change = AdmitChange(
      *context, "ApplyPlan", request->wave_size(), request->force());
  if (!change.ok()) {
    stream->End(change.status());
    return stream.get();
  }
  RunChange(stream, "ApplyPlan", *change,
            [this, plan_id = request->plan_id(), digest = request->digest(),
             change = *change](ApplyWatcher watcher)
                -> absl::StatusOr<std::shared_ptr<ApplyRun>> {
              auto plan = ReadKeptPlan(*parts_.history, plan_id, digest);
              if (!plan.ok()) return plan.status();
              return parts_.changes->StartApply(*std::move(plan), change,
                                                std::move(watcher));
            });
  return stream.get();
}

grpc::ServerWriteReactor<ApplyEvent>* ChangeService::RollBack(
    grpc::CallbackServerContext* context, const RollBackRequest* request) {
  const auto stream = ApplyStream::Create(context, parts_.scheduler);
  const absl::StatusOr<ChangeRequest> change =
      AdmitChange(*context, "RollBack", request->wave_size(), request->force());
  if (!change.ok()) {
    stream->End(change.status());
    return stream.get();
  }
  RunChange(
      stream, "RollBack", *change,
      [this, id = request->apply_id(), change = *change](ApplyWatcher watcher) {
        return parts_.changes->StartRollback(id, change, std::move(watcher));
      });
  return stream.get();
}

}  // namespace clusterd
