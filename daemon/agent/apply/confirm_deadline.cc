#include "daemon/agent/apply/confirm_deadline.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace clusterd {
namespace {

constexpr char kBootId[] = "/proc/sys/kernel/random/boot_id";
constexpr size_t kMaxBootIdBytes = 128;

}  // namespace

HostTime ReadHostTime(FileSystem* files, Clock* clock) {
  const auto boot_id = ReadWholeFile(files, kBootId, kMaxBootIdBytes);
  return {boot_id.ok() ? std::string(absl::StripAsciiWhitespace(*boot_id)) : "",
          clock->SinceBoot(), clock->Now()};
}

JournalDeadline MakeDeadline(const HostTime& now, absl::Duration left,
                             absl::Duration within, const std::string& actor) {
  JournalDeadline deadline;
  deadline.set_boot_id(now.boot_id);
  deadline.set_boottime_ms(absl::ToInt64Milliseconds(now.since_boot + left));
  deadline.set_wall_ms(absl::ToUnixMillis(now.wall + left));
  deadline.set_within_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(within)));
  deadline.set_actor(actor);
  return deadline;
}

bool IsOfThisBoot(const JournalDeadline& deadline, const HostTime& now) {
  return !now.boot_id.empty() && deadline.boot_id() == now.boot_id;
}

absl::Duration TimeLeft(const JournalDeadline& deadline, const HostTime& now) {
  if (now.boot_id.empty()) return absl::ZeroDuration();
  const absl::Duration left =
      IsOfThisBoot(deadline, now)
          ? absl::Milliseconds(deadline.boottime_ms()) - now.since_boot
          : std::min<absl::Duration>(
                absl::FromUnixMillis(deadline.wall_ms()) - now.wall,
                absl::Milliseconds(deadline.within_ms()));
  return std::max(left, absl::ZeroDuration());
}

}  // namespace clusterd
