// The cluster as it is now, as clusterctl watch shows it:
//   demo  2025-01-01 01:00:00 +01:00
//   hosts  11 of 12 attached, 1 away, 2 drifted
//   away   node07
//   runs   apply 0123456789abcdef of ann
//
//   schedule nightly
//   × FAIL at 00:55:00: 1 failed, 24 passed; next at 01:00:00
//     since 00:50:00: 1 worse
//     × link node07 device 3: link is DOWN
//       fix: look at the cable
// and the terminal that it stands on.
#ifndef CLIENT_PRINT_NOW_TABLE_H_
#define CLIENT_PRINT_NOW_TABLE_H_

#include <ostream>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/words/terminal.h"
#include "proto/controller.pb.h"

namespace clusterd {

// What matters most stands first, for a window may show no more. Moments are of
// that zone, those of another day than now.at_ms with their date. Every text is
// made safe for a terminal.
void PrintClusterNow(const ClusterNow& now, const Style& style,
                     absl::TimeZone zone, std::ostream& out);

// The whole window of a terminal, beside what was printed on it before, which
// is there again at the end, as the cursor is. Not thread-safe.
class LiveScreen {
 public:
  // `out` must outlive it.
  explicit LiveScreen(std::ostream& out);
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // In place of what it showed, without a moment between. Of more lines than
  // `rows` the first, and how many more; lines wider than the window are cut by
  // it.
  void Show(absl::string_view text, int rows);

 private:
  std::ostream& out_;
};

}  // namespace clusterd

#endif  // CLIENT_PRINT_NOW_TABLE_H_
