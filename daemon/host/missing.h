// Why a fact has no value.
#ifndef DAEMON_HOST_MISSING_H_
#define DAEMON_HOST_MISSING_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"

namespace clusterd {

// `detail` is made printable and cut at 500 bytes.
Missing MakeMissing(Missing::Reason reason, absl::string_view detail);

// The reason that fits the code, with the message as detail:
//   NotFound          ABSENT            PermissionDenied  NOT_PERMITTED
//   DeadlineExceeded  TIMED_OUT         Unavailable       TOOL_FAILED
//   Unimplemented     NOT_SUPPORTED     any other         UNREADABLE
Missing MissingFor(const absl::Status& status);

template <typename Fact>
void SetMissing(Missing missing, Fact* fact) {
  *fact->mutable_missing() = std::move(missing);
}

}  // namespace clusterd

#endif  // DAEMON_HOST_MISSING_H_
