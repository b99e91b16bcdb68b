#include "config/report/facts_table.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/words/fact_text.h"
#include "config/words/number_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;

constexpr size_t kMaxLines = 20;

// "tcp_max_syn_backlog" is "tcp max syn backlog".
std::string Label(const FieldDescriptor& field) {
  return absl::StrReplaceAll(field.name(), {{"_", " "}});
}

void AddFact(const std::string& label, const Message& fact, const Page& page,
             std::vector<Row>& rows) {
  const FactText text = DescribeFact(fact);
  const Paint paint = text.known ? Paint::kNone : Paint::kMagenta;
  const size_t shown = std::min(text.lines.size(), kMaxLines);
  for (size_t i = 0; i < shown; ++i) {
    rows.push_back({{i == 0 ? label : ""}, {page.Safe(text.lines[i]), paint}});
  }
  if (shown < text.lines.size()) {
    rows.push_back({{""}, {Say("list-more-json", text.lines.size() - shown)}});
  }
}

// All facts of one message, and plain enums. The caller adds other fields (an
// id, a list of messages).
std::vector<Row> RowsOf(const Message& group, const Page& page) {
  std::vector<Row> rows;
  const google::protobuf::Reflection& reflection = *group.GetReflection();
  for (int i = 0; i < group.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *group.GetDescriptor()->field(i);
    if (field.is_repeated()) continue;
    // The host queries it only if there is no IPv4 address.
    if (field.name() == "ipv6_address" && !reflection.HasField(group, &field)) {
      continue;
    }
    if (IsFact(field)) {
      AddFact(Label(field), reflection.GetMessage(group, &field), page, rows);
    } else if (field.enum_type() != nullptr) {
      const auto* value = reflection.GetEnum(group, &field);
      rows.push_back({{Label(field)},
                      {value->number() == 0 ? Say("hosts-value-unknown")
                                            : EnumWords(*value)}});
    }
  }
  return rows;
}

// "observe, sysctl (/etc/clusterd/agent.yaml)"
std::string AllowsText(const HostAllows& allows) {
  const std::string kinds = allows.kinds().empty()
                                ? Say("hosts-allows-nothing")
                                : absl::StrJoin(allows.kinds(), ", ");
  if (!allows.mistake().empty()) {
    return Say("hosts-allows-mistake", kinds, MistakeWords(allows));
  }
  return Say(
      allows.file().empty() ? "hosts-allows-no-file" : "hosts-allows-file",
      kinds, allows.file());
}

void PrintHead(const HostFacts& facts, absl::Time now, Page& page) {
  if (facts.observed_at_ms() != 0) {
    page.Whole("", Say("hosts-observed", AgeText(facts.observed_at_ms(), now),
                       ElapsedText(facts.elapsed_ms())));
  }
  page.Optional("report-namespace", facts.network_namespace());
  if (!facts.simulation().empty()) {
    page.PrintNote(ValueText(Term(facts.simulation())));
  }
  if (facts.has_allows()) {
    page.Whole("", page.Safe(Say("hosts-allows", AllowsText(facts.allows()))));
  }
}

}  // namespace

void PrintFactsTable(const HostFacts& facts, const Style& style, absl::Time now,
                     std::ostream& out) {
  Page page(style, out);
  PrintHead(facts, now, page);
  if (facts.has_missing()) {
    return page.Whole(
        "", page.Safe(Say("hosts-no-facts-why", WhyMissing(facts.missing()))));
  }
  std::vector<std::pair<std::string, std::vector<Row>>> tables = {
      {Say("hosts-facts-host"), RowsOf(facts.identity(), page)},
      {Say("hosts-facts-versions"), RowsOf(facts.versions(), page)},
      {Say("hosts-facts-kernel"), RowsOf(facts.kernel(), page)},
      {"ufw", RowsOf(facts.ufw(), page)},
      {"firewalld", RowsOf(facts.firewalld(), page)},
      {"hccn_tool", RowsOf(facts.hccn_tool(), page)},
      {Say("hosts-facts-other"), {}}};
  std::vector<Row>& other = tables.back().second;
  AddFact("sockets", facts.sockets(), page, other);
  AddFact("hccn.conf", facts.hccn_conf(), page, other);
  AddFact("device ids", facts.device_ids(), page, other);
  AddFact("drop rules", facts.drop_rules(), page, other);
  AddFact("npu processes", facts.npu_processes(), page, other);
  AddFact("drift", facts.drift(), page, other);
  const auto& reflection = *facts.GetReflection();
  for (const char* name :
       {"interfaces", "own_name", "environment", "docker_running",
        "in_container", "open_files", "ssh", "clock", "roots"}) {
    const auto& field = *facts.GetDescriptor()->FindFieldByName(name);
    if (!reflection.HasField(facts, &field)) continue;
    AddFact(Label(field), reflection.GetMessage(facts, &field), page, other);
  }
  for (const DeviceFacts& device : facts.devices()) {
    tables.emplace_back(Say("hosts-facts-device", device.id()),
                        RowsOf(device, page));
  }
  for (const auto& [title, rows] : tables) {
    page.Title(title);
    page.PrintTable(rows, {/*indent=*/2});
  }
}

}  // namespace clusterd
