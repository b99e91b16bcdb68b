#include "daemon/host/hccn/hccn_conf.h"

#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/hccn_conf_line.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr int kMaxProblems = 100;

void AddProblem(HccnConf::Problem::Kind kind, uint32_t line,
                absl::string_view text, HccnConf* conf) {
  if (conf->problems_size() >= kMaxProblems) return;
  HccnConf::Problem* problem = conf->add_problems();
  problem->set_kind(kind);
  problem->set_line(line);
  problem->set_text(PrintableText(text, kMaxQuotedBytes));
}

bool HasBlankEnds(absl::string_view text) {
  return absl::StripAsciiWhitespace(text).size() != text.size();
}

// Each rule has its own line; no published text says that the tool keeps one.
bool MayRepeat(absl::string_view key) {
  return absl::StartsWith(key, "ip_route_") ||
         absl::StartsWith(key, "ip_rule_");
}

class Reader {
 public:
  Reader(absl::string_view file, HccnConf* conf) : file_(file), conf_(conf) {}

  // Reads one line as the tool does, without its newline.
  void ReadLine(absl::string_view line, uint32_t number) {
    if (line.size() < 3 || line[0] == '#') return;
    const absl::string_view key = HccnConfKeyOf(line);
    const bool is_entry = key.size() < line.size() && !key.empty();
    absl::string_view text = line;
    if (IsRouteLine(line)) {
      // The tool ignores text after a good value, even a carriage return.
      absl::ConsumeSuffix(&text, "\r");
      if (!IsScannedRoute(line)) {
        AddProblem(HccnConf::Problem::MALFORMED_ROUTE, number, text, conf_);
      } else if (!MayBeRecovered(line, file_)) {
        AddProblem(HccnConf::Problem::BAD_VALUE, number, text, conf_);
      }
    } else {
      if (absl::ConsumeSuffix(&text, "\r")) {
        AddProblem(HccnConf::Problem::CARRIAGE_RETURN, number, text, conf_);
      }
      if (IsRecoveredLine(text)) {
        JudgeValue(text, number);
      } else if (!is_entry || HasBlankEnds(key) ||
                 HasBlankEnds(text.substr(key.size() + 1)) ||
                 absl::c_any_of(text, absl::ascii_iscntrl)) {
        AddProblem(HccnConf::Problem::MALFORMED_LINE, number, text, conf_);
      }
    }
    if (is_entry) AddEntry(key, line.substr(key.size() + 1), number);
  }

 private:
  void JudgeValue(absl::string_view line, uint32_t number) {
    // The recovery uses the first line of a repeated key.
    const absl::string_view key = HccnConfKeyOf(line);
    if (keys_.contains(key) && !MayRepeat(key)) return;
    const absl::string_view body = absl::StripTrailingAsciiWhitespace(line);
    if (body.size() != line.size()) {
      AddProblem(HccnConf::Problem::TRAILING_BLANK, number, line, conf_);
    }
    if (!MayBeRecovered(body, file_)) {
      AddProblem(HccnConf::Problem::BAD_VALUE, number, body, conf_);
    }
  }

  void AddEntry(absl::string_view key, absl::string_view value,
                uint32_t number) {
    if (!keys_.insert(std::string(key)).second && !MayRepeat(key)) {
      AddProblem(HccnConf::Problem::DUPLICATE_KEY, number, key, conf_);
    }
    // "address_0" is the address of device 0. The tool writes ids in decimal
    // without leading zeros, so "address_00" is not a device's key.
    static const LazyRE2 kKeyOfDevice = {R"((.+)_(0|[1-9]\d?))", RE2::Latin1};
    HccnConf::Entry* entry = conf_->add_entries();
    uint32_t device = 0;
    if (HasForm(key, *kKeyOfDevice, &key, &device)) entry->set_device(device);
    entry->set_key(PrintableText(key, kHccnConfMaxLineBytes));
    entry->set_value(PrintableText(value, kHccnConfMaxLineBytes));
    entry->set_line(number);
  }

  const absl::string_view file_;
  HccnConf* const conf_;
  absl::flat_hash_set<std::string> keys_;
};

}  // namespace

absl::StatusOr<HccnConf> ParseHccnConf(absl::string_view text) {
  HccnConf conf;
  conf.set_sha256(HccnConfDigest(text));
  if (text.size() > kHccnConfMaxBytes) {
    AddProblem(HccnConf::Problem::FILE_TOO_LARGE, 0,
               absl::StrCat(text.size(), " bytes"), &conf);
  }
  Reader reader(text, &conf);
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  const bool is_ended = lines.back().empty();
  if (is_ended) lines.pop_back();
  uint32_t number = 0;
  for (absl::string_view line : lines) {
    ++number;
    if (!is_ended && number == lines.size()) {
      AddProblem(HccnConf::Problem::NO_FINAL_NEWLINE, number, line, &conf);
    }
    if (line.size() > kHccnConfMaxLineBytes) {
      AddProblem(HccnConf::Problem::LINE_TOO_LONG, number, line, &conf);
    }
    do {
      reader.ReadLine(line.substr(0, kHccnConfMaxLineBytes), number);
      line.remove_prefix(std::min(line.size(), kHccnConfMaxLineBytes));
    } while (!line.empty());
    if (static_cast<size_t>(conf.entries_size()) > kHccnConfMaxEntries) {
      return InvalidWords("fact-conf-entries", kHccnConfMaxEntries);
    }
  }
  return conf;
}

const std::string* FindHccnConfValue(const HccnConf& conf,
                                     const std::string& key, uint32_t device) {
  for (const HccnConf::Entry& entry : conf.entries()) {
    if (entry.has_device() && entry.device() == device && entry.key() == key) {
      return &entry.value();
    }
  }
  return nullptr;
}

}  // namespace clusterd
