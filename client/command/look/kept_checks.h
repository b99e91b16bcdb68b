// Checks of the history, for commands that compare one with the one before it.
#ifndef CLIENT_COMMAND_LOOK_KEPT_CHECKS_H_
#define CLIENT_COMMAND_LOOK_KEPT_CHECKS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/connection/rpc_client.h"
#include "proto/controller.pb.h"

namespace clusterd {

// What an argument that names a check is called; help completes such ids.
inline constexpr char kRunArgument[] = "RUN";

// Asks anew with every call; other errors are the controller's.
class KeptChecks {
 public:
  // The client must outlive it. `timeout` of each question.
  KeptChecks(ControllerClient& client, absl::Duration timeout)
      : client_(client), timeout_(timeout) {}

  // With its report. Empty: the newest; NotFound: the history has none.
  // InvalidArgument for a run that is no check.
  absl::StatusOr<HistoryRecord> Read(std::string id) const;

  // The newest check before that one of the same hosts, job, namespace and
  // schedule, where the controller does not name it; nullopt: none is near.
  absl::StatusOr<std::optional<HistoryRecord>> Before(
      const HistoryRecord& check) const;

 private:
  absl::StatusOr<HistoryRecord> Ask(const std::string& id) const;
  absl::StatusOr<ListHistoryResponse> List(const std::string& before,
                                           uint32_t limit) const;

  ControllerClient& client_;
  const absl::Duration timeout_;
};

}  // namespace clusterd

#endif  // CLIENT_COMMAND_LOOK_KEPT_CHECKS_H_
