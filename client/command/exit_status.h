// What clusterctl's exit status says to a script.
#ifndef CLIENT_COMMAND_EXIT_STATUS_H_
#define CLIENT_COMMAND_EXIT_STATUS_H_

#include "absl/status/status.h"
#include "proto/finding.pb.h"

namespace clusterd {

enum ExitStatus {
  kExitPass = 0,       // Pass, or warnings only.
  kExitFail = 1,       // At least one failure.
  kExitNoVerdict = 2,  // A host or the controller did not answer.
  kExitUsage = 3,      // Wrong usage or configuration.
};

// The lowest state that counts as a failure, in the order warn, unknown, fail.
enum class FailOn { kWarn, kUnknown, kFail };

//   verdict  | fail (default) | unknown | warn
//   PASS     | 0              | 0       | 0
//   WARN     | 0              | 0       | 1
//   UNKNOWN  | 2              | 1       | 1
//   FAIL     | 1              | 1       | 1
// for a report of SupportedVerdict; a run without a report is kExitNoVerdict
// whatever the line.
ExitStatus ExitStatusOf(State verdict, FailOn fail_on);

// For a call that failed: 3 where the request or the configuration was wrong
// (InvalidArgument, NotFound), else 2.
ExitStatus ExitStatusOf(const absl::Status& failure);

}  // namespace clusterd

#endif  // CLIENT_COMMAND_EXIT_STATUS_H_
