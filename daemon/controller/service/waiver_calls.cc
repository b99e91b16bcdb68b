#include "daemon/controller/service/waiver_calls.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "config/rules/catalogue.h"
#include "config/spec/host_names.h"
#include "config/spec/schedule_spec.h"
#include "config/values/hostlist.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "config/words/waiver_text.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {
namespace {

constexpr int kMaxWaivers = 512;  // In the spec.
constexpr char kAllHosts[] = "all";

absl::StatusOr<absl::Time> ParseUntil(const std::string& text, absl::Time now) {
  static const LazyRE2 kDays = {R"((\d{1,4})d)"};
  int days = 0;
  if (HasForm(text, *kDays, &days)) return now + absl::Hours(24 * days);
  absl::Duration from_now;
  if (absl::ParseDuration(text, &from_now)) return now + from_now;
  const absl::StatusOr<absl::Time> moment = ParseUtcTime(text);
  if (moment.ok()) return moment;
  return InvalidWords("msg-hub-waiver-until", MessageWords(moment.status()));
}

// InvalidArgument with every mistake, one per line.
absl::StatusOr<Waiver> ReadWaiver(const WaiveRequest& request,
                                  const ClusterSpec& spec, absl::Time now) {
  Waiver waiver;
  std::vector<FindingValue> mistakes;
  const auto note = [&mistakes](const char* what, const auto& value) {
    if (value.ok()) return true;
    for (const FindingValue& line : MessageLines(value.status())) {
      mistakes.push_back(Worded("about", what, line));
    }
    return false;
  };
  waiver.set_rule(request.rule());
  if (FindRule(request.rule()) == nullptr) {
    mistakes.push_back(Worded("msg-hub-waiver-rule", QuotedText(request.rule()),
                              DidYouMeanWords(request.rule(), RuleNames())));
  }
  auto hosts = ExpandHostlist(request.hosts());
  if (request.hosts() != kAllHosts && note("hosts", hosts)) {
    for (std::string& name : *hosts) {
      *waiver.add_hosts() = HostNamed(spec, name);
    }
    note("hosts", SelectHosts(spec, waiver.hosts()));
  }
  std::set<uint32_t> ids;
  for (const ServerSpec& server : spec.servers()) {
    for (const DeviceSpec& device : server.devices()) ids.insert(device.id());
  }
  const auto devices =
      ParseWaivedDevices(request.devices(), request.rule(),
                         std::vector<uint32_t>(ids.begin(), ids.end()));
  if (!request.devices().empty() && note("devices", devices)) {
    waiver.mutable_devices()->Add(devices->begin(), devices->end());
  }
  waiver.set_reason(ValidUtf8(absl::StripAsciiWhitespace(request.reason())));
  if (waiver.reason().empty() || waiver.reason().size() > kMaxWaiverReason ||
      waiver.reason().find_first_of("\r\n") != std::string::npos) {
    mistakes.push_back(Worded("msg-hub-waiver-reason", waiver.reason().size(),
                              kMaxWaiverReason));
  }
  const auto until = ParseUntil(request.until(), now);
  if (note("until", until)) {
    waiver.set_until_ms(absl::ToUnixMillis(*until));
    if (!IsInForce(waiver, now)) {
      mistakes.push_back(Worded("msg-hub-waiver-out-of-range",
                                QuotedText(request.until()), UtcText(now)));
    }
  }
  waiver.set_since_ms(absl::ToUnixMillis(now));
  if (spec.waivers_size() >= kMaxWaivers) {
    mistakes.push_back(Worded("msg-hub-too-many-waivers", kMaxWaivers));
  }
  if (mistakes.empty()) return waiver;
  return WithWords(absl::InvalidArgumentError(""), Lines(mistakes));
}

WaiverResponse Done(const ControllerParts& parts, const Waiver& waiver) {
  parts.hosts->TellWaivers(*parts.spec->spec());
  WaiverResponse answer;
  *answer.mutable_waiver() = waiver;
  answer.set_schema_version(1);
  return answer;
}

absl::StatusOr<WaiverResponse> AddWaiver(const ControllerParts& parts,
                                         const WaiveRequest& request,
                                         const std::string& owner,
                                         const std::string& id,
                                         absl::Time now) {
  ASSIGN_OR_RETURN(Waiver waiver,
                   ReadWaiver(request, *parts.spec->spec(), now));
  waiver.set_id(id);
  waiver.set_owner(owner);
  RETURN_IF_ERROR(parts.history->PutWaiver(waiver));
  parts.spec->ChangeWaivers(
      [&waiver](auto* waivers) { *waivers->Add() = waiver; });
  return Done(parts, waiver);
}

absl::StatusOr<WaiverResponse> RemoveWaiver(const ControllerParts& parts,
                                            const std::string& id) {
  const std::shared_ptr<const ClusterSpec> spec = parts.spec->spec();
  const Waiver* const ended = FirstWith(spec->waivers(), &Waiver::id, id);
  if (id.empty() || ended == nullptr) {
    return NotFoundWords("msg-hub-no-such-waiver", QuotedText(id));
  }
  RETURN_IF_ERROR(parts.history->DropWaiver(id));
  parts.spec->ChangeWaivers([&id](auto* waivers) {
    DropIf(waivers, [&id](const Waiver& each) { return each.id() == id; });
  });
  return Done(parts, *ended);
}

}  // namespace

UnaryCall* WaiverCalls::Waive(CallContext* context, const WaiveRequest* request,
                              WaiverResponse* response) {
  const std::string id = NewRunId().substr(0, 8);
  const absl::Time now = parts_.scheduler->Now();
  const std::string subject = PrintableText(
      absl::StrCat(QuotedText(id), " until ",
                   UtcText(ParseUntil(request->until(), now).value_or(now)),
                   ": ", request->rule(), " on ", request->hosts(), " ",
                   request->devices(), ": ", request->reason()),
      kMaxPrintableBytes * 2);
  return calls_.AnswerAudited(
      {context, "Waive", *request, CallClass::kEnds}, subject, response,
      [this, request, id, now](const SpiffeId& user) {
        return AddWaiver(parts_, *request, user.ToString(), id, now);
      });
}

UnaryCall* WaiverCalls::EndWaiver(CallContext* context,
                                  const EndWaiverRequest* request,
                                  WaiverResponse* response) {
  return calls_.AnswerAudited(
      {context, "EndWaiver", *request, CallClass::kEnds},
      QuotedText(request->id()), response, [this, request](const SpiffeId&) {
        return RemoveWaiver(parts_, request->id());
      });
}

UnaryCall* WaiverCalls::ListWaivers(CallContext* context,
                                    const ListWaiversRequest* request,
                                    ListWaiversResponse* response) {
  return calls_.Answer(
      {context, "ListWaivers", *request, CallClass::kLists}, response,
      [this](const SpiffeId&) {
        ListWaiversResponse answer;
        *answer.mutable_waivers() = parts_.spec->spec()->waivers();
        answer.set_now_ms(absl::ToUnixMillis(parts_.scheduler->Now()));
        answer.set_schema_version(1);
        return answer;
      });
}

}  // namespace clusterd
