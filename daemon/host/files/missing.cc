#include "daemon/host/files/missing.h"

#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxDetailBytes = 500;

// Any other code is UNREADABLE.
constexpr std::pair<absl::StatusCode, Missing::Reason> kReasons[] = {
    {absl::StatusCode::kNotFound, Missing::ABSENT},
    {absl::StatusCode::kPermissionDenied, Missing::NOT_PERMITTED},
    {absl::StatusCode::kDeadlineExceeded, Missing::TIMED_OUT},
    {absl::StatusCode::kUnavailable, Missing::TOOL_FAILED},
    {absl::StatusCode::kAborted, Missing::BUSY},
    {absl::StatusCode::kUnimplemented, Missing::NOT_SUPPORTED},
    {absl::StatusCode::kCancelled, Missing::NOT_QUERIED},
};

}  // namespace

Missing MakeMissing(Missing::Reason reason, absl::string_view detail) {
  Missing missing;
  missing.set_reason(reason);
  missing.set_detail(PrintableText(detail, kMaxDetailBytes));
  return missing;
}

Missing MissingFor(const absl::Status& status) {
  for (const auto& [code, reason] : kReasons) {
    if (status.code() == code) return MakeMissing(reason, status.message());
  }
  return MakeMissing(Missing::UNREADABLE, status.message());
}

}  // namespace clusterd
