#include "daemon/audit/audit_log.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr size_t kMaxRefusals = 256;
// Of one line.
constexpr int kMaxHeads = 256;
// Hosts that are told of; who holds a certificate decides how many there are.
constexpr size_t kMaxOthers = 100000;

// A caller without the port, which is another one each time.
std::string CallerKey(const AuditEntry& entry) {
  return entry.who().empty() ? entry.peer().substr(0, entry.peer().rfind(':'))
                             : entry.who();
}

bool OnlyReads(const AuditEntry& entry) {
  return entry.what() == kAuditReadLogs || entry.what() == kAuditRecord;
}

}  // namespace

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
    log_->Error(absl::StrCat(open.message(),
                             "; nothing is changed until it can be written"));
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
  RETURN_IF_ERROR(file_.Open(Now()));
  if (std::exchange(was_read_, true)) return absl::OkStatus();
  heads_in_file_ = file_.first_sequence();
  absl::MutexLock head_lock(&head_mutex_);
  head_ = file_.head();
  head_to_tell_ = head_;
  absl::MutexLock heads_lock(&heads_mutex_);
  // Others may have told theirs while it could not be read.
  const KnownHeads told = std::exchange(heads_, KnownHeads(file_.known()));
  for (const auto& [of, head] : told.newest) NoteHeadLocked(head);
  return absl::OkStatus();
}

// Before a line; AppendLocked takes it off.
bool AuditLog::HasRoomLocked(const AuditEntry& entry) {
  if (limits_.minute_bytes == 0) return true;
  const absl::Time now = scheduler_->Now();
  Room& room = rooms_[OnlyReads(entry)];
  const double rate = static_cast<double>(limits_.minute_bytes) * room.share;
  const double most = rate * absl::FDivDuration(kAuditBurst, absl::Minutes(1));
  const absl::Duration passed =
      room.at.has_value() ? now - *room.at : kAuditBurst;
  room.at = now;
  room.left +=
      rate * std::max(0.0, absl::FDivDuration(passed, absl::Minutes(1)));
  room.left = std::min(room.left, most);
  has_room_[OnlyReads(entry)] = room.left > 0;
  return room.left > 0;
}

std::string AuditLog::Now() const { return AuditMoment(scheduler_->Now()); }

absl::Status AuditLog::AppendLocked(AuditEntry entry) {
  entry.set_at(Now());
  if (entry.who().empty() && entry.peer().empty()) entry.set_who(self_);
  RETURN_IF_ERROR(OpenLocked());
  const bool is_news = entry.what() != kAuditHeads;
  const uint64_t before = file_.written_bytes();
  double& room = rooms_[OnlyReads(entry)].left;
  absl::Status written = file_.Append(std::move(entry));
  room -= static_cast<double>(file_.written_bytes() - before);
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
    return absl::UnavailableError(
        absl::StrCat("audit: the disk has not taken a line for ",
                     absl::FormatDuration(limits_.hung_after), " (--state)"));
  }
  const absl::Cleanup turn = [this] { GiveTurn(); };
  absl::MutexLock lock(&mutex_);
  if (entry.result() == kAuditBegins && !HasRoomLocked(entry)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "audit: more lines than its file takes, ", limits_.minute_bytes,
        " bytes a minute in the long run, try again later"));
  }
  return AppendLocked(std::move(entry));
}

void AuditLog::LogTrouble(const absl::Status& status, const AuditEntry& entry) {
  if (status.ok()) return;
  log_->Error(absl::StrCat(status.message(), "; not written: ", entry.what(),
                           " ", entry.subject(), " by ", entry.who(), ": ",
                           entry.result()));
}

absl::Status AuditLog::Begin(AuditEntry entry) {
  entry.set_result(kAuditBegins);
  const absl::Status written = Append(entry);
  if (written.ok()) return written;
  LogTrouble(written, entry);
  return absl::Status(
      written.code(),
      absl::StrCat(written.message(),
                   "; nothing is changed until it can be written"));
}

void AuditLog::End(AuditEntry entry, absl::string_view result) {
  entry.set_result(std::string(result));
  entry.clear_heads();
  LogTrouble(Append(entry), entry);
}

void AuditLog::Refuse(AuditEntry entry, const absl::Status& why) {
  entry.set_result(absl::StrCat("refused: ", why.ToString()));
  std::string key = absl::StrCat(CallerKey(entry), "|", entry.what(), "|",
                                 static_cast<int>(why.code()));
  {
    absl::MutexLock lock(&refusals_mutex_);
    const bool is_many =
        !has_room_[OnlyReads(entry)] || refusals_.size() >= kMaxRefusals;
    if (refusals_.count(key) == 0 && is_many) key = "";
    const auto [found, is_new] = refusals_.try_emplace(key);
    ++found->second.more;
    if (!is_new) return;
    found->second.first = std::move(entry);
  }
  gate_.RunSoon(&pool_, scheduler_, [this, key] { WriteRefusal(key); });
}

std::optional<AuditEntry> AuditLog::FirstOf(const std::string& key) {
  absl::MutexLock lock(&refusals_mutex_);
  const auto found = refusals_.find(key);
  if (found == refusals_.end()) return {};
  return found->second.first;
}

void AuditLog::WriteRefusal(const std::string& key) {
  {
    TakeTurn(absl::InfiniteDuration());
    const absl::Cleanup turn = [this] { GiveTurn(); };
    absl::MutexLock lock(&mutex_);
    const std::optional<AuditEntry> first = FirstOf(key);
    if (!first.has_value()) return;
    if (HasRoomLocked(*first)) {
      {
        absl::MutexLock refusals_lock(&refusals_mutex_);
        Refusals& refusals = refusals_[key];
        refusals.told = true;
        --refusals.more;
      }
      LogTrouble(AppendLocked(*first), *first);
    }
  }
  After(kAuditRefusalWindow, [this, key] { WriteCount(key); });
}

void AuditLog::After(absl::Duration delay, std::function<void()> write) {
  scheduler_->RunAfter(delay, [gate = gate_, this, write = std::move(write)] {
    const CallbackGate::Pass pass(gate);
    if (pass) gate.RunSoon(&pool_, scheduler_, write);
  });
}

void AuditLog::WriteCount(const std::string& key) {
  {
    TakeTurn(absl::InfiniteDuration());
    const absl::Cleanup turn = [this] { GiveTurn(); };
    absl::MutexLock lock(&mutex_);
    const std::optional<AuditEntry> first = FirstOf(key);
    if (!first.has_value()) return;
    if (HasRoomLocked(*first)) return WriteCountLocked(key);
  }
  After(kAuditRefusalWindow, [this, key] { WriteCount(key); });
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
    // What they have in common.
    entry.clear_who();
    entry.clear_certificate();
    entry.clear_subject();
    entry.set_what("calls of many");
    entry.set_result("refused");
  }
  if (refusals.told || refusals.more > 1) entry.set_times(refusals.more);
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
  if (heads_.Note(head) && went_back_.count(head.of()) == 0) {
    AuditEntry& entry = went_back_[head.of()];
    entry.set_what("audit-went-back");
    entry.set_subject(head.of());
    entry.set_result(absl::StrCat("its newest line is ", AuditHeadText(head),
                                  ", and was ", AuditHeadText(known)));
    log_->Warning(absl::StrCat("audit of ", head.of(), ": ", entry.result(),
                               ": lines were cut off, or written anew"));
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
    if (HasRoomLocked({})) return WriteHeadsLocked();
  }
  After(kAuditRefusalWindow, [this] { WriteHeads(); });
}

void AuditLog::WriteHeadsLocked() {
  OpenLocked().IgnoreError();  // Told with the lines.
  std::vector<AuditEntry> entries;
  {
    absl::MutexLock heads_lock(&heads_mutex_);
    heads_due_ = false;
    for (auto& [of, entry] : went_back_) entries.push_back(std::move(entry));
    went_back_.clear();
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
