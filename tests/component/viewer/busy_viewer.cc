#include "tests/component/viewer/busy_viewer.h"

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "config/identity/grpc_status.h"
#include "tests/component/test_controller.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using Connect = std::function<std::unique_ptr<Controller::Stub>()>;

// Streams that are opened and never read, over as many connections as needed.
template <typename Request, typename Event>
class UnreadStreams {
 public:
  using Call = std::unique_ptr<grpc::ClientReader<Event>> (Controller::Stub::*)(
      grpc::ClientContext*, const Request&);

  UnreadStreams(Connect connect, std::string host, Call call)
      : connect_(std::move(connect)), host_(std::move(host)), call_(call) {}
  ~UnreadStreams() {
    for (const auto& context : contexts_) context->TryCancel();
    for (const auto& stream : streams_) stream->Finish();
  }

  // Requests with different numbers are different.
  void Open(int number) {
    if (contexts_.size() == 16 * clients_.size()) {
      clients_.push_back(connect_());
    }
    contexts_.push_back(NewStreamContext());
    Request request;
    for (int i = 0; i <= number; ++i) request.add_hosts(host_);
    streams_.push_back(
        ((*clients_.back()).*call_)(contexts_.back().get(), request));
  }
  // Opens a stream, reads one event, and then never reads it again. Returns the
  // refusal if there is one.
  absl::Status Hold(int number) {
    Open(number);
    Event event;
    if (streams_.back()->Read(&event)) return absl::OkStatus();
    const absl::Status refused = ToAbslStatus(streams_.back()->Finish());
    streams_.pop_back();
    contexts_.pop_back();
    return refused;
  }
  // Retries, since a dropped call may keep its place for a moment.
  bool HoldAll(size_t count) {
    return WaitUntil([&] {
      while (streams_.size() < count &&
             Hold(static_cast<int>(streams_.size())).ok()) {
      }
      return streams_.size() == count;
    });
  }

 private:
  const Connect connect_;
  const std::string host_;
  const Call call_;
  std::vector<std::unique_ptr<Controller::Stub>> clients_;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts_;
  std::vector<std::unique_ptr<grpc::ClientReader<Event>>> streams_;
};

// Threads that call again and again until they are stopped.
class Callers {
 public:
  ~Callers() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  void Start(std::function<void()> call) {
    threads_.emplace_back([this, call = std::move(call)] {
      while (!stop_) {
        call();
        ++calls_;
      }
    });
  }
  int calls() const { return calls_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> calls_{0};
  std::vector<std::thread> threads_;
};

void ReadLists(Controller::Stub* client) {
  ListHostsResponse hosts;
  client->ListHosts(NewContext().get(), {}, &hosts);
  ListHistoryRequest all;
  all.set_limit(1000);
  ListHistoryResponse history;
  client->ListHistory(NewContext().get(), all, &history);
}

void ReadRecords(Controller::Stub* client, const std::string& id) {
  GetHistoryRequest request;
  request.set_id(id);
  HistoryRecord record;
  client->GetHistory(NewContext().get(), request, &record);
  GetSpecResponse spec;
  client->GetSpec(NewContext().get(), {}, &spec);
}

}  // namespace

struct BusyViewer::Held {
  explicit Held(const Options& options)
      : checks(options.connect, options.silent_host, &Controller::Stub::Check),
        learns(options.connect, options.silent_host, &Controller::Stub::Learn),
        reading(options.connect()) {
    for (auto& client : calling) client = options.connect();
  }

  UnreadStreams<CheckRequest, CheckEvent> checks;
  UnreadStreams<LearnRequest, LearnEvent> learns;
  std::unique_ptr<Controller::Stub> reading;
  std::vector<std::unique_ptr<UnreadRecord>> unread;
  std::unique_ptr<Controller::Stub> calling[2];
  Callers callers;  // Last: its threads use the rest.
};

BusyViewer::BusyViewer(Options options)
    : options_(std::move(options)), held_(std::make_unique<Held>(options_)) {}

BusyViewer::~BusyViewer() = default;

bool BusyViewer::HoldAll() {
  {
    UnreadStreams<CheckRequest, CheckEvent> dropped(
        options_.connect, options_.silent_host, &Controller::Stub::Check);
    for (int i = 0; i < 18; ++i) dropped.Open(100 + i);
  }
  // One user's runs at once, and those that wait.
  if (!held_->checks.HoldAll(4 + 16) || !held_->learns.HoldAll(2 + 16)) {
    return false;
  }
  for (int i = 0; i < 4; ++i) {
    held_->unread.push_back(std::make_unique<UnreadRecord>(
        held_->reading.get(), options_.unread_entry));
  }
  return true;
}

absl::Status BusyViewer::HoldAnotherCheck() {
  return held_->checks.Hold(another_++);
}

bool BusyViewer::BeginCalls() {
  held_->unread.pop_back();
  for (const auto& client : held_->calling) {
    Controller::Stub* const stub = client.get();
    held_->callers.Start([stub] { ReadLists(stub); });
    held_->callers.Start(
        [stub, id = options_.read_entry] { ReadRecords(stub, id); });
  }
  return WaitUntil([this] { return held_->callers.calls() >= 20; });
}

}  // namespace clusterd
