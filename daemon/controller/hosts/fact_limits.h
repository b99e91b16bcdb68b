// What one host may send as its facts. Any host may be hostile: what it sends
// must not cost the controller memory or time, speak for another host, or steer
// the terminal of whoever reads it. Pure.
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

// The largest message that the controller takes, of hosts and of users: gRPC
// has one limit for all calls of a port, and refuses what is larger before it
// is parsed. The longest of a user has the rank table of a job, and the names
// of its hosts.
inline constexpr int kMaxMessageBytes = (1 << 20) + kMaxRankTableBytes;
// The largest of a host, once it is parsed.
inline constexpr size_t kMaxHostMessageBytes = 1 << 20;
inline constexpr int kMaxDevices = 64;
inline constexpr int kMaxRepeated = 8192;
inline constexpr size_t kMaxTextBytes = 16384;
inline constexpr size_t kMaxHelloTextBytes = 256;
inline constexpr int kMaxPastApplies = 16;
// Logins of a host in one check, to 64 servers on two ports.
inline constexpr int kMaxSshLogins = 128;
// A host keeps some 600 journals.
inline constexpr int kMaxJournalIds = 1024;
// Of a host's drift that is kept, drifted and untold together.
inline constexpr int kMaxKeptDrifts = 256;
inline constexpr size_t kMaxDriftTextBytes = 512;

// Makes any message of a host fit to be judged, kept and shown: escapes control
// bytes but newline and tab in every text of it; fields of bytes stay as they
// are. InvalidArgument, naming field
// and limit, if a list or text is too long; the message is of no use then.
absl::Status CleanMessage(google::protobuf::Message* message);

// The same for facts, which may also not have a device twice; but one fact that
// is too long, or tells of more logins than a host tries, goes missing,
// UNREADABLE, and the rest of the host stays. They
// are under the name `host` then, whatever they call themselves, and without
// what only the controller may say.
absl::Status CleanFacts(const std::string& host, HostFacts* facts);

// What is kept of a host's drift: as many entries as the limit, what drifted
// first, the others counted in left_out; longer texts are cut.
void TrimDrift(DriftFact* drift);

// InvalidArgument if a text is too long or holds control bytes;
// FailedPrecondition if the protocol version is not ours.
absl::Status CheckHello(const Hello& hello);

// A status as a host is told of it, and the words of what a host told.
TaskError ToTaskError(const absl::Status& why);
inline FindingValue MessageWords(const TaskError& error) {
  return error.has_message_words() ? error.message_words()
                                   : ToFindingValue(error.message());
}

// "Facts" of a host of which nothing is known.
HostFacts MissingFacts(const std::string& host, Missing::Reason reason,
                       absl::string_view detail);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_FACT_LIMITS_H_
