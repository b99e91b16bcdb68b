// The folder of the journals of one host: who may change the machine, which
// journals there are, and which go when there are too many of them, so that the
// folder and the reading of it stay bounded:
//   in effect (applied, or not wholly   the newest 512 stay: a rollback needs
//   taken back)                         the journal, and so does drift
//   undone or rolled back wholly        the newest 64 stay: they only tell how
//                                       it ended
//   not finished                        always stays
// The two never push each other out. 512 journals of a server with 16 devices
// are about 50 MB. What an apply whose journal went has set stays set; clusterd
// can take it back no more and tells no drift of it.
#ifndef DAEMON_AGENT_APPLY_JOURNAL_FOLDER_H_
#define DAEMON_AGENT_APPLY_JOURNAL_FOLDER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/agent/apply/journal.h"
#include "daemon/host/change/file_system.h"

namespace clusterd {

// InvalidArgument: not 1 to 64 of [A-Za-z0-9._-], or starting with a dot.
absl::Status CheckApplyId(absl::string_view id);

struct KeptJournals {
  size_t in_effect = 512;
  size_t taken_back = 64;
};

class JournalFolder {
 public:
  struct Found {
    std::string apply_id;
    std::string path;
    // DataLoss, naming the path: damaged.
    absl::StatusOr<JournalState> state;
  };

  // `files` must outlive it.
  JournalFolder(FileSystem* files, std::string path)
      : files_(files), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string PathOf(absl::string_view apply_id) const;

  // Makes the folder if it is not there, its parent not. Whoever holds the lock
  // changes the machine; nullptr: somebody else does.
  absl::StatusOr<std::unique_ptr<OpenFile>> TakeLock();

  // Every journal, by its name. NotFound: there is no folder.
  absl::StatusOr<std::vector<Found>> Read();

  // The undamaged ones, oldest first, each under the id of its name; none
  // without a folder.
  absl::StatusOr<std::vector<JournalState>> List();

  void DropOld(const KeptJournals& kept);

 private:
  FileSystem* const files_;
  const std::string path_;
};

// Apply ids, oldest first. `states`: as JournalFolder::List.
std::vector<std::string> JournalsToDrop(const std::vector<JournalState>& states,
                                        const KeptJournals& kept);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_JOURNAL_FOLDER_H_
