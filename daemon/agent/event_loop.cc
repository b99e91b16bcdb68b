#include "daemon/agent/event_loop.h"

#include <memory>
#include <utility>

#include "grpc/support/time.h"
#include "grpcpp/alarm.h"

namespace clusterd {
namespace {

using OperationEnd = std::function<void(bool)>;

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
    (*end)(ok);
  }
}

}  // namespace clusterd
