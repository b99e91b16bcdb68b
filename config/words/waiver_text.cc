#include "config/words/waiver_text.h"

#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr int kHostsColumns = 100;

}  // namespace

bool IsInForce(const Waiver& waiver, absl::Time now) {
  const absl::Time until = absl::FromUnixMillis(waiver.until_ms());
  return now < until && until - now <= kLongestWaiver;
}

FindingValue WaivedWords(const Waiver& waiver) {
  const auto& hosts = waiver.hosts();
  return Worded(
      waiver.devices().empty() ? "waived-on-hosts" : "waived-on-devices",
      SafeText(waiver.rule(), /*utf8=*/true),
      hosts.empty() ? Worded("every-host")
                    : HostsValue({hosts.begin(), hosts.end()}, kHostsColumns),
      DevicesValue({waiver.devices().begin(), waiver.devices().end()}));
}

FindingValue WaiverWords(const Waiver& waiver) {
  return Worded("waived-until",
                UtcMinute(absl::FromUnixMillis(waiver.until_ms())),
                SafeText(ActorName(waiver.owner()), /*utf8=*/true),
                SafeText(waiver.reason(), /*utf8=*/true));
}

FindingValue WaivedEnd(const Finding& finding) {
  if (!finding.has_waiver() || finding.rule() == kMaintenanceRule) return {};
  const Waiver& waiver = finding.waiver();
  FindingValue end =
      Worded(waiver.rule() == kMaintenanceRule ? "in-maintenance" : "waived",
             StateWords(waiver.waived_from()), WaiverWords(waiver));
  end.set_name(kWaivedEnd);
  return end;
}

}  // namespace clusterd
