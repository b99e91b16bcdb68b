// The progress of a running check or apply in one line, on a terminal only:
//   1000 answered, 2 failed, 150 pending; awaiting node[3-5] and 147 more
//   wave 2 of 5: 40 done, 0 failed, 120 pending; at work node[3-5]
#ifndef CLIENT_PRINT_PROGRESS_LINE_H_
#define CLIENT_PRINT_PROGRESS_LINE_H_

#include <ostream>
#include <string>

#include "config/words/terminal.h"
#include "config/words/words.h"
#include "proto/controller.pb.h"

namespace clusterd {

// Without colour and line end; the text is safe for a terminal.
FindingValue ProgressWords(const CheckProgress& progress);
std::string ProgressText(const CheckProgress& progress, bool utf8);

std::string ApplyProgressText(const ApplyProgress& progress, bool utf8);

// Rewrites one line of stderr, if the style allows that. Not thread-safe.
class ProgressLine {
 public:
  // `out` must outlive it.
  ProgressLine(const Style& style, std::ostream& out)
      : style_(style), out_(out) {}
  // Leaves an empty line behind.
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `text` is safe for a terminal.
  void Show(const std::string& text);
  void Clear();

 private:
  const Style style_;
  std::ostream& out_;
  bool shown_ = false;
};

}  // namespace clusterd

#endif  // CLIENT_PRINT_PROGRESS_LINE_H_
