#include "daemon/controller/controller_service.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/identity/grpc_status.h"
#include "config/rules/judge.h"
#include "config/spec/network_namespace.h"
#include "config/version/version.h"
#include "daemon/controller/admission.h"
#include "daemon/controller/check_run.h"
#include "daemon/controller/event_stream.h"
#include "daemon/controller/fact_run.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/history/history_service.h"

namespace clusterd {
namespace {

grpc::ServerUnaryReactor* FinishWith(grpc::CallbackServerContext* context,
                                     const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// Holds a slot until its client has the whole answer, or has gone.
class SlotReactor final : public grpc::ServerUnaryReactor {
 public:
  explicit SlotReactor(Slots* taken) : taken_(taken) {}

  void OnDone() override {
    taken_->Give();
    delete this;
  }

 private:
  Slots* const taken_;
};

}  // namespace

ControllerService::ControllerService(ControllerServiceOptions options,
                                     const ControllerServiceParts& parts)
    : options_(std::move(options)),
      parts_(parts),
      checks_(options_.max_checks),
      describes_(options_.max_describes),
      records_(options_.max_records),
      change_(options_.cluster, options_.max_plans,
              ChangeServiceParts{parts.hosts, parts.spec, parts.history,
                                 parts.changes, parts.scheduler, parts.pool,
                                 parts.log}) {}

absl::Status ControllerService::Admit(
    const grpc::CallbackServerContext& context, absl::string_view call) const {
  return AdmitUser(context, options_.cluster, Role::kViewer, call, parts_.log)
      .status();
}

void ControllerService::KeepCheck(const Report& report,
                                  const std::string& actor) const {
  const absl::Status kept = parts_.history->Add(RecordOfCheck(report, actor));
  if (kept.ok()) return;
  parts_.log->Warning(
      absl::StrCat("history: check ", report.run_id(),
                   " is not kept: ", std::string(kept.message())));
}

absl::Status ControllerService::PrepareCheck(
    const CheckRequest& request, const ClusterSpec& spec,
    std::vector<std::string>* hosts) const {
  absl::StatusOr<std::vector<std::string>> selected =
      SelectHosts(spec, request.hosts());
  if (!selected.ok()) return selected.status();
  *hosts = *std::move(selected);
  const absl::Status place = CheckNetworkNamespace(request.network_namespace());
  if (!place.ok()) return place;
  return ValidateSelection(request.selection());
}

grpc::ServerWriteReactor<CheckEvent>* ControllerService::Check(
    grpc::CallbackServerContext* context, const CheckRequest* request) {
  const auto stream =
      EventStream<CheckEvent>::Create(context, parts_.scheduler);
  const absl::StatusOr<SpiffeId> user =
      AdmitUser(*context, options_.cluster, Role::kViewer, "Check", parts_.log);
  CheckOrder order;
  order.run_id = NewRunId();
  order.spec = parts_.spec->spec();
  order.selection = request->selection();
  order.network_namespace = request->network_namespace();
  absl::Status status = user.status();
  if (status.ok()) status = PrepareCheck(*request, *order.spec, &order.hosts);
  if (status.ok() && !checks_.TryTake()) {
    status = absl::ResourceExhaustedError(absl::StrCat(
        options_.max_checks, " checks run already, try again later"));
  }
  if (!status.ok()) {
    stream->End(status);
    return stream.get();
  }
  const std::weak_ptr<EventStream<CheckEvent>> weak = stream;
  CheckCallbacks callbacks;
  callbacks.on_progress = [weak] {
    if (const auto to = weak.lock()) to->NoteProgress();
  };
  callbacks.on_report = [this, weak, actor = user->name](Report report) {
    KeepCheck(report, actor);
    CheckEvent last;
    *last.mutable_report() = std::move(report);
    if (const auto to = weak.lock()) to->End(std::move(last));
  };
  const auto run =
      MakeCheckRun(std::move(order),
                   FactRun::Parts{parts_.hosts, parts_.scheduler, parts_.pool},
                   std::move(callbacks));
  EventStreamOptions<CheckEvent> options;
  options.progress = [run](CheckEvent* event) {
    *event->mutable_progress() = run->progress();
  };
  options.on_leave = [run] { run->Cancel(); };
  options.on_end = [this] { checks_.Give(); };
  stream->Begin(std::move(options));
  const absl::Status started = run->Start();
  if (!started.ok()) stream->End(started);
  stream->NoteProgress();
  return stream.get();
}

grpc::ServerUnaryReactor* ControllerService::ListHosts(
    grpc::CallbackServerContext* context, const ListHostsRequest*,
    ListHostsResponse* response) {
  const absl::Status admitted = Admit(*context, "ListHosts");
  if (!admitted.ok()) return FinishWith(context, admitted);
  response->set_cluster(options_.cluster);
  for (HostEntry& entry : parts_.hosts->Entries(*parts_.spec->spec())) {
    *response->add_hosts() = std::move(entry);
  }
  return FinishWith(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* ControllerService::DescribeHost(
    grpc::CallbackServerContext* context, const DescribeHostRequest* request,
    DescribeHostResponse* response) {
  const absl::Status admitted = Admit(*context, "DescribeHost");
  if (!admitted.ok()) return FinishWith(context, admitted);
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
  *response->mutable_entry() = parts_.hosts->Entry(*spec, request->host());
  if (!response->entry().in_spec() && !response->entry().attached()) {
    return FinishWith(context, absl::NotFoundError(absl::StrCat(
                                   "host \"", request->host(),
                                   "\" is neither in the spec nor attached")));
  }
  if (!describes_.TryTake()) {
    return FinishWith(context, absl::ResourceExhaustedError(absl::StrCat(
                                   options_.max_describes,
                                   " hosts are being described already")));
  }
  Observation observation;
  observation.host = request->host();
  observation.request = MakeObserveRequest(*spec);
  observation.deadline = absl::Milliseconds(spec->deadlines().host_ms());
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  parts_.hosts->Observe(observation,
                        [this, reactor, response](HostFacts facts) {
                          *response->mutable_facts() = std::move(facts);
                          describes_.Give();
                          reactor->Finish(grpc::Status::OK);
                        });
  return reactor;
}

grpc::ServerUnaryReactor* ControllerService::GetSpec(
    grpc::CallbackServerContext* context, const GetSpecRequest*,
    GetSpecResponse* response) {
  const absl::Status admitted = Admit(*context, "GetSpec");
  if (admitted.ok()) {
    *response = parts_.spec->Describe();
    response->set_controller_version(kClusterdVersion);
  }
  return FinishWith(context, admitted);
}

grpc::ServerWriteReactor<PlanEvent>* ControllerService::Plan(
    grpc::CallbackServerContext* context, const PlanRequest* request) {
  return change_.Plan(context, request);
}

grpc::ServerWriteReactor<ApplyEvent>* ControllerService::ApplyPlan(
    grpc::CallbackServerContext* context, const ApplyPlanRequest* request) {
  return change_.ApplyPlan(context, request);
}

grpc::ServerWriteReactor<ApplyEvent>* ControllerService::RollBack(
    grpc::CallbackServerContext* context, const RollBackRequest* request) {
  return change_.RollBack(context, request);
}

grpc::ServerUnaryReactor* ControllerService::ListHistory(
    grpc::CallbackServerContext* context, const ListHistoryRequest* request,
    ListHistoryResponse* response) {
  const absl::Status admitted = Admit(*context, "ListHistory");
  if (!admitted.ok()) return FinishWith(context, admitted);
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  AnswerListHistory(parts_.history, parts_.pool, request, response,
                    [reactor](const absl::Status& status) {
                      reactor->Finish(ToGrpcStatus(status));
                    });
  return reactor;
}

grpc::ServerUnaryReactor* ControllerService::GetHistory(
    grpc::CallbackServerContext* context, const GetHistoryRequest* request,
    HistoryRecord* response) {
  const absl::Status admitted = Admit(*context, "GetHistory");
  if (!admitted.ok()) return FinishWith(context, admitted);
  if (!records_.TryTake()) {
    return FinishWith(context, absl::ResourceExhaustedError(absl::StrCat(
                                   options_.max_records,
                                   " entries of the history are being read "
                                   "already, try again later")));
  }
  grpc::ServerUnaryReactor* const reactor = new SlotReactor(&records_);
  AnswerGetHistory(parts_.history, parts_.pool, request, response,
                   [reactor](const absl::Status& status) {
                     reactor->Finish(ToGrpcStatus(status));
                   });
  return reactor;
}

}  // namespace clusterd
