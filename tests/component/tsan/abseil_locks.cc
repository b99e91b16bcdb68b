// Shows ThreadSanitizer the locks of an Abseil that was built without it, as
// Debian's is. Each call is passed on to the real one and reported to the
// detector. Without this all code behind an absl::Mutex looks like a race, in
// our code and in gRPC. Preload it after libtsan.so, with
// ignore_noninstrumented_modules=1 in TSAN_OPTIONS. For Abseil 20220623; it has
// only the members that clusterd and gRPC 1.51 call.
#include <dlfcn.h>

#include <cstdlib>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

extern "C" {
// The detector's own functions; weak, so that this also links without it.
void __tsan_acquire(void* address) __attribute__((weak));
void __tsan_release(void* address) __attribute__((weak));
void AnnotateIgnoreReadsBegin(const char* file, int line) __attribute__((weak));
void AnnotateIgnoreReadsEnd(const char* file, int line) __attribute__((weak));
void AnnotateIgnoreWritesBegin(const char* file, int line)
    __attribute__((weak));
void AnnotateIgnoreWritesEnd(const char* file, int line) __attribute__((weak));
}

namespace {

// Abseil may run a Condition of another thread under the lock, which the
// detector would take for an unlocked access.
class IgnoreAccesses {
 public:
  IgnoreAccesses() {
    if (AnnotateIgnoreReadsBegin == nullptr) return;
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~IgnoreAccesses() {
    if (AnnotateIgnoreReadsBegin == nullptr) return;
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
};

void Acquired(const void* lock) {
  if (__tsan_acquire != nullptr) __tsan_acquire(const_cast<void*>(lock));
}

void Releasing(const void* lock) {
  if (__tsan_release != nullptr) __tsan_release(const_cast<void*>(lock));
}

template <typename Function>
Function Real(const char* symbol) {
  void* const found = dlsym(RTLD_NEXT, symbol);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function>(found);
}

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  static const auto real =
      Real<void (*)(Mutex*)>("_ZN4absl7debian35Mutex4LockEv");
  {
    const IgnoreAccesses ignore;
    real(this);
  }
  Acquired(this);
}

void Mutex::Unlock() {
  static const auto real =
      Real<void (*)(Mutex*)>("_ZN4absl7debian35Mutex6UnlockEv");
  Releasing(this);
  const IgnoreAccesses ignore;
  real(this);
}

void Mutex::ReaderLock() {
  static const auto real =
      Real<void (*)(Mutex*)>("_ZN4absl7debian35Mutex10ReaderLockEv");
  {
    const IgnoreAccesses ignore;
    real(this);
  }
  Acquired(this);
}

void Mutex::ReaderUnlock() {
  static const auto real =
      Real<void (*)(Mutex*)>("_ZN4absl7debian35Mutex12ReaderUnlockEv");
  Releasing(this);
  const IgnoreAccesses ignore;
  real(this);
}

bool Mutex::TryLock() {
  static const auto real =
      Real<bool (*)(Mutex*)>("_ZN4absl7debian35Mutex7TryLockEv");
  bool locked;
  {
    const IgnoreAccesses ignore;
    locked = real(this);
  }
  if (locked) Acquired(this);
  return locked;
}

void Mutex::Await(const Condition& condition) {
  static const auto real = Real<void (*)(Mutex*, const Condition&)>(
      "_ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE");
  Releasing(this);
  {
    const IgnoreAccesses ignore;
    real(this, condition);
  }
  Acquired(this);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  static const auto real = Real<bool (*)(Mutex*, const Condition&, Duration)>(
      "_ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_"
      "8DurationE");
  Releasing(this);
  bool met;
  {
    const IgnoreAccesses ignore;
    met = real(this, condition, timeout);
  }
  Acquired(this);
  return met;
}

void CondVar::Wait(Mutex* mutex) {
  static const auto real = Real<void (*)(CondVar*, Mutex*)>(
      "_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE");
  Releasing(mutex);
  {
    const IgnoreAccesses ignore;
    real(this, mutex);
  }
  Acquired(mutex);
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static const auto real = Real<bool (*)(CondVar*, Mutex*, Time)>(
      "_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  Releasing(mutex);
  bool expired;
  {
    const IgnoreAccesses ignore;
    expired = real(this, mutex, deadline);
  }
  Acquired(mutex);
  return expired;
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  static const auto real = Real<bool (*)(CondVar*, Mutex*, Duration)>(
      "_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  Releasing(mutex);
  bool expired;
  {
    const IgnoreAccesses ignore;
    expired = real(this, mutex, timeout);
  }
  Acquired(mutex);
  return expired;
}

void Notification::Notify() {
  static const auto real =
      Real<void (*)(Notification*)>("_ZN4absl7debian312Notification6NotifyEv");
  Releasing(this);
  const IgnoreAccesses ignore;
  real(this);
}

void Notification::WaitForNotification() const {
  static const auto real = Real<void (*)(const Notification*)>(
      "_ZNK4absl7debian312Notification19WaitForNotificationEv");
  {
    const IgnoreAccesses ignore;
    real(this);
  }
  Acquired(this);
}

bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  static const auto real = Real<bool (*)(const Notification*, Duration)>(
      "_ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_"
      "8DurationE");
  bool notified;
  {
    const IgnoreAccesses ignore;
    notified = real(this, timeout);
  }
  if (notified) Acquired(this);
  return notified;
}

ABSL_NAMESPACE_END
}  // namespace absl
