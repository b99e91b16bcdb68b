#include "daemon/controller/schedule/verdict_watch.h"

#include "absl/algorithm/container.h"
#include "config/words/state_word.h"

namespace clusterd {
namespace {

constexpr int kToldAtSight = 3;

}  // namespace

absl::Span<const absl::string_view> NetworkRules() {
  static constexpr absl::string_view kRules[] = {
      "link",       "net-health", "lldp",          "optics",
      "link-flaps", "lldp-rail",  "speed-uniform", "host-identity"};
  return kRules;
}

Verdicts VerdictsOf(const Report& report) {
  Verdicts verdicts;
  verdicts.all = KnownState(report.verdict());
  for (const RuleResult& result : report.rules()) {
    if (result.state() == SKIPPED ||
        absl::c_linear_search(NetworkRules(), result.rule())) {
      continue;
    }
    verdicts.without_network =
        WorseState(verdicts.without_network, KnownState(result.state()));
  }
  return verdicts;
}

News VerdictWatch::See(const Verdicts& seen, absl::Time began,
                       absl::Time ended) {
  if (seen.all == told_.all) {
    told_ = seen;
    in_a_row_ = 0;
    if (seen_better_) seen_at_ = absl::InfinitePast();
    return News::kNone;
  }
  const bool network_alone = seen.without_network == told_.without_network;
  const bool twice = began >= seen_at_ && began - seen_at_ <= kSeenTwiceWithin;
  if (network_alone && !twice && ++in_a_row_ < kToldAtSight) {
    seen_at_ = ended;
    seen_better_ = WorseState(seen.all, told_.all) == told_.all;
    return News::kLookAgain;
  }
  told_ = seen;
  in_a_row_ = 0;
  seen_at_ = absl::InfinitePast();
  return News::kTell;
}

}  // namespace clusterd
