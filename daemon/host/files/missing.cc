#include "daemon/host/files/missing.h"

#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxDetailBytes = 500;

Missing::Reason ReasonFor(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kNotFound:
      return Missing::ABSENT;
    case absl::StatusCode::kPermissionDenied:
      return Missing::NOT_PERMITTED;
    case absl::StatusCode::kDeadlineExceeded:
      return Missing::TIMED_OUT;
    case absl::StatusCode::kUnavailable:
      return Missing::TOOL_FAILED;
    case absl::StatusCode::kUnimplemented:
      return Missing::NOT_SUPPORTED;
    default:
      return Missing::UNREADABLE;
  }
}

}  // namespace

Missing MakeMissing(Missing::Reason reason, absl::string_view detail) {
  Missing missing;
  missing.set_reason(reason);
  missing.set_detail(PrintableText(detail, kMaxDetailBytes));
  return missing;
}

Missing MissingFor(const absl::Status& status) {
  return MakeMissing(ReasonFor(status.code()), status.message());
}

}  // namespace clusterd
