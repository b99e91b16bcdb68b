// Answers of gRPC handlers that wait for the disk.
#ifndef DAEMON_CONTROLLER_HOSTS_POOL_ANSWER_H_
#define DAEMON_CONTROLLER_HOSTS_POOL_ANSWER_H_

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/process/worker_pool.h"

namespace clusterd {

// Why a call is refused while the pool is full.
inline absl::Status TooMuchToDo() {
  return absl::ResourceExhaustedError(
      "the controller has too much to do, try again later");
}

// Fills in the response from a thread of the pool, for what waits for the disk.
// `done` is called once, when the response is as it is sent; with
// ResourceExhausted at once if the pool is full, which `refused` is told first.
template <typename Response>
void AnswerOnPool(
    WorkerPool* pool, WorkerPool::Place place, Response* response,
    std::function<absl::StatusOr<Response>()> read,
    const std::function<void(const absl::Status& status)>& done,
    const std::function<void(const absl::Status& full)>& refused = nullptr) {
  const bool taken = pool->TryRun(
      [response, read = std::move(read), done] {
        absl::StatusOr<Response> answer = read();
        const absl::Status status = answer.status();
        if (status.ok()) *response = *std::move(answer);
        done(status);
      },
      place);
  if (taken) return;
  const absl::Status full = TooMuchToDo();
  if (refused) refused(full);
  done(full);
}

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_POOL_ANSWER_H_
