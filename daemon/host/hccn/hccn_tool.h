// Asks the vendor's hccn_tool about one device: where it is, how it is called,
// one call at a time, "busy" again with a bound, and nothing more after the
// device did not answer in time. What the answers mean is for the parsers.
#ifndef DAEMON_HOST_HCCN_HCCN_TOOL_H_
#define DAEMON_HOST_HCCN_HCCN_TOOL_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/hccn_output.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Sees to it that no two hccn_tool processes of this daemon work on one device
// at the same time: the vendor does not support that. Safe for concurrent use.
class DeviceLocks {
 public:
  // The right to use one device, until it is destroyed.
  struct Release {
    uint32_t device = 0;
    void operator()(DeviceLocks* locks) const { locks->GiveBack(device); }
  };
  using Lock = std::unique_ptr<DeviceLocks, Release>;

  // Waits at most `wait` for the others; whoever changes the device is before
  // all who only look at it. DeadlineExceeded: still in use.
  // FailedPrecondition, with its pid: a process that could not be killed still
  // works on the device.
  absl::StatusOr<Lock> Take(uint32_t device, absl::Duration wait,
                            bool changes = false);

  // A process was left behind on `device` (CommandResult::left_running). The
  // device stays blocked until it has ended.
  void LeaveBehind(uint32_t device, int pid);

 private:
  // A process for good: its pid may be given to another one later.
  struct Process {
    int pid;
    uint64_t start_time;  // Clock ticks since boot.
  };

  void GiveBack(uint32_t device);

  // Not absl::Mutex: its timed waits follow the wall clock, which may be set.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<uint32_t> in_use_;
  // Who waits to change a device.
  std::multiset<uint32_t> awaited_;
  std::map<uint32_t, Process> left_behind_;
};

// Root and path of the tool: driver/tools/hccn_tool below the install path in
// /etc/ascend_install.info, /usr/local/Ascend unless that file names another.
// NotFound; PermissionDenied, also if others than root could have changed the
// tool (program_path.h); InvalidArgument if the install path is malformed.
absl::StatusOr<std::string> LocateHccnTool(const HostPaths& paths);

// What one query brought.
struct HccnAnswer {
  // Set: no answer, and why. Not set for kNoAddress, kNoGateway and
  // kNoCertificate, which are answers.
  std::optional<Missing> missing;
  HccnFailure failure = HccnFailure::kNone;
  int exit_status = 0;
  std::string output;   // Standard output, also of a failure.
  std::string errors;   // Standard error.
  std::string command;  // "`hccn_tool -i 3 -ip -g`", for messages.
  // Whose words these are.
  NpuToolFacts::Generation generation = NpuToolFacts::CLASSIC;
};

// The queries of one observation to one device. Has the device's lock for as
// long as it lives. For one thread.
class HccnSession {
 public:
  // `tool`: what LocateHccnTool returned, or why there is none; then, and when
  // the lock does not come in time, every Ask says so and runs nothing. All
  // pointers must outlive this object.
  HccnSession(absl::StatusOr<std::string> tool,
              NpuToolFacts::Generation generation, uint32_t device,
              CommandRunner* runner, Clock* clock, const TimeBudget* budget,
              DeviceLocks* locks);
  HccnSession(const HccnSession&) = delete;
  HccnSession& operator=(const HccnSession&) = delete;

  // Asks in the words of the generation; options are for the Ascend 950 tool:
  //   hccn_tool -i 3 -ip -g                 Ask("-ip")
  //   hccn_tool -g -ip -i 3 -d bond3        Ask("-ip", {"-d", "bond3"})
  // Forms of the second from the "Ascend 950 HCCN Tool" reference
  // (hicann/driver, docs/en) and the tool's source (hccn/ascend950,
  // tool_shell_ops.c). Each tool refuses the lines of the other one.
  HccnAnswer Ask(absl::string_view query,
                 const std::vector<std::string>& options = {});

  // Asks with exactly these words.
  HccnAnswer AskWith(const std::vector<std::string>& arguments);

  // As Ask, for a question that writes to `instead`: it writes to this copy,
  // and the machine's file stays as it is. NOT_QUERIED where there can be no
  // such copy; the file itself is never given to such a question.
  HccnAnswer AskOverCopy(absl::string_view query, PrivateFile instead);

  // From now on nothing is run for these queries: no rule needs an answer.
  void Skip(const google::protobuf::RepeatedPtrField<std::string>& queries) {
    skipped_.insert(queries.begin(), queries.end());
  }

  // False, without waiting, if that would leave nothing of the host's time.
  bool Pause(absl::Duration duration);

  // The generation of the tool: the one whose command line is spoken, unless
  // the tool refused that line as the other one does. It is asked nothing more
  // then, and every answer is missing for that reason.
  NpuToolFacts::Generation generation() const { return generation_; }

 private:
  HccnAnswer AskOnce(const std::vector<std::string>& arguments);
  HccnVerdict Classify(const CommandResult& result) const;
  void TakeSilence(const CommandResult& result, HccnAnswer* answer);

  const absl::StatusOr<std::string> tool_;
  NpuToolFacts::Generation generation_;
  const uint32_t device_;
  CommandRunner* const runner_;
  Clock* const clock_;
  const TimeBudget* const budget_;
  DeviceLocks* const locks_;
  DeviceLocks::Lock lock_;
  std::set<std::string> skipped_;
  std::optional<PrivateFile> instead_;  // Of the question that is asked now.
  // Set: nothing more is asked, for this reason.
  std::optional<Missing> stopped_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_HCCN_TOOL_H_
