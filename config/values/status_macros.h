// The two macros of this project: an error that ends a function that returns
// absl::Status or absl::StatusOr ends its caller, with the same status. And
// errors, with a message of parts as absl::StrCat takes them.
//
//   RETURN_IF_ERROR(WriteAll(file, text));
//   RETURN_IF_ERROR(InFront(path, CheckHasCertificate(text)));
//   ASSIGN_OR_RETURN(const HccnConf conf, ParseHccnConf(text));
//   return NotFound(path, ": no line of ", key);
//
// Not for code that cleans up first; there the status has a name. A type with a
// comma needs an alias or `auto`. This header exports absl::Status,
// absl::StatusOr and absl::StrCat.
#ifndef CONFIG_VALUES_STATUS_MACROS_H_
#define CONFIG_VALUES_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace clusterd {

template <absl::Status (*Error)(absl::string_view message)>
struct ErrorOf {
  template <typename... Parts>
  absl::Status operator()(const Parts&... parts) const {
    return Error(absl::StrCat(parts...));
  }
};
inline constexpr ErrorOf<absl::AbortedError> Aborted = {};
inline constexpr ErrorOf<absl::DeadlineExceededError> DeadlineExceeded = {};
inline constexpr ErrorOf<absl::FailedPreconditionError> FailedPrecondition = {};
inline constexpr ErrorOf<absl::InvalidArgumentError> InvalidArgument = {};
inline constexpr ErrorOf<absl::NotFoundError> NotFound = {};
inline constexpr ErrorOf<absl::PermissionDeniedError> PermissionDenied = {};
inline constexpr ErrorOf<absl::ResourceExhaustedError> ResourceExhausted = {};
inline constexpr ErrorOf<absl::UnavailableError> Unavailable = {};

// The same error with "what: " before its message and before its words
// (config/words/message.h).
absl::Status InFront(absl::string_view what, const absl::Status& status);

}  // namespace clusterd

#define RETURN_IF_ERROR(expression)                    \
  do {                                                 \
    absl::Status returned_status = (expression);       \
    if (!returned_status.ok()) return returned_status; \
  } while (false)

#define ASSIGN_OR_RETURN(target, expression) \
  ASSIGN_OR_RETURN_AT_LINE(target, expression, __LINE__)
// The line number is expanded only one level further down.
#define ASSIGN_OR_RETURN_AT_LINE(target, expression, line) \
  ASSIGN_OR_RETURN_NAMED(target, expression, returned_from_line_, line)
#define ASSIGN_OR_RETURN_NAMED(target, expression, prefix, line)   \
  auto prefix##line = (expression);                                \
  if (!prefix##line.ok()) return std::move(prefix##line).status(); \
  target = *std::move(prefix##line)

#endif  // CONFIG_VALUES_STATUS_MACROS_H_
