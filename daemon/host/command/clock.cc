#include "daemon/host/command/clock.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace clusterd {

TimeBudget::TimeBudget(Clock* clock, absl::Duration command,
                       absl::Duration host, const Asker& asker)
    : clock_(clock),
      begin_(clock->Monotonic()),
      command_(command),
      host_(host),
      asker_(asker) {}

TimeBudget TimeBudget::ForRequest(Clock* clock, const ObserveRequest& request,
                                  const Asker& asker) {
  return TimeBudget(
      clock,
      request.command_ms() == 0 ? absl::Seconds(10)
                                : absl::Milliseconds(request.command_ms()),
      request.host_ms() == 0 ? absl::Seconds(30)
                             : absl::Milliseconds(request.host_ms()),
      asker);
}

absl::Duration TimeBudget::Passed() const {
  return clock_->Monotonic() - begin_;
}

absl::Duration TimeBudget::Left() const {
  if (asker_.unwanted != nullptr && *asker_.unwanted) {
    return absl::ZeroDuration();
  }
  return std::max(host_ - Passed(), absl::ZeroDuration());
}

absl::Duration TimeBudget::ForCommand() const {
  return std::min(command_, Left());
}

std::string TimeBudget::CutBy(absl::Duration took) const {
  if (took < command_) return HostDeadline();
  return absl::StrCat(absl::FormatDuration(command_), " (deadlines.command)");
}

std::string TimeBudget::HostDeadline() const {
  return absl::StrCat(absl::FormatDuration(host_), " (deadlines.host)");
}

}  // namespace clusterd
