#include "daemon/controller/waiver_desk.h"

#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/rules/catalogue.h"
#include "config/values/nearest_word.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "config/words/waiver_text.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {
namespace {

constexpr uint32_t kMaxDeviceId = 4095;

}  // namespace

void WaiverDesk::Restore() {
  absl::StatusOr<std::vector<Waiver>> kept = parts_.history->Waivers();
  if (!kept.ok()) {
    parts_.log->Warning(
        absl::StrCat("no waiver is in force but those of cluster.yaml: ",
                     kept.status().message()));
    return;
  }
  absl::MutexLock lock(&mutex_);
  kept_ = *std::move(kept);
  if (!kept_.empty()) Heed();
}

absl::Status WaiverDesk::Check(const WaiveRequest& request,
                               Waiver* waiver) const {
  std::vector<std::string> mistakes;
  const absl::Time now = parts_.scheduler->Now();
  waiver->set_rule(request.rule());
  if (FindRule(request.rule()) == nullptr) {
    mistakes.push_back(absl::StrCat("rule ", QuotedText(request.rule()),
                                    " does not exist",
                                    DidYouMean(request.rule(), RuleNames())));
  }
  const auto hosts = SelectHosts(*parts_.spec->spec(), request.hosts());
  if (!hosts.ok()) mistakes.emplace_back(hosts.status().message());
  *waiver->mutable_hosts() = request.hosts();
  *waiver->mutable_devices() = request.devices();
  for (const uint32_t device : request.devices()) {
    if (device <= kMaxDeviceId) continue;
    mistakes.push_back(
        absl::StrCat("device ", device, ": expected at most ", kMaxDeviceId));
  }
  waiver->set_reason(ValidUtf8(absl::StripAsciiWhitespace(request.reason())));
  if (waiver->reason().empty() || waiver->reason().size() > kMaxWaiverReason) {
    mistakes.push_back(absl::StrCat("reason: has ", waiver->reason().size(),
                                    " bytes, expected 1 to ",
                                    kMaxWaiverReason));
  }
  waiver->set_since_ms(absl::ToUnixMillis(now));
  const absl::Time until = request.for_ms() > 0
                               ? now + absl::Milliseconds(request.for_ms())
                               : absl::FromUnixMillis(request.until_ms());
  waiver->set_until_ms(absl::ToUnixMillis(until));
  if (!IsInForce(*waiver, now) ||
      (request.for_ms() > 0 && request.until_ms() != 0)) {
    mistakes.push_back(absl::StrCat(
        "until: ",
        absl::FormatTime(absl::RFC3339_sec, until, absl::UTCTimeZone()),
        " is not a moment in the next ",
        absl::ToInt64Hours(kLongestWaiver) / 24,
        " days, by the controller's "
        "clock, which says ",
        absl::FormatTime(absl::RFC3339_sec, now, absl::UTCTimeZone())));
  }
  if (mistakes.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(mistakes, "\n"));
}

absl::StatusOr<Waiver> WaiverDesk::Add(const WaiveRequest& request,
                                       const std::string& owner) {
  Waiver waiver;
  RETURN_IF_ERROR(Check(request, &waiver));
  waiver.set_id(NewRunId().substr(0, 8));
  waiver.set_owner(owner);
  {
    absl::MutexLock lock(&mutex_);
    if (kept_.size() >= kMaxKeptWaivers) {
      return absl::ResourceExhaustedError(
          absl::StrCat(kMaxKeptWaivers,
                       " waivers are kept, end one with clusterctl unwaive"));
    }
    RETURN_IF_ERROR(parts_.history->PutWaiver(waiver));
    kept_.push_back(waiver);
    Heed();
  }
  Tell();
  return waiver;
}

absl::StatusOr<Waiver> WaiverDesk::End(const std::string& id) {
  Waiver ended;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = absl::c_find_if(
        kept_, [&id](const Waiver& waiver) { return waiver.id() == id; });
    if (found == kept_.end()) {
      return absl::NotFoundError(
          absl::StrCat("no waiver has the id ", QuotedText(id),
                       ", expected one that clusterctl waivers lists; those of "
                       "cluster.yaml end there"));
    }
    RETURN_IF_ERROR(parts_.history->DropWaiver(id));
    ended = *found;
    kept_.erase(found);
    Heed();
  }
  Tell();
  return ended;
}

void WaiverDesk::Heed() { parts_.spec->SetWaivers(kept_); }

void WaiverDesk::Tell() const {
  parts_.hosts->TellWaivers(*parts_.spec->spec());
}

}  // namespace clusterd
