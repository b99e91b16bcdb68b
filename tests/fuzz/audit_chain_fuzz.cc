
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/audit/audit_chain.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_input.h"

// Every entry comes back in one printable line; any text between two lines of a
// chain is a break, reported on one line.
void clusterd::FuzzText(const std::string& bytes) {
  AuditEntry first;
  first.set_sequence(1);
  first.set_who(bytes);
  first.set_result(bytes);
  first.add_heads()->set_of(bytes);
  const std::string line = SealAuditLine(&first);
  RequirePrintable(line, line.size());
  const auto read = ReadAuditLine(line);
  Require(read.ok() && read->SerializeAsString() == first.SerializeAsString());
  AuditEntry second;
  second.set_sequence(2);
  second.set_previous(first.sha256());
  const std::string next = SealAuditLine(&second);
  const AuditText files[] = {
      {"a", absl::StrCat(line, "\n", bytes, "\n", next, "\n")}};
  const AuditFindings found = VerifyAudit(files, {});
  Require(!found.breaks.empty());
  for (const FindingValue& each : found.breaks) {
    Require(!absl::StrContains(ValueText(each), "\n"));
  }
  (void)ParseAuditHead(bytes);
}
