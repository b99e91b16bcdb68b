// Notes down every run of hccn_tool and npu-smi that passes through, as it was:
// nothing in it is anonymised. `clusterctl anonymise` makes a file of it that
// may be sent.
#ifndef DAEMON_HOST_HCCN_HCCN_TOOL_RECORDER_H_
#define DAEMON_HOST_HCCN_HCCN_TOOL_RECORDER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
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
  HccnToolRecorder(CommandRunner* runner, ReadConf read_conf);

  // What `runner` answers. Noted down if the program's file name is hccn_tool
  // and it did run over the machine's own hccn.conf, which other devices' runs
  // may change meanwhile; or if it is npu-smi, without that file.
  absl::StatusOr<CommandResult> Run(const Command& command) override;

  // The runs so far, in the order in which they ended.
  std::vector<HostRecording::Run> runs() const;

 private:
  CommandRunner* const runner_;
  const ReadConf read_conf_;
  mutable absl::Mutex mutex_;
  std::vector<HostRecording::Run> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_HCCN_TOOL_RECORDER_H_
