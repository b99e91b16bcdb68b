// Lists every effect of a run, and simulates the end of the process at any one
// of them: later calls have no effect. Tests kill an apply at each of its
// effects with it and then start again.
#ifndef TESTS_SUPPORT_HOST_EFFECT_LOG_H_
#define TESTS_SUPPORT_HOST_EFFECT_LOG_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

enum class CrashPoint {
  kBefore,  // The effect does not happen.
  kDuring,  // A write writes half; a command runs on `half`.
  kAfter,   // It happens; its result is lost.
};

// One thread.
class EffectLog {
 public:
  // Crashes at the effect of this number, from 0.
  void CrashAt(size_t effect, CrashPoint point);

  const std::vector<std::string>& effects() const { return effects_; }
  bool dead() const { return dead_; }

  enum class Turn { kDo, kDoHalf, kDead };
  // Call Begin before an effect, and End after it unless it was kDead.
  Turn Begin(std::string effect);
  void End();

  // Every call of a dead process returns this, reads included.
  static absl::Status DeadStatus() {
    return absl::UnavailableError("the process is dead");
  }

 private:
  std::vector<std::string> effects_;
  size_t crash_at_ = static_cast<size_t>(-1);
  CrashPoint point_ = CrashPoint::kBefore;
  bool dead_ = false;
};

// Forwards to another file system. Effects: create, write, truncate, owner,
// mode, sync, rename, remove.
class EffectFileSystem final : public FileSystem {
 public:
  // Both must outlive it and the files it opens.
  EffectFileSystem(FileSystem* files, EffectLog* log)
      : files_(files), log_(log) {}

  absl::StatusOr<std::unique_ptr<OpenFile>> Open(const std::string& path,
                                                 OpenMode mode) override;
  absl::StatusOr<FileAttributes> Stat(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> List(
      const std::string& folder) override;
  absl::Status MakeDirectory(const std::string& path, uint32_t mode) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& path) override;
  absl::Status SyncDirectory(const std::string& folder) override;

 private:
  FileSystem* const files_;
  EffectLog* const log_;
};

// Forwards to another runner; every command is an effect.
class EffectCommandRunner final : public CommandRunner {
 public:
  // `half` runs a command that is killed in the middle. All must outlive it.
  EffectCommandRunner(CommandRunner* runner, CommandRunner* half,
                      EffectLog* log)
      : runner_(runner), half_(half), log_(log) {}

  absl::StatusOr<CommandResult> Run(const Command& command) override;

 private:
  CommandRunner* const runner_;
  CommandRunner* const half_;
  EffectLog* const log_;
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_HOST_EFFECT_LOG_H_
