// The answers to ListHistory and GetHistory of the Controller service. The
// store waits for the disk, so both run on the pool.
#ifndef DAEMON_CONTROLLER_HISTORY_HISTORY_SERVICE_H_
#define DAEMON_CONTROLLER_HISTORY_HISTORY_SERVICE_H_

#include <functional>

#include "absl/status/status.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/process/worker_pool.h"
#include "proto/controller.pb.h"

namespace clusterd {

// Called once, when the response is as it is sent, from a thread of the pool;
// with ResourceExhausted at once if the pool is full.
using HistoryAnswered = std::function<void(const absl::Status& status)>;

// Errors are the store's. Request and response must live until `done` is
// called, the store longer than the pool.
void AnswerListHistory(const HistoryStore* store, WorkerPool* pool,
                       const ListHistoryRequest* request,
                       ListHistoryResponse* response,
                       const HistoryAnswered& done);
void AnswerGetHistory(const HistoryStore* store, WorkerPool* pool,
                      const GetHistoryRequest* request, HistoryRecord* response,
                      const HistoryAnswered& done);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_HISTORY_SERVICE_H_
