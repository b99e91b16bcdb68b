#include "daemon/host/hccn/hccn_tool_recorder.h"

#include <utility>

#include "absl/strings/match.h"
#include "config/values/status_macros.h"

namespace clusterd {
HccnToolRecorder::HccnToolRecorder(CommandRunner* runner, ReadConf read_conf)
    : runner_(runner), read_conf_(std::move(read_conf)) {}

absl::StatusOr<CommandResult> HccnToolRecorder::Run(const Command& command) {
  const std::string program = command.argv.empty() ? "" : command.argv[0];
  const bool is_npu_smi = absl::EndsWith(program, "/npu-smi");
  if (command.instead.has_value() ||
      (!is_npu_smi && !absl::EndsWith(program, "/hccn_tool"))) {
    return runner_->Run(command);
  }
  const auto read_conf = [&] {
    return is_npu_smi ? std::nullopt : read_conf_();
  };
  HostRecording::Run run;
  run.mutable_argv()->Assign(command.argv.begin(), command.argv.end());
  if (std::optional<std::string> conf = read_conf()) {
    run.set_hccn_conf_before(*std::move(conf));
  }
  ASSIGN_OR_RETURN(CommandResult result, runner_->Run(command));
  if (std::optional<std::string> conf = read_conf()) {
    run.set_hccn_conf_after(*std::move(conf));
  }
  run.set_standard_output(result.standard_output);
  run.set_standard_error(result.standard_error);
  run.set_exit_status(result.exit_status);
  run.set_signal(result.signal);
  run.set_timed_out(result.timed_out);
  run.set_left_running(result.left_running);
  run.set_output_cut(result.output_cut);
  run.set_elapsed_us(absl::ToInt64Microseconds(result.elapsed));
  absl::MutexLock lock(&mutex_);
  runs_.push_back(std::move(run));
  return result;
}

std::vector<HostRecording::Run> HccnToolRecorder::runs() const {
  absl::MutexLock lock(&mutex_);
  return runs_;
}

}  // namespace clusterd
