#include "client/command/exit_status.h"

#include "client/print/state_word.h"

namespace clusterd {

ExitStatus ExitStatusOf(State verdict, FailOn fail_on) {
  switch (KnownState(verdict)) {
    case PASS:
      return kExitPass;
    case WARN:
      return fail_on == FailOn::kWarn ? kExitFail : kExitPass;
    case FAIL:
      return kExitFail;
    default:
      return fail_on == FailOn::kFail ? kExitNoVerdict : kExitFail;
  }
}

ExitStatus ExitStatusOf(const absl::Status& failure) {
  const bool usage =
      absl::IsInvalidArgument(failure) || absl::IsNotFound(failure);
  return usage ? kExitUsage : kExitNoVerdict;
}

}  // namespace clusterd
