// Shortens the deadline of commands that hang, and keeps those of others: on a
// slow machine, one short deadline for all would end good commands.
#ifndef TESTS_SUPPORT_HOST_IMPATIENT_RUNNER_H_
#define TESTS_SUPPORT_HOST_IMPATIENT_RUNNER_H_

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

class ImpatientRunner final : public CommandRunner {
 public:
  // `inner` must outlive this object.
  explicit ImpatientRunner(CommandRunner* inner) : inner_(inner) {}

  // Ends commands whose line has these words, in a row, after two seconds. Call
  // it while no command runs.
  void EndSoon(const std::string& words) {
    hanging_ = absl::StrCat(" ", words, " ");
  }

  absl::StatusOr<CommandResult> Run(const Command& command) override {
    const std::string line =
        absl::StrCat(absl::StrJoin(command.argv, " "), " ");
    if (hanging_.empty() || !absl::StrContains(line, hanging_)) {
      return inner_->Run(command);
    }
    Command soon = command;
    soon.deadline = std::min(soon.deadline, absl::Seconds(2));
    return inner_->Run(soon);
  }

 private:
  CommandRunner* const inner_;
  std::string hanging_;
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_HOST_IMPATIENT_RUNNER_H_
