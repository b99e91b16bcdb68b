// Whatever an admin of the cluster asks, the real controller answers, in time.
#include <chrono>
#include <memory>
#include <string>

#include "proto/controller.grpc.pb.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/fuzz/inputs.pb.h"
#include "tests/fuzz/message_input.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

using Call = UserInput::Call;
using Stub = Controller::Stub;

constexpr int kMaxCalls = 8;

struct Cluster {
  Cluster() {
    controller.Start();
    admin = controller.ClientAs(
        certificates.Issue("admin", {"spiffe://test/user/ada/role/admin"}));
  }

  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller{&certificates, 2, &scheduler};
  std::unique_ptr<Stub> admin;
};

template <typename Request, typename Event>
grpc::Status Stream(std::unique_ptr<grpc::ClientReader<Event>> (Stub::*call)(
                        grpc::ClientContext*, const Request&),
                    grpc::ClientContext* context, const Request& request,
                    Stub* stub) {
  const auto reader = (stub->*call)(context, request);
  Event event;
  while (reader->Read(&event)) {
  }
  return reader->Finish();
}

template <typename Request, typename Response>
grpc::Status Unary(grpc::Status (Stub::*call)(grpc::ClientContext*,
                                              const Request&, Response*),
                   grpc::ClientContext* context, const Request& request,
                   Stub* stub) {
  Response response;
  return (stub->*call)(context, request, &response);
}

grpc::Status Run(const Call& call, grpc::ClientContext* context, Stub* stub) {
  switch (call.request_case()) {
    case Call::kCheck:
      return Stream(&Stub::Check, context, call.check(), stub);
    case Call::kCheckSoFar:
      return Unary(&Stub::CheckSoFar, context, call.check_so_far(), stub);
    case Call::kListHosts:
      return Unary(&Stub::ListHosts, context, call.list_hosts(), stub);
    case Call::kForgetHost:
      return Unary(&Stub::ForgetHost, context, call.forget_host(), stub);
    case Call::kDescribeHost:
      return Unary(&Stub::DescribeHost, context, call.describe_host(), stub);
    case Call::kGetSpec:
      return Unary(&Stub::GetSpec, context, call.get_spec(), stub);
    case Call::kPlan:
      return Stream(&Stub::Plan, context, call.plan(), stub);
    case Call::kApplyPlan:
      return Stream(&Stub::ApplyPlan, context, call.apply_plan(), stub);
    case Call::kRollBack:
      return Stream(&Stub::RollBack, context, call.roll_back(), stub);
    case Call::kCancel:
      return Unary(&Stub::Cancel, context, call.cancel(), stub);
    case Call::kListHistory:
      return Unary(&Stub::ListHistory, context, call.list_history(), stub);
    case Call::kGetHistory:
      return Unary(&Stub::GetHistory, context, call.get_history(), stub);
    case Call::kLearn:
      return Stream(&Stub::Learn, context, call.learn(), stub);
    case Call::kLaunch:
      return Stream(&Stub::PrepareLaunch, context, call.launch(), stub);
    case Call::kLogs:
      return Stream(&Stub::ReadLogs, context, call.logs(), stub);
    case Call::REQUEST_NOT_SET:
      return grpc::Status::OK;
  }
  return grpc::Status::OK;
}

}  // namespace
}  // namespace clusterd

CLUSTERD_FUZZ_MESSAGE(UserInput) {
  static auto* const cluster = new clusterd::Cluster();
  for (int i = 0; i < input.calls_size() && i < clusterd::kMaxCalls; ++i) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(30));
    const grpc::Status status =
        clusterd::Run(input.calls(i), &context, cluster->admin.get());
    clusterd::Require(status.error_code() !=
                          grpc::StatusCode::DEADLINE_EXCEEDED &&
                      status.error_code() != grpc::StatusCode::UNAVAILABLE &&
                      status.error_code() != grpc::StatusCode::INTERNAL &&
                      status.ok() == status.error_message().empty());
  }
  return 0;
}
