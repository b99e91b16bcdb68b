#include "client/print/facts_text.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/report/facts_table.h"
#include "config/words/number_text.h"
#include "config/words/page.h"

namespace clusterd {
namespace {

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

}  // namespace

void PrintHostFacts(const DescribeHostResponse& answer, const Style& style,
                    absl::Time now, std::ostream& out) {
  const Page page(style, out);
  const HostFacts& facts = answer.facts();
  const std::string& name =
      answer.entry().host().empty() ? facts.host() : answer.entry().host();
  out << page.Strong(name) << ": " << page.Safe(EntryText(answer.entry(), now))
      << "\n";
  if (answer.has_facts()) {
    PrintFactsTable(facts, style, now, out);
  } else {
    out << "no facts\n";
  }
}

}  // namespace clusterd
