#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/audit/audit_chain.h"
#include "tests/fuzz/require.h"

// Every entry comes back in one printable line; any text between two lines of a
// chain is a break, reported on one line.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using clusterd::Require;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  clusterd::AuditEntry first;
  first.set_sequence(1);
  first.set_who(bytes);
  first.set_result(bytes);
  first.add_heads()->set_of(bytes);
  const std::string line = clusterd::SealAuditLine(&first);
  clusterd::RequirePrintable(line, line.size());
  const auto read = clusterd::ReadAuditLine(line);
  Require(read.ok() && read->SerializeAsString() == first.SerializeAsString());
  clusterd::AuditEntry second;
  second.set_sequence(2);
  second.set_previous(first.sha256());
  const std::string next = clusterd::SealAuditLine(&second);
  const clusterd::AuditText files[] = {
      {"a", absl::StrCat(line, "\n", bytes, "\n", next, "\n")}};
  const clusterd::AuditFindings found = clusterd::VerifyAudit(files, {});
  Require(!found.breaks.empty());
  for (const clusterd::FindingValue& each : found.breaks) {
    Require(!absl::StrContains(clusterd::ValueText(each), "\n"));
  }
  (void)clusterd::ParseAuditHead(bytes);
  return 0;
}
