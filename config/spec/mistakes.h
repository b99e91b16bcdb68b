// Collects all mistakes of one file, so that a person sees them in one run:
//   cluster.yaml:14:11: device 3: address "10.20.0.300" is not IPv4, expected …
#ifndef CONFIG_SPEC_MISTAKES_H_
#define CONFIG_SPEC_MISTAKES_H_

#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "config/words/message.h"

namespace clusterd {

// Line and column, counted from 1; columns are bytes.
struct TextPosition {
  int line = 1;
  int column = 1;

  friend bool operator==(TextPosition a, TextPosition b) {
    return a.line == b.line && a.column == b.column;
  }
  friend bool operator<(TextPosition a, TextPosition b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  }
};

// `text` in double quotes, fit for one line of a terminal: control characters
// and broken UTF-8 escaped, cut after 80 bytes.
std::string QuoteValue(absl::string_view text);

// "14:11".
std::string ToString(TextPosition position);

// Not safe for concurrent use.
class Mistakes {
 public:
  // The limit of mistakes that are shown; the rest is counted.
  static constexpr size_t kMaxShown = 100;

  // `file_name` is only used in messages.
  explicit Mistakes(absl::string_view file_name) : file_name_(file_name) {}

  // The message is the words of that row with these values.
  template <typename... Values>
  void Add(TextPosition position, absl::string_view row,
           const Values&... values) {
    AddMessage(position, Worded(row, values...));
  }
  // One for each line of the error.
  void AddError(TextPosition position, const absl::Status& error);
  // For mistakes that one line of the file causes many times, e.g. a pattern on
  // a thousand servers: keeps only the first message of a `kind` at a position,
  // followed by the number of others.
  template <typename... Values>
  void AddOnce(TextPosition position, absl::string_view kind,
               absl::string_view row, const Values&... values) {
    if (IsFirst(position, kind)) Add(position, row, values...);
  }

  // An empty list for the same file.
  Mistakes OfSameFile() const { return Mistakes(file_name_); }
  // Adds mistakes of `other` that are missing here, by place and message.
  void AddUnknownOf(const Mistakes& other);

  bool empty() const { return count_ == 0; }
  // Includes mistakes that are not shown; AddOnce's count once.
  size_t count() const { return count_; }

  // OK without mistakes. Otherwise InvalidArgument: one line each, in the order
  // of the file; at most kMaxShown and then the number of others.
  absl::Status ToStatus() const;

 private:
  struct Mistake {
    TextPosition position;
    FindingValue message;
    size_t repeats = 0;
  };

  void AddMessage(TextPosition position, FindingValue message);
  // Counts the others.
  bool IsFirst(TextPosition position, absl::string_view kind);

  std::string file_name_;
  std::vector<Mistake> kept_;
  // Index in kept_ by line, column and kind.
  absl::flat_hash_map<std::tuple<int, int, std::string>, size_t> once_;
  size_t count_ = 0;
};

}  // namespace clusterd

#endif  // CONFIG_SPEC_MISTAKES_H_
