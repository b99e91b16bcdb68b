// The link of a host that never answers: keeps the host's tasks, and the reason
// why its stream was ended.
#ifndef TESTS_SUPPORT_CONTROLLER_TASK_LINK_H_
#define TESTS_SUPPORT_CONTROLLER_TASK_LINK_H_

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "daemon/controller/hosts/attached_hosts.h"

namespace clusterd {

class TaskLink final : public HostLink {
 public:
  void Send(HubMessage message) override {
    absl::MutexLock lock(&mutex_);
    if (message.has_task()) tasks_.push_back(message.task());
  }
  void Close(const absl::Status& why) override {
    absl::MutexLock lock(&mutex_);
    end_ = why;
  }

  std::vector<Task> tasks() {
    absl::MutexLock lock(&mutex_);
    return tasks_;
  }
  // The tasks since the last call.
  std::vector<Task> Take() {
    absl::MutexLock lock(&mutex_);
    return std::exchange(tasks_, {});
  }
  // OK until the controller ends the stream.
  absl::Status end() {
    absl::MutexLock lock(&mutex_);
    return end_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CONTROLLER_TASK_LINK_H_
