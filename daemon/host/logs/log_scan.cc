#include "daemon/host/logs/log_scan.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

// A code: "EI0006", "EJ0003" (HCOMM error_code.cc; other components of CANN
// number theirs alike). Or one of kKnownTexts.
const RE2& HitForm() {
  static const LazyRE2 kForm = {
      R"((\bE[A-Z]\d{4}\b|topo exchange (?:server|agent) get socket timeout|)"
      R"(host nic listen start failed|TLS switch is inconsistent|)"
      R"(in the ranktable is inconsistent with the IP))"};
  return *kForm;
}

// What HCCL writes into its log where the code stands only in the job's own
// output, with the code that it becomes there.
struct KnownText {
  absl::string_view begin;
  absl::string_view code;
};
constexpr KnownText kKnownTexts[] = {
    // HCCL docs, fault_diagnosis/cluster_info_nego.md.
    {"topo exchange", "EI0015"},
    // vllm-ascend issue 405: "port[60000], return[11]".
    {"host nic listen", "EJ0003"},
    // hiascend.com case 9514: "ssl3_get_record:wrong version number".
    {"TLS switch", "EI0016"},
    // HCOMM: "the IP address(%s) in the ranktable is inconsistent with …".
    {"in the ranktable", "EI0014"}};

absl::string_view CodeOf(absl::string_view found) {
  const auto* const known =
      absl::c_find_if(kKnownTexts, [found](const KnownText& text) {
        return absl::StartsWith(found, text.begin);
      });
  return known == std::end(kKnownTexts) ? found : known->code;
}

// The line that position `at` of the text is in, without its end.
absl::string_view LineAt(absl::string_view text, size_t at) {
  const size_t before = text.rfind('\n', at);
  const size_t begin = before == absl::string_view::npos ? 0 : before + 1;
  // Nobody reads a line to its end that is megabytes long.
  constexpr size_t kMost = 4 * kMaxHitTextBytes;
  const size_t from = std::max(begin, at > kMost ? at - kMost : 0);
  absl::string_view line = text.substr(from, at - from + kMost);
  line = line.substr(0, line.find('\n', at - from));
  // The code itself must be seen.
  const size_t lead = at - from;
  if (lead > kMaxHitTextBytes / 2) {
    line.remove_prefix(lead - kMaxHitTextBytes / 2);
  }
  return line;
}

}  // namespace

std::string BoundedUtf8(absl::string_view text, size_t max_bytes) {
  std::string valid = ValidUtf8(text.substr(0, max_bytes));
  if (valid.size() <= max_bytes) return valid;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(valid[end]) & 0xc0) == 0x80) {
    --end;
  }
  valid.resize(end);
  return valid;
}

std::vector<LogHit> ScanLog(absl::string_view text, uint64_t first_line,
                            bool* left_out) {
  struct Counted {
    LogHit hit;
    size_t line_begin;  // Of the last line that was counted.
  };
  std::vector<Counted> found;
  re2::StringPiece rest(text.data(), text.size());
  re2::StringPiece match;
  uint64_t line = first_line;
  size_t line_begin = 0;
  size_t seen = 0;  // Newlines are counted up to there.
  while (RE2::FindAndConsume(&rest, HitForm(), &match)) {
    const size_t at = static_cast<size_t>(match.data() - text.data());
    // Not beyond the code, or a text that is all one line is read each time.
    const absl::string_view before = text.substr(0, at);
    for (size_t end = before.find('\n', seen); end != before.npos;
         end = before.find('\n', seen)) {
      ++line;
      line_begin = seen = end + 1;
    }
    seen = at;
    const absl::string_view code = CodeOf({match.data(), match.size()});
    const auto known = absl::c_find_if(
        found, [code](const Counted& each) { return each.hit.code() == code; });
    if (known != found.end()) {
      if (known->line_begin == line_begin) continue;
      known->line_begin = line_begin;
      known->hit.set_count(known->hit.count() + 1);
    } else if (found.size() == kMaxCodesPerFile) {
      *left_out = true;
    } else {
      Counted& added = found.emplace_back(Counted{{}, line_begin});
      added.hit.set_code(std::string(code));
      added.hit.set_line(first_line == 0 ? 0 : line);
      added.hit.set_text(BoundedUtf8(LineAt(text, at), kMaxHitTextBytes));
      added.hit.set_count(1);
    }
  }
  std::vector<LogHit> hits;
  for (Counted& each : found) hits.push_back(std::move(each.hit));
  return hits;
}

}  // namespace clusterd
