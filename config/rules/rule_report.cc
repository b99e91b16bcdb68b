#include "config/rules/rule_report.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/base/macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/plan/step_planners.h"
#include "config/values/hccn_conf_line.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// The key for folding findings. Findings of different rows differ in name.
// Messages are not copied for it: a cluster may have tens of thousands.
std::string KeyOf(const NamedFinding& named) {
  std::string key =
      absl::StrCat(named.name, "/", named.caused_by, "/", named.state, "/",
                   static_cast<int>(named.by_hand));
  const auto append = [&](const FindingValue& value) {
    absl::StrAppend(&key, "/", value.ByteSizeLong(), "/");
    value.AppendToString(&key);
  };
  absl::c_for_each(named.values, append);
  append(named.expects);
  return key;
}

}  // namespace

NamedFinding RuleReport::WithValues(absl::string_view name,
                                    FindingValues values) const {
  const RuleFinding* const row = FindRuleFinding(rule_, name);
  ABSL_ASSERT(row != nullptr);
  NamedFinding named;
  named.state = row->state;
  named.row = row;
  if (found_ != nullptr && found_->causes_only) return named;
  named.name = row->name.empty() ? "not-understood" : row->name;
  named.values = std::move(values);
  named.caused_by = WithValuesIn(row->caused_by, named.values);
  named.has_command = !WithValuesIn(row->device_command, named.values).empty();
  named.by_hand = row->by_hand || (!named.has_command &&
                                   !row->english.fix_without_command.empty());
  const std::vector<absl::string_view> names =
      absl::StrSplit(row->values, '/', absl::SkipEmpty());
  const int asked = static_cast<int>(names.size());
  ABSL_ASSERT(asked <= named.values.size());
  named.values.DeleteSubrange(asked, named.values.size() - asked);
  const std::vector<absl::string_view> moving =
      absl::StrSplit(row->moving, '/', absl::SkipEmpty());
  for (int i = 0; i < asked; ++i) {
    named.values[i].set_name(std::string(names[i]));
    named.values[i].set_moves(absl::c_linear_search(moving, names[i]));
  }
  return named;
}

void RuleReport::Judged(const HostView& host) { judged_hosts_.insert(&host); }

void RuleReport::Judged(const DeviceView& device) {
  counts_devices_ = true;
  Judged(*device.host);
  ++judged_devices_;
}

RuleReport::Group* RuleReport::GroupOf(NamedFinding&& finding) {
  std::string key = KeyOf(finding);
  if (groups_.size() >= kMaxFindings && !group_of_.contains(key)) {
    const State state = finding.state;
    finding = Named("values-left-out", kMaxFindings);
    finding.state = state;
    key = KeyOf(finding);
  }
  const auto [known, is_new] =
      group_of_.try_emplace(std::move(key), groups_.size());
  if (!is_new) return &groups_[known->second];
  Group& group = groups_.emplace_back();
  group.finding = std::move(finding);
  return &group;
}

void RuleReport::AddMembers(absl::Span<const Member> members,
                            NamedFinding&& finding) {
  if (found_ != nullptr) {
    absl::InlinedVector<Causes::Place, 4> places;
    for (const Member& member : members) {
      places.push_back({member.order, member.device});
    }
    if (finding.caused_by.empty() && !found_->causes_only) {
      finding.caused_by =
          found_->as_is.Explaining(rule_.name, finding.row->explained_by,
                                   places, finding.state, &found_->as_planned);
    }
    found_->as_is.Note(rule_.name, places, finding.state);
    if (found_->causes_only) return;
  }
  Group* group = GroupOf(std::move(finding));
  group->members.insert(group->members.end(), members.begin(), members.end());
}

void RuleReport::Add(NamedFinding finding) {
  GroupOf(std::move(finding))->members.push_back({});
}

void RuleReport::Add(const HostView& host, absl::Span<const uint32_t> devices,
                     NamedFinding finding) {
  Members members;
  for (const uint32_t device : devices) {
    members.push_back({host.facts, host.order, device});
  }
  if (devices.empty()) members.push_back({host.facts, host.order});
  AddMembers(members, std::move(finding));
}

void RuleReport::Add(absl::Span<const DeviceView* const> devices,
                     NamedFinding finding) {
  if (devices.empty()) return Add(std::move(finding));
  std::vector<Member> members;
  for (const DeviceView* device : devices) {
    const HostView& host = *device->host;
    members.push_back({host.facts, host.order, device->id});
  }
  AddMembers(members, std::move(finding));
}

void RuleReport::AddUnknown(const DeviceView& device, const FindingValue& what,
                            const Missing* missing,
                            const FindingValue& reason) {
  // The tool does not cause the lack of a fact that was not asked for.
  const Missing::Reason why =
      missing == nullptr ? Missing::REASON_UNSPECIFIED : missing->reason();
  const bool by_choice = why == Missing::NOT_QUERIED;
  if (!by_choice && !device.host->tool_usable) {
    Add(device, "no-tool", what);
  } else if (!by_choice && device.dead) {
    Add(device, "dead-device", what);
  } else if (why == Missing::TIMED_OUT || why == Missing::BUSY) {
    Add(device, "tool-silent", what);
  } else if (!by_choice && device.mute) {
    Add(device, "tool-unreadable", what);
  } else {
    Add(device, "not-known", what, reason, LearnWords(missing));
  }
}

void RuleReport::AddNoDevices(const HostView& host) {
  counts_devices_ = true;
  Add(host, host.tool_usable ? "no-device-found" : "no-device-asked");
}

void RuleReport::WriteFinding(NamedFinding&& named,
                              absl::Span<const Member> members,
                              RuleResult* result) const {
  Finding* finding = result->add_findings();
  finding->set_rule(std::string(rule_.name));
  finding->set_state(named.state);
  finding->set_finding(std::string(named.name));
  const HostFacts* last = nullptr;
  Subject* subject = nullptr;
  for (const Member& member : members) {
    if (subject == nullptr || member.host != last) {
      subject = finding->add_subjects();
      if (member.host != nullptr) subject->set_host(member.host->host());
      last = member.host;
    }
    if (member.device.has_value()) subject->add_devices(*member.device);
  }
  *finding->mutable_values() = std::move(named.values);
  if (!named.expects.words().empty()) {
    *finding->mutable_expects() = std::move(named.expects);
  }
  finding->set_caused_by(std::move(named.caused_by));
  finding->set_fixed_by_plan(!rule_.fixed_by.empty() && !named.by_hand &&
                             (named.state == FAIL || named.state == WARN));
  if (named.row->holds_alone) finding->set_holds_alone(true);
  if (named.waiver == nullptr) return;
  *finding->mutable_waiver() = *named.waiver;
  finding->mutable_waiver()->clear_hosts();
}

void RuleReport::WriteGroup(Group* group, RuleResult* result) const {
  Members& members = group->members;
  if (!absl::c_is_sorted(members)) absl::c_sort(members);
  members.erase(std::unique(members.begin(), members.end()), members.end());
  const std::string& cause = group->finding.caused_by;
  const std::vector<absl::string_view> explained =
      absl::StrSplit(group->finding.row->explained_by, '/');
  // Causes::Explaining has found the others, at one of the places.
  const bool cause_may_lack = found_ != nullptr && !cause.empty() &&
                              !absl::c_linear_search(explained, cause);
  const bool waivable = view_.HasWaivers() && group->finding.state != SKIPPED;
  if (!cause_may_lack && !waivable) {
    return WriteMembers(std::move(group->finding), members, result);
  }
  // By whether the cause is missing there.
  FirstSeen<std::pair<bool, const Waiver*>, Members> parts;
  for (const Member& member : members) {
    absl::string_view host;
    if (member.host != nullptr) host = member.host->host();
    const bool lacks_cause =
        cause_may_lack && member.host != nullptr &&
        !found_->as_is.HasAt(cause, {member.order, member.device});
    const Waiver* const waiver =
        waivable ? view_.WaiverOf(rule_.name, lacks_cause ? "" : cause,
                                  group->finding.state, host, member.device)
                 : nullptr;
    parts[{lacks_cause, waiver}].push_back(member);
  }
  for (const auto& [key, part] : parts) {
    NamedFinding finding = group->finding;
    if (key.first) finding.caused_by.clear();
    finding.waiver = key.second;
    WriteMembers(std::move(finding), part, result);
  }
}

void RuleReport::WriteMembers(NamedFinding&& named,
                              absl::Span<const Member> members,
                              RuleResult* result) const {
  const bool is_of_one_host = members.front().host == members.back().host;
  if (!named.has_command || is_of_one_host) {
    return WriteFinding(std::move(named), members, result);
  }
  // The command names devices, so only hosts with the same ones share it.
  FirstSeen<std::string, std::vector<Member>> parts;
  for (auto begin = members.begin(); begin != members.end();) {
    auto end = begin;
    std::string devices;
    for (; end != members.end() && end->host == begin->host; ++end) {
      absl::StrAppend(&devices, end->device.value_or(0), ",");
    }
    std::vector<Member>& part = parts[devices];
    part.insert(part.end(), begin, end);
    begin = end;
  }
  for (const auto& [devices, part] : parts) {
    WriteFinding(NamedFinding(named), part, result);
  }
}

FindingValue RuleReport::Seen() const {
  if (IsSaid(seen_)) return seen_;
  const auto of = [](size_t judged, size_t all, absl::string_view noun) {
    FindingValue counted = Counted(all, noun);
    return judged == all ? counted : Worded("some-of", judged, counted);
  };
  const FindingValue hosts =
      of(judged_hosts_.size(), view_.host_count(), "host");
  if (!counts_devices_) return hosts;
  return Worded("devices-on-hosts",
                of(judged_devices_, view_.expected_devices(), "device"), hosts);
}

RuleResult RuleReport::Skip(FindingValue reason) const {
  RuleResult result;
  result.set_rule(std::string(rule_.name));
  result.set_category(std::string(rule_.category));
  result.set_state(SKIPPED);
  if (IsSaid(reason)) *result.mutable_skip_words() = std::move(reason);
  return result;
}

RuleResult RuleReport::Finish() && {
  RuleResult result = Skip(FindingValue());
  *result.mutable_seen() = Seen();
  *result.mutable_notes() = std::move(notes_);
  result.mutable_findings()->Reserve(static_cast<int>(groups_.size()));
  for (Group& group : groups_) WriteGroup(&group, &result);
  const bool judged = !judged_hosts_.empty() || IsSaid(seen_);
  result.set_state(judged ? PASS : SKIPPED);
  ChangeEach(&result, [](Finding*) {});
  if (result.state() != SKIPPED) return result;
  if (IsSaid(skip_)) {
    *result.mutable_skip_words() = std::move(skip_);
  } else if (!result.findings().empty()) {
    result.set_skip_is_finding(true);
  } else {
    *result.mutable_skip_words() =
        Worded(view_.hosts().empty() ? "no-host-answered" : "nothing-to-judge");
  }
  return result;
}

void ChangeEach(RuleResult* result,
                absl::FunctionRef<void(Finding* finding)> change) {
  State worst = STATE_UNSPECIFIED;
  for (Finding& finding : *result->mutable_findings()) {
    change(&finding);
    if (finding.state() != SKIPPED) worst = std::max(worst, finding.state());
  }
  if (worst != STATE_UNSPECIFIED) result->set_state(worst);
}

std::string FindingName(absl::string_view enum_name) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(enum_name), {{"_", "-"}});
}

std::string SetCommand(const Ipv4Interface& interface) {
  return absl::StrCat("-ip -s address ", interface.address().ToString(),
                      " netmask ", interface.subnet().netmask().ToString());
}

std::string SetCommand(const AddressKind& kind, Ipv4Address address) {
  return absl::StrCat(kind.command, address.ToString());
}

std::string SetPlanned(const DeviceView& device) {
  return device.planned.has_value() ? SetCommand(*device.planned) : "";
}

std::string SetPlanned(const AddressKind& kind, const DeviceView& device) {
  const std::optional<Ipv4Address>& planned = device.*kind.planned;
  return planned.has_value() ? SetCommand(kind, *planned) : "";
}

size_t ValuesNeverSet(const ClusterSpec& spec, const HostView& host) {
  const HccnConfFact& conf = host.facts->hccn_conf();
  const auto has_nothing = [](const DeviceView& device) {
    return device.planned.has_value() && device.addresses.has_value() &&
           !device.HasAddress() && device.gateway.IsUnset() &&
           device.detect_address.IsUnset() &&
           device.facts->ipv6_address().value().empty();
  };
  const auto is_tools_own = [](const HccnConf::Entry& entry) {
    return IsToolsOwnLine(absl::StrCat(entry.key(), "_", entry.device(), "="));
  };
  if (host.spec == nullptr || host.devices.empty() ||
      !absl::c_all_of(host.devices, has_nothing) ||
      !(conf.has_value() || conf.missing().reason() == Missing::ABSENT) ||
      !conf.value().problems().empty() ||
      !absl::c_all_of(conf.value().entries(), is_tools_own)) {
    return 0;
  }
  HostFacts facts = *host.facts;
  facts.mutable_hccn_conf()->mutable_value();
  facts.clear_allows();
  HostPlanBuilder builder(facts);
  PlanDeviceSteps(spec, *host.spec, &builder);
  const HostPlan plan = builder.Finish();
  return absl::c_count_if(plan.steps(), [](const PlanStep& step) {
    return step.setting() == SETTING_ADDRESS ||
           step.setting() == SETTING_GATEWAY ||
           step.setting() == SETTING_DETECT_ADDRESS;
  });
}

}  // namespace clusterd
