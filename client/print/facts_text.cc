#include "client/print/facts_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/print/duration_text.h"
#include "client/print/fact_value.h"
#include "client/print/terminal_text.h"

namespace clusterd {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;

constexpr size_t kMaxLines = 20;

// "tcp_max_syn_backlog" is "tcp max syn backlog".
std::string Label(const std::string& field_name) {
  return absl::StrReplaceAll(field_name, {{"_", " "}});
}

class FactsPrinter {
 public:
  FactsPrinter(const Style& style, std::ostream& out)
      : style_(style), out_(out) {}

  // All facts of one message under a heading, and what is told by a plain enum.
  // Other fields (an id, a list of messages) are left to the caller.
  void PrintSection(const std::string& title, const Message& section) {
    PrintTitle(title);
    const Descriptor& type = *section.GetDescriptor();
    int columns = 0;
    for (int i = 0; i < type.field_count(); ++i) {
      columns = std::max(columns, TextColumns(type.field(i)->name()));
    }
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (field.is_repeated()) continue;
      if (IsFact(field)) {
        PrintFact(Label(field.name()), columns,
                  section.GetReflection()->GetMessage(section, &field));
      } else if (field.enum_type() != nullptr) {
        const auto* value = section.GetReflection()->GetEnum(section, &field);
        out_ << "  " << Padded(Label(field.name()), columns) << "  "
             << (value->number() == 0 ? "not known" : EnumWords(*value))
             << "\n";
      }
    }
  }

  void PrintTitle(const std::string& title) {
    out_ << "\n" << Painted(style_, Paint::kBold, title) << "\n";
  }

  void PrintFact(const std::string& label, int columns, const Message& fact) {
    const FactText text = DescribeFact(fact);
    std::string head = Padded(label, columns);
    for (size_t i = 0; i < text.lines.size() && i < kMaxLines; ++i) {
      const std::string line = SafeText(text.lines[i], style_.utf8);
      out_ << "  " << head << "  "
           << (text.known ? line : Painted(style_, Paint::kMagenta, line))
           << "\n";
      head = std::string(columns, ' ');
    }
    if (text.lines.size() <= kMaxLines) return;
    out_ << "  " << head << "  and " << text.lines.size() - kMaxLines
         << " more; -o json has all\n";
  }

 private:
  const Style& style_;
  std::ostream& out_;
};

std::string EntryText(const HostEntry& entry, absl::Time now) {
  std::vector<std::string> parts;
  if (entry.attached()) {
    parts.push_back(
        absl::StrCat("attached for ", AgeText(entry.attached_since_ms(), now)));
  } else if (entry.last_seen_ms() == 0) {
    parts.push_back("never attached");
  } else {
    parts.push_back(absl::StrCat("not attached, last seen ",
                                 AgeText(entry.last_seen_ms(), now), " ago"));
  }
  if (!entry.in_spec()) parts.push_back("not in the spec");
  if (!entry.detached_reason().empty() && !entry.attached()) {
    parts.push_back(entry.detached_reason());
  }
  if (!entry.clusterd_version().empty()) {
    parts.push_back(absl::StrCat("clusterd ", entry.clusterd_version()));
  }
  if (!entry.peer().empty())
    parts.push_back(absl::StrCat("from ", entry.peer()));
  if (!entry.conflict().empty()) {
    parts.push_back(absl::StrCat("conflict: ", entry.conflict()));
  }
  return absl::StrJoin(parts, ", ");
}

// "observe, sysctl (/etc/clusterd/agent.yaml)"
std::string AllowsText(const HostAllows& allows) {
  const std::string kinds =
      allows.kinds().empty() ? "nothing" : absl::StrJoin(allows.kinds(), ", ");
  if (!allows.mistake().empty()) {
    return absl::StrCat(kinds,
                        ", as its file has a mistake: ", allows.mistake());
  }
  return absl::StrCat(
      kinds, " (",
      allows.file().empty() ? "no configuration file" : allows.file(), ")");
}

void PrintHead(const DescribeHostResponse& answer, const Style& style,
               absl::Time now, std::ostream& out) {
  const auto safe = [&](absl::string_view text) {
    return SafeText(text, style.utf8);
  };
  const HostFacts& facts = answer.facts();
  const std::string& name =
      answer.entry().host().empty() ? facts.host() : answer.entry().host();
  out << Painted(style, Paint::kBold, safe(name)) << ": "
      << safe(EntryText(answer.entry(), now)) << "\n";
  if (!answer.has_facts()) {
    out << "no facts\n";
    return;
  }
  if (facts.observed_at_ms() != 0) {
    out << "observed " << AgeText(facts.observed_at_ms(), now) << " ago, took "
        << DurationText(absl::Milliseconds(facts.elapsed_ms())) << "\n";
  }
  if (!facts.network_namespace().empty()) {
    out << "network namespace " << safe(facts.network_namespace()) << "\n";
  }
  if (!facts.simulation().empty()) {
    out << "note: " << safe(facts.simulation()) << "\n";
  }
  if (facts.has_allows()) {
    out << "allows " << safe(AllowsText(facts.allows())) << "\n";
  }
}

}  // namespace

void PrintHostFacts(const DescribeHostResponse& answer, const Style& style,
                    absl::Time now, std::ostream& out) {
  PrintHead(answer, style, now, out);
  if (!answer.has_facts()) return;
  const HostFacts& facts = answer.facts();
  FactsPrinter printer(style, out);
  if (facts.has_missing()) {
    out << "no facts: " << SafeText(MissingWords(facts.missing()), style.utf8)
        << "\n";
    return;
  }
  printer.PrintSection("Host", facts.identity());
  printer.PrintSection("Versions", facts.versions());
  printer.PrintSection("Kernel", facts.kernel());
  printer.PrintSection("ufw", facts.ufw());
  printer.PrintSection("firewalld", facts.firewalld());
  printer.PrintSection("hccn_tool", facts.hccn_tool());
  printer.PrintTitle("Other");
  printer.PrintFact("sockets", 10, facts.sockets());
  printer.PrintFact("hccn.conf", 10, facts.hccn_conf());
  printer.PrintFact("device ids", 10, facts.device_ids());
  printer.PrintFact("drift", 10, facts.drift());
  for (const DeviceFacts& device : facts.devices()) {
    printer.PrintSection(absl::StrCat("Device ", device.id()), device);
  }
}

}  // namespace clusterd
