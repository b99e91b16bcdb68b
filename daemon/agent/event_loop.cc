#include "daemon/agent/event_loop.h"

#include <atomic>
#include <memory>
#include <utility>

#include "grpc/support/time.h"
#include "grpcpp/alarm.h"

namespace clusterd {
namespace {

// What a tag points to. gRPC hands it from the thread that makes it to the
// loop's; the flag says so in a way that a race detector can see without
// looking into gRPC.
struct OperationEnd {
  explicit OperationEnd(std::function<void(bool)> run) : run(std::move(run)) {
    made.store(true, std::memory_order_release);
  }

  const std::function<void(bool)> run;
  std::atomic<bool> made{false};
};

}  // namespace

EventLoop::EventLoop() : thread_([this] { Run(); }) {}

EventLoop::~EventLoop() {
  queue_.Shutdown();
  thread_.join();
}

void* EventLoop::Tag(std::function<void(bool ok)> run) {
  return new OperationEnd(std::move(run));  // Run() takes it back.
}

void EventLoop::Post(std::function<void()> run) {
  auto alarm = std::make_shared<grpc::Alarm>();
  grpc::Alarm* const set = alarm.get();
  set->Set(
      &queue_, gpr_inf_past(GPR_CLOCK_MONOTONIC),
      Tag([alarm = std::move(alarm), run = std::move(run)](bool) { run(); }));
}

void EventLoop::Run() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
    const std::unique_ptr<OperationEnd> end(static_cast<OperationEnd*>(tag));
    if (end->made.load(std::memory_order_acquire)) end->run(ok);
  }
}

}  // namespace clusterd
