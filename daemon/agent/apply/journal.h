// What an apply writes down before it changes anything: one file for one apply,
// only ever appended to, each record synced before the effect that it makes
// possible to take back.
//   clusterd journal 2\n
//   record: 4 bytes length, 8 bytes check of length and offset,
//           32 bytes SHA-256 of the payload, payload (a JournalEntry)
// A record that a crash cut off is not there: its effect did not happen. A
// record that is damaged with more behind it is an error, never skipped.
// And the folder of the journals of one host.
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
// What one may take besides its plan: the files that it saves, and what came of
// its steps.
inline constexpr uint64_t kMaxSavedBytes = 32 << 20;

struct JournalText {
  std::vector<JournalEntry> entries;
  // Where the good records end; what is behind was cut off by a crash.
  uint64_t good_bytes = 0;
};

// DataLoss, with the byte, if a record is damaged and not the last.
// Unimplemented, with the byte, if one says what this version does not
// know or may not put back (journal_contents.h): nothing of it is skipped.
absl::StatusOr<JournalText> ParseJournal(absl::string_view bytes);

// One open journal. One thread.
class Journal {
 public:
  // A new file; the folder is synced. AlreadyExists if there is one.
  static absl::StatusOr<std::unique_ptr<Journal>> Create(
      FileSystem* files, const std::string& path);
  // Reads what is there and cuts off what a crash left half written.
  // Errors as ParseJournal, with the path in front.
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
  Journal(std::unique_ptr<OpenFile> file, JournalText text)
      : file_(std::move(file)),
        entries_(std::move(text.entries)),
        end_(text.good_bytes) {}

  std::unique_ptr<OpenFile> file_;
  std::vector<JournalEntry> entries_;
  uint64_t end_ = 0;
  absl::Status broken_;
};

// What the records say, in order. `end`: the last one that ended it.
struct JournalState : EndedApply {
  enum class Phase {
    kEmpty,     // Nothing was begun.
    kApplying,  // Begun and not over: to be undone.
    kApplied,
    kUndoing,      // An undo was begun and is not over: to be done again.
    kRollingBack,  // The same for a rollback.
    kUndone,       // Over; also after a rollback.
  };
  Phase phase = Phase::kEmpty;
  // In the order in which they were saved.
  std::vector<SavedResource> saved;
  std::vector<StepOutcome> steps;
  // The newest, if it was to be confirmed.
  std::optional<JournalDeadline> deadline;
  bool confirmed = false;
  bool not_confirmed = false;  // The last undo came because of that.

  // Applied, and to be taken back at its deadline.
  bool waits() const {
    return phase == Phase::kApplied && deadline.has_value() && !confirmed;
  }
  bool unfinished() const {
    return phase == Phase::kApplying || phase == Phase::kUndoing ||
           phase == Phase::kRollingBack;
  }
  // Over, and something of it may still be there: a rollback has work.
  bool in_effect() const;
};

// Why an undo was begun that nobody asked for; the word of the journal for it.
// Words: the name of the reason's.
inline constexpr char kNotConfirmed[] = "msg-step-not-confirmed";

JournalState SummariseJournal(const std::vector<JournalEntry>& entries);

// InvalidArgument: not 1 to 64 of [A-Za-z0-9._-], or starting with a dot.
absl::Status CheckApplyId(absl::string_view id);

struct KeptJournals {
  size_t in_effect = 512;
  size_t taken_back = 64;
  uint64_t bytes = 256 << 20;  // Of all of them, see MakeRoom.
};

// The folder of the journals of one host: its lock, its journals, and which of
// them go, so that the folder and the reading of it stay bounded:
//   in effect (applied, or not wholly   the newest 512 stay: a rollback needs
//   taken back)                         the journal, and so does drift
//   undone or rolled back wholly        the newest 64 stay
//   not finished, or to be confirmed    always stays
// 512 journals of a server with 16 devices are about 50 MB. What an apply whose
// journal went has set stays set: clusterd can neither take it back nor tell
// its drift.
class JournalFolder {
 public:
  struct Found {
    std::string apply_id;
    // DataLoss, naming the path: damaged. Unimplemented: ParseJournal
    // refuses it. PermissionDenied: others than root could have written it.
    absl::StatusOr<JournalState> state;
  };

  // `files` must outlive it.
  JournalFolder(FileSystem* files, std::string path)
      : files_(files), path_(std::move(path)) {}

  std::string PathOf(absl::string_view apply_id) const;

  // Makes the folder if it is not there, its parent not. Whoever holds the lock
  // changes the machine; nullptr: somebody else does. PermissionDenied, here
  // and when it is read: others than root can write into it or its parent.
  absl::StatusOr<std::unique_ptr<OpenFile>> TakeLock();

  // Every journal, by its name. NotFound: there is no folder.
  absl::StatusOr<std::vector<Found>> Read();

  // The undamaged ones, oldest first, each under the id of its name; none
  // without a folder.
  absl::StatusOr<std::vector<JournalState>> List();

  void DropOld(const KeptJournals& kept);

  // Room for the journal of a plan of so many bytes, within `kept`, so that
  // plans cannot fill the disk: removes journals that were taken back wholly,
  // the oldest first. ResourceExhausted, saying what to do, where those in
  // effect leave none.
  absl::Status MakeRoom(uint64_t plan_bytes, const KeptJournals& kept);

 private:
  absl::Status CheckOwner();

  FileSystem* const files_;
  const std::string path_;
};

// Apply ids, oldest first. `states`: as JournalFolder::List.
std::vector<std::string> JournalsToDrop(const std::vector<JournalState>& states,
                                        const KeptJournals& kept);

// What came of a step or an apply, as text for people. It quotes programs and
// files of this host, so it may be of any length and encoding. A text that is
// not UTF-8 can be written but not read back, and would damage a journal or end
// the stream at every attach; a controller takes no text over 16 KiB.
inline constexpr size_t kMaxOutcomeTextBytes = 2048;

// Printable ASCII, at most about four times kMaxOutcomeTextBytes: other bytes
// as \n, \t or \xNN; cut after kMaxOutcomeTextBytes of input, then ended with
// "...".
std::string OutcomeText(absl::string_view text);

// The detail, of its words where it has any, as OutcomeText, and so the values
// of the words.
void CleanTexts(StepOutcome* outcome);

// The same of reason and forced.
void CleanTexts(JournalUndo* undo);

// The same of error, residues, forced and details. Not of the facts, which a
// rollback compares.
void CleanTexts(ApplyResult* result);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_JOURNAL_H_
