// ControllerService::Watch: the cluster as it is now, for as long as the client
// looks.
#include <memory>
#include <utility>

#include "daemon/controller/controller_service.h"
#include "daemon/controller/end_when_refused.h"
#include "daemon/controller/event_stream.h"

namespace clusterd {

grpc::ServerWriteReactor<ClusterNow>* ControllerService::Watch(
    Context* context, const WatchRequest* request) {
  const auto stream =
      EventStream<ClusterNow>::Create(context, parts_.scheduler);
  const absl::StatusOr<SpiffeId> user = Admit(*context, "Watch", *request);
  const absl::Status taken =
      user.ok() ? slots_.watches.Take(user->name) : user.status();
  if (!taken.ok()) {
    stream->End(user.ok() ? Refused(*context, "Watch", taken) : taken);
    return stream.get();
  }
  const ClusterWatch::WatcherId id = watch_->NewWatcher();
  EventStreamOptions options;
  options.on_end = [this, id, who = user->name] {
    watch_->Leave(id);
    slots_.watches.Give(who);
  };
  stream->Begin(std::move(options));
  // A slow reader gets the newest only: it is taken when it is written.
  stream->Show([this](ClusterNow* event) {
    if (const auto now = watch_->now()) *event = *now;
  });
  ClusterWatch::Watcher watcher;
  watcher.on_change = [weak = std::weak_ptr(stream)] {
    if (const auto to = weak.lock()) to->NoteProgress();
  };
  watcher.on_stop = [weak = std::weak_ptr(stream),
                     scheduler = parts_.scheduler](const absl::Status& why) {
    if (const auto to = weak.lock()) EndForGood(to, why, scheduler);
  };
  watch_->Join(id, std::move(watcher));
  EndWhenRefused(parts_, *context, "Watch", stream);
  return stream.get();
}

}  // namespace clusterd
