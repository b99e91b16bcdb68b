// Runs one recorded command line with a tool and says how the result differs.
#ifndef TESTS_SIM_REPLAY_RUN_H_
#define TESTS_SIM_REPLAY_RUN_H_

#include <string>

#include "tests/sim/capture_record.h"

namespace clusterd::sim {

struct ReplayOptions {
  // The tool: any program that takes the state of its devices from
  // $HCCN_SIM_ROOT/var/lib/hccn_sim/state.
  std::string tool;
  // Compares the device's state afterwards, too.
  bool compare_devices = false;
  // MayEnterPrivately().
  bool privileged = false;
};

struct ReplayResult {
  enum class Verdict { kMatched, kDifferent, kSkipped };
  Verdict verdict = Verdict::kMatched;
  // The differences, as a diff; why it was skipped; the parts of the
  // precondition that were not available.
  std::string text;
};

ReplayResult Replay(const CaptureRecord& record, const ReplayOptions& options);

// Why a record is not compared; empty: it is. The one list of exceptions.
std::string ReasonToSkip(const CaptureRecord& record);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_REPLAY_RUN_H_
