#include "tests/support/host/fake_command_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace clusterd {
namespace {

std::string NameOf(const Command& command) {
  std::vector<std::string> words = command.argv;
  words[0] = words[0].substr(words[0].rfind('/') + 1);
  return absl::StrJoin(words, " ");
}

}  // namespace

FakeCommandRunner::FakeCommandRunner(FakeClock* clock) : clock_(clock) {}

void FakeCommandRunner::Answers(const std::string& command,
                                std::string standard_output) {
  CommandResult result;
  result.standard_output = std::move(standard_output);
  Add(command, std::move(result));
}

void FakeCommandRunner::Fails(const std::string& command, int exit_status,
                              std::string standard_error,
                              std::string standard_output) {
  CommandResult result;
  result.exit_status = exit_status;
  result.standard_error = std::move(standard_error);
  result.standard_output = std::move(standard_output);
  Add(command, std::move(result));
}

void FakeCommandRunner::Ends(const std::string& command, CommandResult result) {
  Add(command, std::move(result));
}

void FakeCommandRunner::Hangs(const std::string& command) {
  CommandResult result;
  result.timed_out = true;
  Add(command, std::move(result));
}

void FakeCommandRunner::HangsForEver(const std::string& command, int pid) {
  CommandResult result;
  result.timed_out = true;
  result.left_running = true;
  result.pid = pid;
  Add(command, std::move(result));
}

void FakeCommandRunner::CannotStart(const std::string& command,
                                    absl::Status status) {
  Add(command, std::move(status));
}

void FakeCommandRunner::Forget(const std::string& command) {
  absl::MutexLock lock(&mutex_);
  scripts_.erase(command);
}

absl::StatusOr<CommandResult> FakeCommandRunner::Run(const Command& command) {
  const std::string name = NameOf(command);
  absl::StatusOr<CommandResult> run = CommandResult();
  {
    absl::MutexLock lock(&mutex_);
    commands_.push_back(name);
    if (command.instead.has_value()) copies_.push_back(*command.instead);
    const auto script = scripts_.find(name);
    if (script == scripts_.end()) {
      run->exit_status = 127;
      run->standard_error = absl::StrCat("no script for ", name, "\n");
    } else {
      run = script->second.front();
      if (script->second.size() > 1) script->second.pop_front();
    }
  }
  if (run.ok() && command.deadline <= absl::ZeroDuration()) {
    run = CommandResult();
    run->timed_out = true;
  }
  if (run.ok() && run->timed_out) {
    run->elapsed = command.deadline;
    clock_->Advance(command.deadline);
  }
  return run;
}

std::vector<std::string> FakeCommandRunner::commands() const {
  absl::MutexLock lock(&mutex_);
  return commands_;
}

std::vector<PrivateFile> FakeCommandRunner::copies() const {
  absl::MutexLock lock(&mutex_);
  return copies_;
}

int FakeCommandRunner::CountOf(const std::string& command) const {
  absl::MutexLock lock(&mutex_);
  return std::count(commands_.begin(), commands_.end(), command);
}

void FakeCommandRunner::Add(const std::string& command,
                            absl::StatusOr<CommandResult> run) {
  absl::MutexLock lock(&mutex_);
  scripts_[command].push_back(std::move(run));
}

}  // namespace clusterd
