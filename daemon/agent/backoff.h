// How long to wait before the next try: grows, is bounded, and is drawn at
// random so that a thousand hosts that lost one controller do not come back in
// one instant.
#ifndef DAEMON_AGENT_BACKOFF_H_
#define DAEMON_AGENT_BACKOFF_H_

#include <functional>

#include "absl/time/time.h"

namespace clusterd {

struct BackoffOptions {
  // The first wait is drawn from 0 to `initial`, each later one from 0 to twice
  // the bound before, up to `max`. None is under `min`.
  absl::Duration min = absl::Milliseconds(100);
  absl::Duration initial = absl::Seconds(2);
  absl::Duration max = absl::Seconds(60);
};

class Backoff {
 public:
  // `random` draws from [0, 1).
  Backoff(BackoffOptions options, std::function<double()> random);

  absl::Duration Next();
  // After a success: the next wait is a first one.
  void Reset() { bound_ = options_.initial; }

 private:
  const BackoffOptions options_;
  const std::function<double()> random_;
  absl::Duration bound_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_BACKOFF_H_
