// An audit file: a JSON object per line, each chained to the one before it.
//   {"sequence":"2","at":"2026-01-02T03:04:05.006Z","who":"spiffe://demo/user/
//   ada/role/operator",…,"previous":"<64 hex>","sha256":"<64 hex>"}
// sha256 is the SHA-256 of the line's own bytes, from its first up to and not
// including the last `,"sha256":"`. `previous`, which is among these bytes, is
// the sha256 of the line before, in the older file for the first line of a file
// that continues one. So a line that is altered, removed, inserted or moved
// breaks the chain, unless every later line is rewritten. A reader who holds a
// head, a sequence number and its sha256, detects that too, and a tail that was
// cut off.
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

// AuditHead.of for the controller.
inline constexpr char kControllerFile[] = "controller";
// AuditEntry.what of the writer's own lines: the first of a file that continues
// an older one, named by `subject`; the first after a torn one; and where it
// keeps heads of other files.
inline constexpr char kAuditContinues[] = "audit-continues";
inline constexpr char kAuditTorn[] = "audit-torn";
inline constexpr char kAuditHeads[] = "audit-heads";
// AuditEntry.result before an effect.
inline constexpr char kAuditBegins[] = "begins";

// Fills in sha256 and returns the line, without a newline. All texts become
// printable, and long ones are cut.
std::string SealAuditLine(AuditEntry* entry);

// InvalidArgument if the line is not such an object, or if sha256 is not that
// of the text, naming both. Ignores fields of newer writers.
absl::StatusOr<AuditEntry> ReadAuditLine(absl::string_view line);

AuditHead HeadOf(const AuditEntry& entry);

// "12:<64 hex>", as --head takes it. InvalidArgument, naming the text.
std::string AuditHeadText(const AuditHead& head);
absl::StatusOr<AuditHead> ParseAuditHead(absl::string_view text);

// The heads of other files that one file has recorded, by owner.
struct KnownHeads {
  std::map<std::string, AuditHead> newest;
  // The highest head that a file of this owner, now shortened, no longer has.
  std::map<std::string, AuditHead> contradicted;

  // Records what its owner says now. True if the owner is behind the known
  // head, which is then contradicted.
  bool Note(const AuditHead& head);
  // Reads the heads of a line. A line of heads says what was known then; one of
  // a task may be older than a head that stands above it.
  void Read(const AuditEntry& entry);
  // All heads; `of` and, where it is set, `contradicted` name the owner.
  std::vector<AuditHead> All() const;
};

struct AuditText {
  std::string name;  // For messages.
  std::string text;
};

struct AuditFindings {
  uint64_t lines = 0;
  AuditHead head;  // The newest readable line's.
  // One line each, "audit.jsonl:12: …" with what was expected and what was
  // found; empty: intact.
  std::vector<FindingValue> breaks;
  // Not breaks: lines that a crash cut off, older files that are not given.
  std::vector<FindingValue> notes;
  KnownHeads known;  // Recorded in the files.
};

// Verifies the files of one writer, oldest first, as one chain. Reports a break
// once: later lines are compared with the line that is there. `heads`: what
// others know; a break unless the line of that number has that sha256.
AuditFindings VerifyAudit(absl::Span<const AuditText> files,
                          absl::Span<const AuditHead> heads);

}  // namespace clusterd

#endif  // CONFIG_AUDIT_AUDIT_CHAIN_H_
