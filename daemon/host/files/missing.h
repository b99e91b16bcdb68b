// Why a fact has no value. Readers return a status; here, and nowhere else, it
// becomes a reason in a fact.
#ifndef DAEMON_HOST_FILES_MISSING_H_
#define DAEMON_HOST_FILES_MISSING_H_

#include <google/protobuf/message_lite.h>

#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"

namespace clusterd {

// `detail` is made printable and cut at 500 bytes.
Missing MakeMissing(Missing::Reason reason, absl::string_view detail);

// The reason that fits the code, with the message as detail:
//   NotFound          ABSENT            PermissionDenied  NOT_PERMITTED
//   DeadlineExceeded  TIMED_OUT         Unavailable       TOOL_FAILED
//   Unimplemented     NOT_SUPPORTED     Cancelled         NOT_QUERIED
// Any other code is UNREADABLE.
Missing MissingFor(const absl::Status& status);

template <typename Fact>
void SetMissing(Missing missing, Fact* fact) {
  *fact->mutable_missing() = std::move(missing);
}

template <typename Fact>
void SetMissing(Missing::Reason reason, absl::string_view detail, Fact* fact) {
  SetMissing(MakeMissing(reason, detail), fact);
}

template <typename Fact>
Fact MissingFact(Missing missing) {
  Fact fact;
  SetMissing(std::move(missing), &fact);
  return fact;
}

template <typename... Facts>
void SetAllMissing(const Missing& missing, Facts*... facts) {
  (SetMissing(missing, facts), ...);
}

// The value, a number, text or message, or MissingFor the status.
template <typename Value, typename Fact>
void SetFact(absl::StatusOr<Value> value, Fact* fact) {
  if (!value.ok()) {
    SetMissing(MissingFor(value.status()), fact);
  } else if constexpr (std::is_base_of_v<google::protobuf::MessageLite,
                                         Value>) {
    *fact->mutable_value() = *std::move(value);
  } else {
    fact->set_value(*std::move(value));
  }
}

// The same as a fact.
template <typename Fact, typename Value>
Fact MakeFact(absl::StatusOr<Value> value) {
  Fact fact;
  SetFact(std::move(value), &fact);
  return fact;
}

}  // namespace clusterd

#endif  // DAEMON_HOST_FILES_MISSING_H_
