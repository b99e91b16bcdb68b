// The journal of an apply: one append-only file, written before any change.
// Each record is synced before the effect that it makes reversible.
//   clusterd journal 2\n
//   record: 4 bytes length, 8 bytes check of length and offset,
//           32 bytes SHA-256 of the payload, payload (a JournalEntry)
// A record that a crash truncated does not count: its effect did not happen. A
// damaged record that is not the last is an error and never skipped. This
// header also has the folder of one host's journals.
#ifndef DAEMON_AGENT_APPLY_JOURNAL_H_
#define DAEMON_AGENT_APPLY_JOURNAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/plan/applied_drift.h"
#include "daemon/host/change/file_system.h"
#include "proto/plan.pb.h"

namespace clusterd {

inline constexpr size_t kMaxJournalBytes = 256 << 20;
// Limit of a journal beyond its plan: saved files and outcomes of steps.
inline constexpr uint64_t kMaxSavedBytes = 32 << 20;

struct JournalText {
  std::vector<JournalEntry> entries;
  // The end of the good records; a crash lost the rest.
  uint64_t good_bytes = 0;
};

// DataLoss, with the byte, if a record other than the last is damaged.
// Unimplemented, with the byte, if this version does not know a record's
// content or may not restore it (journal_contents.h): it skips nothing.
absl::StatusOr<JournalText> ParseJournal(absl::string_view bytes);

// One open journal. For one thread.
class Journal {
 public:
  // Makes a file and syncs the folder. AlreadyExists if there is one.
  static absl::StatusOr<std::unique_ptr<Journal>> Create(
      FileSystem* files, const std::string& path);
  // Reads the file and cuts off a record that a crash left incomplete. Errors
  // as ParseJournal, with the path in front.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(FileSystem* files,
                                                       const std::string& path);

  // Writes and syncs the entry. Internal, with nothing written, if a text is
  // not UTF-8. After any other error the journal accepts no more entries,
  // because the bytes after the last good record are unknown; it cuts them off
  // if it can.
  absl::Status Append(const JournalEntry& entry);

  absl::Status AppendEnd(const ApplyResult& result) {
    JournalEntry entry;
    *entry.mutable_end() = result;
    return Append(entry);
  }

  // All entries that were read or appended.
  const std::vector<JournalEntry>& entries() const { return entries_; }

 private:
  Journal(std::unique_ptr<OpenFile> file, JournalText text)
      : file_(std::move(file)),
        entries_(std::move(text.entries)),
        end_(text.good_bytes) {}

  std::unique_ptr<OpenFile> file_;
  std::vector<JournalEntry> entries_;
  uint64_t end_ = 0;
  absl::Status broken_;
};

// Summary of the records. `end` is the last one that ended the apply.
struct JournalState : EndedApply {
  // As the controller's record has it: WAITING before it began, RUNNING until
  // it has ended or is undone, REVERTING while an undo or rollback is not over.
  HostState phase = HOST_WAITING;
  // Sorted by the time when they were saved.
  std::vector<SavedResource> saved;
  std::vector<StepOutcome> steps;
  // The newest deadline, if the apply was to be confirmed.
  std::optional<JournalDeadline> deadline;
  JournalUndo undo;  // The last one that was begun.

  bool not_confirmed() const;  // The reason for the last undo.
  bool applied() const {
    return phase == HOST_APPLIED || phase == HOST_CONFIRM_PENDING ||
           phase == HOST_CONFIRMED;
  }
  // Applied, and will be rolled back at its deadline unless confirmed.
  bool waits() const { return phase == HOST_CONFIRM_PENDING; }
  // To be undone, or the undo to be done again.
  bool unfinished() const {
    return phase == HOST_RUNNING || phase == HOST_REVERTING;
  }
  // True if it is over but some of it may remain, so that a rollback has work.
  bool in_effect() const;
};

// The reason for an automatic undo, as in the journal: the name of its words.
inline constexpr char kNotConfirmed[] = "msg-step-not-confirmed";

JournalState SummariseJournal(const std::vector<JournalEntry>& entries);

// InvalidArgument: not 1 to 64 of [A-Za-z0-9._-], or starting with a dot.
absl::Status CheckApplyId(absl::string_view id);

struct KeptJournals {
  size_t in_effect = 512;
  size_t taken_back = 64;
  uint64_t bytes = 256 << 20;  // All of them, see MakeRoom.
};

// The folder of one host's journals: its lock, its journals, and their limits,
// which keep folder and reading times bounded:
//   in effect (applied, or not wholly   the newest 512 stay: a rollback needs
//   taken back)                         the journal, and so does drift
//   undone or rolled back wholly        the newest 64 stay
//   not finished, or to be confirmed    always stays
// 512 journals of a server with 16 devices are about 50 MB. clusterd can
// neither roll back an apply whose journal was dropped, nor detect its drift.
class JournalFolder {
 public:
  struct Found {
    std::string apply_id;
    // DataLoss, naming the path: it is damaged. Unimplemented: ParseJournal
    // refuses it. PermissionDenied: others than root could have written it.
    absl::StatusOr<JournalState> state;
  };

  // `files` must outlive it.
  JournalFolder(FileSystem* files, std::string path)
      : files_(files), path_(std::move(path)) {}

  std::string PathOf(absl::string_view apply_id) const;

  // Makes the folder if it is missing, but not its parent. Only the holder of
  // the lock changes the machine; nullptr if another holds it.
  // PermissionDenied, also in Read, if others than root can write to the folder
  // or its parent.
  absl::StatusOr<std::unique_ptr<OpenFile>> TakeLock();

  // Every journal, by its name. NotFound if the folder is missing.
  absl::StatusOr<std::vector<Found>> Read();

  // The undamaged ones, oldest first, by their names; empty without a folder.
  absl::StatusOr<std::vector<JournalState>> List();

  void DropOld(const KeptJournals& kept);

  // Ensures room for the journal of a plan of this many bytes, within `kept`,
  // so that plans cannot fill the disk: removes fully undone journals, the
  // oldest first. ResourceExhausted, with the next step, if there is no room.
  absl::Status MakeRoom(uint64_t plan_bytes, const KeptJournals& kept);

 private:
  absl::Status CheckOwner();

  FileSystem* const files_;
  const std::string path_;
};

// Ids of applies, oldest first. `states`: as JournalFolder::List.
std::vector<std::string> JournalsToDrop(const std::vector<JournalState>& states,
                                        const KeptJournals& kept);

// Limit of an outcome's text for people. It quotes programs and files of this
// host, so it may have any length and encoding. A text that is not UTF-8 can be
// written but not read again: it would damage a journal or end the stream at
// every attach. A controller rejects texts over 16 KiB.
inline constexpr size_t kMaxOutcomeTextBytes = 2048;

// Printable ASCII, at most about four times kMaxOutcomeTextBytes. Other bytes
// become \n, \t or \xNN; input over kMaxOutcomeTextBytes is cut and gets "...".
std::string OutcomeText(absl::string_view text);

// Cleans the detail, from its words if it has any, and the words' values.
void CleanTexts(StepOutcome* outcome);

// Cleans reason and forced.
void CleanTexts(JournalUndo* undo);

// Cleans error, residues, forced and details, but no facts: a rollback compares
// them.
void CleanTexts(ApplyResult* result);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_JOURNAL_H_
