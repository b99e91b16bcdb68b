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
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "config/words/words.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/file_reader.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Parses the common parts of all hccn_tool answers: data lines, words of a
// list, and failures. Runs nothing; returns views into the text.

// InvalidArgument: unexpected "<text>", expected <expected>.
absl::Status UnexpectedHccnText(absl::string_view text,
                                const FindingValue& expected);
inline absl::Status UnexpectedHccnText(absl::string_view text,
                                       absl::string_view expected) {
  return UnexpectedHccnText(text, ToFindingValue(expected));
}

// Returns the lines of data, without trailing blanks. Omits empty lines,
// "[WARNING] …", which the tool prints first when /var/log/hccn_tool is not a
// directory, and "Cmd executed successfully!".
std::vector<absl::string_view> HccnDataLines(absl::string_view output);

// Returns the value of `text` in the table of all known words; otherwise
// UnexpectedHccnText with `expected`.
template <typename Value>
absl::StatusOr<Value> ParseHccnWord(
    absl::string_view text,
    absl::Span<const std::pair<absl::string_view, Value>> words,
    const FindingValue& expected) {
  for (const auto& [word, value] : words) {
    if (text == word) return value;
  }
  return UnexpectedHccnText(text, expected);
}

// The failure of an hccn_tool run, derived from its output.
//
// The exit status is the low byte of an internal code, so one status stands for
// several failures, and a failure may exit 0: the text decides, the status
// comes second (hccn_tool source, hicann/driver ef377e95, main.c and
// tool_ops.c).
//   a known failure text on stderr, or alone on stdout    that failure
//   nothing at all, status 234                            kNotPermitted
//   status 0                                              kNone
//   any other status or a signal                          kOther
// failure_texts.txt lists the texts, the Ascend 950 tool's too.
enum class HccnFailure {
  kNone,
  kNoAddress,  // -ip -g: none is configured; an answer, not a fault.
  kNoGateway,  // -gateway -g: as kNoAddress.
  kBusy,       // Try again.
  kNotPermitted,
  kNotSupported,      // By this product.
  kNoCertificate,     // -tls -g: also an answer.
  kNoDevice,          // No device of that id.
  kWrongCommandLine,  // The tool has another generation's command line.
  kOther,
};

struct HccnVerdict {
  HccnFailure failure = HccnFailure::kNone;
  // The tool's text, or its status in words; printable. Empty for kNone.
  std::string text;
  FindingValue words = {};  // The status; unset: there is only the text.
};

// Texts of both tools have one meaning; those of only the other generation are
// unknown. REQUIRES: the program ended without a deadline.
HccnVerdict ClassifyHccnRun(
    const CommandResult& result,
    NpuToolFacts::Generation generation = NpuToolFacts::CLASSIC);

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

  void GiveBack(uint32_t device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    in_use_.erase(device);
    // Notify under the lock: a woken waiter may destroy this object.
    changed_.notify_all();
  }

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
  HccnAnswer AskOverCopy(absl::string_view query, PrivateFile instead) {
    instead_ = std::move(instead);
    HccnAnswer answer = Ask(query);
    instead_.reset();
    return answer;
  }

  // Skips these queries from now on, because no rule needs their answers.
  void Skip(const google::protobuf::RepeatedPtrField<std::string>& queries) {
    skipped_.insert(queries.begin(), queries.end());
  }

  // Returns false, without waiting, if that would use up the host's time.
  bool Pause(absl::Duration duration) {
    if (stopped_.has_value() || budget_->Left() <= duration) return false;
    clock_->SleepFor(duration);
    return true;
  }

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
