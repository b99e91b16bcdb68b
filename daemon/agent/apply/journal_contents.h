// What a journal may ask for. It is data that a start finds, and no licence:
// what it has saved is put back as root, so it may name only what an apply of
// this version saves, and whatever this version does not know is no undo that
// could be left out.
#ifndef DAEMON_AGENT_APPLY_JOURNAL_CONTENTS_H_
#define DAEMON_AGENT_APPLY_JOURNAL_CONTENTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/command/clock.h"
#include "google/protobuf/message.h"
#include "proto/plan.pb.h"

namespace clusterd {

// When a change that waits to be confirmed goes back by itself.
//   the boot in which the deadline was written   CLOCK_BOOTTIME alone: nobody
//                                                sets it
//   a later boot                                 the wall clock, but never
//                                                later from now than it was
//                                                given in all
//   which boot it is cannot be told              now
// So a wall clock that is set forward takes nothing back early, and one that is
// set back keeps nothing for ever.

// From the first step, however often it is extended.
inline constexpr absl::Duration kMaxConfirmWithin = absl::Hours(24);
// Each is a record of the journal, which has to stay readable.
inline constexpr absl::Duration kMinExtend = absl::Minutes(1);

// All clocks of a host at one moment.
struct HostTime {
  std::string boot_id;  // Empty: it cannot be told.
  absl::Duration since_boot;
  absl::Time wall;
};

// The boot's id from /proc/sys/kernel/random/boot_id.
HostTime ReadHostTime(FileSystem* files, Clock* clock);

// `left` from now. `within`: from the first step.
JournalDeadline MakeDeadline(const HostTime& now, absl::Duration left,
                             absl::Duration within, const std::string& actor);

bool IsOfThisBoot(const JournalDeadline& deadline, const HostTime& now);

// Never negative; zero: it is due.
absl::Duration TimeLeft(const JournalDeadline& deadline, const HostTime& now);

// Where a message, at any depth, has a field or a value of an enumeration that
// this version does not know, e.g. "intent.saved[0]: field 7"; "" if nowhere.
std::string UnknownPart(const google::protobuf::Message& message);

// Unimplemented, with the part: of a newer version, or what is saved is no
// file, kernel parameter, setting or firewall that an apply changes:
//   file            /etc/sysctl.d/90-clusterd.conf
//   file in place   /etc/hccn.conf
//   sysctl          a parameter of config/plan/setting_rows.h
//   device          settings of config/plan/settings.h, to values that are no
//                   option of a tool
//   firewall        as CheckSavedFirewall
// or a deadline is further off than any that this version takes.
absl::Status CheckJournalEntry(const JournalEntry& entry);

// PermissionDenied, with owner and mode: others than root, or the user this
// process runs as, can change it; or it is no folder, or no file.
absl::Status CheckOnlyOurs(const std::string& path, FileType type,
                           const FileAttributes& attributes);

// A journal that could not be read back would keep its apply from being undone,
// and every other from being made.
// Unimplemented for what a newer version wrote; else as CheckJournalEntry.
absl::Status CheckCanBeUndone(const JournalEntry& entry);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_JOURNAL_CONTENTS_H_
