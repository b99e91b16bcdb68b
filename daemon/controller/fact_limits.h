// What one host may send as its facts. Any host may be hostile: what it sends
// must not cost the controller memory or time, speak for another host, or steer
// the terminal of whoever reads it. Pure.
#ifndef DAEMON_CONTROLLER_FACT_LIMITS_H_
#define DAEMON_CONTROLLER_FACT_LIMITS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/agent_hub.pb.h"
#include "proto/facts.pb.h"

namespace clusterd {

// The largest message that the controller takes from anybody.
inline constexpr int kMaxMessageBytes = 1 << 20;
inline constexpr int kMaxDevices = 64;
inline constexpr int kMaxRepeated = 8192;
inline constexpr size_t kMaxTextBytes = 16384;
inline constexpr size_t kMaxHelloTextBytes = 256;

// InvalidArgument, naming field and limit, if a list or text is too long or two
// devices have the same id.
absl::Status CheckFactLimits(const HostFacts& facts);

// Facts as they may be judged and shown: under the name `host` whatever they
// call themselves, without what only the controller may say, control bytes
// escaped. REQUIRES: CheckFactLimits is OK.
void CleanFacts(const std::string& host, HostFacts* facts);

// InvalidArgument if a text is too long or holds control bytes;
// FailedPrecondition if the protocol version is not ours.
absl::Status CheckHello(const Hello& hello);

// "Facts" of a host of which nothing is known.
HostFacts MissingFacts(const std::string& host, Missing::Reason reason,
                       absl::string_view detail);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_FACT_LIMITS_H_
