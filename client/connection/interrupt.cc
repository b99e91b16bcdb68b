#include "client/connection/interrupt.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace clusterd {

Interrupt::Interrupt() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Interrupt::~Interrupt() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Interrupt::Fire() {
  std::shared_ptr<grpc::ClientContext> context;
  {
    absl::MutexLock lock(&mutex_);
    if (fired_) return false;
    fired_ = true;
    context = watched_.lock();
  }
  if (descriptor_ >= 0) eventfd_write(descriptor_, 1);
  if (context != nullptr) context->TryCancel();
  return true;
}

bool Interrupt::fired() const {
  absl::MutexLock lock(&mutex_);
  return fired_;
}

void Interrupt::Watch(const std::shared_ptr<grpc::ClientContext>& context) {
  bool fired = false;
  {
    absl::MutexLock lock(&mutex_);
    watched_ = context;
    fired = fired_;
  }
  if (fired) context->TryCancel();
}

}  // namespace clusterd
