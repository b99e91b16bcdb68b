#include "daemon/controller/watch/cluster_watch.h"

#include <utility>

namespace clusterd {

ClusterWatch::WatcherId ClusterWatch::NewWatcher() {
  absl::MutexLock lock(&mutex_);
  return ++last_id_;
}

void ClusterWatch::Join(WatcherId id, Watcher watcher) {
  std::function<void()> tell = [] {};
  bool look = false;
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) {
      tell = [on_stop = std::move(watcher.on_stop)] {
        on_stop(absl::UnavailableError("the controller is stopping"));
      };
    } else {
      if (now_ != nullptr) tell = watcher.on_change;
      watchers_[id] = std::move(watcher);
      look = now_ == nullptr && !looks_;
      looks_ |= look;
    }
  }
  tell();
  if (look) LookSoon();
}

void ClusterWatch::Leave(WatcherId id) {
  absl::MutexLock lock(&mutex_);
  watchers_.erase(id);
  // Whoever comes next is told nothing that is older than a second.
  if (watchers_.empty()) now_ = nullptr;
}

std::shared_ptr<const ClusterNow> ClusterWatch::now() const {
  absl::MutexLock lock(&mutex_);
  return now_;
}

void ClusterWatch::LookSoon() {
  gate_.RunSoon(pool_, scheduler_, [this] { Look(); });
}

ClusterNow ClusterWatch::Observe() const {
  ClusterNow now;
  now.set_schema_version(1);
  now.set_cluster(cluster_);
  if (sources_.hosts) sources_.hosts(&now);
  if (sources_.schedules) {
    for (ClusterNow::ScheduleNow& schedule : sources_.schedules()) {
      *now.add_schedules() = std::move(schedule);
    }
  }
  if (auto asked = asked_.now()) *now.mutable_asked() = *std::move(asked);
  if (sources_.running) {
    for (std::string& text : sources_.running()) {
      now.add_running(std::move(text));
    }
  }
  if (sources_.pending) {
    for (ConfirmResponse& each : sources_.pending()) {
      *now.add_pending() = std::move(each);
    }
  }
  return now;
}

void ClusterWatch::Look() {
  auto now = std::make_shared<ClusterNow>(Observe());
  std::string bytes = now->SerializeAsString();
  now->set_at_ms(absl::ToUnixMillis(scheduler_->Now()));
  std::vector<std::function<void()>> tell;
  uint64_t looks;
  {
    absl::MutexLock lock(&mutex_);
    looks_ = false;
    looks = ++all_looks_;
    if (watchers_.empty()) return;
    if (now_ == nullptr || bytes != bytes_) {
      now_ = std::move(now);
      bytes_ = std::move(bytes);
      for (const auto& [id, watcher] : watchers_) {
        tell.push_back(watcher.on_change);
      }
    }
  }
  for (const auto& each : tell) each();
  scheduler_->RunAfter(kInterval,
                       gate_.Wrap([this, looks] { LookAfter(looks); }));
}

void ClusterWatch::LookAfter(uint64_t looks) {
  {
    absl::MutexLock lock(&mutex_);
    // Who joined in between may have had it look sooner.
    if (looks != all_looks_ || looks_ || watchers_.empty()) return;
    looks_ = true;
  }
  LookSoon();
}

void ClusterWatch::Stop() {
  gate_.Close();
  std::map<WatcherId, Watcher> watchers;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    watchers.swap(watchers_);
  }
  for (const auto& [id, watcher] : watchers) {
    watcher.on_stop(absl::UnavailableError("the controller is stopping"));
  }
}

}  // namespace clusterd
