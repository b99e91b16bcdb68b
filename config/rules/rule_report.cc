#include "config/rules/rule_report.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/base/macros.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_join.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

auto Fields(const FindingText& text) {
  return std::tie(text.state, text.observed, text.expected, text.fix,
                  text.device_command, text.why, text.caused_by, text.by_hand);
}

bool HasReason(const Missing* missing, Missing::Reason reason) {
  return missing != nullptr && missing->reason() == reason;
}

}  // namespace

bool FindingText::operator==(const FindingText& other) const {
  return Fields(*this) == Fields(other);
}

const RuleFinding& RuleReport::RowOf(absl::string_view name) const {
  for (const auto rows : {SharedFindings(), rule_.findings}) {
    for (const RuleFinding& row : rows) {
      if (row.name == name || row.name.empty()) return row;
    }
  }
  ABSL_ASSERT(false);
  return SharedFindings().front();  // Something is not known.
}

void RuleReport::Judged(const HostView& host) { judged_hosts_.insert(&host); }

void RuleReport::Judged(const DeviceView& device) {
  counts_devices_ = true;
  Judged(*device.host);
  ++judged_devices_;
}

void RuleReport::JudgedCluster(std::string summary) {
  cluster_summary_ = std::move(summary);
}

RuleReport::Group* RuleReport::GroupOf(FindingText&& text) {
  if (!groups_.empty() && groups_.back().text == text) return &groups_.back();
  const size_t hash = absl::HashOf(Fields(text));
  const auto found = group_of_.find(hash);
  if (found != group_of_.end() && groups_[found->second].text == text) {
    return &groups_[found->second];
  }
  if (groups_.size() >= kMaxFindings) {
    const auto [slot, is_new] =
        overflow_of_.try_emplace(static_cast<int>(text.state), groups_.size());
    if (!is_new) return &groups_[slot->second];
    text.observed = absl::StrCat(
        "also here, each with values of its own that are left out after ",
        kMaxFindings, " findings");
    text.expected.clear();
    text.fix = "clusterctl describe HOST shows the values of one host";
    text.device_command.clear();
    text.caused_by.clear();
    text.by_hand = true;
  } else {
    group_of_[hash] = groups_.size();
  }
  Group& group = groups_.emplace_back();
  group.text = std::move(text);
  return &group;
}

void RuleReport::AddMembers(absl::Span<const Member> members,
                            FindingText&& text) {
  if (found_ != nullptr) {
    absl::InlinedVector<Causes::Place, 4> places;
    for (const Member& member : members) {
      places.push_back({member.order, member.device});
    }
    if (text.caused_by.empty() && !found_->causes_only) {
      text.caused_by =
          found_->as_is.Explaining(rule_.name, text.explained_by, places,
                                   text.state, &found_->as_planned);
    }
    found_->as_is.Note(rule_.name, places, text.state);
    if (found_->causes_only) return;
  }
  Group* group = GroupOf(std::move(text));
  group->members.insert(group->members.end(), members.begin(), members.end());
}

void RuleReport::Add(FindingText text) {
  GroupOf(std::move(text))->members.push_back({});
}

void RuleReport::Add(const HostView& host, FindingText text) {
  AddMembers({Member{host.facts, host.order}}, std::move(text));
}

void RuleReport::Add(const DeviceView& device, FindingText text) {
  AddMembers({Member{device.host->facts, device.host->order, device.id}},
             std::move(text));
}

void RuleReport::Add(const HostView& host, absl::Span<const uint32_t> devices,
                     FindingText text) {
  if (devices.empty()) return Add(host, std::move(text));
  std::vector<Member> members;
  for (const uint32_t device : devices) {
    members.push_back({host.facts, host.order, device});
  }
  AddMembers(members, std::move(text));
}

void RuleReport::Add(absl::Span<const DeviceView* const> devices,
                     FindingText text) {
  if (devices.empty()) return Add(std::move(text));
  std::vector<Member> members;
  for (const DeviceView* device : devices) {
    const HostView& host = *device->host;
    members.push_back({host.facts, host.order, device->id});
  }
  AddMembers(members, std::move(text));
}

void RuleReport::AddUnknown(const DeviceView& device, absl::string_view what,
                            const Missing* missing, absl::string_view reason) {
  // The tool is no cause of what nobody wanted to ask it.
  const bool by_choice = HasReason(missing, Missing::NOT_QUERIED);
  if (!by_choice && !device.host->tool_usable) {
    Add(device, "no-tool", what, "is not usable");
  } else if (!by_choice && device.dead) {
    Add(device, "dead-device", what);
  } else if (HasReason(missing, Missing::TIMED_OUT) ||
             HasReason(missing, Missing::BUSY)) {
    Add(device, "no-tool", what, "did not answer");
  } else if (!by_choice && device.mute) {
    Add(device, "no-tool", what, "gave no answer that can be read");
  } else {
    Add(device, "not-known", what, reason, HowToLearn(missing));
  }
}

void RuleReport::AddNoDevices(const HostView& host) {
  counts_devices_ = true;
  Add(host, host.tool_usable ? "no-device-found" : "no-device-asked");
}

void RuleReport::AddSkipped(const DeviceView& device,
                            absl::string_view observed,
                            absl::string_view caused_by) {
  counts_devices_ = true;
  Add(device, "told-elsewhere", observed, caused_by);
}

void RuleReport::WriteFix(FindingText* text, absl::Span<const uint32_t> devices,
                          Finding* finding) const {
  std::string command;
  if (!text->device_command.empty()) {
    command = devices.size() == 1
                  ? ToolCommand(devices[0], text->device_command)
                  : absl::StrCat("for i in ", absl::StrJoin(devices, " "),
                                 "; do hccn_tool -i $i ", text->device_command,
                                 "; done");
  }
  std::string fix = std::move(text->fix);
  if (!fix.empty() && !command.empty()) fix += ": ";
  fix += command;
  if (view_.profile().generation == NpuToolFacts::ASCEND_950 &&
      fix.find("hccn_tool -i ") != std::string::npos) {
    // Nothing public gives every command of that generation's spelling.
    fix.insert(
        0, "in the Ascend 950 command line's own spelling (hccn_tool -h): ");
    command.clear();
  }
  finding->set_fix(std::move(fix));
  if (!command.empty()) finding->set_command(std::move(command));
  finding->set_mended_by_plan(!rule_.mended_by.empty() && !text->by_hand &&
                              (text->state == FAIL || text->state == WARN));
}

void RuleReport::WriteFinding(FindingText&& text,
                              absl::Span<const Member> members,
                              RuleResult* result) const {
  Finding* finding = result->add_findings();
  finding->set_rule(std::string(rule_.name));
  finding->set_state(text.state);
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
  absl::Span<const uint32_t> first_devices;
  if (!finding->subjects().empty()) {
    first_devices = finding->subjects(0).devices();
  }
  WriteFix(&text, first_devices, finding);
  if (text.expected.empty()) text.expected = std::string(rule_.text.title);
  finding->set_observed(std::move(text.observed));
  finding->set_expected(std::move(text.expected));
  if (!text.why.empty()) finding->set_why(std::move(text.why));
  if (!text.caused_by.empty())
    finding->set_caused_by(std::move(text.caused_by));
  if (text.holds_alone) finding->set_holds_alone(true);
  if (text.waiver == nullptr) return;
  *finding->mutable_waiver() = *text.waiver;
  finding->mutable_waiver()->clear_hosts();
}

void RuleReport::WriteGroup(Group* group, RuleResult* result) const {
  Members& members = group->members;
  if (!absl::c_is_sorted(members)) absl::c_sort(members);
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (!view_.HasWaivers() || group->text.state == SKIPPED) {
    return WriteMembers(std::move(group->text), members, result);
  }
  FirstMet<const Waiver*, Members> parts;
  for (const Member& member : members) {
    absl::string_view host;
    if (member.host != nullptr) host = member.host->host();
    parts[view_.WaiverOf(rule_.name, group->text.caused_by, group->text.state,
                         host, member.device)]
        .push_back(member);
  }
  for (const auto& [waiver, part] : parts) {
    FindingText text = group->text;
    text.waiver = waiver;
    WriteMembers(std::move(text), part, result);
  }
}

void RuleReport::WriteMembers(FindingText&& text,
                              absl::Span<const Member> members,
                              RuleResult* result) const {
  const bool is_of_one_host = members.front().host == members.back().host;
  if (text.device_command.empty() || is_of_one_host) {
    return WriteFinding(std::move(text), members, result);
  }
  // The command names devices, so only hosts with the same ones share it.
  FirstMet<std::string, std::vector<Member>> parts;
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
    WriteFinding(FindingText(text), part, result);
  }
}

std::string RuleReport::Summary() const {
  if (!cluster_summary_.empty()) return cluster_summary_ + notes_;
  const auto of = [](size_t judged, size_t all, absl::string_view noun) {
    return judged == all ? Count(all, noun)
                         : absl::StrCat(judged, " of ", Count(all, noun));
  };
  const std::string hosts =
      of(judged_hosts_.size(), view_.host_count(), "host");
  if (!counts_devices_) return hosts + notes_;
  return absl::StrCat(of(judged_devices_, view_.expected_devices(), "device"),
                      " on ", hosts, notes_);
}

RuleResult RuleReport::Skip(std::string reason) const {
  RuleResult result;
  result.set_rule(std::string(rule_.name));
  result.set_category(std::string(rule_.category));
  result.set_state(SKIPPED);
  result.set_skip_reason(std::move(reason));
  return result;
}

RuleResult RuleReport::Finish() && {
  RuleResult result = Skip("");
  result.set_summary(Summary());
  result.mutable_findings()->Reserve(static_cast<int>(groups_.size()));
  for (Group& group : groups_) WriteGroup(&group, &result);
  if (!groups_.empty()) {
    result.set_why(std::string(rule_.text.why));
    result.set_source(std::string(rule_.text.source));
  }
  State worst = STATE_UNSPECIFIED;
  for (const Finding& finding : result.findings()) {
    if (finding.state() != SKIPPED) worst = std::max(worst, finding.state());
  }
  const bool judged = !judged_hosts_.empty() || !cluster_summary_.empty();
  if (worst == STATE_UNSPECIFIED) worst = judged ? PASS : SKIPPED;
  result.set_state(worst);
  if (worst != SKIPPED) return result;
  if (!skip_reason_.empty()) {
    result.set_skip_reason(skip_reason_);
  } else if (result.findings_size() > 0) {
    result.set_skip_reason(result.findings(0).observed());
  } else {
    result.set_skip_reason(view_.hosts().empty() ? "no host answered"
                                                 : "nothing to judge");
  }
  return result;
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

std::string ToolCommand(uint32_t device, absl::string_view arguments) {
  if (arguments.empty()) return "";
  return absl::StrCat("hccn_tool -i ", device, " ", arguments);
}

}  // namespace clusterd
