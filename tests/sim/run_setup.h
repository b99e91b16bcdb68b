// The environment of a recorded run, from its `precondition`: device state
// (`ip.0=10.0.0.1`) and conditions in words ("user nobody, hccn.conf 0640"),
// with semicolons between them. Text in, value out.
//
//   user nobody; uid N, not in passwd            -> uid, in_passwd
//   hccn.conf [mode] 0640                        -> conf_mode
//   hccn.conf on a read-only mount               -> conf_read_only
//   hccn.conf is a directory / a symlink, -> ... -> conf_kind
//   holds [a shared] flock on hccn.conf for N s  -> lock
//   ... renames it over ...                      -> renamed_while_waiting
//   two runs started together                    -> with_partner
//   N devices set at the same time, M rounds     -> devices_at_once, rounds
//   needs N s per set call                       -> state
//   health call fails for N s, always fails      -> state
//   never returns (hang.X)                       -> state
//   SIGTERM after N s                            -> signal
//   /var/log read-only, no hccn_tool in it       -> log_read_only, log_folder
//   ascend_install.info absent                   -> install_info
#ifndef TESTS_SIM_RUN_SETUP_H_
#define TESTS_SIM_RUN_SETUP_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/sim/capture_record.h"
#include "tests/sim/tool/device_state.h"

namespace clusterd::sim {

struct RunSetup {
  enum class ConfKind { kFile, kDirectory, kSymlink };
  enum class LogFolder { kPresent, kAbsent, kRegularFile };
  enum class Lock { kNone, kExclusive, kShared };

  DeviceState state;
  std::optional<uid_t> uid;
  bool in_passwd = true;
  ConfKind conf_kind = ConfKind::kFile;
  std::optional<mode_t> conf_mode;
  bool conf_read_only = false;
  LogFolder log_folder = LogFolder::kPresent;
  bool log_read_only = false;
  bool install_info = true;
  Lock lock = Lock::kNone;
  // The lock is not let go while the run lasts.
  bool lock_for_ever = false;
  bool renamed_while_waiting = false;
  bool with_partner = false;
  // The number of devices set together, and of rounds; 0: one run.
  int devices_at_once = 0;
  int rounds = 0;
  std::optional<int> signal;
  // Conditions that have no field above.
  std::vector<std::string> not_understood;
  // Keys of the device state without a meaning here. The run may not depend on
  // them, so it takes place anyway.
  std::vector<std::string> unknown_keys;

  // Needs another user or a mount of its own.
  bool NeedsPrivilege() const;
};

// Delays of the record are shortened: tools wait `retry.ms` of 0 between tries,
// and a set call of seconds takes kShortDelayMs.
RunSetup SetupOf(const CaptureRecord& record);

inline constexpr int kShortDelayMs = 600;

// True if the tool reads a key of that name, "link.3", of its state.
bool IsKnownStateKey(const std::string& key);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_RUN_SETUP_H_
