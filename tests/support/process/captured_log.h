// Keeps log lines, for tests.
#ifndef TESTS_SUPPORT_PROCESS_CAPTURED_LOG_H_
#define TESTS_SUPPORT_PROCESS_CAPTURED_LOG_H_

#include <string>

#include "absl/synchronization/mutex.h"
#include "daemon/process/log.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {

class CapturedLog final : public Log {
 public:
  void Write(LogLevel level, absl::string_view text) override {
    absl::MutexLock lock(&mutex_);
    lines_ += FormatLogLine(level, /*with_level=*/true, text);
  }

  // Blocks until a log line holds `text` (telling.h); a failure with all
  // lines if that takes over kPatience.
  testing::AssertionResult WaitFor(absl::string_view text) {
    const std::string wanted(text);
    absl::MutexLock lock(&mutex_);
    const auto found = [this, &wanted]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return HoldsText(lines_, wanted);
    };
    if (mutex_.AwaitWithTimeout(absl::Condition(&found), kPatience)) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << wanted << "\nis not in\n" << lines_;
  }

  // All lines so far, in order.
  std::string Lines() {
    absl::MutexLock lock(&mutex_);
    return lines_;
  }

 private:
  absl::Mutex mutex_;
  std::string lines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_PROCESS_CAPTURED_LOG_H_
