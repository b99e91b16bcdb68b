// One thread that everything of the streams to the controller happens on, so
// that their state needs no lock. It sleeps until gRPC has something to tell;
// gRPC's callback interface would wake up a process every second.
#ifndef DAEMON_AGENT_EVENT_LOOP_H_
#define DAEMON_AGENT_EVENT_LOOP_H_

#include <functional>
#include <thread>

#include "grpcpp/completion_queue.h"

namespace clusterd {

// Safe for concurrent use.
class EventLoop {
 public:
  EventLoop();
  // Runs what was posted and ends. REQUIRES: nobody posts any more and every
  // operation begun on queue() has a tag that will run.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs `run` on the loop's thread, soon and in no promised order.
  void Post(std::function<void()> run);

  // For operations of asynchronous calls.
  grpc::CompletionQueue* queue() { return &queue_; }

  // The tag of one operation on queue(): `run` is called on the loop's thread
  // when it ends, with gRPC's word on whether it did what it should.
  static void* Tag(std::function<void(bool ok)> run);

 private:
  void Run();

  grpc::CompletionQueue queue_;
  std::thread thread_;  // Last: uses the queue.
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_EVENT_LOOP_H_
