// The end of a host's stream that keeps the tasks which the host was given.
#ifndef TESTS_SUPPORT_CONTROLLER_TASK_LINK_H_
#define TESTS_SUPPORT_CONTROLLER_TASK_LINK_H_

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "daemon/controller/hosts/attached_hosts.h"

namespace clusterd {

class TaskLink final : public HostLink {
 public:
  void Send(HubMessage message) override {
    absl::MutexLock lock(&mutex_);
    if (message.has_task()) tasks_.push_back(message.task());
  }
  void Close(const absl::Status&) override {}

  std::vector<Task> tasks() {
    absl::MutexLock lock(&mutex_);
    return tasks_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CONTROLLER_TASK_LINK_H_
