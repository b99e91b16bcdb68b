#include "daemon/host/hccn/hccn_facts.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "config/values/ipv4.h"
#include "config/values/status_macros.h"
#include "daemon/host/hccn/hccn_answers.h"

namespace clusterd {
namespace {

constexpr int kMaxHealthPolls = 3;
constexpr absl::Duration kHealthPollPause = absl::Seconds(1);

absl::StatusOr<DeviceAddressFact::Settings> ParseSettings(
    absl::string_view output) {
  ASSIGN_OR_RETURN(const auto interfaces, ParseHccnIp(output));
  DeviceAddressFact::Settings settings;
  for (const Ipv4Interface& interface : interfaces) {
    Ipv4Setting* setting = settings.add_settings();
    setting->set_address(interface.address().ToString());
    setting->set_netmask(interface.subnet().netmask().ToString());
  }
  return settings;
}

template <absl::StatusOr<Ipv4Address> (*kParse)(absl::string_view)>
absl::StatusOr<std::string> TextOf(absl::string_view output) {
  ASSIGN_OR_RETURN(const Ipv4Address address, kParse(output));
  return address.ToString();
}

}  // namespace

Missing UnreadableHccnAnswer(const HccnAnswer& answer,
                             const absl::Status& status) {
  // The vendor's texts say less about the younger tool: a form that is not
  // known need not be a damaged one.
  return MakeMissing(
      Missing::UNREADABLE,
      absl::StrCat(answer.command, ": ", status.message(),
                   answer.generation == NpuToolFacts::ASCEND_950
                       ? "; this answer is not known for the Ascend 950 tool"
                       : ""));
}

void FillAddress(const HccnAnswer& answer, DeviceAddressFact* fact) {
  if (!answer.missing.has_value() &&
      answer.failure == HccnFailure::kNoAddress) {
    fact->mutable_value();
  } else {
    FillHccnFact(answer, ParseSettings, fact);
  }
}

void FillGateway(const HccnAnswer& answer, TextFact* fact) {
  if (!answer.missing.has_value() &&
      answer.failure == HccnFailure::kNoGateway) {
    fact->set_value("");
  } else {
    FillHccnFact(answer, TextOf<ParseHccnGateway>, fact);
  }
}

void FillDetectAddress(const HccnAnswer& answer, TextFact* fact) {
  FillHccnFact(answer, TextOf<ParseHccnNetdetect>, fact);
}

TlsFact::Switch MakeTlsSwitch(bool enabled, absl::string_view source) {
  TlsFact::Switch made;
  made.set_enabled(enabled);
  made.set_source(std::string(source));
  return made;
}

void AskNetHealth(HccnSession* session, NetHealthFact* fact) {
  for (int poll = 0;; ++poll) {
    FillHccnFact(session->Ask("-net_health"), ParseHccnNetHealth, fact);
    if (fact->value() != NET_HEALTH_DETECT_IP_SET || poll == kMaxHealthPolls ||
        !session->Pause(kHealthPollPause)) {
      return;
    }
  }
}

}  // namespace clusterd
