#include "daemon/host/recording/hccn_tool_recorder.h"

#include <utility>

namespace clusterd {
namespace {

bool IsHccnTool(const Command& command) {
  if (command.argv.empty()) return false;
  const std::string& path = command.argv[0];
  return path.substr(path.rfind('/') + 1) == "hccn_tool";
}

}  // namespace

HccnToolRecorder::HccnToolRecorder(CommandRunner* runner, ReadConf read_conf)
    : runner_(runner), read_conf_(std::move(read_conf)) {}

absl::StatusOr<CommandResult> HccnToolRecorder::Run(const Command& command) {
  if (!IsHccnTool(command)) return runner_->Run(command);
  RecordedRun run;
  run.command = command;
  run.hccn_conf_before = read_conf_();
  absl::StatusOr<CommandResult> result = runner_->Run(command);
  if (!result.ok()) return result;
  run.hccn_conf_after = read_conf_();
  run.result = *result;
  absl::MutexLock lock(&mutex_);
  runs_.push_back(std::move(run));
  return result;
}

std::vector<RecordedRun> HccnToolRecorder::runs() const {
  absl::MutexLock lock(&mutex_);
  return runs_;
}

}  // namespace clusterd
