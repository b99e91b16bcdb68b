#include "client/connection/controller_client.h"

#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/connection/rpc_error.h"

namespace clusterd {
namespace {

std::shared_ptr<grpc::ClientContext> ContextWithDeadline(absl::Duration timeout,
                                                         Interrupt& interrupt) {
  auto context = std::make_shared<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() +
                        absl::ToChronoMilliseconds(timeout));
  interrupt.Watch(context);
  return context;
}

absl::Status ExplainOrInterrupted(const grpc::Status& status,
                                  const std::string& peer,
                                  absl::Duration timeout,
                                  const Interrupt& interrupt) {
  if (status.error_code() == grpc::StatusCode::CANCELLED && interrupt.fired()) {
    return absl::CancelledError("interrupted");
  }
  return ExplainRpcError(status, peer, timeout);
}

const char* AnswerWord(const std::optional<ClusterPlan>&) { return "plan"; }

template <typename Answer>
const char* AnswerWord(const std::optional<Answer>&) {
  return "report";
}

}  // namespace

std::shared_ptr<grpc::ClientContext> ControllerClient::NewContext(
    absl::Duration timeout) {
  return ContextWithDeadline(timeout, interrupt_);
}

absl::Status ControllerClient::Explain(const grpc::Status& status,
                                       absl::Duration timeout) const {
  return ExplainOrInterrupted(status, peer_, timeout, interrupt_);
}

absl::StatusOr<GetSpecResponse> ControllerClient::GetSpec(
    absl::Duration timeout) {
  const auto context = NewContext(timeout);
  GetSpecResponse response;
  const grpc::Status status = stub_->GetSpec(context.get(), {}, &response);
  if (!status.ok()) return Explain(status, timeout);
  return response;
}

absl::StatusOr<ListHostsResponse> ControllerClient::ListHosts(
    absl::Duration timeout) {
  const auto context = NewContext(timeout);
  ListHostsResponse response;
  const grpc::Status status = stub_->ListHosts(context.get(), {}, &response);
  if (!status.ok()) return Explain(status, timeout);
  return response;
}

absl::StatusOr<DescribeHostResponse> ControllerClient::DescribeHost(
    const std::string& host, absl::Duration timeout) {
  const auto context = NewContext(timeout);
  DescribeHostRequest request;
  request.set_host(host);
  DescribeHostResponse response;
  const grpc::Status status =
      stub_->DescribeHost(context.get(), request, &response);
  if (!status.ok()) return Explain(status, timeout);
  return response;
}

template <typename Answer, typename Event, typename OnEvent>
absl::StatusOr<Answer> ControllerClient::ReadAnswer(
    grpc::ClientReader<Event>& stream, absl::Duration timeout, const char* call,
    const OnEvent& on_event) {
  std::optional<Answer> answer;
  int answers = 0;
  Event event;
  while (stream.Read(&event)) {
    Answer* last = on_event(event);
    if (last == nullptr) continue;
    ++answers;
    answer = std::move(*last);
  }
  const grpc::Status status = stream.Finish();
  if (!status.ok()) return Explain(status, timeout);
  if (answers != 1) {
    return absl::InternalError(
        absl::StrCat(peer_, ": ended the ", call, " with ", answers, " ",
                     AnswerWord(answer), "s, expected one"));
  }
  return *std::move(answer);
}

absl::StatusOr<Report> ControllerClient::Check(
    const CheckRequest& request, absl::Duration timeout,
    const std::function<void(const CheckProgress&)>& on_progress) {
  const auto context = NewContext(timeout);
  const auto stream = stub_->Check(context.get(), request);
  return ReadAnswer<Report>(
      *stream, timeout, "check", [&](CheckEvent& event) -> Report* {
        if (event.has_progress()) on_progress(event.progress());
        return event.has_report() ? event.mutable_report() : nullptr;
      });
}

absl::StatusOr<ClusterPlan> ControllerClient::Plan(
    const PlanRequest& request, absl::Duration timeout,
    const std::function<void(const CheckProgress&)>& on_progress) {
  const auto context = NewContext(timeout);
  const auto stream = stub_->Plan(context.get(), request);
  return ReadAnswer<ClusterPlan>(
      *stream, timeout, "planning", [&](PlanEvent& event) -> ClusterPlan* {
        if (event.has_progress()) on_progress(event.progress());
        return event.has_plan() ? event.mutable_plan() : nullptr;
      });
}

absl::StatusOr<ApplyReport> ControllerClient::ApplyPlan(
    const ApplyPlanRequest& request, absl::Duration timeout,
    const std::function<void(const ApplyEvent&)>& on_event) {
  const auto context = NewContext(timeout);
  const auto stream = stub_->ApplyPlan(context.get(), request);
  return ReadAnswer<ApplyReport>(*stream, timeout, "apply",
                                 [&](ApplyEvent& event) -> ApplyReport* {
                                   if (event.has_report())
                                     return event.mutable_report();
                                   on_event(event);
                                   return nullptr;
                                 });
}

absl::StatusOr<ApplyReport> ControllerClient::RollBack(
    const RollBackRequest& request, absl::Duration timeout,
    const std::function<void(const ApplyEvent&)>& on_event) {
  const auto context = NewContext(timeout);
  const auto stream = stub_->RollBack(context.get(), request);
  return ReadAnswer<ApplyReport>(*stream, timeout, "rollback",
                                 [&](ApplyEvent& event) -> ApplyReport* {
                                   if (event.has_report())
                                     return event.mutable_report();
                                   on_event(event);
                                   return nullptr;
                                 });
}

absl::StatusOr<ListHistoryResponse> ControllerClient::ListHistory(
    const ListHistoryRequest& request, absl::Duration timeout) {
  const auto context = NewContext(timeout);
  ListHistoryResponse response;
  const grpc::Status status =
      stub_->ListHistory(context.get(), request, &response);
  if (!status.ok()) return Explain(status, timeout);
  return response;
}

absl::StatusOr<HistoryRecord> ControllerClient::GetHistory(
    const std::string& id, absl::Duration timeout) {
  const auto context = NewContext(timeout);
  GetHistoryRequest request;
  request.set_id(id);
  HistoryRecord record;
  const grpc::Status status =
      stub_->GetHistory(context.get(), request, &record);
  if (!status.ok()) return Explain(status, timeout);
  return record;
}

absl::StatusOr<CheckSelfResponse> CheckSelf(
    const std::shared_ptr<grpc::Channel>& channel,
    const std::string& socket_path, absl::Duration timeout,
    Interrupt& interrupt) {
  const auto stub = LocalAgent::NewStub(channel);
  const auto context = ContextWithDeadline(timeout, interrupt);
  CheckSelfResponse response;
  const grpc::Status status = stub->CheckSelf(context.get(), {}, &response);
  if (!status.ok()) {
    return ExplainOrInterrupted(
        status, absl::StrCat("clusterd of this host, ", socket_path), timeout,
        interrupt);
  }
  return response;
}

}  // namespace clusterd
