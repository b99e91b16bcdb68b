#include "client/connection/rpc_client.h"

#include <sys/eventfd.h>

#include <vector>

#include "config/identity/grpc_status.h"
#include "config/identity/tls_credentials.h"

namespace clusterd {

Interrupt::Interrupt() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

bool Interrupt::Fire() {
  std::function<void()> instead;
  {
    absl::MutexLock lock(&mutex_);
    if (fired_) return false;
    instead.swap(instead_);
    fired_ = instead == nullptr;
    if (fired_) {
      if (descriptor() >= 0) eventfd_write(descriptor(), 1);
      on_fire_();
    }
  }
  if (instead != nullptr) instead();
  return true;
}

void Interrupt::DeferTo(std::function<void()> instead) {
  absl::MutexLock lock(&mutex_);
  instead_.swap(instead);
}

bool Interrupt::fired() const { return Await(absl::ZeroDuration()); }

bool Interrupt::Await(absl::Duration timeout) const {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&fired_), timeout);
}

void Interrupt::Watch(std::function<void()> on_fire) {
  absl::MutexLock lock(&mutex_);
  on_fire_ = std::move(on_fire);
  if (fired_) on_fire_();
}

std::shared_ptr<grpc::ClientContext> NewCallContext(absl::Duration timeout,
                                                    Interrupt& interrupt) {
  auto context = std::make_shared<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() +
                        absl::ToChronoMilliseconds(timeout));
  interrupt.Watch([weak = std::weak_ptr(context)] {
    if (const auto call = weak.lock()) call->TryCancel();
  });
  return context;
}

void KeepToTheEnd(std::shared_ptr<void> kept) {
  static auto* const mutex = new absl::Mutex;
  static auto* const all = new std::vector<std::shared_ptr<void>>;
  absl::MutexLock lock(mutex);
  all->push_back(std::move(kept));
}

absl::Status ExplainCall(const grpc::Status& status, const FindingValue& peer,
                         absl::Duration timeout, const Interrupt& interrupt) {
  if (status.error_code() == grpc::StatusCode::CANCELLED && interrupt.fired()) {
    return CancelledWords("msg-call-interrupted");
  }
  absl::Status plain = ToAbslStatus(status);
  if (absl::IsUnavailable(plain)) {
    plain = ExplainUnavailable(plain, {"--ca", "--cert", /*key=*/""});
  } else if (absl::IsDeadlineExceeded(plain)) {
    plain = DeadlineWords("msg-call-no-answer", absl::FormatDuration(timeout));
  } else if (absl::IsUnimplemented(plain)) {
    plain = UnimplementedWords("msg-call-not-known", MessageWords(plain));
  } else if (plain.message().empty()) {
    plain = absl::Status(plain.code(), absl::StatusCodeToString(plain.code()));
  }
  return About(peer, plain);
}

}  // namespace clusterd
