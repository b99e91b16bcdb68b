// Records every run of hccn_tool and npu-smi without anonymising it.
// `clusterctl anonymise` makes a file of the recording that may be sent.
#ifndef DAEMON_HOST_HCCN_HCCN_TOOL_RECORDER_H_
#define DAEMON_HOST_HCCN_HCCN_TOOL_RECORDER_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "config/values/status_macros.h"
#include "daemon/host/command/command_runner.h"
#include "proto/host_recording.pb.h"

namespace clusterd {

// Safe for concurrent use.
class HccnToolRecorder final : public CommandRunner {
 public:
  // Reads the whole /etc/hccn.conf; called from several threads at once.
  using ReadConf = std::function<std::optional<std::string>()>;

  // `runner` must outlive this object:
  //   PosixCommandRunner posix;
  //   HccnToolRecorder recorder(&posix, read_conf);
  //   MachineObserver observer(HostPaths{}, &recorder, &clock);
  HccnToolRecorder(CommandRunner* runner, ReadConf read_conf)
      : runner_(runner), read_conf_(std::move(read_conf)) {}

  // Returns the answer of `runner`. Records runs of hccn_tool over the
  // machine's own hccn.conf, which other devices' runs may change meanwhile,
  // and runs of npu-smi, without that file.
  absl::StatusOr<CommandResult> Run(const Command& command) override {
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

  // Returns the runs so far, in the order of their ends.
  std::vector<HostRecording::Run> runs() const {
    absl::MutexLock lock(&mutex_);
    return runs_;
  }

 private:
  CommandRunner* const runner_;
  const ReadConf read_conf_;
  mutable absl::Mutex mutex_;
  std::vector<HostRecording::Run> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_HCCN_TOOL_RECORDER_H_
