#include "daemon/controller/history/history_service.h"

#include <utility>

#include "absl/status/statusor.h"

namespace clusterd {
namespace {

template <typename Response>
void AnswerOnPool(WorkerPool* pool, Response* response,
                  std::function<absl::StatusOr<Response>()> read,
                  const HistoryAnswered& done) {
  const bool taken = pool->TryRun([response, read = std::move(read), done] {
    absl::StatusOr<Response> answer = read();
    const absl::Status status = answer.status();
    if (status.ok()) *response = *std::move(answer);
    done(status);
  });
  if (!taken) {
    done(absl::ResourceExhaustedError(
        "the controller has too much to do, try again later"));
  }
}

}  // namespace

void AnswerListHistory(const HistoryStore* store, WorkerPool* pool,
                       const ListHistoryRequest* request,
                       ListHistoryResponse* response,
                       const HistoryAnswered& done) {
  AnswerOnPool<ListHistoryResponse>(
      pool, response, [store, request] { return store->List(*request); }, done);
}

void AnswerGetHistory(const HistoryStore* store, WorkerPool* pool,
                      const GetHistoryRequest* request, HistoryRecord* response,
                      const HistoryAnswered& done) {
  AnswerOnPool<HistoryRecord>(
      pool, response, [store, request] { return store->Get(request->id()); },
      done);
}

}  // namespace clusterd
