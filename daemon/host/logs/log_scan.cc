#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/codes/error_code.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "daemon/host/logs/read_logs.h"
#include "re2/re2.h"
#include "re2/set.h"

namespace clusterd {
namespace {

// Codes as logs write them: those of CANN and torch_npu, results of the
// runtime, and events of NPUs.
constexpr char kCodeForm[] =
    R"(\b(E[A-Z]\d{4}|ERR\d{5})\b|\b(E[1-9]\d{4})[:)])"
    R"(|(?:[Ee]rror code|[Ee]rr_?[Cc]ode|retCode|ret)(?: is|:|=)? ?\[?([125]07\d{3})\b)"
    R"(|[Ee]vent[ _]id[=:] {0,2}\[?(0x[\da-fA-F]{8})\b)";

absl::string_view View(const re2::StringPiece& piece) {
  return absl::string_view(piece.data(), piece.size());
}

// Finds codes, and the texts of config/codes that have none.
class LogForms {
 public:
  static const LogForms& All() {
    static const auto* const forms = new LogForms;
    return *forms;
  }

  // Returns the next text of an error and moves `rest` past it; its code is
  // empty if it turns out not to be one. False: there is none.
  bool Next(re2::StringPiece* rest, absl::string_view* text,
            absl::string_view* code) const {
    re2::StringPiece hit;
    if (!any_->Match(*rest, 0, rest->size(), RE2::UNANCHORED, &hit, 1)) {
      return false;
    }
    rest->remove_prefix(static_cast<size_t>(hit.end() - rest->begin()));
    *text = View(hit);
    *code = CodeOf(hit);
    return true;
  }

 private:
  LogForms() {
    std::string any = kCodeForm;
    std::string error;
    for (const ErrorCode& row : ErrorCodes()) {
      if (row.form.empty()) continue;
      absl::StrAppend(&any, "|", row.form);
      texts_.Add(std::string(row.form), &error);
      names_.push_back(row.name);
    }
    texts_.Compile();
    any_ = std::make_unique<RE2>(any, Bytes());
  }

  // Logs may hold any bytes.
  static RE2::Options Bytes() {
    RE2::Options options(RE2::Latin1);
    options.set_max_mem(int64_t{32} << 20);
    return options;
  }

  absl::string_view CodeOf(const re2::StringPiece& hit) const {
    re2::StringPiece code;
    re2::StringPiece number;
    re2::StringPiece result;
    re2::StringPiece event;
    if (RE2::FullMatch(hit, codes_, &code, &number, &result, &event)) {
      for (const re2::StringPiece& each : {code, number, result}) {
        if (!each.empty()) return View(each);
      }
      // An event may also be good news.
      const ErrorCode* const row = FindErrorCode(View(event));
      return row == nullptr || row->is_title ? absl::string_view() : row->name;
    }
    std::vector<int> which;
    if (!texts_.Match(hit, &which)) return {};
    return names_[static_cast<size_t>(*absl::c_min_element(which))];
  }

  const RE2 codes_{kCodeForm, Bytes()};
  RE2::Set texts_{Bytes(), RE2::ANCHOR_BOTH};
  std::vector<absl::string_view> names_;  // Of texts_.
  std::unique_ptr<RE2> any_;
};

template <typename... Parts>
bool Finds(absl::string_view line, const RE2& form, Parts*... parts) {
  return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), form,
                           FormPart(parts)...);
}

constexpr absl::string_view kOwnEnd = "localIpAddr";
constexpr int kMaxDetails = 8;
constexpr uint32_t kMaxRanks = 1 << 16;
constexpr int kMaxListedRanks = 64;

// Collects further details from the lines of one code.
class Details {
 public:
  // False: its details show that the line is not a hit.
  bool Take(absl::string_view line, absl::string_view found) {
    // Old CANN has four columns: no ports, no TLS. A row may end in a word.
    static const LazyRE2 kRow = {
        R"(\| *([\da-fA-F.:]+)\((\d+)\) *\|(?: *-?\d+ *\|)? *)"
        R"(([\da-fA-F.:]+)\((\d+)\) *\|(?: *-?\d+ *\|)? *\w+ *\|)"
        R"( *([^|]{0,40}?) *(?:\|(?: *(\w{1,20}) *(?:\||$))?|$))"};
    static const LazyRE2 kMissing = {
        R"((?:unconnected ranks: *"?|connect agent)\[([\d, ]+)\])"};
    static const LazyRE2 kNeeded = {R"(need connect rankNum is *\[(\d+)\])"};
    static const LazyRE2 kConnected = {
        R"(connected rankinfo\[LINE \d+\]: *(.*))"};
    static const LazyRE2 kOwn = {R"(Device:(\d{1,5}), RankID:(\d{1,6})\))"};
    static const LazyRE2 kEnds = {
        R"(localIpAddr\[([^\]]{1,64})\].*remote_ip_addr\[([^\]]{1,64})\])"};
    LogDetail detail;
    uint32_t here = 0;
    uint32_t there = 0;
    std::string ranks;
    if (Finds(line, *kRow, detail.mutable_there(), &there,
              detail.mutable_here(), &here, detail.mutable_status(),
              detail.mutable_tls())) {
      detail.set_kind(LogDetail::LINK);
      detail.set_here_rank(here);
      detail.set_there_rank(there);
      Add(std::move(detail));
    } else if (Finds(line, *kOwn, &there, &here)) {
      detail.set_kind(LogDetail::OWN_RANK);
      detail.set_here_rank(here);
      detail.set_device(there);
      Add(std::move(detail));
    } else if (Finds(line, *kMissing, &ranks)) {
      AddMissing(RanksOf(ranks, /*is_hex=*/false));
    } else if (Finds(line, *kConnected, &ranks)) {
      for (const uint32_t rank : RanksOf(ranks, /*is_hex=*/true))
        connected_.insert(rank);
    } else if (Finds(line, *kEnds, detail.mutable_here(),
                     detail.mutable_there()) &&
               detail.here() == detail.there()) {
      detail.set_kind(LogDetail::SAME_DEVICE);
      Add(std::move(detail));
    } else if (absl::StartsWith(found, kOwnEnd)) {
      return false;
    }
    Finds(line, *kNeeded, &needed_);
    return true;
  }

  void MoveTo(LogHit* hit) {
    std::vector<uint32_t> missing;
    for (uint32_t rank = 0; rank < std::min(needed_, kMaxRanks); ++rank) {
      if (connected_.count(rank) == 0) missing.push_back(rank);
    }
    if (!connected_.empty()) AddMissing(missing);
    for (LogDetail& each : details_) *hit->add_details() = std::move(each);
  }

 private:
  static std::vector<uint32_t> RanksOf(absl::string_view list, bool is_hex) {
    std::vector<uint32_t> ranks;
    for (const absl::string_view word : absl::StrSplit(
             list, absl::ByAnyChar("[], ;\"\r"), absl::SkipEmpty())) {
      uint32_t rank = 0;
      if (is_hex ? !absl::SimpleHexAtoi(word, &rank)
                 : !absl::SimpleAtoi(word, &rank)) {
        break;
      }
      if (rank < kMaxRanks) ranks.push_back(rank);
    }
    return ranks;
  }

  void AddMissing(const std::vector<uint32_t>& ranks) {
    if (ranks.empty()) return;
    LogDetail detail;
    detail.set_kind(LogDetail::MISSING_RANKS);
    for (const uint32_t rank : ranks) {
      if (detail.ranks_size() < kMaxListedRanks) detail.add_ranks(rank);
    }
    Add(std::move(detail));
  }

  void Add(LogDetail detail) {
    const std::string bytes = detail.SerializeAsString();
    if (details_.size() < kMaxDetails && seen_.insert(bytes).second) {
      details_.push_back(std::move(detail));
    }
  }

  std::vector<LogDetail> details_;
  std::set<std::string> seen_;
  std::set<uint32_t> connected_;
  uint32_t needed_ = 0;
};

// Returns the line around position `at`, without its end.
absl::string_view LineAt(absl::string_view text, size_t at) {
  const size_t before = text.rfind('\n', at);
  const size_t begin = before == absl::string_view::npos ? 0 : before + 1;
  // Reads only part of a line, which may be megabytes long.
  constexpr size_t kMost = 4 * kMaxHitTextBytes;
  const size_t from = std::max(begin, at > kMost ? at - kMost : 0);
  absl::string_view line = text.substr(from, at - from + kMost);
  line = line.substr(0, line.find('\n', at - from));
  // The code itself must stay visible.
  const size_t lead = at - from;
  if (lead > kMaxHitTextBytes / 2) {
    line.remove_prefix(lead - kMaxHitTextBytes / 2);
  }
  return line;
}

// Colours of a terminal: "\x1b[31mEI0006" would not begin a word.
std::string WithoutColours(absl::string_view text) {
  static const LazyRE2 kColour = {R"(\x1b\[[\d;:?]{0,32}[A-Za-z])"};
  std::string plain(text);
  RE2::GlobalReplace(&plain, *kColour, "");
  return plain;
}

}  // namespace

std::string BoundedUtf8(absl::string_view text, size_t max_bytes) {
  std::string valid = ValidUtf8(text.substr(0, max_bytes));
  valid.resize(CutUtf8(valid, max_bytes).size());
  return valid;
}

std::string LastLine(absl::string_view text) {
  text = absl::StripTrailingAsciiWhitespace(text);
  if (text.empty()) return "";
  const std::string line = WithoutColours(LineAt(text, text.size() - 1));
  return BoundedUtf8(line, kMaxHitTextBytes);
}

std::vector<LogHit> ScanLog(absl::string_view text, uint64_t first_line,
                            bool* left_out) {
  std::string plain;
  if (absl::StrContains(text, "\x1b[")) {
    plain = WithoutColours(text);
    text = plain;
  }
  struct Counted {
    LogHit hit;
    size_t line_begin;  // Where the last counted line begins.
    Details details;
  };
  std::vector<Counted> found;
  re2::StringPiece rest(text.data(), text.size());
  uint64_t line = first_line;
  size_t line_begin = 0;
  size_t seen = 0;             // Newlines before it are counted.
  size_t refused = text.npos;  // Begin of a line with different ends.
  absl::string_view error;
  absl::string_view code;
  while (LogForms::All().Next(&rest, &error, &code)) {
    if (code.empty()) continue;
    const size_t at = static_cast<size_t>(error.data() - text.data());
    // Stop at the code: otherwise each hit rereads a text without newlines.
    const absl::string_view before = text.substr(0, at);
    for (size_t end = before.find('\n', seen); end != before.npos;
         end = before.find('\n', seen)) {
      ++line;
      line_begin = seen = end + 1;
    }
    seen = at;
    if (line_begin == refused && absl::StartsWith(error, kOwnEnd)) continue;
    const auto known = absl::c_find_if(
        found, [code](const Counted& each) { return each.hit.code() == code; });
    if (known != found.end() && known->line_begin == line_begin) continue;
    if (known == found.end() && found.size() == kMaxCodesPerFile) {
      *left_out = true;
      continue;
    }
    const absl::string_view here = LineAt(text, at);
    Details details;
    if (!(known == found.end() ? details : known->details).Take(here, error)) {
      refused = line_begin;
      continue;
    }
    if (known != found.end()) {
      known->line_begin = line_begin;
      known->hit.set_count(known->hit.count() + 1);
      continue;
    }
    Counted& added =
        found.emplace_back(Counted{{}, line_begin, std::move(details)});
    added.hit.set_code(std::string(code));
    added.hit.set_line(first_line == 0 ? 0 : line);
    added.hit.set_text(BoundedUtf8(here, kMaxHitTextBytes));
    added.hit.set_count(1);
  }
  std::vector<LogHit> hits;
  for (Counted& each : found) {
    each.details.MoveTo(&each.hit);
    hits.push_back(std::move(each.hit));
  }
  return hits;
}

}  // namespace clusterd
