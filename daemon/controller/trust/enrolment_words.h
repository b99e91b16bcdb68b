// What the two halves of EnrolmentService say alike.
#ifndef DAEMON_CONTROLLER_TRUST_ENROLMENT_WORDS_H_
#define DAEMON_CONTROLLER_TRUST_ENROLMENT_WORDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "config/values/nearest_word.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "proto/spec.pb.h"
#include "proto/trust.pb.h"

namespace clusterd {

// "host "nodee1": is not in cluster.yaml, did you mean …".
inline FindingValue NotInSpec(const ClusterSpec& spec,
                              const std::string& name) {
  std::vector<absl::string_view> known;
  for (const ServerSpec& server : spec.servers())
    known.push_back(server.host());
  return Worded("msg-trust-not-in-spec", QuotedText(name),
                DidYouMeanWords(name, known));
}

// A machine's text about itself is cut there.
inline constexpr size_t kMaxMachineId = 64;

// An id that is empty binds no name. systemd writes the word into the images of
// machines that have not started yet (machine-id(5)): many have it at once.
inline std::string KeptMachineId(const std::string& said) {
  return said == "uninitialized" ? "" : PrintableText(said, kMaxMachineId);
}

// As much of a key's SHA-256 as admins compare.
inline std::string KeyText(const std::string& spki_sha256) {
  return spki_sha256.substr(0, 16);
}

// A machine that waits for an approval is known by its key: the machine's id is
// what it says.
inline std::string WaitingKey(const HostRecord::Waiting& waiting) {
  return KeyText(waiting.spki_sha256());
}

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_ENROLMENT_WORDS_H_
