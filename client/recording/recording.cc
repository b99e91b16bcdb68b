#include "client/recording/recording.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// Titles whose bodies do not identify the site.
constexpr absl::string_view kHarmlessTitles[] = {
    "Time to Live TLV",
    "System Description TLV",
    "System Capabilities TLV",
    "Management Address TLV",
    "Port VLAN ID TLV",
    "Port and Protocol VLAN ID TLV",
    "MAC/PHY Configuration Status TLV",
    "Link Aggregation TLV",
    "Maximum Frame Size TLV",
    "End of LLDPDU TLV",
};
constexpr absl::string_view kRemoved = "removed";

// `text` with each line replaced by replace(line); both without newlines.
template <typename Replace>
std::string WithLines(absl::string_view text, const Replace& replace) {
  return absl::StrJoin(absl::StrSplit(text, '\n'), "\n",
                       [&](std::string* out, absl::string_view line) {
                         absl::StrAppend(out, replace(line));
                       });
}

// The line is a title; `title` is then the line without trailing text.
bool IsTitle(absl::string_view line, absl::string_view* title) {
  static const LazyRE2 kForm = {R"(([^[:space:]].* TLV)[[:space:]]*)",
                                RE2::Latin1};
  return HasForm(line, *kForm, title);
}

// Hides a line below that title.
std::string HideLldpBody(absl::string_view title, absl::string_view line,
                         NameMap* names) {
  static const LazyRE2 kLine = {
      R"(([[:space:]]*)(.*[^[:space:]])([[:space:]]*))", RE2::Latin1};
  // "MAC: …", "Ifname: …", "Local: …".
  static const LazyRE2 kKeptId = {R"((?:MAC|Ifname|IPv4|IPv6):.*)",
                                  RE2::Latin1};
  static const LazyRE2 kId = {R"((.*?: )?(.*))", RE2::Latin1};
  absl::string_view indent;
  absl::string_view body;
  absl::string_view tail;
  absl::string_view label;
  absl::string_view id;
  const bool is_port = title == "Port ID TLV";
  const bool is_id = is_port || title == "Chassis ID TLV";
  if (!HasForm(line, *kLine, &indent, &body, &tail) ||
      absl::c_linear_search(kHarmlessTitles, title) ||
      (is_id && HasForm(body, *kKeptId))) {
    return std::string(line);
  }
  std::string hidden(kRemoved);
  if (title == "System Name TLV") {
    hidden = names->Alias("switch", body.substr(0, body.find('.')));
  } else if (is_id && HasForm(body, *kId, &label, &id)) {
    hidden =
        absl::StrCat(label, names->Alias(is_port ? "port" : "chassis", id));
  }
  return absl::StrCat(indent, hidden, tail);
}

// Hides a certificate's owner, and the serial number of a module.
std::string HideOwner(absl::string_view line) {
  static const LazyRE2 kForm = {
      R"((.*?(?:issuer|subject)\[|vendor serial number *: *).*?(\][^\]]*)?)",
      RE2::Latin1};
  absl::string_view head;
  absl::string_view tail;
  if (!HasForm(line, *kForm, &head, &tail)) return std::string(line);
  return absl::StrCat(head, kRemoved, tail);
}

// hccn_tool cuts LLDP answers here and adds a newline.
constexpr size_t kLldpCutBytes = 1999;

// The question of an hccn_tool command line, of either generation.
struct Query {
  std::optional<uint32_t> device;
  std::string command;  // Without its dash, e.g. "net_health".
  std::string mode;     // "get", "set" or "".
};

Query QueryOf(const HostRecording::Run& run) {
  Query query;
  for (int i = 1; i < run.argv_size(); ++i) {
    const std::string& word = run.argv(i);
    if (word == "-i" && i + 1 < run.argv_size()) {
      uint32_t id = 0;
      if (absl::SimpleAtoi(run.argv(++i), &id)) query.device = id;
    } else if (word == "-u" || word == "-p" || word == "-d") {
      ++i;
    } else if (word == "-g" || word == "-s") {
      query.mode = word == "-g" ? "get" : "set";
    } else if (query.command.empty() && word != "-a" &&
               absl::StartsWith(word, "-")) {
      query.command = word.substr(1);
    }
  }
  return query;
}

// The group of the published captures that the command belongs to.
std::string GroupOf(const Query& query) {
  constexpr absl::string_view kGroups[] = {"gateway", "link",     "netdetect",
                                           "lldp",    "tls",      "net_health",
                                           "ping",    "hccs_ping"};
  if (query.command == "ip") return "ip-get";
  return absl::c_linear_search(kGroups, query.command) ? query.command
                                                       : "misc-get";
}

class Anonymiser {
 public:
  Anonymiser(const HostRecording& recording, const AddressMap& addresses)
      : addresses_(addresses) {
    const HostFacts& facts = recording.facts();
    names_.Add("host", facts.host());
    names_.Add("host", facts.identity().hostname().value());
    for (const HostRecording::Run& run : recording.runs()) {
      CollectSwitchNames(run.standard_output(), &names_);
    }
  }

  std::string Argument(absl::string_view text) const {
    return ValidUtf8(ReplaceAddresses(text, addresses_));
  }
  std::string Text(absl::string_view text) {
    return Argument(names_.Replace(HideToolText(text, &names_)));
  }
  std::string Conf(absl::string_view conf) const {
    return Argument(names_.Replace(HideConfComments(conf)));
  }

 private:
  const AddressMap& addresses_;
  NameMap names_;
};

std::string NoteOf(const HostRecording::Run& run, const RunRecord& record) {
  const std::string& out = run.standard_output();
  const std::string& err = run.standard_error();
  const size_t kept = std::max(out.size(), err.size());
  const bool shorter =
      out.size() >= kLldpCutBytes && out.size() != record.stdout().size();
  const bool replaced = ValidUtf8(out) != out || ValidUtf8(err) != err;
  return JoinParts(
      "; ",
      {"recorded by clusterd on a real host, addresses and names replaced",
       run.left_running() ? "could not be killed" : "",
       run.output_cut()
           ? absl::StrCat("clusterd kept ", kept, " bytes of a longer stream")
           : "",
       shorter ? absl::StrCat("standard output was ", out.size(),
                              " bytes before that")
               : "",
       replaced ? "bytes that are not UTF-8 were replaced" : ""});
}

// The state of every device in the form of a record's precondition.
std::map<uint32_t, std::string> StatesOf(const HostRecording& recording,
                                         Anonymiser* anonymiser) {
  std::map<uint32_t, std::string> lldp;
  for (const HostRecording::Run& run : recording.runs()) {
    const Query query = QueryOf(run);
    if (query.command == "lldp" && query.device.has_value() &&
        run.exit_status() == 0) {
      lldp[*query.device] = anonymiser->Text(run.standard_output());
    }
  }
  std::map<uint32_t, std::string> states;
  for (const DeviceFacts& device : recording.facts().devices()) {
    states[device.id()] = DeviceStateText(
        device, lldp[device.id()], [anonymiser](absl::string_view address) {
          return anonymiser->Argument(address);
        });
  }
  return states;
}

RunRecord MakeRecord(const HostRecording::Run& run, const Query& query,
                     const std::string& state, Anonymiser* anonymiser) {
  RunRecord record;
  record.set_name(absl::StrCat("recorded-", query.device.value_or(0), "-",
                               anonymiser->Argument(query.command),
                               Part("-", query.mode)));
  record.set_group(GroupOf(query));
  record.add_argv("hccn_tool");
  for (int i = 1; i < run.argv_size(); ++i) {
    record.add_argv(anonymiser->Argument(run.argv(i)));
  }
  record.set_precondition(state);
  record.set_stdout(anonymiser->Text(run.standard_output()));
  record.set_stderr(anonymiser->Text(run.standard_error()));
  auto& exit = *record.mutable_exit();
  auto& before = *record.mutable_hccn_conf_before();
  auto& after = *record.mutable_hccn_conf_after();
  for (auto* value : {&exit, &before, &after}) {
    value->set_null_value(google::protobuf::NULL_VALUE);
  }
  if (!run.left_running()) {
    exit.set_number_value(run.signal() != 0 ? -run.signal()
                                            : run.exit_status());
  }
  if (run.has_hccn_conf_before()) {
    before.set_string_value(anonymiser->Conf(run.hccn_conf_before()));
  }
  if (run.has_hccn_conf_after()) {
    after.set_string_value(anonymiser->Conf(run.hccn_conf_after()));
  }
  record.mutable_device_changes();
  // The published captures have milliseconds.
  record.set_seconds(std::round(run.elapsed_us() / 1000.0) / 1000);
  record.set_timed_out(run.timed_out());
  record.set_note(NoteOf(run, record));
  return record;
}

}  // namespace

absl::StatusOr<HostRecording> ParseHostRecording(const std::string& bytes) {
  HostRecording recording;
  if (!bytes.empty() && recording.ParseFromString(bytes) &&
      recording.complete()) {
    // Output of npu-smi is not anonymised, so it must not leave the site.
    DropIf(recording.mutable_runs(), [](const HostRecording::Run& run) {
      return run.argv_size() > 0 && absl::EndsWith(run.argv(0), "/npu-smi");
    });
    return recording;
  }
  return InvalidWords(bytes.empty() ? "msg-record-empty"
                                    : "msg-record-not-whole");
}

std::vector<RunRecord> MakeRecords(const HostRecording& recording,
                                   const AddressMap& addresses) {
  const HostFacts& facts = recording.facts();
  Anonymiser anonymiser(recording, addresses);
  std::map<uint32_t, std::string> states = StatesOf(recording, &anonymiser);
  // Runs without a device come first.
  std::map<std::optional<uint32_t>, std::vector<RunRecord>> by_device;
  for (const HostRecording::Run& run : recording.runs()) {
    const Query query = QueryOf(run);
    RunRecord record = MakeRecord(
        run, query, query.device.has_value() ? states[*query.device] : "",
        &anonymiser);
    record.set_product(NearestProduct(facts));
    const VersionFacts& versions = facts.versions();
    record.set_build(ValidUtf8(absl::StrCat(
        "a real host's", Part(", driver ", versions.driver().value()),
        Part(", firmware ", versions.firmware().value()))));
    by_device[query.device].push_back(std::move(record));
  }
  std::vector<RunRecord> records;
  std::map<std::string, int> seen;
  for (auto& [device, of_device] : by_device) {
    for (RunRecord& record : of_device) {
      // "x" and "x" become "x" and "x-2".
      const int count = ++seen[record.name()];
      if (count > 1) record.set_name(absl::StrCat(record.name(), "-", count));
      records.push_back(std::move(record));
    }
  }
  return records;
}

std::string DeviceStateText(
    const DeviceFacts& device, absl::string_view lldp_output,
    const std::function<std::string(absl::string_view)>& hide) {
  // Boards with several ports have a pair each; the simulated tool repeats one.
  const auto& settings = device.address().value().settings();
  const Ipv4Setting first = settings.empty() ? Ipv4Setting() : settings[0];
  const std::string& detect = device.detect_address().value();
  const auto number = [](bool is_known, int64_t value) {
    return is_known ? absl::StrCat(value) : "";
  };
  uint32_t port = 0;
  const bool is_port = absl::SimpleAtoi(device.roce_port().value(), &port);
  const std::pair<const char*, std::string> values[] = {
      {"ip", hide(first.address())},
      {"mask", hide(first.netmask())},
      {"gateway", hide(device.gateway().value())},
      {"netdetect", detect == "0.0.0.0" ? "" : hide(detect)},
      // The vendor's codes count from 0, these enums from 1.
      {"net_health",
       number(device.net_health().value() != NET_HEALTH_UNSPECIFIED,
              device.net_health().value() - 1)},
      {"link", number(device.link().value() != LinkFact::LINK_UNSPECIFIED,
                      device.link().value() == LinkFact::UP)},
      {"mtu", number(device.mtu().has_value(), device.mtu().value())},
      {"speed",
       number(device.speed_mbps().has_value(), device.speed_mbps().value())},
      {"cfg_status",
       number(device.recovery().value() != RecoveryFact::RECOVERY_UNSPECIFIED,
              device.recovery().value() - 1)},
      {"tls", number(device.tls().has_value(), device.tls().value().enabled())},
      {"bitmap", device.pfc().value()},
      {"dscp_tc", device.dscp_to_tc().value()},
      {"prio_tc", device.priority_to_tc().value()},
      {"roce_port", number(is_port, port)},
      {"opt_serial", device.optical().value().present() ? "removed" : ""},
      // The tool adds one newline to the device's text.
      {"lldp", std::string(absl::StripSuffix(lldp_output, "\n"))}};
  std::vector<std::string> state;
  for (const auto& [key, value] : values) {
    if (value.empty()) continue;
    // The form that the simulated tool reads.
    state.push_back(absl::StrCat(
        key, ".", device.id(), "=",
        absl::StrReplaceAll(
            value,
            {{"\n", "\\n"}, {"\t", "\\t"}, {";", "\\;"}, {"\\", "\\\\"}})));
  }
  return absl::StrJoin(state, "; ");
}

std::string NearestProduct(const HostFacts& facts) {
  const std::string& series = facts.identity().npu_series().value();
  if (facts.hccn_tool().generation() == NpuToolFacts::ASCEND_950) {
    return "Ascend-950";
  }
  if (absl::StartsWith(series, "A1")) return "A1-SMP";
  if (absl::StartsWith(series, "A3")) return "A3-no-pod";
  for (const uint32_t id : facts.device_ids().value().ids()) {
    if (id > 7) return "A2-Box16";
  }
  return "A2";
}

absl::StatusOr<std::string> FormatRecords(
    const std::vector<RunRecord>& records) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  for (const RunRecord& record : records) {
    std::string line;
    const auto status =
        google::protobuf::util::MessageToJsonString(record, &line, options);
    if (!status.ok()) {
      return absl::InternalError(
          absl::StrCat("record \"", record.name(), "\": ", status.ToString()));
    }
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string NameMap::Alias(const std::string& kind, absl::string_view name) {
  std::string& alias = aliases_[{kind, absl::AsciiStrToLower(name)}];
  if (alias.empty()) alias = absl::StrCat(kind, "-", ++counts_[kind]);
  return alias;
}

void NameMap::AddWord(const std::string& name, const std::string& alias) {
  if (name.size() < 2 || absl::c_all_of(name, absl::ascii_isdigit)) return;
  words_.emplace(absl::AsciiStrToLower(name), alias);
}

void NameMap::Add(const std::string& kind, absl::string_view name) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(name);
  // An address is not a name; ReplaceAddresses hides it.
  if (trimmed.empty() || Ipv4Address::Parse(trimmed).ok()) return;
  const size_t dot = trimmed.find('.');
  const absl::string_view first = trimmed.substr(0, dot);
  // A host is the same with and without its domain.
  const std::string alias = Alias(kind, first.empty() ? trimmed : first);
  AddWord(std::string(trimmed), alias);
  AddWord(std::string(first), alias);
  if (dot == absl::string_view::npos || first.empty()) return;
  const absl::string_view domain = trimmed.substr(dot + 1);
  if (!domain.empty()) AddWord(std::string(domain), Alias("domain", domain));
}

std::string NameMap::Replace(absl::string_view text) const {
  std::string out;
  bool is_inside_word = false;
  while (!text.empty()) {
    const auto found = absl::c_find_if(words_, [&](const auto& word) {
      const size_t end = word.first.size();
      return !is_inside_word && absl::StartsWithIgnoreCase(text, word.first) &&
             (end == text.size() || !absl::ascii_isalnum(text[end]));
    });
    const bool is_name = found != words_.end();
    const size_t taken = is_name ? found->first.size() : 1;
    absl::StrAppend(&out, is_name ? found->second : text.substr(0, taken));
    is_inside_word = absl::ascii_isalnum(text[taken - 1]);
    text.remove_prefix(taken);
  }
  return out;
}

void CollectSwitchNames(absl::string_view output, NameMap* names) {
  absl::string_view title;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    if (!IsTitle(line, &title) && title == "System Name TLV") {
      names->Add("switch", line);
    }
  }
}

std::string HideToolText(absl::string_view output, NameMap* names) {
  absl::string_view title;
  return WithLines(output, [&](absl::string_view line) {
    if (IsTitle(line, &title)) return std::string(line);
    return title.empty() ? HideOwner(line) : HideLldpBody(title, line, names);
  });
}

std::string HideConfComments(absl::string_view conf) {
  return WithLines(conf, [](absl::string_view line) {
    return absl::StartsWith(line, "#") ? absl::StrCat("# ", kRemoved)
                                       : std::string(line);
  });
}

}  // namespace clusterd
