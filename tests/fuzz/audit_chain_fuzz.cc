
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/audit/audit_chain.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

// Every entry comes back in one printable line; any text between two lines of a
// chain is a break, reported on one line.
FUZZ_TEXT(audit_chain, 1, "tests/testdata/client/hostile/*") {
  AuditEntry first;
  first.set_sequence(1);
  first.set_who(text);
  first.set_result(text);
  first.add_heads()->set_of(text);
  const std::string line = SealAuditLine(&first);
  RequirePrintable(line, line.size());
  const auto read = ReadAuditLine(line);
  Require(read.ok() && read->SerializeAsString() == first.SerializeAsString());
  AuditEntry second;
  second.set_sequence(2);
  second.set_previous(first.sha256());
  const std::string next = SealAuditLine(&second);
  const AuditText files[] = {
      {"a", absl::StrCat(line, "\n", text, "\n", next, "\n")}};
  const AuditFindings found = VerifyAudit(files, {});
  Require(!found.breaks.empty());
  for (const FindingValue& each : found.breaks) {
    Require(!absl::StrContains(ValueText(each), "\n"));
  }
  (void)ParseAuditHead(text);
}

}  // namespace
}  // namespace clusterd
