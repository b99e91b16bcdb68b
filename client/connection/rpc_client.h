// Calls of clusterctl to the controller or to this host's daemon. Each has a
// deadline, ends at Ctrl-C, and explains its failure.
#ifndef CLIENT_CONNECTION_RPC_CLIENT_H_
#define CLIENT_CONNECTION_RPC_CLIENT_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/values/owned_fd.h"
#include "config/words/message.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "proto/agent_hub.grpc.pb.h"
#include "proto/controller.grpc.pb.h"

namespace clusterd {

// Ctrl-C as an event that ends the call under way, so that a run still prints
// its findings. It handles no signal: main.cc turns SIGINT and SIGTERM into
// Fire(). Safe for concurrent use.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Runs the function of DeferTo, otherwise that of Watch. False if it had
  // already fired, and no function is left to run.
  bool Fire() ABSL_LOCKS_EXCLUDED(mutex_);

  // The next Fire calls this once and drops it; the Fire after that fires.
  // Null: the next one fires. It is called on the thread of Fire, under no
  // lock, and must not block. It may still be called after a later DeferTo.
  void DeferTo(std::function<void()> instead) ABSL_LOCKS_EXCLUDED(mutex_);

  bool fired() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Readable once it has fired, for poll() beside typed input. -1 if the system
  // has no free descriptor, which poll() skips.
  int descriptor() const { return descriptor_.get(); }

  // Waits until it has fired; false if it did not within `timeout`.
  bool Await(absl::Duration timeout) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Sets the function that Fire calls; calls it at once if Fire came earlier.
  // Only the last one is called, and none runs once the next has been set. It
  // must neither block nor use the interrupt.
  void Watch(std::function<void()> on_fire) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const OwnedFd descriptor_;
  mutable absl::Mutex mutex_;
  bool fired_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> instead_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_fire_ ABSL_GUARDED_BY(mutex_) = [] {};
};

// The answer in an event, which ends its stream; nullptr: only progress.
template <typename Event>
auto AnswerOf(Event& event) -> decltype(event.mutable_report()) {
  return event.has_report() ? event.mutable_report() : nullptr;
}
inline ClusterPlan* AnswerOf(PlanEvent& event) {
  return event.has_plan() ? event.mutable_plan() : nullptr;
}
inline LearnedHosts* AnswerOf(LearnEvent& event) {
  return event.has_learned() ? event.mutable_learned() : nullptr;
}
inline LaunchFacts* AnswerOf(LaunchEvent& event) {
  return event.has_facts() ? event.mutable_facts() : nullptr;
}
template <typename Event>
using AnswerTo =
    std::remove_pointer_t<decltype(AnswerOf(std::declval<Event&>()))>;

// Replaces what Ctrl-C does to the call. Called as Interrupt describes, with a
// function that ends the call and may be called at any time.
using OnInterrupt = std::function<void(std::function<void()> leave)>;

// Sets one deadline and one Ctrl-C for a call that is about to be made.
std::shared_ptr<grpc::ClientContext> NewCallContext(absl::Duration timeout,
                                                    Interrupt& interrupt);

// Explains a failed call to the user. REQUIRES: !status.ok(). Cancelled with
// "interrupted" if Ctrl-C ended the call. Otherwise the same code, and the
// message names `peer` and
//   cannot connect   the system's own reason, what to check
//   bad certificate  which side refused which certificate
//   deadline         no answer in `timeout` (--timeout)
//   otherwise        the message that the other end sent
absl::Status ExplainCall(const grpc::Status& status, const FindingValue& peer,
                         absl::Duration timeout, const Interrupt& interrupt);

// Keeps it until the process ends. If a thread of gRPC dropped the last
// reference to a channel, its queue would wait in vain for that thread, and be
// freed while the thread uses it.
void KeepToTheEnd(std::shared_ptr<void> kept);

// Sets texts that answers have as words, in the language of the thread. All
// errors are those of ExplainCall. One call at a time.
template <typename Service>
class RpcClient {
 public:
  using Stub = typename Service::Stub;

  // `peer` is for messages, a text or words: "controller head:7443".
  // `interrupt` must outlive the client.
  template <typename Peer>
  RpcClient(const std::shared_ptr<grpc::Channel>& channel, const Peer& peer,
            Interrupt& interrupt)
      : stub_(Service::NewStub(channel)),
        peer_(ToFindingValue(peer)),
        interrupt_(interrupt) {}

  // One question, one answer: Ask(&Controller::Stub::GetSpec, {}, timeout).
  template <typename Request, typename Answer>
  absl::StatusOr<Answer> Ask(grpc::Status (Stub::*call)(grpc::ClientContext*,
                                                        const Request&,
                                                        Answer*),
                             const Request& request, absl::Duration timeout) {
    const auto context = NewCallContext(timeout, interrupt_);
    Answer answer;
    const grpc::Status status =
        (stub_.get()->*call)(context.get(), request, &answer);
    if (!status.ok()) return ExplainCall(status, peer_, timeout, interrupt_);
    RenderWords(&answer);
    return answer;
  }

  // Makes a call while a stream is being read, without waiting. Calls `done`, a
  // void(const grpc::Status&, Answer), on another thread, possibly after this
  // client is destroyed. Ctrl-C does not cancel the call.
  template <typename Request, typename Answer, typename Done>
  void AskBeside(void (Service::StubInterface::async_interface::*call)(
                     grpc::ClientContext*, const Request*, Answer*,
                     std::function<void(grpc::Status)>),
                 const Request& request, absl::Duration timeout, Done done) {
    struct Call {
      grpc::ClientContext context;
      Request request;
      Answer answer;
    };
    const auto made = std::make_shared<Call>();
    made->context.set_deadline(std::chrono::system_clock::now() +
                               absl::ToChronoMilliseconds(timeout));
    made->request = request;
    (stub_->async()->*call)(
        &made->context, &made->request, &made->answer,
        [made, stub = stub_, done = std::move(done)](const grpc::Status& end) {
          KeepToTheEnd(made);
          KeepToTheEnd(stub);
          done(end, std::move(made->answer));
        });
  }

  // Reads a stream to its end. `on_event` gets every event but the answer, on
  // this thread. `what` is for messages, as in "ended the check with 0
  // answers". Besides the errors above, Internal if the stream ended well with
  // no answer, or two. If the stream broke after an answer, that is incomplete,
  // and an error. An error only ends the client's part: an apply that began
  // continues in the controller.
  template <typename Request, typename Event, typename OnEvent>
  absl::StatusOr<AnswerTo<Event>> Follow(
      std::unique_ptr<grpc::ClientReader<Event>> (Stub::*call)(
          grpc::ClientContext*, const Request&),
      const Request& request, absl::Duration timeout, const char* what,
      const OnEvent& on_event, const OnInterrupt& on_interrupt = nullptr) {
    using Answer = AnswerTo<Event>;
    Answer answer;
    int answers = 0;
    const absl::Status status = ReadAll(
        call, request, timeout,
        [&](Event& event) {
          if (Answer* last = AnswerOf(event)) {
            ++answers;
            answer = std::move(*last);
          } else {
            on_event(event);
          }
        },
        on_interrupt);
    if (!status.ok()) return status;
    if (answers == 1) return answer;
    return About(peer_,
                 InternalWords("msg-call-answer-missing", what, answers));
  }

  // The same for a stream of only events; `on_event` may move from each.
  template <typename Request, typename Event, typename OnEvent>
  absl::Status ReadAll(std::unique_ptr<grpc::ClientReader<Event>> (Stub::*call)(
                           grpc::ClientContext*, const Request&),
                       const Request& request, absl::Duration timeout,
                       const OnEvent& on_event,
                       const OnInterrupt& on_interrupt = nullptr) {
    const auto context = NewCallContext(timeout, interrupt_);
    if (on_interrupt) {
      interrupt_.Watch([&on_interrupt, weak = std::weak_ptr(context)] {
        on_interrupt([weak] {
          if (const auto call = weak.lock()) call->TryCancel();
        });
      });
    }
    const absl::Cleanup unwatch = [this] { interrupt_.Watch([] {}); };
    const auto stream = (stub_.get()->*call)(context.get(), request);
    Event event;
    while (stream->Read(&event)) {
      RenderWords(&event);
      on_event(event);
    }
    const grpc::Status status = stream->Finish();
    if (!status.ok()) return ExplainCall(status, peer_, timeout, interrupt_);
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<Stub> stub_;
  const FindingValue peer_;
  Interrupt& interrupt_;
};

using ControllerClient = RpcClient<Controller>;
using LocalClient = RpcClient<LocalAgent>;

}  // namespace clusterd

#endif  // CLIENT_CONNECTION_RPC_CLIENT_H_
