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

absl::StatusOr<Report> ControllerClient::Check(
    const CheckRequest& request, absl::Duration timeout,
    const std::function<void(const CheckProgress&)>& on_progress) {
  const auto context = NewContext(timeout);
  const auto stream = stub_->Check(context.get(), request);
  std::optional<Report> report;
  int reports = 0;
  CheckEvent event;
  while (stream->Read(&event)) {
    if (event.has_progress()) on_progress(event.progress());
    if (!event.has_report()) continue;
    ++reports;
    report = std::move(*event.mutable_report());
  }
  const grpc::Status status = stream->Finish();
  if (!status.ok()) return Explain(status, timeout);
  if (reports != 1) {
    return absl::InternalError(absl::StrCat(peer_, ": ended the check with ",
                                            reports, " reports, expected one"));
  }
  return *std::move(report);
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
