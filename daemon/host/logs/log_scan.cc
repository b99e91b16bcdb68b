#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "daemon/host/logs/read_logs.h"

namespace clusterd {
namespace {

// Error texts of HCCL, the driver and related programs, with the code in the
// job's own output. Texts without a code have the name of a rule.
constexpr absl::string_view kHostPort = "EI0019";

struct KnownText {
  const char* form;
  absl::string_view code;
};
constexpr KnownText kKnownTexts[] = {
    // Matches codes themselves: "EI0006", "EJ0003" (HCOMM error_code.cc; other
    // components of CANN number theirs alike).
    {R"(\bE[A-Z]\d{4}\b)", ""},
    // HCCL docs, fault_diagnosis/cluster_info_nego.md.
    {"topo exchange (?:server|agent) get socket timeout", "EI0015"},
    {R"(Failed to connect agent\[|connected rankinfo\[LINE)", "EI0015"},
    {"need connect rankNum is", "EI0015"},
    // vllm-ascend issue 405: "port[60000], return[11]".
    {"host nic listen start failed", "EJ0003"},
    // HCCL 8 writes "is been using". See IsOfNpu.
    {"port is be(?:en|ing) us(?:ed|ing)", kHostPort},
    // hiascend.com case 9514. HCCL's advice for every link failure also names
    // the TLS switch, and is not a finding (vllm-ascend issue 1815).
    {"possible cause is that the TLS switch is inconsistent", "EI0016"},
    // HCOMM: "the IP address(%s) in the ranktable is inconsistent with …".
    {"in the ranktable is inconsistent with the IP", "EI0014"},
    {"'device_ip' is not set correctly", "EI0014"},
    {R"(\[device_ip\]:\[[^\]\n]{0,64}\] is already exist)", "EI0014"},
    // vllm-ascend issue 9447; a row of LINK_ERROR_INFO.
    {"wait socket establish timeout", "EI0006"},
    {R"(\| *[\da-fA-F.:]+\(\d+\) *\|)", "EI0006"},
    // hixl issue 105: no super_device_id.
    {"sdid:0xffffffff", "EI0017"},
    // Both ends must be equal; see Details.
    {R"(localIpAddr\[)", "EI0009"},
    // MindCluster FAQ: Atlas 800 in AMP mode.
    {"int_process_hwts_sdma_timeout", "EI0012"},
    // hixl issue 382: the memory of the NPU's own system.
    {R"(ibv_cmd_create_cq failed, ret 12|qp create failed,? ?ret\[-259\])",
     "EI0007"},
    // vllm-ascend issue 2698 and the driver's uda_occupy_dev_by_ns.
    {R"(ret is -(?:8020|9005|8005)\b|drvErr=87\b|Conflict open udevid)",
     "device-namespace"},
    {"DrvMngGetConsoleLogLevel failed|Can't get ascend_hal device count",
     "device-namespace"},
    {"hostname of the client socket cannot be retrieved", "host-name"},
    {"error reading the file: Is a directory", "container-mounts"},
};

// Returns the next hit and moves `rest` past it; empty if there is none.
struct Found {
  absl::string_view text;
  absl::string_view code;
};
Found NextHit(re2::StringPiece* rest) {
  // One group for each of kKnownTexts.
  static const auto* const form = new RE2(absl::StrJoin(
      kKnownTexts, "|", [](std::string* out, const KnownText& known) {
        absl::StrAppend(out, "(", known.form, ")");
      }));
  re2::StringPiece groups[1 + std::size(kKnownTexts)];
  if (!form->Match(*rest, 0, rest->size(), RE2::UNANCHORED, groups,
                   std::size(groups))) {
    return {};
  }
  rest->remove_prefix(groups[0].end() - rest->begin());
  const absl::string_view text(groups[0].data(), groups[0].size());
  for (size_t i = 0; i < std::size(kKnownTexts); ++i) {
    if (groups[1 + i].data() == nullptr) continue;
    const absl::string_view code = kKnownTexts[i].code;
    return {text, code.empty() ? text : code};
  }
  return {};
}

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

// Port 16666 and its backup 16667 are the NPU's: "specific port[16666] fail.".
bool IsOfNpu(absl::string_view text, size_t at) {
  constexpr size_t kBefore = 120;
  const size_t from = at > kBefore ? at - kBefore : 0;
  return absl::StrContains(text.substr(from, at - from), "port[1666");
}

}  // namespace

std::string BoundedUtf8(absl::string_view text, size_t max_bytes) {
  std::string valid = ValidUtf8(text.substr(0, max_bytes));
  valid.resize(CutUtf8(valid, max_bytes).size());
  return valid;
}

std::vector<LogHit> ScanLog(absl::string_view text, uint64_t first_line,
                            bool* left_out) {
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
  for (Found next = NextHit(&rest); !next.code.empty(); next = NextHit(&rest)) {
    const size_t at = static_cast<size_t>(next.text.data() - text.data());
    // Stop at the code: otherwise each hit rereads a text without newlines.
    const absl::string_view before = text.substr(0, at);
    for (size_t end = before.find('\n', seen); end != before.npos;
         end = before.find('\n', seen)) {
      ++line;
      line_begin = seen = end + 1;
    }
    seen = at;
    if (next.code == kHostPort && IsOfNpu(text, at)) next.code = "EI0020";
    if (line_begin == refused && absl::StartsWith(next.text, kOwnEnd)) continue;
    const auto known = absl::c_find_if(found, [&next](const Counted& each) {
      return each.hit.code() == next.code;
    });
    if (known != found.end() && known->line_begin == line_begin) continue;
    if (known == found.end() && found.size() == kMaxCodesPerFile) {
      *left_out = true;
      continue;
    }
    const absl::string_view here = LineAt(text, at);
    Details details;
    if (!(known == found.end() ? details : known->details)
             .Take(here, next.text)) {
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
    added.hit.set_code(std::string(next.code));
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
