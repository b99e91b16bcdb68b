// The line that says how far a running check is, on a terminal only:
//   1000 ok, 2 failed, 150 pending; awaiting node[3-5] and 147 more
#ifndef CLIENT_PRINT_PROGRESS_LINE_H_
#define CLIENT_PRINT_PROGRESS_LINE_H_

#include <ostream>
#include <string>

#include "client/print/terminal.h"
#include "proto/controller.pb.h"

namespace clusterd {

// Without colour and line end; safe for a terminal.
std::string ProgressText(const CheckProgress& progress, bool utf8);

// Rewrites one line of stderr. Prints nothing at all where the style says that
// a line cannot be rewritten. Not thread-safe.
class ProgressLine {
 public:
  // `out` must outlive it.
  ProgressLine(const Style& style, std::ostream& out)
      : style_(style), out_(out) {}
  // Leaves an empty line behind.
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const CheckProgress& progress);
  void Clear();

 private:
  const Style style_;
  std::ostream& out_;
  bool shown_ = false;
};

}  // namespace clusterd

#endif  // CLIENT_PRINT_PROGRESS_LINE_H_
