// What an apply writes down before it changes anything: one file for one apply,
// only ever appended to, each record synced before the effect that it makes
// possible to take back.
//   clusterd journal 2\n
//   record: 4 bytes length, 8 bytes check of length and offset,
//           32 bytes SHA-256 of the payload, payload (a JournalEntry)
// A record that a crash cut off is not there: its effect did not happen. A
// record that is damaged with more behind it is an error, never skipped.
#ifndef DAEMON_AGENT_APPLY_JOURNAL_H_
#define DAEMON_AGENT_APPLY_JOURNAL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/change/file_system.h"
#include "proto/plan.pb.h"

namespace clusterd {

inline constexpr size_t kMaxJournalBytes = 256 << 20;

struct JournalText {
  std::vector<JournalEntry> entries;
  // Where the good records end; what is behind was cut off by a crash.
  uint64_t good_bytes = 0;
};

// DataLoss, with the byte, if a record is damaged and not the last.
absl::StatusOr<JournalText> ParseJournal(absl::string_view bytes);

// One open journal. One thread.
class Journal {
 public:
  // A new file; the folder is synced. AlreadyExists if there is one.
  static absl::StatusOr<std::unique_ptr<Journal>> Create(
      FileSystem* files, const std::string& path);
  // Reads what is there and cuts off what a crash left half written.
  // DataLoss as ParseJournal, with the path in front.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(FileSystem* files,
                                                       const std::string& path);

  // Written and synced when it returns OK. Internal, with nothing written: it
  // holds a text that is not UTF-8. After any other error the journal takes no
  // more, because what is behind the last good record cannot be known; it is
  // cut off if that can be done.
  absl::Status Append(const JournalEntry& entry);

  absl::Status AppendEnd(const ApplyResult& result);

  // Everything read and appended.
  const std::vector<JournalEntry>& entries() const { return entries_; }

 private:
  Journal(std::unique_ptr<OpenFile> file, JournalText text);

  std::unique_ptr<OpenFile> file_;
  std::vector<JournalEntry> entries_;
  uint64_t end_ = 0;
  absl::Status broken_;
};

// What the records say, in order.
struct JournalState {
  enum class Phase {
    kEmpty,     // Nothing was begun.
    kApplying,  // Begun and not over: to be undone.
    kApplied,
    kUndoing,      // An undo was begun and is not over: to be done again.
    kRollingBack,  // The same for a rollback.
    kUndone,       // Over; also after a rollback.
  };
  Phase phase = Phase::kEmpty;
  JournalBegin begin;
  // In the order in which they were saved.
  std::vector<SavedResource> saved;
  std::vector<StepOutcome> steps;
  // The last one that ended it.
  ApplyResult end;

  bool unfinished() const {
    return phase == Phase::kApplying || phase == Phase::kUndoing ||
           phase == Phase::kRollingBack;
  }
  // Over, and something of it may still be there: a rollback has work.
  bool in_effect() const;
};

JournalState SummariseJournal(const std::vector<JournalEntry>& entries);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_JOURNAL_H_
