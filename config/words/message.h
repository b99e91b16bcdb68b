// Errors in both languages. The message of a status is English, for logs and
// JSON. clusterctl renders the words beside it in the user's language, also for
// an error of the controller (grpc_status.h).
#ifndef CONFIG_WORDS_MESSAGE_H_
#define CONFIG_WORDS_MESSAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "config/values/value_error.h"
#include "config/words/words.h"
#include "google/protobuf/message.h"

namespace clusterd {

// `value` in English, whatever the current language is.
std::string EnglishText(const FindingValue& value);

// `status`, whose message becomes that of the words.
absl::Status WithWords(absl::Status status, const FindingValue& words);

// An error in the words of that row with these values, of which one may be
// another error's: InvalidWords("msg-run-id-not-valid", argument, id).
#define CLUSTERD_WORDS(name, Make)                                    \
  template <typename... Values>                                       \
  absl::Status name(absl::string_view row, const Values&... values) { \
    return WithWords(absl::Make(""), Worded(row, values...));         \
  }
CLUSTERD_WORDS(AbortedWords, AbortedError)
CLUSTERD_WORDS(CancelledWords, CancelledError)
CLUSTERD_WORDS(DataLossWords, DataLossError)
CLUSTERD_WORDS(DeadlineWords, DeadlineExceededError)
CLUSTERD_WORDS(DeniedWords, PermissionDeniedError)
CLUSTERD_WORDS(ExhaustedWords, ResourceExhaustedError)
CLUSTERD_WORDS(ExistsWords, AlreadyExistsError)
CLUSTERD_WORDS(InternalWords, InternalError)
CLUSTERD_WORDS(InvalidWords, InvalidArgumentError)
CLUSTERD_WORDS(NotFoundWords, NotFoundError)
CLUSTERD_WORDS(OutOfRangeWords, OutOfRangeError)
CLUSTERD_WORDS(PreconditionWords, FailedPreconditionError)
CLUSTERD_WORDS(UnauthenticatedWords, UnauthenticatedError)
CLUSTERD_WORDS(UnavailableWords, UnavailableError)
CLUSTERD_WORDS(UnimplementedWords, UnimplementedError)
CLUSTERD_WORDS(UnknownWords, UnknownError)
#undef CLUSTERD_WORDS

// One value that is rendered as a line each. REQUIRES: not empty.
FindingValue Lines(const std::vector<FindingValue>& lines);

// The words of an error: without a payload, its message.
FindingValue MessageWords(const absl::Status& error);
// The same, split into its lines: at least one, unless it is OK.
std::vector<FindingValue> MessageLines(const absl::Status& error);

// Makes a text or words the detail of a missing fact.
void SetDetail(const FindingValue& detail, Missing* missing);
inline FindingValue DetailOf(const Missing& missing) {
  return missing.has_detail_words() ? missing.detail_words()
                                    : ToFindingValue(missing.detail());
}

// The error with its subject before its first line: "ca.crt: …".
absl::Status About(const FindingValue& subject, const absl::Status& status);
inline absl::Status About(absl::string_view subject,
                          const absl::Status& status) {
  return About(ToFindingValue(subject), status);
}

// Fills each text field that has a field of its name and "_words" beside it
// with those words, in the current language, everywhere in the message. A
// repeated field takes the values of the words as its first texts; others may
// stand behind them. Also renders notes of a report from `said`, why a host has
// no facts and why a rule was skipped. `drop`: leaves the texts alone.
void RenderWords(google::protobuf::Message* message, bool drop = false);

// The same message in the current language.
template <typename Message>
Message Rendered(Message message) {
  RenderWords(&message);
  return message;
}

}  // namespace clusterd

#endif  // CONFIG_WORDS_MESSAGE_H_
