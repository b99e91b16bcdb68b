#include "daemon/controller/waiver_calls.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/rules/waiver_rules.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "config/words/waiver_text.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {
namespace {

constexpr int kMaxWaivers = 512;  // Of the spec.
constexpr size_t kMaxWaiverLog = 512;

// InvalidArgument with every mistake, a line each.
absl::StatusOr<Waiver> ReadWaiver(const WaiveRequest& request,
                                  const ClusterSpec& spec, absl::Time now) {
  Waiver waiver;
  waiver.set_rule(request.rule());
  *waiver.mutable_hosts() = request.hosts();
  *waiver.mutable_devices() = request.devices();
  waiver.set_reason(ValidUtf8(request.reason()));
  waiver.set_since_ms(absl::ToUnixMillis(now));
  waiver.set_until_ms(
      request.for_ms() > 0
          ? absl::ToUnixMillis(now + absl::Milliseconds(request.for_ms()))
          : request.until_ms());
  std::vector<std::string> mistakes = WaiverMistakes(waiver, now);
  const auto hosts = SelectHosts(spec, request.hosts());
  if (!hosts.ok()) mistakes.emplace_back(hosts.status().message());
  if (spec.waivers_size() >= kMaxWaivers) {
    mistakes.push_back(absl::StrCat(
        kMaxWaivers, " waivers are kept, end one with clusterctl unwaive"));
  }
  if (mistakes.empty()) return waiver;
  return absl::InvalidArgumentError(absl::StrJoin(mistakes, "\n"));
}

WaiverResponse Done(const ControllerParts& parts, const Waiver& waiver,
                    absl::string_view what) {
  parts.hosts->TellWaivers(*parts.spec->spec());
  parts.log->Notice(PrintableText(
      absl::StrCat(what, ": ", WaivedText(waiver), " ", WaiverText(waiver)),
      kMaxWaiverLog));
  WaiverResponse answer;
  *answer.mutable_waiver() = waiver;
  answer.set_schema_version(1);
  return answer;
}

}  // namespace

std::string WaiverSubject(const WaiveRequest& request) {
  Waiver asked;
  asked.set_rule(request.rule());
  *asked.mutable_hosts() = request.hosts();
  *asked.mutable_devices() = request.devices();
  return PrintableText(absl::StrCat(WaivedText(asked), ": ", request.reason()),
                       kMaxWaiverLog);
}

absl::StatusOr<WaiverResponse> AddWaiver(const ControllerParts& parts,
                                         const WaiveRequest& request,
                                         const std::string& owner) {
  ASSIGN_OR_RETURN(Waiver waiver, ReadWaiver(request, *parts.spec->spec(),
                                             parts.scheduler->Now()));
  waiver.set_id(NewRunId().substr(0, 8));
  waiver.set_owner(owner);
  RETURN_IF_ERROR(parts.history->PutWaiver(waiver));
  parts.spec->ChangeWaivers(
      [&waiver](auto* waivers) { *waivers->Add() = waiver; });
  return Done(parts, waiver, "waived");
}

absl::StatusOr<WaiverResponse> RemoveWaiver(const ControllerParts& parts,
                                            const std::string& id,
                                            const std::string& user) {
  Waiver ended;
  for (const Waiver& waiver : parts.spec->spec()->waivers()) {
    if (waiver.id() == id) ended = waiver;
  }
  if (id.empty() || ended.id().empty()) {
    return absl::NotFoundError(
        absl::StrCat("no waiver has the id ", QuotedText(id),
                     ", expected one that clusterctl waivers lists; those of "
                     "cluster.yaml end there"));
  }
  RETURN_IF_ERROR(parts.history->DropWaiver(id));
  parts.spec->ChangeWaivers([&id](auto* waivers) {
    waivers->erase(
        std::remove_if(waivers->begin(), waivers->end(),
                       [&id](const Waiver& each) { return each.id() == id; }),
        waivers->end());
  });
  return Done(parts, ended, absl::StrCat(ActorName(user), " ended"));
}

}  // namespace clusterd
