// Whether what a scheduled check found is news: its verdict is another one than
// was told last. PASS needs not be told at first.
//
//   the change rests on            | told
//   rules about the host, its      | at once
//   settings, the spec, …          |
//   rules about the network alone  | when a look that begins within five
//   (link, optics, ping, a host    | minutes sees one again: a cable that
//   that gives no facts)           | flaps, a switch that boots and a host
//                                  | that comes back wake nobody; or when it
//                                  | is the third one in a row, however long
//                                  | the checks take
// A better verdict counts anew when the told one was seen in between; a worse
// one does not, so that what flaps is told after all.
//
// Pure.
#ifndef DAEMON_CONTROLLER_SCHEDULE_VERDICT_WATCH_H_
#define DAEMON_CONTROLLER_SCHEDULE_VERDICT_WATCH_H_

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "proto/finding.pb.h"

namespace clusterd {

inline constexpr absl::Duration kSeenTwiceWithin = absl::Minutes(5);

// Those about the network.
absl::Span<const absl::string_view> NetworkRules();

struct Verdicts {
  State all = PASS;
  State without_network = PASS;  // Of the other rules alone.
};
Verdicts VerdictsOf(const Report& report);

enum class News {
  kNone,
  kLookAgain,  // It may be, if another look says so.
  kTell,
};

class VerdictWatch {
 public:
  // `told`: what is known to whom it concerns.
  explicit VerdictWatch(Verdicts told = {}) : told_(told) {}

  // Of a look from `began` to `ended`; looks do not overlap.
  News See(const Verdicts& seen, absl::Time began, absl::Time ended);
  // PASS before anything was.
  State told() const { return told_.all; }

 private:
  Verdicts told_;
  // When another verdict than was told was seen last, and whether a better one.
  absl::Time seen_at_ = absl::InfinitePast();
  bool seen_better_ = false;
  int in_a_row_ = 0;  // Looks that saw another verdict than was told.
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SCHEDULE_VERDICT_WATCH_H_
