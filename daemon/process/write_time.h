// Time limit for a peer to accept a written message. gRPC reports only whole
// messages, so longer ones get more time.
#ifndef DAEMON_PROCESS_WRITE_TIME_H_
#define DAEMON_PROCESS_WRITE_TIME_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace clusterd {

inline constexpr absl::Duration kWriteStall = absl::Seconds(30);
inline constexpr size_t kLeastBytesPerSecond = 64 << 10;

// 30 s, and a second for every 64 KiB.
inline absl::Duration WriteTimeFor(size_t bytes) {
  return kWriteStall +
         absl::Seconds(static_cast<int64_t>(bytes / kLeastBytesPerSecond));
}

}  // namespace clusterd

#endif  // DAEMON_PROCESS_WRITE_TIME_H_
