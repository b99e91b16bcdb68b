// Notes down every run of hccn_tool that passes through, to be sent to us from
// a real machine. recording.h turns the notes into a file without
// addresses and names.
#ifndef DAEMON_HOST_RECORDING_HCCN_TOOL_RECORDER_H_
#define DAEMON_HOST_RECORDING_HCCN_TOOL_RECORDER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "daemon/host/command_runner.h"

namespace clusterd {

// One run as it was: nothing in it is anonymised.
struct RecordedRun {
  Command command;
  CommandResult result;
  // Nothing: no such file, or it could not be read.
  std::optional<std::string> hccn_conf_before;
  std::optional<std::string> hccn_conf_after;
};

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
  // and it did run; other devices' runs may change hccn.conf meanwhile.
  absl::StatusOr<CommandResult> Run(const Command& command) override;

  // The runs so far, in the order in which they ended.
  std::vector<RecordedRun> runs() const;

 private:
  CommandRunner* const runner_;
  const ReadConf read_conf_;
  mutable absl::Mutex mutex_;
  std::vector<RecordedRun> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_HOST_RECORDING_HCCN_TOOL_RECORDER_H_
