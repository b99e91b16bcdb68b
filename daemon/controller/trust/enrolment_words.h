// Shared texts of the two halves of EnrolmentService.
#ifndef DAEMON_CONTROLLER_TRUST_ENROLMENT_WORDS_H_
#define DAEMON_CONTROLLER_TRUST_ENROLMENT_WORDS_H_

#include <cstddef>
#include <string>

#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "proto/spec.pb.h"
#include "proto/trust.pb.h"

namespace clusterd {

// "host "nodee1": is not in cluster.yaml, did you mean …".
inline FindingValue NotInSpec(const ClusterSpec& spec,
                              const std::string& name) {
  const auto known = Each<absl::string_view>(spec.servers(), &ServerSpec::host);
  return Worded("msg-trust-not-in-spec", QuotedText(name),
                DidYouMeanWords(name, known));
}

// A machine's texts about itself are cut to this length.
inline constexpr size_t kMaxMachineId = 64;

// An empty id does not bind a name. systemd writes this word into images of
// machines before their first start (machine-id(5)), so many machines have it.
inline std::string KeptMachineId(const std::string& said) {
  return said == "uninitialized" ? "" : PrintableText(said, kMaxMachineId);
}

// The part of a key's SHA-256 that admins compare.
inline std::string KeyText(const std::string& spki_sha256) {
  return spki_sha256.substr(0, 16);
}

// A waiting machine's key identifies it: a machine states its own id.
inline std::string WaitingKey(const HostRecord::Waiting& waiting) {
  return KeyText(waiting.spki_sha256());
}

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_ENROLMENT_WORDS_H_
