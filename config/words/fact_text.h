// Words for facts: the value, or why it is missing and what to do. A fact is a
// message with a oneof `state` of `value` and `missing` (facts.proto).
#ifndef CONFIG_WORDS_FACT_TEXT_H_
#define CONFIG_WORDS_FACT_TEXT_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/terminal.h"
#include "config/words/words.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// True if a fact message (TextFact, LinkFact, …) holds a value.
template <typename Fact>
bool IsKnown(const Fact& fact) {
  return fact.state_case() == Fact::kValue;
}

// The reason why a fact has no value; nullptr: it was not asked for.
template <typename Fact>
const Missing* MissingOf(const Fact& fact) {
  return fact.state_case() == Fact::kMissing ? &fact.missing() : nullptr;
}

// Printable: "timed out: no answer in 10s (…)"; nullptr: "not asked for".
std::string WhyMissing(const Missing* missing);
inline std::string WhyMissing(const Missing& missing) {
  return WhyMissing(&missing);
}

// "/etc/profile.d/hccl.sh:3", or without a line, safe for a terminal.
inline std::string PlaceOf(const EnvironmentVariable& variable) {
  return absl::StrCat(
      PrintableText(variable.file()),
      variable.line() == 0 ? "" : absl::StrCat(":", variable.line()));
}

// The finding of that name about such a line, which in a job file has another
// one: no login reads it.
inline std::string FindingOf(absl::string_view name,
                             const EnvironmentVariable& variable) {
  return absl::StrCat(name, variable.file() == "job file" ? "-of-job" : "");
}

struct FactText {
  bool known = false;              // There is a value.
  std::vector<std::string> lines;  // At least one. Not safe for a terminal.
};

// nullptr: the host sent nothing about this device.
const DeviceFacts* FindDevice(const HostFacts& host, uint32_t id);

// The interface that has the address; nullptr: none has it, or the interfaces
// are not known.
const HostInterface* FindInterface(const HostFacts& facts,
                                   absl::string_view address);
// The firewalld zone of that interface; nullptr: the default zone, which has
// every interface that no other one names. NotFound: no interface has the
// address. Unavailable: zones or interfaces are not known. Points into `facts`.
absl::StatusOr<const FirewallZone*> FindOtherZone(const HostFacts& facts,
                                                  absl::string_view address);

bool IsFact(const google::protobuf::FieldDescriptor& field);

// The value, "missing: timed out: no answer in 10s", or "not asked for". An
// empty value has words of its own ("none set", "none"). REQUIRES: `fact` is of
// a type that IsFact accepts.
FactText DescribeFact(const google::protobuf::Message& fact);

// "NET_HEALTH_SOCKET_FAIL" as "socket fail".
std::string EnumWords(const google::protobuf::EnumValueDescriptor& value);

// The same as words of a fact that has no value of use: one of a newer
// clusterd, such as an enum that is not known here, is "not understood".
template <typename Fact>
FindingValue UnknownWords(const Fact& fact) {
  return IsKnown(fact) ? Worded("why-unreadable")
                       : MissingWords(MissingOf(fact));
}

// "no final newline".
std::string ProblemWords(HccnConf::Problem::Kind kind);

// "net.core.somaxconn is 128, applied was 65535"; "ufw: allowed lacks 22/tcp …"
// where `now` is empty.
FindingValue DriftWords(absl::string_view fact, absl::string_view now,
                        absl::string_view was);

// The mistake in the host's file; printable. Its text if the words are missing
// or too long, as those of a hostile host may be.
FindingValue MistakeWords(const HostAllows& allows);

// Says what a host allows, and how to allow more, for a plan and its refusal:
// "it allows observe, sysctl"; "it allows observe until its file is right".
FindingValue WhatIsAllowed(const HostAllows& allows);
// The step by which an administrator allows all of these on the host:
//   put "allow: [observe, sysctl]" into /etc/clusterd/agent.yaml there
FindingValue HowToAllow(const HostAllows& allows,
                        const std::set<ChangeKind>& kinds);

// "net.core.somaxconn is 128, applied was 65535 (apply 3fa2c4d5e6f70812 by
// ann)". Not safe for a terminal.
std::string DriftText(const AppliedDrift& drift);

}  // namespace clusterd

#endif  // CONFIG_WORDS_FACT_TEXT_H_
