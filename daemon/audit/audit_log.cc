#include "daemon/audit/audit_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/audit/audit_chain.h"

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

}  // namespace

AuditLog::AuditLog(std::string path, size_t max_file_bytes, std::string self,
                   Scheduler* scheduler, Log* log)
    : self_(std::move(self)),
      scheduler_(scheduler),
      log_(log),
      file_(std::move(path), max_file_bytes) {
  absl::MutexLock lock(&mutex_);
  const absl::Status open = file_.Open(Now());
  if (!open.ok()) {
    log_->Error(absl::StrCat(open.message(),
                             "; nothing is changed until it can be written"));
  }
  heads_in_file_ = file_.first_sequence();
  absl::MutexLock head_lock(&head_mutex_);
  head_ = file_.head();
  absl::MutexLock heads_lock(&heads_mutex_);
  heads_ = file_.known();
}

AuditLog::~AuditLog() {
  gate_.Close();
  pool_.Drain();
  WriteHeads();
  absl::MutexLock lock(&mutex_);
  while (!refusals_.empty()) WriteCountLocked(refusals_.begin()->first);
}

std::string AuditLog::Now() const { return AuditMoment(scheduler_->Now()); }

absl::Status AuditLog::AppendLocked(AuditEntry entry) {
  entry.set_at(Now());
  if (entry.who().empty() && entry.peer().empty()) entry.set_who(self_);
  absl::Status written = file_.Append(std::move(entry));
  absl::MutexLock lock(&head_mutex_);
  head_ = file_.head();
  return written;
}

absl::Status AuditLog::Append(AuditEntry entry) {
  absl::MutexLock lock(&mutex_);
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
    absl::MutexLock lock(&mutex_);
    if (refusals_.count(key) == 0 && refusals_.size() >= kMaxRefusals) key = "";
    const auto [found, is_new] = refusals_.try_emplace(key);
    if (!is_new) {
      ++found->second.more;
      return;
    }
    found->second.first = entry;
    LogTrouble(AppendLocked(entry), entry);
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
  absl::MutexLock lock(&mutex_);
  WriteCountLocked(key);
}

void AuditLog::WriteCountLocked(const std::string& key) {
  const auto found = refusals_.find(key);
  if (found == refusals_.end()) return;
  const Refusals refusals = std::move(found->second);
  const bool of_many = key.empty();  // It may be the key that goes now.
  refusals_.erase(found);
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
  entry.set_times(refusals.more);
  LogTrouble(AppendLocked(entry), entry);
}

AuditHead AuditLog::head() const {
  absl::MutexLock lock(&head_mutex_);
  return head_;
}

void AuditLog::NoteHead(const AuditHead& head) {
  absl::MutexLock lock(&heads_mutex_);
  if (heads_.count(head.of()) == 0 && heads_.size() >= kMaxOthers) return;
  AuditHead& known = heads_[head.of()];
  const bool same_line = head.sequence() == known.sequence();
  if (same_line && head.sha256() == known.sha256()) return;
  if (head.sequence() < known.sequence() || same_line) {
    AuditEntry entry;
    entry.set_what("audit-went-back");
    entry.set_subject(head.of());
    entry.set_result(absl::StrCat("its newest line is ", AuditHeadText(head),
                                  ", and was ", AuditHeadText(known)));
    log_->Warning(absl::StrCat("audit of ", head.of(), ": ", entry.result(),
                               ": lines were cut off, or written anew"));
    if (went_back_.size() < kMaxRefusals) went_back_.push_back(entry);
  }
  known = head;
  unwritten_.insert(head.of());
  if (std::exchange(heads_due_, true)) return;
  After(kAuditHeadsWindow, [this] { WriteHeads(); });
}

std::vector<AuditHead> AuditLog::heads() const {
  absl::MutexLock lock(&heads_mutex_);
  std::vector<AuditHead> all;
  for (const auto& [of, head] : heads_) all.push_back(head);
  return all;
}

void AuditLog::WriteHeads() {
  absl::MutexLock lock(&mutex_);
  std::vector<AuditEntry> entries;
  {
    absl::MutexLock heads_lock(&heads_mutex_);
    heads_due_ = false;
    entries.swap(went_back_);
    // A new file has none of them: the old one may be taken away.
    if (std::exchange(heads_in_file_, file_.first_sequence()) !=
        file_.first_sequence()) {
      for (const auto& [of, head] : heads_) unwritten_.insert(of);
    }
    for (const std::string& of : unwritten_) {
      if (entries.empty() || entries.back().what() != kAuditHeads ||
          entries.back().heads_size() >= kMaxHeads) {
        entries.emplace_back().set_what(kAuditHeads);
      }
      *entries.back().add_heads() = heads_[of];
    }
    unwritten_.clear();
  }
  for (const AuditEntry& entry : entries) {
    LogTrouble(AppendLocked(entry), entry);
  }
}

}  // namespace clusterd
