// The real controller answers any call of an admin of the cluster, in time.
#include <memory>
#include <string>

#include "grpcpp/create_channel.h"
#include "proto/controller.grpc.pb.h"
#include "proto/trust.grpc.pb.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/fuzz/messages/inputs.pb.h"
#include "tests/fuzz/messages/message_input.h"
#include "tests/fuzz/require.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using Call = UserInput::Call;
constexpr int kMaxCalls = 8;

// A connection that begins more calls in a second is cut off.
constexpr int kCallsOfConnection = 500;

struct Cluster {
  Cluster() {
    controller.Start();
    Connect();
  }

  void Connect() {
    // Channels with equal arguments would share the connection.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel = grpc::CreateCustomChannel(
        controller.address(),
        *MakeChannelCredentials(
            certificates.Issue("admin", {"spiffe://test/user/ada/role/admin"}),
            "test"),
        arguments);
    admin = Controller::NewStub(channel);
    trust = Trust::NewStub(channel);
  }

  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller{&certificates, 2, &scheduler,
                            TrustedOptions(certificates)};
  std::unique_ptr<Controller::Stub> admin;
  std::unique_ptr<Trust::Stub> trust;
};

template <typename Stub, typename Request, typename Event>
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

// Reads one message; the stream does not end.
grpc::Status Watch(grpc::ClientContext* context, const WatchRequest& request,
                   Controller::Stub* stub) {
  const auto reader = stub->Watch(context, request);
  ClusterNow now;
  const bool is_notified = reader->Read(&now);
  context->TryCancel();
  const grpc::Status status = reader->Finish();
  return is_notified ? grpc::Status::OK : status;
}

template <typename Stub, typename Request, typename Response>
grpc::Status Unary(grpc::Status (Stub::*call)(grpc::ClientContext*,
                                              const Request&, Response*),
                   grpc::ClientContext* context, const Request& request,
                   Stub* stub) {
  Response response;
  return (stub->*call)(context, request, &response);
}

grpc::Status Run(const Call& call, grpc::ClientContext* context,
                 const Cluster& cluster) {
  using C = Controller::Stub;
  using T = Trust::Stub;
  C* const stub = cluster.admin.get();
  T* const trust = cluster.trust.get();
  switch (call.request_case()) {
    case Call::kCheck:
      return Stream(&C::Check, context, call.check(), stub);
    case Call::kCheckSoFar:
      return Unary(&C::CheckSoFar, context, call.check_so_far(), stub);
    case Call::kListHosts:
      return Unary(&C::ListHosts, context, call.list_hosts(), stub);
    case Call::kForgetHost:
      return Unary(&C::ForgetHost, context, call.forget_host(), stub);
    case Call::kDescribeHost:
      return Unary(&C::DescribeHost, context, call.describe_host(), stub);
    case Call::kGetSpec:
      return Unary(&C::GetSpec, context, call.get_spec(), stub);
    case Call::kPlan:
      return Stream(&C::Plan, context, call.plan(), stub);
    case Call::kApplyPlan:
      return Stream(&C::ApplyPlan, context, call.apply_plan(), stub);
    case Call::kRollBack:
      return Stream(&C::RollBack, context, call.roll_back(), stub);
    case Call::kCancel:
      return Unary(&C::Cancel, context, call.cancel(), stub);
    case Call::kListHistory:
      return Unary(&C::ListHistory, context, call.list_history(), stub);
    case Call::kGetHistory:
      return Unary(&C::GetHistory, context, call.get_history(), stub);
    case Call::kLearn:
      return Stream(&C::Learn, context, call.learn(), stub);
    case Call::kLaunch:
      return Stream(&C::PrepareLaunch, context, call.launch(), stub);
    case Call::kLogs:
      return Stream(&C::ReadLogs, context, call.logs(), stub);
    case Call::kLock:
      return Unary(&C::Lock, context, call.lock(), stub);
    case Call::kUnlock:
      return Unary(&C::Unlock, context, call.unlock(), stub);
    case Call::kListLocks:
      return Unary(&C::ListLocks, context, call.list_locks(), stub);
    case Call::kWaive:
      return Unary(&C::Waive, context, call.waive(), stub);
    case Call::kEndWaiver:
      return Unary(&C::EndWaiver, context, call.end_waiver(), stub);
    case Call::kListWaivers:
      return Unary(&C::ListWaivers, context, call.list_waivers(), stub);
    case Call::kAbortApply:
      return Unary(&C::AbortApply, context, call.abort_apply(), stub);
    case Call::kConfirm:
      return Unary(&C::Confirm, context, call.confirm(), stub);
    case Call::kExtend:
      return Unary(&C::Extend, context, call.extend(), stub);
    case Call::kGetAuditHeads:
      return Unary(&C::GetAuditHeads, context, call.get_audit_heads(), stub);
    case Call::kWatch:
      return Watch(context, call.watch(), stub);
    case Call::kCreateToken:
      return Unary(&T::CreateToken, context, call.create_token(), trust);
    case Call::kListTokens:
      return Unary(&T::ListTokens, context, call.list_tokens(), trust);
    case Call::kRevokeToken:
      return Unary(&T::RevokeToken, context, call.revoke_token(), trust);
    case Call::kListCertificates:
      return Unary(&T::ListCertificates, context, call.list_certificates(),
                   trust);
    case Call::kApproveHost:
      return Unary(&T::ApproveHost, context, call.approve_host(), trust);
    case Call::kRefuseHost:
      return Unary(&T::RefuseHost, context, call.refuse_host(), trust);
    case Call::kResetHost:
      return Unary(&T::ResetHost, context, call.reset_host(), trust);
    case Call::REQUEST_NOT_SET:
      return grpc::Status::OK;
  }
  return grpc::Status::OK;
}

FUZZ_MESSAGE(user_calls, 2, UserInput, "tests/testdata/messages/user-*.txtpb") {
  static auto* const cluster = new Cluster();
  static int calls = 0;
  for (int i = 0; i < input.calls_size() && i < kMaxCalls; ++i) {
    if (++calls % kCallsOfConnection == 0) cluster->Connect();
    grpc::ClientContext context;
    context.set_deadline(PatientDeadline());
    const grpc::Status status = Run(input.calls(i), &context, *cluster);
    Require(status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED &&
            status.error_code() != grpc::StatusCode::UNAVAILABLE &&
            status.error_code() != grpc::StatusCode::INTERNAL &&
            status.ok() == status.error_message().empty());
  }
}

}  // namespace
}  // namespace clusterd
