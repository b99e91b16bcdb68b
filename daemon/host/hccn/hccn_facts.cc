#include "daemon/host/hccn/hccn_facts.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "config/values/ipv4.h"
#include "daemon/host/hccn/hccn_answers.h"

namespace clusterd {
namespace {

constexpr int kMaxHealthPolls = 3;
constexpr absl::Duration kHealthPollPause = absl::Seconds(1);

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
    return;
  }
  FillHccnFact(
      answer, ParseHccnIp(answer.output), fact,
      [fact](const std::vector<Ipv4Interface>& interfaces) {
        for (const Ipv4Interface& interface : interfaces) {
          Ipv4Setting* setting = fact->mutable_value()->add_settings();
          setting->set_address(interface.address().ToString());
          setting->set_netmask(interface.subnet().netmask().ToString());
        }
      });
}

void FillGateway(const HccnAnswer& answer, TextFact* fact) {
  if (!answer.missing.has_value() &&
      answer.failure == HccnFailure::kNoGateway) {
    fact->set_value("");
    return;
  }
  FillHccnFact(
      answer, ParseHccnGateway(answer.output), fact,
      [fact](Ipv4Address gateway) { fact->set_value(gateway.ToString()); });
}

void FillDetectAddress(const HccnAnswer& answer, TextFact* fact) {
  FillHccnFact(
      answer, ParseHccnNetdetect(answer.output), fact,
      [fact](Ipv4Address address) { fact->set_value(address.ToString()); });
}

void FillLink(const HccnAnswer& answer, LinkFact* fact) {
  FillHccnFact(answer, ParseHccnLink(answer.output), fact,
               [fact](LinkFact::Link link) { fact->set_value(link); });
}

void FillMtu(const HccnAnswer& answer, NumberFact* fact) {
  FillHccnFact(answer, ParseHccnMtu(answer.output), fact,
               [fact](uint32_t mtu) { fact->set_value(mtu); });
}

void AskNetHealth(const std::function<HccnAnswer()>& ask,
                  const std::function<bool(absl::Duration)>& pause,
                  NetHealthFact* fact) {
  for (int poll = 0;; ++poll) {
    const HccnAnswer answer = ask();
    FillHccnFact(answer, ParseHccnNetHealth(answer.output), fact,
                 [fact](NetHealth health) { fact->set_value(health); });
    if (fact->value() != NET_HEALTH_DETECT_IP_SET || poll == kMaxHealthPolls ||
        !pause(kHealthPollPause)) {
      return;
    }
  }
}

}  // namespace clusterd
