// Explains lost packets where others arrived: ports, paths and links of which a
// share is lost, by their likelihood against a background of rare losses.
#ifndef CONFIG_PROBE_LOSS_COVER_H_
#define CONFIG_PROBE_LOSS_COVER_H_

#include <vector>

#include "absl/types/span.h"
#include "config/probe/hypotheses.h"
#include "config/probe/probe_result.h"

namespace clusterd {

struct LossExplanation {
  int hypothesis = 0;
  double loss = 0;            // The share of packets lost, 0 to 1.
  std::vector<int> explains;  // Positions among `lossy`, ascending.
  std::vector<int> rivals;    // Within a likelihood ratio of 20.
};

// `lossy` are indices of results that lost packets and that no culprit of
// failure_cover.h explains; `usable` the ones, lossy or not, that count.
// A single lost packet of three is explained by nothing.
std::vector<LossExplanation> CoverLosses(const Hypotheses& hypotheses,
                                         absl::Span<const ProbeResult> results,
                                         absl::Span<const int> lossy,
                                         const std::vector<bool>& usable);

}  // namespace clusterd

#endif  // CONFIG_PROBE_LOSS_COVER_H_
