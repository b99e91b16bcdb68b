// ControllerService::ReadLogs: what users wrote on hosts goes to operators.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/controller_service.h"
#include "daemon/controller/end_when_refused.h"
#include "daemon/controller/event_stream.h"
#include "daemon/controller/hosts/audit_caller.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/logs_run.h"

namespace clusterd {
namespace {

// Reading 64 MiB from a slow file server takes longer than an observation.
constexpr absl::Duration kLeastDeadline = absl::Minutes(1);

}  // namespace

absl::StatusOr<LogsOrder> ControllerService::PrepareLogs(
    const grpc::CallbackServerContext& context, const SpiffeId& user,
    const LogsRequest& request) const {
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
  LogsOrder order;
  ASSIGN_OR_RETURN(order.hosts, SelectHosts(*spec, request.hosts()));
  order.query = request.query();
  order.record = request.record();
  order.host_deadline =
      std::max(kLeastDeadline, absl::Milliseconds(spec->deadlines().host_ms()));
  order.caller = AuditCaller(context, "ReadLogs");
  order.caller.set_subject(absl::StrCat(
      NamesText(order.hosts), ", of user ", QuotedText(order.query.user()),
      ", job ", QuotedText(order.query.job_id()),
      order.record ? ", with a recording" : ""));
  parts_.log->Info(absl::StrCat(user.name, " reads logs on ",
                                NamesText(order.hosts), ", of user ",
                                QuotedText(order.query.user()), ", job ",
                                QuotedText(order.query.job_id())));
  return order;
}

grpc::ServerWriteReactor<LogsEvent>* ControllerService::ReadLogs(
    grpc::CallbackServerContext* context, const LogsRequest* request) {
  const auto stream = LogsRun::Stream::Create(context, parts_.scheduler);
  const absl::StatusOr<SpiffeId> user = Admit(*context, "ReadLogs", *request);
  absl::StatusOr<LogsOrder> order =
      user.ok() ? PrepareLogs(*context, *user, *request)
                : absl::StatusOr<LogsOrder>(user.status());
  if (order.ok()) {
    const absl::Status taken = slots_.logs.Take(user->name);
    const absl::Status written =
        taken.ok() ? parts_.audit->Begin(order->caller) : taken;
    if (taken.ok() && !written.ok()) slots_.logs.Give(user->name);
    if (!written.ok()) {
      order = written;
    } else {
      order->audit_head = parts_.audit->head_to_tell();
    }
  }
  if (!order.ok()) {
    stream->End(user.ok() ? Refused(*context, "ReadLogs", order.status())
                          : user.status());
    return stream.get();
  }
  const AuditEntry caller = order->caller;
  const auto run =
      std::make_shared<LogsRun>(*std::move(order), parts_.hosts, stream);
  EventStreamOptions options;
  options.on_leave = [run] { run->Cancel(); };
  options.on_written = [run] { run->Advance(); };
  options.on_end = [this, run, caller, who = user->name] {
    run->Cancel();
    const CheckProgress progress = run->progress();
    parts_.audit->End(
        caller, absl::StrCat("ended: ", progress.answered(), " answered, ",
                             progress.failed(), " without, ",
                             progress.pending(), " not read"));
    slots_.logs.Give(who);
  };
  stream->Begin(std::move(options));
  stream->Show([run](LogsEvent* event) {
    *event->mutable_progress() = run->progress();
  });
  stream->NoteProgress();
  run->Advance();
  EndWhenRefused(parts_, *context, "ReadLogs", stream);
  return stream.get();
}

}  // namespace clusterd
