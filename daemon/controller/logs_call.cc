// ControllerService::ReadLogs: what users wrote on hosts goes to operators.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/controller/controller_service.h"
#include "daemon/controller/event_stream.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/logs_run.h"

namespace clusterd {
namespace {

// Reading 64 MiB from a slow file server takes longer than an observation.
constexpr absl::Duration kLeastDeadline = absl::Minutes(1);

}  // namespace

absl::StatusOr<LogsOrder> ControllerService::PrepareLogs(
    const grpc::CallbackServerContext& context,
    const LogsRequest& request) const {
  ASSIGN_OR_RETURN(const SpiffeId user,
                   Admit(context, "ReadLogs", Role::kOperator));
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
  LogsOrder order;
  ASSIGN_OR_RETURN(order.hosts, SelectHosts(*spec, request.hosts()));
  order.query = request.query();
  order.record = request.record();
  order.host_deadline =
      std::max(kLeastDeadline, absl::Milliseconds(spec->deadlines().host_ms()));
  parts_.log->Info(absl::StrCat(user.name, " reads logs on ",
                                NamesText(order.hosts), ", of user ",
                                QuotedText(order.query.user()), ", job ",
                                QuotedText(order.query.job_id())));
  return order;
}

grpc::ServerWriteReactor<LogsEvent>* ControllerService::ReadLogs(
    grpc::CallbackServerContext* context, const LogsRequest* request) {
  const auto stream = LogsRun::Stream::Create(context, parts_.scheduler);
  absl::StatusOr<LogsOrder> order = PrepareLogs(*context, *request);
  if (order.ok() && !logs_.TryTake()) {
    order = absl::ResourceExhaustedError(
        absl::StrCat(kMaxLogs, " calls read logs already, try again later"));
  }
  if (!order.ok()) {
    stream->End(order.status());
    return stream.get();
  }
  const auto run =
      std::make_shared<LogsRun>(*std::move(order), parts_.hosts, stream);
  EventStreamOptions options;
  options.on_leave = [run] { run->Cancel(); };
  options.on_written = [run] { run->Advance(); };
  options.on_end = [this, run] {
    run->Cancel();
    logs_.Give();
  };
  stream->Begin(std::move(options));
  stream->Show([run](LogsEvent* event) {
    *event->mutable_progress() = run->progress();
  });
  stream->NoteProgress();
  run->Advance();
  return stream.get();
}

}  // namespace clusterd
