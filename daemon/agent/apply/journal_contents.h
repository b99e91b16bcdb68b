// The content that a journal may have. A journal is data found at start, and
// its saved values are restored as root. So it may name only what an apply of
// this version saves, and an undo never skips what this version does not know.
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

// When an unconfirmed change rolls back automatically:
//   the boot in which the deadline was written   CLOCK_BOOTTIME alone, which
//                                                cannot be set
//   a later boot                                 the wall clock, but never
//                                                later from now than the
//                                                total that was given
//   boot id unknown                              now
// So a wall clock set forward triggers no early rollback, and one set back
// blocks none forever.

// Counts from the first step, and includes extensions.
inline constexpr absl::Duration kMaxConfirmWithin = absl::Hours(24);
// Each extension is a record of the journal, which must stay readable.
inline constexpr absl::Duration kMinExtend = absl::Minutes(1);

// All clocks of a host at one time.
struct HostTime {
  std::string boot_id;  // Empty: unknown.
  absl::Duration since_boot;
  absl::Time wall;
};

// The boot's id from /proc/sys/kernel/random/boot_id.
HostTime ReadHostTime(FileSystem* files, Clock* clock);

// `left` counts from now, `within` from the first step.
JournalDeadline MakeDeadline(const HostTime& now, absl::Duration left,
                             absl::Duration within, const std::string& actor);

bool IsOfThisBoot(const JournalDeadline& deadline, const HostTime& now);

// Never negative; zero: it is due.
absl::Duration TimeLeft(const JournalDeadline& deadline, const HostTime& now);

// Names the first part of a message that this version does not know, at any
// depth: a field or enumeration value, e.g. "intent.saved[0]: field 7"; "" if
// it knows all.
std::string UnknownPart(const google::protobuf::Message& message);

// Unimplemented, naming the part, if it is of a newer version, or a saved value
// that no apply of this version changes. Allowed are
//   file            /etc/sysctl.d/90-clusterd.conf
//   file in place   /etc/hccn.conf
//   sysctl          a parameter of config/plan/kernel_parameters.h
//   device          settings of config/plan/settings.h, to values that are not
//                   options of a tool
//   firewall        as CheckSavedFirewall
// and deadlines within the limit of this version.
absl::Status CheckJournalEntry(const JournalEntry& entry);

// PermissionDenied, with owner and mode, if anyone but root or the user of this
// process can change it, or if it is not of this type.
absl::Status CheckOnlyOurs(const std::string& path, FileType type,
                           const FileAttributes& attributes);

// An unreadable journal would block the undo of its apply and of all others.
// Unimplemented for a newer version's content; otherwise as CheckJournalEntry.
absl::Status CheckCanBeUndone(const JournalEntry& entry);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_JOURNAL_CONTENTS_H_
