#include "config/spec/schedule_spec.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/spec/spec_loader.h"
#include "config/spec/yaml_keys.inc"
#include "config/values/hostlist.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/subject_text.h"
#include "config/words/waiver_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxSchedules = 32;
constexpr size_t kMaxNotifiers = 16;
constexpr size_t kMaxWaivers = 256;
constexpr size_t kMaxTextBytes = 4096;
// Each check asks every host for all facts.
constexpr absl::Duration kLeastEvery = absl::Minutes(1);
constexpr absl::Duration kMostEvery = absl::Hours(7 * 24);
constexpr absl::Duration kLeastTry = absl::Seconds(1);
constexpr absl::Duration kMostTry = absl::Minutes(5);
constexpr absl::Duration kUsualTry = absl::Seconds(10);
// Candidates for "did you mean"; more would take too long.
constexpr size_t kMaxMeant = 1000;

// Rules whose findings name hosts, or the cluster, and no device.
constexpr char kWithoutDevices[] =
    "backlog-uniform|clock-skew|cluster-size|cluster-size-power|"
    "container-mounts|environment-uniform|firewall|hccl-environment|"
    "host-identity|host-interface|host-memory|host-name|job-device-(count|"
    "group)|job-(dtype|python|script|size|uniform)|listen-backlog|"
    "neighbour-table|open-files|ports-free|ports-reserved|ports-uniform|ranks|"
    "roots-uniform|ssh-ready|syn-backlog|sysctl-persistent|version-uniform";

constexpr absl::string_view kOnly = "only";
constexpr absl::string_view kSkip = "skip";
constexpr absl::string_view kDowngrade = "downgrade";

// The items of a list with a bounded number; `expected`: a row.
std::vector<YamlValue> ListOf(const YamlValue& value,
                              absl::string_view expected, size_t most) {
  if (value.node() == nullptr) return {};
  if (!value.Is(YamlNode::Kind::kList)) {
    value.WrongKind(expected);
    return {};
  }
  std::vector<YamlValue> items;
  for (const YamlNode& item : value.node()->items) {
    items.push_back(value.Inner(
        item, absl::StrCat(value.subject().text(), "[", items.size(), "]")));
  }
  if (items.size() > most) {
    value.Wrong("msg-spec-list-too-long", items.size(), most);
    items.clear();
  }
  return items;
}

// A text that can be rewritten and shown unchanged.
std::string PlainText(const YamlValue& value) {
  static const LazyRE2 kForm = {R"([\x20-\x7e]*)"};
  std::string text = value.Text().value_or("");
  if (text.size() <= kMaxTextBytes && HasForm(text, *kForm)) return text;
  value.WrongKind("spec-printable", kMaxTextBytes);
  return "";
}

class ScheduleLoader {
 public:
  ScheduleLoader(const ServerGroups& groups,
                 absl::Span<const absl::string_view> rules,
                 absl::Span<const uint32_t> devices = {})
      : groups_(groups), rules_(rules), devices_(devices) {
    for (const PlannedServer& server : groups.servers) {
      hosts_.insert(server.host);
    }
  }

  void Load(const YamlValue& value, ScheduledCheck* check) {
    const YamlMap map(value.node(), value.subject().text(), kClusterKeys,
                      value.mistakes());
    LoadName(map.Require("name"), check);
    const YamlValue every = map.Require("every");
    const auto given = every.Duration(kLeastEvery, kMostEvery);
    if (given.has_value() && *given % absl::Seconds(1) != absl::Duration()) {
      every.WrongKind("spec-whole-seconds");
    } else if (given.has_value()) {
      check->set_every_s(static_cast<uint32_t>(absl::ToInt64Seconds(*given)));
    }
    LoadHosts(map["hosts"], check->mutable_hosts());
    RuleSelection* const selection = check->mutable_selection();
    LoadRules(map[kOnly], selection->mutable_only());
    LoadRules(map[kSkip], selection->mutable_skip());
    LoadRules(map[kDowngrade], selection->mutable_downgrade());
    const auto is_checked = [selection](absl::string_view rule) {
      return (selection->only().empty() ||
              absl::c_linear_search(selection->only(), rule)) &&
             !absl::c_linear_search(selection->skip(), rule);
    };
    if (!rules_.empty() && absl::c_none_of(rules_, is_checked)) {
      value.Wrong("msg-spec-every-rule-skipped");
    }
  }

  void Load(const YamlValue& value, Waiver* waiver) {
    const YamlMap map(value.node(), value.subject().text(), kClusterKeys,
                      value.mistakes());
    google::protobuf::RepeatedPtrField<std::string> rules;
    const YamlValue rule = map.Require("rule");
    if (rule.Is(YamlNode::Kind::kList)) {
      rule.WrongKind("spec-one-rule");
    } else {
      LoadRules(rule, &rules);
    }
    if (!rules.empty()) waiver->set_rule(rules[0]);
    LoadHosts(map["hosts"], waiver->mutable_hosts());
    const auto devices = map["devices"].Parsed([&](const std::string& text) {
      return ParseWaivedDevices(text, waiver->rule(), devices_);
    });
    if (devices)
      waiver->mutable_devices()->Add(devices->begin(), devices->end());
    waiver->set_reason(ShortText(map.Require("reason")));
    waiver->set_owner(ShortText(map.Require("owner")));
    const auto until = map.Require("until").Parsed(ParseUtcTime);
    if (until) waiver->set_until_ms(absl::ToUnixMillis(*until));
  }

 private:
  static std::string ShortText(const YamlValue& value) {
    std::string text = value.Text().value_or("");
    if (text.size() > kMaxWaiverReason ||
        absl::c_any_of(text, absl::ascii_iscntrl)) {
      value.WrongKind("spec-one-line", kMaxWaiverReason);
    }
    return text;
  }

  void LoadName(const YamlValue& value, ScheduledCheck* check) {
    static const LazyRE2 kForm = {"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?"};
    const std::string name = value.Text().value_or("");
    if (name.empty()) return;
    if (!HasForm(name, *kForm)) {
      value.WrongKind("spec-schedule-name");
    } else if (!names_.insert(name).second) {
      value.Wrong("msg-spec-name-taken", QuoteValue(name));
    }
    check->set_name(name);
  }

  // Hosts are in the order of the file's servers.
  void LoadHosts(const YamlValue& value,
                 google::protobuf::RepeatedPtrField<std::string>* hosts) {
    if (value.node() == nullptr) return;
    absl::flat_hash_set<std::string> wanted;
    for (const YamlValue& item : value.Items()) {
      const auto names = item.Parsed(
          [](const std::string& list) { return ExpandHostlist(list); });
      if (!names.has_value()) return;
      for (const std::string& name : *names) {
        wanted.insert(name);
        if (!hosts_.contains(name)) AddStranger(item, name);
      }
    }
    if (wanted.empty()) value.WrongKind("spec-host-names");
    for (const PlannedServer& server : groups_.servers) {
      if (wanted.contains(server.host)) hosts->Add(std::string(server.host));
    }
  }

  // A group that could not be read has its own mistake.
  void AddStranger(const YamlValue& item, const std::string& name) const {
    if (!groups_.complete) return;
    std::vector<absl::string_view> candidates;
    for (const PlannedServer& server : groups_.servers) {
      if (candidates.size() == kMaxMeant) break;
      candidates.push_back(server.host);
    }
    item.mistakes()->AddOnce(
        item.position(), "stranger", "msg-spec-unknown-host", item.subject(),
        QuoteValue(name), DidYouMeanWords(name, candidates));
  }

  void LoadRules(const YamlValue& value,
                 google::protobuf::RepeatedPtrField<std::string>* rules) const {
    static const LazyRE2 kForm = {"[a-z](?:[a-z0-9-]{0,62}[a-z0-9])?"};
    if (value.node() == nullptr) return;
    const std::vector<YamlValue> items = value.Items();
    if (items.empty()) value.WrongKind("spec-rule-names");
    for (const YamlValue& item : items) {
      const std::string name = item.Text().value_or("");
      if (name.empty()) continue;
      const bool known = rules_.empty() ? HasForm(name, *kForm)
                                        : absl::c_linear_search(rules_, name);
      if (known) {
        rules->Add(std::string(name));
        continue;
      }
      const FindingValue meant = DidYouMeanWords(name, rules_);
      item.Wrong("msg-spec-no-such-rule", QuoteValue(name),
                 meant.words().empty() ? Worded("spec-see-explain") : meant);
    }
  }

  const ServerGroups& groups_;
  const absl::Span<const absl::string_view> rules_;
  const absl::Span<const uint32_t> devices_;
  absl::flat_hash_set<absl::string_view> hosts_;
  absl::flat_hash_set<std::string> names_;
};

void LoadCommand(const YamlValue& value, Notifier* notifier) {
  const std::vector<YamlValue> words = value.Items();
  if (words.empty()) value.WrongKind("spec-a-program");
  for (const YamlValue& word : words) notifier->add_command(PlainText(word));
  if (words.empty()) return;
  const std::string& program = notifier->command(0);
  if (program.empty() || absl::StartsWith(program, "/")) return;
  words[0].WrongKind("spec-absolute-program");
}

void LoadNotifier(const YamlValue& value, Notifier* notifier) {
  const YamlMap map(value.node(), value.subject().text(), kClusterKeys,
                    value.mistakes());
  if (!value.Is(YamlNode::Kind::kMap)) return;
  LoadCommand(map.Require("command"), notifier);
  const YamlValue deadline = map["deadline"];
  const absl::Duration of_try =
      deadline.node() == nullptr
          ? kUsualTry
          : deadline.Duration(kLeastTry, kMostTry).value_or(kUsualTry);
  notifier->set_deadline_ms(ToMs(of_try));
}

// REQUIRES: a text without control characters.
std::string InQuotes(absl::string_view text) {
  return absl::StrCat(
      "\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

template <typename Texts, typename Write>
std::string FlowList(const Texts& texts, const Write& write) {
  return absl::StrCat("[", absl::StrJoin(Each<std::string>(texts, write), ", "),
                      "]");
}

std::string HostsLine(
    const google::protobuf::RepeatedPtrField<std::string>& names) {
  const std::vector<std::string> hosts(names.begin(), names.end());
  if (hosts.empty()) return "";
  return absl::StrCat("    hosts: ", InQuotes(FoldHostlist(hosts)), "\n");
}

std::string CheckText(const ScheduledCheck& check) {
  std::string text =
      absl::StrCat("  - name: ", YamlName(check.name()), "\n    every: ",
                   absl::FormatDuration(absl::Seconds(check.every_s())), "\n");
  absl::StrAppend(&text, HostsLine(check.hosts()));
  const RuleSelection& rules = check.selection();
  for (const auto& [key, names] :
       {std::make_pair(kOnly, &rules.only()),
        std::make_pair(kSkip, &rules.skip()),
        std::make_pair(kDowngrade, &rules.downgrade())}) {
    if (names->empty()) continue;
    absl::StrAppend(&text, "    ", key, ": ", FlowList(*names, YamlName), "\n");
  }
  return text;
}

std::string WaiverYaml(const Waiver& waiver) {
  std::string text = absl::StrCat("  - rule: ", YamlName(waiver.rule()), "\n",
                                  HostsLine(waiver.hosts()));
  if (!waiver.devices().empty()) {
    absl::StrAppend(&text, "    devices: ",
                    InQuotes(FoldIds({waiver.devices().data(),
                                      size_t(waiver.devices_size())})),
                    "\n");
  }
  return absl::StrCat(text, "    reason: ", InQuotes(waiver.reason()),
                      "\n    owner: ", InQuotes(waiver.owner()),
                      "\n    until: ",
                      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ\n",
                                       absl::FromUnixMillis(waiver.until_ms()),
                                       absl::UTCTimeZone()));
}

}  // namespace

void LoadSchedule(const YamlValue& value, const ServerGroups& groups,
                  absl::Span<const absl::string_view> rules,
                  ClusterSpec* spec) {
  ScheduleLoader loader(groups, rules);
  for (const YamlValue& item :
       ListOf(value, "spec-list-of-checks", kMaxSchedules)) {
    loader.Load(item, spec->add_schedule());
  }
}

void LoadWaivers(const YamlValue& value, const ServerGroups& groups,
                 absl::Span<const absl::string_view> rules,
                 absl::Span<const uint32_t> devices, ClusterSpec* spec) {
  ScheduleLoader loader(groups, rules, devices);
  for (const YamlValue& item :
       ListOf(value, "spec-list-of-waivers", kMaxWaivers)) {
    loader.Load(item, spec->add_waivers());
  }
}

void LoadNotify(const YamlValue& value, ClusterSpec* spec) {
  for (const YamlValue& item :
       ListOf(value, "spec-list-of-notifiers", kMaxNotifiers)) {
    LoadNotifier(item, spec->add_notify());
  }
}

absl::StatusOr<std::vector<uint32_t>> ParseWaivedDevices(
    const std::string& text, absl::string_view rule,
    absl::Span<const uint32_t> known) {
  auto ids = ParseIdList(text, kMaxDeviceId);
  if (!ids.ok()) return ids;
  if (rule == kMaintenanceRule) {
    return InvalidWords("msg-spec-maintenance-devices");
  }
  if (IsOfForm<kWithoutDevices>(rule)) {
    return InvalidWords("msg-spec-rule-without-devices", rule);
  }
  std::vector<uint32_t> strange = *ids;
  DropIf(&strange,
         [known](uint32_t id) { return absl::c_linear_search(known, id); });
  if (strange.empty() || known.empty()) return ids;
  return InvalidWords("msg-spec-waived-devices", DevicesValue(strange),
                      FoldIds(known));
}

std::string ScheduleText(const ClusterSpec& spec) {
  std::string text;
  if (!spec.schedule().empty()) absl::StrAppend(&text, "schedule:\n");
  for (const ScheduledCheck& check : spec.schedule()) {
    absl::StrAppend(&text, CheckText(check));
  }
  if (!spec.notify().empty()) absl::StrAppend(&text, "notify:\n");
  for (const Notifier& notifier : spec.notify()) {
    absl::StrAppend(
        &text, "  - command: ", FlowList(notifier.command(), InQuotes),
        "\n    deadline: ",
        absl::FormatDuration(absl::Milliseconds(notifier.deadline_ms())), "\n");
  }
  std::string waivers;
  for (const Waiver& waiver : spec.waivers()) {
    // The others are the controller's own.
    if (waiver.id().empty()) absl::StrAppend(&waivers, WaiverYaml(waiver));
  }
  return absl::StrCat(text, waivers.empty() ? "" : "waivers:\n", waivers);
}

absl::StatusOr<absl::Time> ParseUtcTime(const std::string& text) {
  for (const char* format :
       {"%Y-%m-%d", "%Y-%m-%dT%H:%MZ", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M",
        "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M UTC"}) {
    absl::Time time;
    // A field out of range would be formatted as another text.
    if (absl::ParseTime(format, text, &time, nullptr) &&
        absl::FormatTime(format, time, absl::UTCTimeZone()) == text) {
      return time;
    }
  }
  return InvalidWords("msg-spec-moment", QuoteValue(text));
}

}  // namespace clusterd
