// The current state of the cluster, as clusterctl watch prints it:
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
// and its screen on a terminal.
#ifndef CLIENT_PRINT_NOW_TABLE_H_
#define CLIENT_PRINT_NOW_TABLE_H_

#include <ostream>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/words/terminal.h"
#include "proto/controller.pb.h"

namespace clusterd {

// Puts important lines first, as a window may not show more. Times are in
// `zone`, with the date if it is not that of now.at_ms. Makes texts
// terminal-safe.
void PrintClusterNow(const ClusterNow& now, const Style& style,
                     absl::TimeZone zone, std::ostream& out);

// Takes a terminal's whole window, and restores it at the end. Not thread-safe.
class LiveScreen {
 public:
  // `out` must outlive it.
  explicit LiveScreen(std::ostream& out);
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // Replaces the text without flicker. If it has more than `rows` lines, shows
  // the first ones and the number of the others. The terminal cuts long lines.
  void Show(absl::string_view text, int rows);

 private:
  std::ostream& out_;
};

}  // namespace clusterd

#endif  // CLIENT_PRINT_NOW_TABLE_H_
