#include "daemon/audit/audit_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;

bool ReadAll(int fd, std::string* text) {
  struct stat is = {};
  if (fstat(fd, &is) != 0) return false;
  text->resize(static_cast<size_t>(is.st_size));
  size_t got = 0;
  while (got < text->size()) {
    const ssize_t bytes =
        pread(fd, &(*text)[got], text->size() - got, static_cast<off_t>(got));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    got += static_cast<size_t>(bytes);
  }
  return true;
}

// The newest of the files that `path` was renamed to; empty: there is none.
std::string NewestOlder(const std::string& path) {
  const std::filesystem::path at(path);
  const std::string start = absl::StrCat(at.filename().string(), ".");
  uint64_t newest = 0;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(at.parent_path(), ignored)) {
    const std::string name = entry.path().filename();
    uint64_t number = 0;
    if (absl::StartsWith(name, start) &&
        absl::SimpleAtoi(name.substr(start.size()), &number)) {
      newest = std::max(newest, number);
    }
  }
  return newest == 0 ? "" : absl::StrCat(path, ".", newest);
}

absl::StatusOr<AuditEntry> ReadLast(const std::string& path,
                                    absl::string_view whole) {
  const absl::string_view lines = absl::StripSuffix(whole, "\n");
  absl::StatusOr<AuditEntry> last =
      ReadAuditLine(lines.substr(lines.rfind('\n') + 1));
  if (last.ok()) return last;
  return FailedPrecondition(
      "audit: ", path, ": the last line: ", last.status().message(),
      "; move the file away and keep it, a new one is begun");
}

constexpr size_t kMaxRefusals = 256;
// The budget of lines that only read, in addition to that of the others.
constexpr double kShareOfReads = 0.25;
// The most heads in one line.
constexpr int kMaxHeads = 256;
// The most hosts with a known head; anyone with a certificate can add some.
constexpr size_t kMaxOthers = 100000;

bool OnlyReads(const AuditEntry& entry) {
  return entry.what() == kAuditReadLogs || entry.what() == kAuditRecord;
}

}  // namespace

std::string AuditMoment(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

AuditEntry MakeAuditEntry(std::string what, std::string subject,
                          std::string who, std::string peer) {
  AuditEntry entry;
  entry.set_what(std::move(what));
  entry.set_subject(std::move(subject));
  entry.set_who(std::move(who));
  entry.set_peer(std::move(peer));
  return entry;
}

absl::Status AuditFile::Trouble() const {
  const int error = errno;
  return UnavailableWords("msg-trust-audit-not-written", path_,
                          std::strerror(error));
}

absl::Status AuditFile::OpenFile() {
  const std::filesystem::path folder =
      std::filesystem::path(path_).parent_path();
  std::error_code ignored;
  // A failure shows when the file is opened. The mode is given when
  // the folder is made, not set afterwards, when a link may stand there.
  std::filesystem::create_directories(folder.parent_path(), ignored);
  mkdir(folder.c_str(), 0700);
  OwnedFd fd(open(path_.c_str(), kFlags, 0600));
  if (fd.get() < 0) return Trouble();
  struct stat is = {};
  if (fstat(fd.get(), &is) != 0 || !S_ISREG(is.st_mode)) {
    return UnavailableWords("msg-trust-not-regular", path_);
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return Unavailable("audit: ", path_, ": another process writes it");
  }
  fd_ = std::move(fd);
  return absl::OkStatus();
}

absl::Status AuditFile::Open(const std::string& at) {
  if (fd_.get() >= 0) return absl::OkStatus();
  RETURN_IF_ERROR(OpenFile());
  const absl::Status read = ReadEnd(at);
  if (!read.ok()) fd_ = OwnedFd();
  return read;
}

absl::Status AuditFile::ReadEnd(const std::string& at) {
  std::string text;
  if (!ReadAll(fd_.get(), &text)) return Trouble();
  size_ = text.size();
  const size_t end = text.rfind('\n');
  const absl::string_view whole =
      absl::string_view(text).substr(0, end == std::string::npos ? 0 : end + 1);
  const absl::string_view rest = absl::string_view(text).substr(whole.size());
  head_.Clear();
  if (whole.empty()) {
    RETURN_IF_ERROR(ReadOlder());
    if (!SyncFolderOf(path_)) return Trouble();
  } else {
    ASSIGN_OR_RETURN(const AuditEntry last, ReadLast(path_, whole));
    head_ = HeadOf(last);
    const auto first = ReadAuditLine(whole.substr(0, whole.find('\n')));
    first_sequence_ = first.ok() ? first->sequence() : 1;
  }
  for (const absl::string_view line : absl::StrSplit(whole, '\n')) {
    if (!absl::StrContains(line, "\"heads\":[")) continue;
    const absl::StatusOr<AuditEntry> entry = ReadAuditLine(line);
    if (entry.ok()) known_.Read(*entry);
  }
  if (rest.empty()) return absl::OkStatus();
  const absl::StatusOr<AuditEntry> only_its_end = ReadAuditLine(rest);
  if (only_its_end.ok()) {
    if (!WriteAll(fd_.get(), "\n") || fdatasync(fd_.get()) != 0) {
      return Trouble();
    }
    ++size_;
    head_ = HeadOf(*only_its_end);
    return absl::OkStatus();
  }
  AuditEntry torn;
  torn.set_at(at);
  torn.set_what(kAuditTorn);
  torn.set_result("the line before was cut off, and what it says never began");
  torn.mutable_torn()->set_bytes(rest.size());
  torn.mutable_torn()->set_sha256(Sha256Hex(rest));
  return WriteLine(std::move(torn), "\n");
}

absl::Status AuditFile::ReadOlder() {
  first_sequence_ = 1;
  const std::string older = NewestOlder(path_);
  if (older.empty()) return absl::OkStatus();
  const OwnedFd fd(open(older.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  std::string text;
  const bool read = fd.get() >= 0 && ReadAll(fd.get(), &text);
  const size_t end = text.rfind('\n');
  if (!read || end == std::string::npos) {
    return FailedPrecondition("audit: ", older, ": no line can be read, which ",
                              path_,
                              " continues; move both away and keep them");
  }
  ASSIGN_OR_RETURN(const AuditEntry last,
                   ReadLast(older, absl::string_view(text).substr(0, end + 1)));
  head_ = HeadOf(last);
  first_sequence_ = last.sequence() + 1;
  return absl::OkStatus();
}

absl::Status AuditFile::WriteLine(AuditEntry entry, absl::string_view before) {
  entry.set_sequence(head_.sequence() + 1);
  entry.set_previous(head_.sha256());
  const std::string line = absl::StrCat(before, SealAuditLine(&entry), "\n");
  if (!WriteAll(fd_.get(), line) || fdatasync(fd_.get()) != 0) {
    const absl::Status trouble = Trouble();
    // A written part would report what never began. If truncation fails, too,
    // the next Open finds the line, whole or torn.
    if (ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) fd_ = OwnedFd();
    return trouble;
  }
  size_ += line.size();
  written_bytes_ += line.size();
  head_ = HeadOf(entry);
  return absl::OkStatus();
}

absl::Status AuditFile::Append(AuditEntry entry) {
  RETURN_IF_ERROR(Open(entry.at()));
  if (size_ >= max_bytes_) {
    const std::string older = absl::StrCat(path_, ".", head_.sequence());
    if (rename(path_.c_str(), older.c_str()) != 0) return Trouble();
    fd_ = OwnedFd();
    RETURN_IF_ERROR(OpenFile());
    size_ = 0;
    first_sequence_ = head_.sequence() + 1;
    if (!SyncFolderOf(path_)) return Trouble();
  }
  // Also where the daemon was ended between the renaming and this line.
  if (size_ == 0 && head_.sequence() > 0) {
    AuditEntry continues = MakeAuditEntry(
        kAuditContinues,
        absl::StrCat(std::filesystem::path(path_).filename().string(), ".",
                     head_.sequence()));
    continues.set_at(entry.at());
    RETURN_IF_ERROR(WriteLine(std::move(continues), ""));
  }
  return WriteLine(std::move(entry), "");
}

AuditLog::AuditLog(std::string path, AuditLimits limits, std::string self,
                   Scheduler* scheduler, Log* log)
    : limits_(limits),
      self_(std::move(self)),
      scheduler_(scheduler),
      log_(log),
      file_(std::move(path), limits.file_bytes) {
  absl::MutexLock lock(&mutex_);
  const absl::Status open = OpenLocked();
  if (!open.ok()) {
    log_->Error(open.message(), "; nothing is changed until it can be written");
  }
}

AuditLog::~AuditLog() {
  gate_.Close();
  pool_.Drain();
  absl::MutexLock lock(&mutex_);
  WriteHeadsLocked();
  std::vector<std::string> keys;
  {
    absl::MutexLock refusals_lock(&refusals_mutex_);
    for (const auto& [key, refusals] : refusals_) keys.push_back(key);
  }
  for (const std::string& key : keys) WriteCountLocked(key);
}

absl::Status AuditLog::OpenLocked() {
  RETURN_IF_ERROR(file_.Open(AuditMoment(scheduler_->Now())));
  if (std::exchange(was_read_, true)) return absl::OkStatus();
  heads_in_file_ = file_.first_sequence();
  absl::MutexLock head_lock(&head_mutex_);
  head_ = file_.head();
  head_to_tell_ = head_;
  absl::MutexLock heads_lock(&heads_mutex_);
  // Others may have sent theirs while it could not be read.
  const KnownHeads sent = std::exchange(heads_, KnownHeads(file_.known()));
  for (const auto& [of, head] : sent.newest) NoteHeadLocked(head);
  return absl::OkStatus();
}

// Before a line; AppendLocked takes it off.
bool AuditLog::HasBudgetLocked(const AuditEntry& entry) {
  if (limits_.minute_bytes == 0) return true;
  const bool only_reads = OnlyReads(entry);
  const double per_second = static_cast<double>(limits_.minute_bytes) / 60 *
                            (only_reads ? kShareOfReads : 1);
  const double left = budgets_[only_reads].Refill(
      {per_second * absl::ToDoubleSeconds(kAuditBurst), per_second},
      scheduler_->Now());
  return has_budget_[only_reads] = left > 0;
}

absl::Status AuditLog::AppendLocked(AuditEntry entry) {
  entry.set_at(AuditMoment(scheduler_->Now()));
  if (entry.who().empty() && entry.peer().empty()) entry.set_who(self_);
  RETURN_IF_ERROR(OpenLocked());
  const bool is_news = entry.what() != kAuditHeads;
  const uint64_t before = file_.written_bytes();
  Allowance& budget = budgets_[OnlyReads(entry)];
  absl::Status written = file_.Append(std::move(entry));
  budget.Use(static_cast<double>(file_.written_bytes() - before));
  absl::MutexLock lock(&head_mutex_);
  head_ = file_.head();
  if (written.ok() && is_news) head_to_tell_ = head_;
  return written;
}

bool AuditLog::TakeTurn(absl::Duration wait) {
  const auto free = [this]() ABSL_SHARED_LOCKS_REQUIRED(turn_mutex_) {
    return !writing_;
  };
  absl::MutexLock lock(&turn_mutex_);
  const bool in_vain = hung_ && wait != absl::InfiniteDuration();
  const bool taken = turn_mutex_.AwaitWithTimeout(
      absl::Condition(&free), in_vain ? absl::ZeroDuration() : wait);
  hung_ = !taken;
  writing_ = true;
  return taken;
}

void AuditLog::GiveTurn() {
  absl::MutexLock lock(&turn_mutex_);
  writing_ = false;
  hung_ = false;
}

absl::Status AuditLog::Append(AuditEntry entry) {
  if (!TakeTurn(limits_.hung_after)) {
    return UnavailableWords("msg-trust-audit-disk-hangs",
                            absl::FormatDuration(limits_.hung_after));
  }
  const absl::Cleanup turn = [this] { GiveTurn(); };
  absl::MutexLock lock(&mutex_);
  if (entry.result() == kAuditBegins && !HasBudgetLocked(entry)) {
    return ExhaustedWords("msg-trust-audit-full", limits_.minute_bytes);
  }
  return AppendLocked(std::move(entry));
}

void AuditLog::LogTrouble(const absl::Status& status, const AuditEntry& entry) {
  if (status.ok()) return;
  log_->Error(status.message(), "; not written: ", entry.what(), " ",
              entry.subject(), " by ", entry.who(), ": ", entry.result());
}

absl::Status AuditLog::Begin(AuditEntry entry) {
  entry.set_result(kAuditBegins);
  const absl::Status written = Append(entry);
  if (written.ok()) return written;
  LogTrouble(written, entry);
  return WithWords(written,
                   Worded("audit-nothing-changed", MessageWords(written)));
}

void AuditLog::End(AuditEntry entry, absl::string_view result) {
  entry.set_result(std::string(result));
  entry.clear_heads();
  LogTrouble(Append(entry), entry);
}

void AuditLog::Refuse(AuditEntry entry, const absl::Status& why) {
  // Not its payload, which has the words once more.
  entry.set_result(absl::StrCat(
      "refused: ", absl::StatusCodeToString(why.code()), ": ", why.message()));
  // An address without the port, which is another one each time.
  const absl::string_view peer = entry.peer();
  std::string key = absl::StrCat(
      entry.who().empty() ? peer.substr(0, peer.rfind(':')) : entry.who(), "|",
      entry.what(), "|", static_cast<int>(why.code()));
  {
    absl::MutexLock lock(&refusals_mutex_);
    const bool is_many =
        !has_budget_[OnlyReads(entry)] || refusals_.size() >= kMaxRefusals;
    if (refusals_.count(key) == 0 && is_many) key = "";
    const auto [found, is_new] = refusals_.try_emplace(key);
    ++found->second.more;
    if (!is_new) return;
    found->second.first = std::move(entry);
  }
  gate_.RunSoon(&pool_, scheduler_,
                [this, key] { WriteRefusal(key, /*counts=*/false); });
}

void AuditLog::WriteRefusal(const std::string& key, bool counts) {
  {
    TakeTurn(absl::InfiniteDuration());
    const absl::Cleanup turn = [this] { GiveTurn(); };
    absl::MutexLock lock(&mutex_);
    AuditEntry first;
    {
      absl::MutexLock refusals_lock(&refusals_mutex_);
      const auto found = refusals_.find(key);
      if (found == refusals_.end()) return;
      first = found->second.first;
    }
    const bool has_budget = HasBudgetLocked(first);
    if (has_budget && counts) return WriteCountLocked(key);
    if (has_budget) {
      {
        absl::MutexLock refusals_lock(&refusals_mutex_);
        Refusals& refusals = refusals_[key];
        refusals.logged = true;
        --refusals.more;
      }
      LogTrouble(AppendLocked(first), first);
    }
  }
  After(kAuditRefusalWindow,
        [this, key] { WriteRefusal(key, /*counts=*/true); });
}

void AuditLog::After(absl::Duration delay, std::function<void()> write) {
  scheduler_->RunAfter(delay, [gate = gate_, this, write = std::move(write)] {
    const CallbackGate::Pass pass(gate);
    if (pass) gate.RunSoon(&pool_, scheduler_, write);
  });
}

void AuditLog::WriteCountLocked(const std::string& key) {
  Refusals refusals;
  const bool of_many = key.empty();
  {
    absl::MutexLock lock(&refusals_mutex_);
    const auto found = refusals_.find(key);
    if (found == refusals_.end()) return;
    refusals = std::move(found->second);
    refusals_.erase(found);
  }
  if (refusals.more == 0) return;
  AuditEntry entry = refusals.first;
  if (of_many) {
    // Removes what the calls do not share.
    entry.clear_who();
    entry.clear_certificate();
    entry.clear_subject();
    entry.set_what("calls of many");
    entry.set_result("refused");
  }
  if (refusals.logged || refusals.more > 1) entry.set_times(refusals.more);
  LogTrouble(AppendLocked(entry), entry);
}

AuditHead AuditLog::head() const {
  absl::MutexLock lock(&head_mutex_);
  return head_;
}

AuditHead AuditLog::head_to_tell() const {
  absl::MutexLock lock(&head_mutex_);
  return head_to_tell_;
}

void AuditLog::NoteHead(const AuditHead& head) {
  absl::MutexLock lock(&heads_mutex_);
  NoteHeadLocked(head);
}

void AuditLog::NoteHeadLocked(const AuditHead& head) {
  const auto found = heads_.newest.find(head.of());
  if (found == heads_.newest.end() && heads_.newest.size() >= kMaxOthers) {
    return;
  }
  const AuditHead known =
      found == heads_.newest.end() ? AuditHead() : found->second;
  if (head.sequence() == known.sequence() && head.sha256() == known.sha256()) {
    return;
  }
  if (heads_.Note(head) && conflicts_.count(head.of()) == 0) {
    AuditEntry& entry = conflicts_[head.of()];
    entry.set_what("audit-contradicted");
    entry.set_subject(head.of());
    entry.set_result(absl::StrCat("its newest line is ", AuditHeadText(head),
                                  ", and was ", AuditHeadText(known)));
    log_->Warning("audit of ", head.of(), ": ", entry.result(),
                  ": lines were cut off or rewritten");
  }
  unwritten_.insert(head.of());
  if (std::exchange(heads_due_, true)) return;
  After(kAuditHeadsWindow, [this] { WriteHeads(); });
}

std::vector<AuditHead> AuditLog::heads() const {
  absl::MutexLock lock(&heads_mutex_);
  return heads_.All();
}

void AuditLog::WriteHeads() {
  {
    TakeTurn(absl::InfiniteDuration());
    const absl::Cleanup turn = [this] { GiveTurn(); };
    absl::MutexLock lock(&mutex_);
    if (HasBudgetLocked({})) return WriteHeadsLocked();
  }
  After(kAuditRefusalWindow, [this] { WriteHeads(); });
}

void AuditLog::WriteHeadsLocked() {
  OpenLocked().IgnoreError();  // Logged with the lines.
  std::vector<AuditEntry> entries;
  {
    absl::MutexLock heads_lock(&heads_mutex_);
    heads_due_ = false;
    for (auto& [of, entry] : conflicts_) entries.push_back(std::move(entry));
    conflicts_.clear();
    // A new file has none of them: the old one may be taken away.
    if (std::exchange(heads_in_file_, file_.first_sequence()) !=
        file_.first_sequence()) {
      for (const auto& [of, head] : heads_.newest) unwritten_.insert(of);
    }
    for (const std::string& of : unwritten_) {
      if (entries.empty() || entries.back().what() != kAuditHeads ||
          entries.back().heads_size() >= kMaxHeads) {
        entries.emplace_back().set_what(kAuditHeads);
      }
      *entries.back().add_heads() = heads_.newest[of];
      const auto kept = heads_.contradicted.find(of);
      if (kept == heads_.contradicted.end()) continue;
      *entries.back().add_heads() = kept->second;
    }
    unwritten_.clear();
  }
  for (const AuditEntry& entry : entries) {
    LogTrouble(AppendLocked(entry), entry);
  }
}

}  // namespace clusterd
