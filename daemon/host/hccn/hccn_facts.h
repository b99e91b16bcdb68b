// The facts of one device out of what its hccn_tool answered, of either
// generation: the two ask in other words and mostly answer in the same. An
// answer without data gives a fact that is missing for the answer's reason;
// one that cannot be read, UNREADABLE with the command in front.
#ifndef DAEMON_HOST_HCCN_HCCN_FACTS_H_
#define DAEMON_HOST_HCCN_HCCN_FACTS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "daemon/host/files/missing.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "proto/facts.pb.h"

namespace clusterd {

// UNREADABLE, because a parser refused the answer's output with `status`.
Missing UnreadableHccnAnswer(const HccnAnswer& answer,
                             const absl::Status& status);

// What `parse` makes of the answer's output, or why `fact` is missing.
template <typename Parse, typename Fact>
void FillHccnFact(const HccnAnswer& answer, const Parse& parse, Fact* fact) {
  if (answer.missing.has_value()) {
    SetMissing(*answer.missing, fact);
  } else if (auto parsed = parse(answer.output); parsed.ok()) {
    SetFact(std::move(parsed), fact);
  } else {
    SetMissing(UnreadableHccnAnswer(answer, parsed.status()), fact);
  }
}

// "None is set" is an answer, too: no settings, and an empty gateway.
void FillAddress(const HccnAnswer& answer, DeviceAddressFact* fact);
void FillGateway(const HccnAnswer& answer, TextFact* fact);
void FillDetectAddress(const HccnAnswer& answer, TextFact* fact);

// `source` is whose word for it this is.
TlsFact::Switch MakeTlsSwitch(bool enabled, absl::string_view source);

// "Detect ip set" is asked again up to three times, a second apart, while there
// is time: the result is pending.
void AskNetHealth(HccnSession* session, NetHealthFact* fact);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_HCCN_FACTS_H_
