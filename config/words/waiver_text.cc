#include "config/words/waiver_text.h"

#include "absl/strings/str_cat.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr int kHostsColumns = 100;

}  // namespace

bool IsInForce(const Waiver& waiver, absl::Time now) {
  const absl::Time until = absl::FromUnixMillis(waiver.until_ms());
  return now < until && until - now <= kLongestWaiver;
}

std::string WaivedText(const Waiver& waiver) {
  const auto& hosts = waiver.hosts();
  return absl::StrCat(
      waiver.rule(), " on ",
      hosts.empty() ? "every host"
                    : HostsText({hosts.begin(), hosts.end()}, kHostsColumns),
      Part(" ",
           DevicesText({waiver.devices().begin(), waiver.devices().end()})));
}

std::string WaiverText(const Waiver& waiver) {
  return SafeText(
      absl::StrCat("until ", UtcMinute(absl::FromUnixMillis(waiver.until_ms())),
                   " by ", ActorName(waiver.owner()), ": ", waiver.reason()),
      /*utf8=*/true);
}

}  // namespace clusterd
