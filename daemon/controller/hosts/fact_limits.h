// Limits on the facts of one host. A hostile host must not cost the controller
// memory or time, speak for another host, or control a terminal. Pure.
#ifndef DAEMON_CONTROLLER_HOSTS_FACT_LIMITS_H_
#define DAEMON_CONTROLLER_HOSTS_FACT_LIMITS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "config/launch/rank_table.h"
#include "config/words/message.h"
#include "google/protobuf/message.h"
#include "proto/agent_hub.pb.h"
#include "proto/facts.pb.h"

namespace clusterd {

// The largest message from hosts and users: gRPC has one limit for all calls of
// a port, and refuses larger messages before parsing them. The largest one of a
// user has a job's rank table and host names.
inline constexpr int kMaxMessageBytes = (1 << 20) + kMaxRankTableBytes;
// The largest message of a host, once parsed.
inline constexpr size_t kMaxHostMessageBytes = 1 << 20;
inline constexpr int kMaxDevices = 64;
inline constexpr int kMaxRepeated = 8192;
inline constexpr size_t kMaxTextBytes = 16384;
inline constexpr size_t kMaxHelloTextBytes = 256;
inline constexpr int kMaxPastApplies = 16;
// Logins of a host in one check: to 64 servers on two ports.
inline constexpr int kMaxSshLogins = 128;
// A host keeps some 600 journals.
inline constexpr int kMaxJournalIds = 1024;
// Drifts kept for a host, drifted and unknown ones together.
inline constexpr int kMaxKeptDrifts = 256;
inline constexpr size_t kMaxDriftTextBytes = 512;

// Prepares a host's message for judging, keeping and showing: escapes control
// bytes except newline and tab in every text; fields of bytes stay.
// InvalidArgument, naming field and limit, if a list or text is too long; the
// message is unusable then.
absl::Status CleanMessage(google::protobuf::Message* message);

// The same for facts, which also must not have a device twice. But a single
// fact that is too long, or has more logins than a host tries, only becomes
// UNREADABLE. Renames the facts to `host`, and removes those that only the
// controller may set.
absl::Status CleanFacts(const std::string& host, HostFacts* facts);

// InvalidArgument if there are more: "past applies: 17 results, …".
absl::Status CheckCount(absl::string_view message, int count,
                        absl::string_view what, int most);

// Keeps the first drifts up to the limit, counts the others in left_out, and
// cuts long texts.
void TrimDrift(DriftFact* drift);

// InvalidArgument if a text is too long or holds control bytes;
// FailedPrecondition if the protocol version is not ours.
absl::Status CheckHello(const Hello& hello);

// Converts a status to an error for a host, and a host's error to words.
TaskError ToTaskError(const absl::Status& why);
inline FindingValue MessageWords(const TaskError& error) {
  return error.has_message_words() ? error.message_words()
                                   : ToFindingValue(error.message());
}

// The "facts" of a host that are missing for this reason.
HostFacts MissingFacts(const std::string& host, Missing::Reason reason,
                       const FindingValue& detail);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_FACT_LIMITS_H_
