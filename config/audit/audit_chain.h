// An audit file: a JSON object per line, each chained to the one before it.
//   {"sequence":"2","at":"2026-01-02T03:04:05.006Z","who":"spiffe://demo/user/
//   ada/role/operator",…,"previous":"<64 hex>","sha256":"<64 hex>"}
// sha256 is the SHA-256 of the line's own bytes, from its first up to and not
// including the last `,"sha256":"`. `previous`, which is among these bytes, is
// the sha256 of the line before, in the older file for the first line of a file
// that continues one. So no line can be altered, taken out, put in or moved
// without a break, unless every later line is written anew; whoever holds a
// head, which is a sequence number and its sha256, notices that as well, and a
// tail that was cut off.
//
// Pure: texts in, findings out.
#ifndef CONFIG_AUDIT_AUDIT_CHAIN_H_
#define CONFIG_AUDIT_AUDIT_CHAIN_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/words/words.h"
#include "proto/audit.pb.h"

namespace clusterd {

// AuditHead.of of the controller.
inline constexpr char kControllerFile[] = "controller";
// AuditEntry.what of the lines that the writer itself has cause to write: the
// first of a file that continues an older one, named by `subject`; the first
// after a torn one; and where it keeps heads of other files.
inline constexpr char kAuditContinues[] = "audit-continues";
inline constexpr char kAuditTorn[] = "audit-torn";
inline constexpr char kAuditHeads[] = "audit-heads";
// AuditEntry.result before an effect.
inline constexpr char kAuditBegins[] = "begins";

// Fills in sha256 and returns the line, without a newline. All texts become
// printable and are cut where they are long, so that a line is one line.
std::string SealAuditLine(AuditEntry* entry);

// InvalidArgument if it is no such object, or if sha256 is not that of the
// text, naming both. Fields of newer writers are left out.
absl::StatusOr<AuditEntry> ReadAuditLine(absl::string_view line);

AuditHead HeadOf(const AuditEntry& entry);

// "12:<64 hex>", as --head takes it. InvalidArgument, naming the text.
std::string AuditHeadText(const AuditHead& head);
absl::StatusOr<AuditHead> ParseAuditHead(absl::string_view text);

// What one file holds of others, by whose they are.
struct KnownHeads {
  std::map<std::string, AuditHead> newest;
  // Of a file that went back: the highest head that it no longer bears out.
  std::map<std::string, AuditHead> contradicted;

  // What its owner says now. True: it went back behind what was known, which
  // is then contradicted.
  bool Note(const AuditHead& head);
  // What stands in a line. A line of heads says what was known then; one of a
  // task may have been made before a head that stands above it.
  void Read(const AuditEntry& entry);
  // All of them; `of` and, where it is set, `contradicted` tell which.
  std::vector<AuditHead> All() const;
};

struct AuditText {
  std::string name;  // For messages.
  std::string text;
};

struct AuditFindings {
  uint64_t lines = 0;
  AuditHead head;  // Of the newest line that can be read.
  // One line each, "audit.jsonl:12: …" with what was expected and what was
  // found; empty: intact.
  std::vector<FindingValue> breaks;
  // What is no break: lines that a crash cut off, older files that are not
  // among the texts.
  std::vector<FindingValue> notes;
  KnownHeads known;  // That stand in it.
};

// The files of one writer, oldest first, as one chain. A break is told once:
// what follows is held against the line that is there. `heads`: what others
// know; a break unless the line of that number is there with that sha256.
AuditFindings VerifyAudit(absl::Span<const AuditText> files,
                          absl::Span<const AuditHead> heads);

}  // namespace clusterd

#endif  // CONFIG_AUDIT_AUDIT_CHAIN_H_
