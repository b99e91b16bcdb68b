#include "tests/support/host/effect_log.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace clusterd {
namespace {

absl::Status Do(EffectLog* log, std::string effect,
                const std::function<absl::Status()>& act) {
  const EffectLog::Turn turn = log->Begin(std::move(effect));
  if (turn == EffectLog::Turn::kDead) return EffectLog::DeadStatus();
  // Only a write can be half done: other system calls have no effect.
  const absl::Status status =
      turn == EffectLog::Turn::kDo ? act() : absl::OkStatus();
  log->End();
  return log->dead() ? EffectLog::DeadStatus() : status;
}

class EffectFile final : public OpenFile {
 public:
  EffectFile(std::unique_ptr<OpenFile> file, std::string path, EffectLog* log)
      : file_(std::move(file)), path_(std::move(path)), log_(log) {}

  absl::StatusOr<std::string> ReadAll(size_t max_bytes) override {
    if (log_->dead()) return EffectLog::DeadStatus();
    return file_->ReadAll(max_bytes);
  }
  absl::StatusOr<FileAttributes> Attributes() override {
    if (log_->dead()) return EffectLog::DeadStatus();
    return file_->Attributes();
  }
  absl::StatusOr<size_t> WriteAt(uint64_t offset,
                                 absl::string_view bytes) override {
    const EffectLog::Turn turn = log_->Begin(absl::StrCat("write ", path_));
    if (turn == EffectLog::Turn::kDead) return EffectLog::DeadStatus();
    if (turn == EffectLog::Turn::kDoHalf)
      bytes = bytes.substr(0, bytes.size() / 2);
    const absl::StatusOr<size_t> taken = file_->WriteAt(offset, bytes);
    log_->End();
    if (log_->dead()) return EffectLog::DeadStatus();
    return taken;
  }
  absl::Status Truncate(uint64_t size) override {
    return Do(log_, absl::StrCat("truncate ", path_),
              [&] { return file_->Truncate(size); });
  }
  absl::Status SetMode(uint32_t mode) override {
    return Do(log_, absl::StrCat("chmod ", path_),
              [&] { return file_->SetMode(mode); });
  }
  absl::Status SetOwner(uint32_t uid, uint32_t gid) override {
    return Do(log_, absl::StrCat("chown ", path_),
              [&] { return file_->SetOwner(uid, gid); });
  }
  absl::Status Sync() override {
    return Do(log_, absl::StrCat("sync ", path_),
              [&] { return file_->Sync(); });
  }
  absl::StatusOr<bool> TryLock() override {
    if (log_->dead()) return EffectLog::DeadStatus();
    return file_->TryLock();
  }

 private:
  const std::unique_ptr<OpenFile> file_;
  const std::string path_;
  EffectLog* const log_;
};

}  // namespace

void EffectLog::CrashAt(size_t effect, CrashPoint point) {
  crash_at_ = effect;
  point_ = point;
}

EffectLog::Turn EffectLog::Begin(std::string effect) {
  if (dead_) return Turn::kDead;
  effects_.push_back(std::move(effect));
  if (effects_.size() - 1 != crash_at_) return Turn::kDo;
  if (point_ == CrashPoint::kBefore) {
    dead_ = true;
    return Turn::kDead;
  }
  return point_ == CrashPoint::kDuring ? Turn::kDoHalf : Turn::kDo;
}

void EffectLog::End() {
  if (effects_.size() - 1 == crash_at_) dead_ = true;
}

absl::StatusOr<std::unique_ptr<OpenFile>> EffectFileSystem::Open(
    const std::string& path, OpenMode mode) {
  absl::StatusOr<std::unique_ptr<OpenFile>> file = EffectLog::DeadStatus();
  if (mode == OpenMode::kCreate) {
    const absl::Status status = Do(log_, absl::StrCat("create ", path), [&] {
      file = files_->Open(path, mode);
      return file.status();
    });
    if (!status.ok()) return status;
  } else {
    if (log_->dead()) return EffectLog::DeadStatus();
    file = files_->Open(path, mode);
  }
  if (!file.ok()) return file.status();
  return std::unique_ptr<OpenFile>(
      std::make_unique<EffectFile>(*std::move(file), path, log_));
}

absl::StatusOr<FileAttributes> EffectFileSystem::Stat(const std::string& path) {
  if (log_->dead()) return EffectLog::DeadStatus();
  return files_->Stat(path);
}

absl::StatusOr<std::vector<std::string>> EffectFileSystem::List(
    const std::string& folder) {
  if (log_->dead()) return EffectLog::DeadStatus();
  return files_->List(folder);
}

absl::Status EffectFileSystem::MakeDirectory(const std::string& path,
                                             uint32_t mode) {
  return Do(log_, absl::StrCat("mkdir ", path),
            [&] { return files_->MakeDirectory(path, mode); });
}

absl::Status EffectFileSystem::Rename(const std::string& from,
                                      const std::string& to) {
  return Do(log_, absl::StrCat("rename to ", to),
            [&] { return files_->Rename(from, to); });
}

absl::Status EffectFileSystem::Remove(const std::string& path) {
  return Do(log_, absl::StrCat("remove ", path),
            [&] { return files_->Remove(path); });
}

absl::Status EffectFileSystem::SyncDirectory(const std::string& folder) {
  return Do(log_, absl::StrCat("sync folder ", folder),
            [&] { return files_->SyncDirectory(folder); });
}

absl::StatusOr<CommandResult> EffectCommandRunner::Run(const Command& command) {
  const EffectLog::Turn turn =
      log_->Begin(absl::StrCat("run ", absl::StrJoin(command.argv, " ")));
  if (turn == EffectLog::Turn::kDead) return EffectLog::DeadStatus();
  const absl::StatusOr<CommandResult> result = turn == EffectLog::Turn::kDoHalf
                                                   ? half_->Run(command)
                                                   : runner_->Run(command);
  log_->End();
  if (log_->dead()) return EffectLog::DeadStatus();
  return result;
}

}  // namespace clusterd
