// The controller's calls as clusterctl makes them: each with a deadline, each
// ended by Ctrl-C, each failure in words.
#ifndef CLIENT_CONNECTION_CONTROLLER_CLIENT_H_
#define CLIENT_CONNECTION_CONTROLLER_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/connection/interrupt.h"
#include "grpcpp/channel.h"
#include "proto/agent_hub.grpc.pb.h"
#include "proto/controller.grpc.pb.h"

namespace clusterd {

// All errors are those of ExplainRpcError; Cancelled with "interrupted" where
// Ctrl-C ended the call. One call at a time.
class ControllerClient {
 public:
  // `address` is for messages. `interrupt` must outlive the client.
  ControllerClient(std::shared_ptr<grpc::Channel> channel,
                   const std::string& address, Interrupt& interrupt)
      : stub_(Controller::NewStub(std::move(channel))),
        peer_("controller " + address),
        interrupt_(interrupt) {}

  absl::StatusOr<GetSpecResponse> GetSpec(absl::Duration timeout);
  absl::StatusOr<ListHostsResponse> ListHosts(absl::Duration timeout);
  absl::StatusOr<DescribeHostResponse> DescribeHost(const std::string& host,
                                                    absl::Duration timeout);

  // Runs a check; `on_progress` is called on this thread. Besides the errors
  // above, Internal if the stream ended well and brought no report, or two. A
  // report whose stream broke afterwards is an error too: it is not complete.
  absl::StatusOr<Report> Check(
      const CheckRequest& request, absl::Duration timeout,
      const std::function<void(const CheckProgress&)>& on_progress);

  // Observes and plans; as Check, with a plan for the report.
  absl::StatusOr<ClusterPlan> Plan(
      const PlanRequest& request, absl::Duration timeout,
      const std::function<void(const CheckProgress&)>& on_progress);

  // Both: as Check; `on_event` gets every event but the report. Any error says
  // only that this side left: a run that began goes on in the controller.
  absl::StatusOr<ApplyReport> ApplyPlan(
      const ApplyPlanRequest& request, absl::Duration timeout,
      const std::function<void(const ApplyEvent&)>& on_event);
  absl::StatusOr<ApplyReport> RollBack(
      const RollBackRequest& request, absl::Duration timeout,
      const std::function<void(const ApplyEvent&)>& on_event);

  absl::StatusOr<ListHistoryResponse> ListHistory(
      const ListHistoryRequest& request, absl::Duration timeout);
  // `id` may be the first characters of one, at least four.
  absl::StatusOr<HistoryRecord> GetHistory(const std::string& id,
                                           absl::Duration timeout);

 private:
  template <typename Answer, typename Event, typename OnEvent>
  absl::StatusOr<Answer> ReadAnswer(grpc::ClientReader<Event>& stream,
                                    absl::Duration timeout, const char* call,
                                    const OnEvent& on_event);
  std::shared_ptr<grpc::ClientContext> NewContext(absl::Duration timeout);
  absl::Status Explain(const grpc::Status& status,
                       absl::Duration timeout) const;

  const std::unique_ptr<Controller::Stub> stub_;
  const std::string peer_;
  Interrupt& interrupt_;
};

// What this machine's own daemon finds out about itself. Errors as above.
absl::StatusOr<CheckSelfResponse> CheckSelf(
    const std::shared_ptr<grpc::Channel>& channel,
    const std::string& socket_path, absl::Duration timeout,
    Interrupt& interrupt);

}  // namespace clusterd

#endif  // CLIENT_CONNECTION_CONTROLLER_CLIENT_H_
