#include "config/audit/audit_chain.h"

#include <cassert>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/sha256.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "google/protobuf/util/json_util.h"

namespace clusterd {
namespace {

constexpr char kSeal[] = ",\"sha256\":\"";
constexpr size_t kSha256Digits = 64;
constexpr size_t kMaxFieldBytes = 1024;

bool IsSha256(absl::string_view text) {
  return text.size() == kSha256Digits && absl::c_all_of(text, [](char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

void MakePrintable(AuditEntry* entry) {
  for (std::string* const field :
       {entry->mutable_at(), entry->mutable_who(), entry->mutable_certificate(),
        entry->mutable_peer(), entry->mutable_what(), entry->mutable_subject(),
        entry->mutable_digest(), entry->mutable_result()}) {
    *field = PrintableText(*field, kMaxFieldBytes);
  }
  for (AuditHead& head : *entry->mutable_heads()) {
    *head.mutable_of() = PrintableText(head.of());
    *head.mutable_sha256() = PrintableText(head.sha256());
  }
}

FindingValue Known(absl::string_view sha256) {
  return sha256.empty() ? Worded("request-none")
                        : ToFindingValue(PrintableText(sha256));
}

FindingValue AtLine(const std::string& file, uint64_t line,
                    const FindingValue& words) {
  return Worded("about", absl::StrCat(file, ":", line), words);
}

class Verifier {
 public:
  explicit Verifier(absl::Span<const AuditHead> heads)
      : heads_(heads), seen_(heads.size()) {}

  void AddFile(const AuditText& file) {
    file_ = &file.name;
    line_ = 0;
    first_of_file_ = true;
    absl::string_view text = file.text;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      ++line_;
      AddLine(text.substr(0, end), end != absl::string_view::npos);
      text.remove_prefix(end == absl::string_view::npos ? text.size()
                                                        : end + 1);
    }
    if (torn_) {
      Break("msg-trust-audit-torn", torn_why_);
    }
    torn_ = false;
  }

  AuditFindings Finish() {
    for (size_t i = 0; i < heads_.size(); ++i) {
      if (!seen_[i]) TellUnseen(heads_[i]);
    }
    return std::move(found_);
  }

 private:
  template <typename... Values>
  void Break(absl::string_view row, const Values&... values) {
    found_.breaks.push_back(AtLine(*file_, line_, Worded(row, values...)));
  }

  void AddLine(absl::string_view line, bool whole) {
    const absl::StatusOr<AuditEntry> entry = ReadAuditLine(line);
    if (!entry.ok() || !whole) {
      if (torn_) BreakTorn();
      torn_ = true;
      torn_line_ = line_;
      torn_text_ = std::string(line);
      torn_why_ = entry.ok() ? Worded("audit-no-end-of-line")
                             : MessageWords(entry.status());
      return;
    }
    if (torn_) SettleTorn(*entry);
    CheckPlace(*entry);
    for (size_t i = 0; i < heads_.size(); ++i) {
      if (entry->sequence() != heads_[i].sequence()) continue;
      seen_[i] = true;
      if (entry->sha256() == heads_[i].sha256()) continue;
      Break("msg-trust-audit-rewritten", entry->sequence(), entry->sha256(),
            heads_[i].sha256());
    }
    found_.known.Read(*entry);
    ++found_.lines;
    found_.head = HeadOf(*entry);
  }

  void BreakTorn() {
    found_.breaks.push_back(AtLine(*file_, torn_line_, torn_why_));
    torn_ = false;
    // The line takes a number, so the next one does not report a gap too.
    ++skipped_;
  }

  // The line before was unreadable: a break, unless the writer says so.
  void SettleTorn(const AuditEntry& entry) {
    if (entry.what() == kAuditTorn &&
        entry.torn().bytes() == torn_text_.size() &&
        entry.torn().sha256() == Sha256Hex(torn_text_)) {
      found_.notes.push_back(AtLine(
          *file_, torn_line_, Worded("audit-cut-by-crash", torn_text_.size())));
      torn_ = false;
      return;
    }
    BreakTorn();
  }

  void CheckPlace(const AuditEntry& entry) {
    const bool first = std::exchange(first_of_file_, false);
    // The caller has reported each unreadable line, and each took a number.
    const uint64_t skipped = std::exchange(skipped_, 0);
    if (found_.lines == 0) {
      if (skipped > 0) return;
      if (entry.sequence() == 1 && entry.previous().empty()) return;
      if (first && entry.what() == kAuditContinues) {
        return found_.notes.push_back(Worded("audit-continues", *file_,
                                             entry.sequence(),
                                             PrintableText(entry.subject())));
      }
      Break("msg-trust-audit-begin-missing", entry.sequence());
      return;
    }
    const uint64_t expected = found_.head.sequence() + 1;
    if (entry.sequence() > expected && entry.sequence() <= expected + skipped) {
      return;
    }
    if (entry.sequence() != expected) {
      Break(entry.sequence() > expected ? "msg-trust-audit-lines-missing"
                                        : "msg-trust-audit-out-of-place",
            entry.sequence(), expected, entry.sequence() - expected);
    } else if (entry.previous() != found_.head.sha256()) {
      Break("msg-trust-audit-not-following", Known(entry.previous()),
            Known(found_.head.sha256()));
    }
  }

  void TellUnseen(const AuditHead& head) {
    const uint64_t last = found_.head.sequence();
    found_.breaks.push_back(Worded(
        head.sequence() > last ? "msg-trust-audit-truncated"
                               : "msg-trust-audit-not-in-files",
        AuditHeadText(head), head.sequence(), last, head.sequence() - last));
  }

  const absl::Span<const AuditHead> heads_;
  std::vector<bool> seen_;
  AuditFindings found_;
  const std::string* file_ = nullptr;
  uint64_t line_ = 0;
  bool first_of_file_ = false;
  bool torn_ = false;
  uint64_t skipped_ = 0;
  uint64_t torn_line_ = 0;
  std::string torn_text_;
  FindingValue torn_why_;
};

}  // namespace

std::string SealAuditLine(AuditEntry* entry) {
  MakePrintable(entry);
  entry->clear_sha256();
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string line;
  const bool made =
      google::protobuf::util::MessageToJsonString(*entry, &line, options).ok();
  assert(made);  // Printable texts and numbers always have a JSON form.
  (void)made;
  line.pop_back();  // The closing brace.
  entry->set_sha256(Sha256Hex(line));
  return absl::StrCat(line, kSeal, entry->sha256(), "\"}");
}

absl::StatusOr<AuditEntry> ReadAuditLine(absl::string_view line) {
  const size_t seal = line.rfind(kSeal);
  absl::string_view said;
  if (seal != absl::string_view::npos) {
    said = line.substr(seal + sizeof(kSeal) - 1);
  }
  if (!absl::ConsumeSuffix(&said, "\"}") || !IsSha256(said)) {
    return InvalidWords("msg-trust-audit-no-line", QuotedText(line));
  }
  const std::string is = Sha256Hex(line.substr(0, seal));
  if (is != said) {
    return InvalidWords("msg-trust-audit-altered", is, said);
  }
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  AuditEntry entry;
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      std::string(line), &entry, options);
  if (parsed.ok() && entry.sequence() != 0) return entry;
  return InvalidWords("msg-trust-audit-no-json", QuotedText(line));
}

bool KnownHeads::Note(const AuditHead& head) {
  AuditHead& known = newest[head.of()];
  const bool same_line = head.sequence() == known.sequence();
  const bool contradicts = head.sequence() < known.sequence() ||
                           (same_line && head.sha256() != known.sha256());
  if (contradicts) {
    AuditHead& kept = contradicted[head.of()];
    if (known.sequence() > kept.sequence()) kept = known;
    kept.set_contradicted(true);
  }
  known = head;
  known.clear_contradicted();
  return contradicts;
}

void KnownHeads::Read(const AuditEntry& entry) {
  for (const AuditHead& head : entry.heads()) {
    if (head.contradicted()) {
      contradicted[head.of()] = head;
      continue;
    }
    AuditHead& known = newest[head.of()];
    if (entry.what() == kAuditHeads || head.sequence() > known.sequence()) {
      known = head;
    }
  }
}

std::vector<AuditHead> KnownHeads::All() const {
  std::vector<AuditHead> all;
  for (const auto& [of, head] : newest) {
    all.push_back(head);
    const auto kept = contradicted.find(of);
    if (kept != contradicted.end()) all.push_back(kept->second);
  }
  return all;
}

AuditHead HeadOf(const AuditEntry& entry) {
  AuditHead head;
  head.set_sequence(entry.sequence());
  head.set_sha256(entry.sha256());
  return head;
}

std::string AuditHeadText(const AuditHead& head) {
  return absl::StrCat(head.sequence(), ":", head.sha256());
}

absl::StatusOr<AuditHead> ParseAuditHead(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  AuditHead head;
  uint64_t sequence = 0;
  if (!absl::SimpleAtoi(parts.first, &sequence) || sequence == 0 ||
      !IsSha256(parts.second)) {
    return InvalidWords("msg-trust-audit-head-not-valid", QuotedText(text));
  }
  head.set_sequence(sequence);
  head.set_sha256(std::string(parts.second));
  return head;
}

AuditFindings VerifyAudit(absl::Span<const AuditText> files,
                          absl::Span<const AuditHead> heads) {
  Verifier verifier(heads);
  for (const AuditText& file : files) verifier.AddFile(file);
  return verifier.Finish();
}

}  // namespace clusterd
