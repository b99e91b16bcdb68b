// Queries one device with the vendor's hccn_tool: finds the tool, runs one call
// at a time, retries "busy" a few times, and stops after a call timed out.
// Parsers interpret the answers.
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

// Prevents two hccn_tool processes of this daemon from working on one device at
// the same time: the vendor does not support that. Safe for concurrent use.
class DeviceLocks {
 public:
  // The right to use one device while it exists.
  struct Release {
    uint32_t device = 0;
    void operator()(DeviceLocks* locks) const { locks->GiveBack(device); }
  };
  using Lock = std::unique_ptr<DeviceLocks, Release>;

  // Waits at most `wait`; a caller that changes the device goes before all that
  // only read it. DeadlineExceeded: still in use. FailedPrecondition, with its
  // pid: a process that could not be killed still works on the device.
  absl::StatusOr<Lock> Take(uint32_t device, absl::Duration wait,
                            bool changes = false);

  // Records a process left behind on `device` (CommandResult::left_running).
  // The device stays blocked until that process has ended.
  void LeaveBehind(uint32_t device, int pid);

 private:
  // Identifies a process permanently: its pid may be reused later.
  struct Process {
    int pid;
    uint64_t start_time;  // Clock ticks since boot.
  };

  void GiveBack(uint32_t device);

  // Not absl::Mutex: its timed waits follow the wall clock, which may be set.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<uint32_t> in_use_;
  // Devices that a caller waits to change.
  std::multiset<uint32_t> awaited_;
  std::map<uint32_t, Process> left_behind_;
};

// Returns root and path of the tool: driver/tools/hccn_tool below the install
// path in /etc/ascend_install.info, or /usr/local/Ascend without one. NotFound;
// PermissionDenied, also if others than root could have changed the tool
// (program_path.h); InvalidArgument if the install path is malformed.
absl::StatusOr<std::string> LocateHccnTool(const HostPaths& paths);

// The result of one query.
struct HccnAnswer {
  // The reason if there was no answer. Unset for kNoAddress, kNoGateway and
  // kNoCertificate, which are answers.
  std::optional<Missing> missing;
  HccnFailure failure = HccnFailure::kNone;
  int exit_status = 0;
  std::string output;   // Standard output, also after a failure.
  std::string errors;   // Standard error.
  std::string command;  // "`hccn_tool -i 3 -ip -g`", for messages.
  // The tool that answered.
  NpuToolFacts::Generation generation = NpuToolFacts::CLASSIC;
};

// One observation's queries to one device. Holds the device's lock during its
// lifetime. For one thread.
class HccnSession {
 public:
  // `tool`: the result of LocateHccnTool. After an error, or if the lock is not
  // available in time, every Ask returns that and runs nothing. All pointers
  // must outlive this object.
  HccnSession(absl::StatusOr<std::string> tool,
              NpuToolFacts::Generation generation, uint32_t device,
              CommandRunner* runner, Clock* clock, const TimeBudget* budget,
              DeviceLocks* locks);
  HccnSession(const HccnSession&) = delete;
  HccnSession& operator=(const HccnSession&) = delete;

  // Queries in the generation's command line; only the Ascend 950 has options:
  //   hccn_tool -i 3 -ip -g                 Ask("-ip")
  //   hccn_tool -g -ip -i 3 -d bond3        Ask("-ip", {"-d", "bond3"})
  // The second form is from the "Ascend 950 HCCN Tool" reference
  // (hicann/driver, docs/en) and the tool's source (hccn/ascend950,
  // tool_shell_ops.c). Each tool refuses the other's command lines.
  HccnAnswer Ask(absl::string_view query,
                 const std::vector<std::string>& options = {});

  // Runs the tool with exactly these arguments after its path.
  HccnAnswer AskWith(const std::vector<std::string>& arguments);

  // As Ask, for a query that writes to `instead`: it writes to this copy, and
  // the machine's file stays unchanged. NOT_QUERIED where no copy is possible;
  // such a query never gets the file itself.
  HccnAnswer AskOverCopy(absl::string_view query, PrivateFile instead);

  // Skips these queries from now on, because no rule needs their answers.
  void Skip(const google::protobuf::RepeatedPtrField<std::string>& queries) {
    skipped_.insert(queries.begin(), queries.end());
  }

  // Returns false, without waiting, if that would use up the host's time.
  bool Pause(absl::Duration duration);

  // The generation whose command line is used, unless the tool refused it as
  // the other generation does. Then nothing more is queried, and every answer
  // is missing for that reason.
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
  std::optional<PrivateFile> instead_;  // For the current query.
  // If set, no further query runs, for this reason.
  std::optional<Missing> stopped_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_HCCN_TOOL_H_
