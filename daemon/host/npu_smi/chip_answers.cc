#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/npu_smi/device_ids.h"

namespace clusterd {
namespace {

constexpr size_t kMaxInformationBytes = 500;
// The tool keeps 128 codes at most, and a chip has 8 ports.
constexpr size_t kMaxCodes = 128;
constexpr size_t kMaxCodeBytes = 32;
constexpr size_t kMaxPorts = 64;

constexpr std::pair<absl::string_view, ChipHealth::Health> kHealths[] = {
    {"OK", ChipHealth::OK},
    {"Warning", ChipHealth::WARNING},
    {"Alarm", ChipHealth::ALARM},
    {"Critical", ChipHealth::CRITICAL},
    {"UNKNOWN", ChipHealth::NOT_STARTED},
};

// The values of an answer, as views into it.
class Answer {
 public:
  // With `odd` set, skips lines without a colon and keeps the first error in
  // it.
  static absl::StatusOr<Answer> Read(absl::string_view output,
                                     absl::Status* odd = nullptr) {
    static const LazyRE2 kForm = {
        "[[:space:]]*([^:]*?)[[:space:]]*:[[:space:]]*(.*)", RE2::Latin1};
    Answer answer;
    answer.text_ = output;
    for (const absl::string_view line : NpuSmiDataLines(output)) {
      absl::string_view key;
      absl::string_view value;
      if (HasForm(line, *kForm, &key, &value)) {
        answer.values_.emplace(key, value);
      } else if (odd == nullptr) {
        return InvalidWords("fact-no-colon", QuotedText(line));
      } else {
        odd->Update(InvalidWords("fact-no-colon", QuotedText(line)));
      }
    }
    return answer;
  }

  bool Has(absl::string_view key) const { return values_.count(key) > 0; }

  // Returns the value of a key that must occur once.
  absl::StatusOr<absl::string_view> Value(absl::string_view key) const {
    const auto [first, last] = values_.equal_range(key);
    if (first == last) {
      return InvalidWords("fact-no-key", key, QuotedText(text_));
    }
    if (std::next(first) == last) return first->second;
    return InvalidWords("fact-key-twice", key, QuotedText(text_));
  }

  // Returns the joined values of a key that may be missing, "NA", or repeated.
  std::string AllOf(absl::string_view key) const {
    std::string all;
    for (auto [at, last] = values_.equal_range(key); at != last; ++at) {
      if (at->second == "NA") continue;
      absl::StrAppend(&all, all.empty() ? "" : " ", at->second);
    }
    return all;
  }

  template <typename Integer = uint64_t>
  absl::StatusOr<Integer> Number(absl::string_view key) const {
    ASSIGN_OR_RETURN(const absl::string_view value, Value(key));
    Integer number = 0;
    if (ParseDigits(value, &number)) return number;
    return InvalidWords("fact-no-number", key, QuotedText(value));
  }

 private:
  absl::string_view text_;
  std::multimap<absl::string_view, absl::string_view> values_;
};

absl::StatusOr<uint64_t> PagesToCome(const Answer& answer,
                                     absl::string_view key) {
  if (!answer.Has(key)) return 0;
  ASSIGN_OR_RETURN(const uint64_t pages, answer.Number(key));
  return pages > (uint64_t{1} << 31) ? 0 : pages;
}

struct Failure {
  absl::string_view prefix;
  absl::StatusCode code;
};
constexpr Failure kFailures[] = {
    {"There is no NPU card on this server.", absl::StatusCode::kNotFound},
    {"Invalid card id.", absl::StatusCode::kNotFound},
    {"Failed to query ", absl::StatusCode::kUnavailable},
    {"This device does not support ", absl::StatusCode::kUnimplemented},
    {"Error parameter of ", absl::StatusCode::kInvalidArgument},
    {"Usage: npu-smi", absl::StatusCode::kInvalidArgument},
};

}  // namespace

absl::StatusOr<ChipHealth> ParseNpuSmiHealth(absl::string_view output) {
  absl::Status odd;
  ASSIGN_OR_RETURN(const Answer answer, Answer::Read(output, &odd));
  const bool of_card = !answer.Has("Health Status") && answer.Has("Health");
  const auto found = answer.Value(of_card ? "Health" : "Health Status");
  const absl::string_view word = found.value_or("OK");
  // A fault counts despite further unknown lines.
  if (word == "OK") RETURN_IF_ERROR(odd);
  RETURN_IF_ERROR(found.status());
  const auto* const known = absl::c_find_if(kHealths, [&](const auto& health) {
    return health.first == word || (health.second != ChipHealth::OK &&
                                    absl::EqualsIgnoreCase(health.first, word));
  });
  if (known == std::end(kHealths)) {
    return InvalidWords("fact-health-unknown", QuotedText(word));
  }
  ChipHealth health;
  health.set_health(known->second);
  const std::string codes = answer.AllOf("Error Code");
  for (const absl::string_view code :
       absl::StrSplit(codes, absl::ByAnyChar(" ,;\t"), absl::SkipEmpty())) {
    std::string digits = absl::AsciiStrToUpper(code);
    if (absl::StartsWith(digits, "0X")) digits.erase(0, 2);
    const bool is_code = !digits.empty() && digits.size() <= 8 &&
                         absl::c_all_of(digits, absl::ascii_isxdigit);
    // The health word is enough to report a fault, even with unknown codes.
    if (health.health() == ChipHealth::OK) {
      if (!is_code || health.error_codes_size() == kMaxCodes) {
        return InvalidWords("fact-no-error-code", QuotedText(code));
      }
    } else if (health.error_codes_size() == kMaxCodes) {
      break;
    }
    health.add_error_codes(is_code ? digits
                                   : PrintableText(code, kMaxCodeBytes));
  }
  health.set_information(
      PrintableText(answer.AllOf("Error Information"), kMaxInformationBytes));
  return health;
}

absl::StatusOr<MemoryErrors> ParseNpuSmiEcc(absl::string_view output) {
  ASSIGN_OR_RETURN(const Answer answer, Answer::Read(output));
  MemoryErrors errors;
  ASSIGN_OR_RETURN(const uint64_t double_bit,
                   answer.Number("HBM Double Bit Error Count"));
  errors.set_double_bit(double_bit);
  for (const absl::string_view kind : {"Single", "Double"}) {
    ASSIGN_OR_RETURN(
        const uint64_t isolated,
        answer.Number(absl::StrCat("HBM ", kind, " Bit Isolated Pages Count")));
    ASSIGN_OR_RETURN(
        const uint64_t next,
        PagesToCome(answer, absl::StrCat("HBM ", kind,
                                         " Bit Next-Isolated Pages Count")));
    errors.set_isolated_pages(errors.isolated_pages() + isolated);
    errors.set_next_isolated_pages(errors.next_isolated_pages() + next);
  }
  return errors;
}

absl::StatusOr<std::string> ParseNpuSmiCompatibility(absl::string_view output) {
  constexpr absl::string_view kKey = "Compatibility";
  ASSIGN_OR_RETURN(const Answer answer, Answer::Read(output));
  if (!answer.Has(kKey)) {
    return UnimplementedWords("fact-no-line", kKey);
  }
  ASSIGN_OR_RETURN(const absl::string_view word, answer.Value(kKey));
  for (const absl::string_view known :
       {"OK", "NOK", "UNKNOWN", "NOT SUPPORT"}) {
    if (word == known) return std::string(word);
  }
  return InvalidWords("fact-compatibility-unknown", QuotedText(word));
}

absl::StatusOr<HccsLinks> ParseNpuSmiHccs(absl::string_view output) {
  ASSIGN_OR_RETURN(const Answer answer, Answer::Read(output));
  const std::string name = answer.Has("xlink health status") ? "xlink" : "hccs";
  ASSIGN_OR_RETURN(const absl::string_view word,
                   answer.Value(name + " health status"));
  if (word != "OK" && word != "NOK") {
    return InvalidWords("fact-status-unknown", QuotedText(word));
  }
  HccsLinks links;
  links.set_ok(word == "OK");
  const std::string lanes = answer.AllOf(name + " lane mode");
  for (const absl::string_view lane :
       absl::StrSplit(lanes, absl::ByAnyChar("[] \t"), absl::SkipEmpty())) {
    uint32_t number = 0;
    if (!ParseDigits(lane, &number) || links.lanes_size() == kMaxPorts) {
      return InvalidWords("fact-no-lane-mode", QuotedText(lanes));
    }
    links.add_lanes(number);
  }
  return links;
}

absl::StatusOr<SuperPodPlace> ParseNpuSmiSuperPod(absl::string_view output) {
  ASSIGN_OR_RETURN(const Answer answer, Answer::Read(output));
  SuperPodPlace place;
  for (const auto& [key, set] :
       {std::make_pair("SDID", &SuperPodPlace::set_sdid),
        std::make_pair("Super Pod Size", &SuperPodPlace::set_size),
        std::make_pair("Super Pod ID", &SuperPodPlace::set_super_pod_id),
        std::make_pair("Server Index", &SuperPodPlace::set_server_index)}) {
    ASSIGN_OR_RETURN(const uint32_t number, answer.Number<uint32_t>(key));
    (place.*set)(number);
  }
  return place;
}

absl::StatusOr<std::map<std::pair<uint32_t, uint32_t>, DeviceMemory>>
ParseNpuSmiMemory(absl::string_view output) {
  // The second cell distinguishes the rows: health, PCI address, pid.
  static const LazyRE2 kNpu = {R"(\| *(\d+) +[^|]+\| *[A-Za-z]+ *\|[^|]*\|)"};
  static const LazyRE2 kChip = {
      R"(\| *(\d+)(?: +\d+)? *\| *[[:xdigit:]]+:[[:xdigit:]:.]+ *\|)"
      R"([^|]*?(\d+) */ *(\d+) *\|)"};
  static const LazyRE2 kProcess = {
      R"(\| *(\d+) +(\d+) *\| *(\d+) *\|.*\| *\d* *\|)", RE2::Latin1};
  std::map<std::pair<uint32_t, uint32_t>, DeviceMemory> memories;
  std::pair<uint32_t, uint32_t> chip;
  bool has_npu = false;  // The row above names it.
  for (const absl::string_view line : NpuSmiDataLines(output)) {
    DeviceMemory memory;
    uint64_t used = 0;
    uint64_t total = 0;
    uint32_t pid = 0;
    if (HasForm(line, *kNpu, &chip.first)) {
      has_npu = true;
      continue;
    }
    if (has_npu && HasForm(line, *kChip, &chip.second, &used, &total)) {
      memory.set_used_mb(used);
      memory.set_total_mb(total);
      memories[chip] = memory;
    } else if (HasForm(line, *kProcess, &chip.first, &chip.second, &pid) &&
               memories.count(chip) > 0) {
      memories[chip].add_pids(pid);
    }
    has_npu = false;
  }
  if (memories.empty()) {
    return InvalidWords("fact-no-chip-memory", QuotedText(output));
  }
  return memories;
}

absl::Status NpuSmiFailure(const CommandResult& result) {
  const std::string streams =
      absl::StrCat(result.standard_error, "\n", result.standard_output);
  // Includes "dcmi module initialize failed. ret is -8005" of other releases.
  static const LazyRE2 kIsOwned = {
      R"(.*(?:ret is -(?:8005|8020|9005)\b|drvErr=87\b).*|)"
      R"((?:dcmi model initialized|DrvMngGetConsoleLogLevel) failed.*)",
      RE2::Latin1};
  for (const absl::string_view line : absl::StrSplit(streams, '\n')) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    const FindingValue said =
        Worded("about", "npu-smi", PrintableText(text, kMaxQuotedBytes));
    // Both causes produce the same texts.
    if (HasForm(text, *kIsOwned)) {
      return UnavailableWords("fact-devices-owned", said);
    }
    for (const Failure& failure : kFailures) {
      if (!absl::StartsWith(text, failure.prefix)) continue;
      return WithWords(absl::Status(failure.code, ""), said);
    }
  }
  if (result.signal == 0 && result.exit_status == 0) return absl::OkStatus();
  const std::string& said = result.standard_error.empty()
                                ? result.standard_output
                                : result.standard_error;
  return InFront("npu-smi",
                 UnavailableWords(
                     result.signal != 0 ? "fact-signal-and" : "fact-status-and",
                     result.signal != 0 ? result.signal : result.exit_status,
                     QuotedText(said)));
}

std::vector<absl::string_view> NpuSmiDataLines(absl::string_view output) {
  std::vector<absl::string_view> lines;
  for (absl::string_view line :
       absl::StrSplit(output, '\n', absl::SkipWhitespace())) {
    line = absl::StripTrailingAsciiWhitespace(line);
    if (!absl::StartsWith(line, "[WARNING]")) lines.push_back(line);
  }
  return lines;
}

}  // namespace clusterd
