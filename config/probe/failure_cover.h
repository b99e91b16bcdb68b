// Explains failures without any answer: the cheapest hypotheses that nothing
// that was reached contradicts and that together cover the failures (weighted
// set cover, greedy, then without those that became superfluous).
#ifndef CONFIG_PROBE_FAILURE_COVER_H_
#define CONFIG_PROBE_FAILURE_COVER_H_

#include <vector>

#include "absl/types/span.h"
#include "config/probe/hypotheses.h"
#include "config/probe/probe_result.h"

namespace clusterd {

struct Explanation {
  int hypothesis = 0;
  std::vector<int> explains;  // Positions among the failures, ascending.
  std::vector<int> rivals;    // Other hypotheses, equally good.
};

struct CoverInput {
  const Hypotheses& hypotheses;
  absl::Span<const ProbeResult> results;
  absl::Span<const int> failures;  // Indices into `results`.
  // By hypothesis: results that it would have stopped and that were answered.
  absl::Span<const int> answered;
  absl::Span<const int> hinted;  // Ports, ascending.
};

// Links are no hypotheses here: see loss_cover.h. Failures that nothing
// explains are in no explanation. Hypotheses over n members or pairs cost
// sqrt(n), at least 1.5, and a port 1: so eight dead ports of a host are a dead
// host, and one that 63 of 64 tables name is no dead rail.
std::vector<Explanation> CoverFailures(const CoverInput& input);

}  // namespace clusterd

#endif  // CONFIG_PROBE_FAILURE_COVER_H_
