#include "daemon/host/npu_smi/npu_smi_report.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/host/npu_smi/npu_smi_error.h"
#include "daemon/host/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxInformationBytes = 500;

absl::Status Bad(absl::string_view query, absl::string_view what,
                 absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("npu-smi info ", query, ": ", what, " ", QuotedText(text)));
}

// Keys and values in the tool's order.
class Report {
 public:
  static absl::StatusOr<Report> Parse(absl::string_view query,
                                      absl::string_view output) {
    Report report(query, output);
    for (const absl::string_view line : NpuSmiDataLines(output)) {
      const size_t colon = line.find(':');
      if (colon == absl::string_view::npos) {
        return Bad(query, "no colon in", line);
      }
      report
          .entries_[std::string(
              absl::StripAsciiWhitespace(line.substr(0, colon)))]
          .push_back(
              std::string(absl::StripAsciiWhitespace(line.substr(colon + 1))));
    }
    return report;
  }

  const std::vector<std::string>& All(const std::string& key) const {
    static const auto* const kNone = new std::vector<std::string>();
    const auto found = entries_.find(key);
    return found == entries_.end() ? *kNone : found->second;
  }

  // Null: there is no such key.
  absl::StatusOr<const std::string*> Optional(const std::string& key) const {
    const std::vector<std::string>& values = All(key);
    if (values.size() > 1) {
      return Bad(query_, absl::StrCat("\"", key, "\" more than once in"),
                 output_);
    }
    return values.empty() ? nullptr : &values[0];
  }

  absl::StatusOr<std::optional<uint64_t>> OptionalNumber(
      const std::string& key) const {
    const absl::StatusOr<const std::string*> value = Optional(key);
    if (!value.ok()) return value.status();
    if (*value == nullptr) return std::optional<uint64_t>();
    uint64_t number = 0;
    if (!absl::SimpleAtoi(**value, &number)) {
      return Bad(query_, absl::StrCat("\"", key, "\" is no number:"), **value);
    }
    return std::optional<uint64_t>(number);
  }

  absl::StatusOr<uint64_t> NumberOf(const std::string& key) const {
    const absl::StatusOr<std::optional<uint64_t>> number = OptionalNumber(key);
    if (!number.ok()) return number.status();
    if (!number->has_value()) return MissingKey(key);
    return **number;
  }

  absl::Status MissingKey(absl::string_view key) const {
    return Bad(query_, absl::StrCat("no \"", key, "\" in"), output_);
  }

 private:
  Report(absl::string_view query, absl::string_view output)
      : query_(query), output_(output) {}

  std::string query_;
  std::string output_;
  std::map<std::string, std::vector<std::string>> entries_;
};

bool IsHex(absl::string_view word) {
  return !word.empty() &&
         std::all_of(word.begin(), word.end(),
                     [](unsigned char c) { return absl::ascii_isxdigit(c); });
}

absl::StatusOr<NpuSmiHealth::Status> HealthStatusOf(const std::string& word) {
  if (word == "OK") return NpuSmiHealth::Status::kOk;
  if (word == "Warning") return NpuSmiHealth::Status::kWarning;
  if (word == "Alarm") return NpuSmiHealth::Status::kAlarm;
  if (word == "Critical") return NpuSmiHealth::Status::kCritical;
  return Bad("-t health", "an unknown health", word);
}

}  // namespace

absl::StatusOr<std::vector<uint32_t>> ParseNpuSmiList(
    absl::string_view output) {
  const absl::StatusOr<Report> report = Report::Parse("-l", output);
  if (!report.ok()) return report.status();
  const absl::StatusOr<uint64_t> count = report->NumberOf("Total Count");
  if (!count.ok()) return count.status();
  std::vector<uint32_t> ids;
  std::set<uint32_t> seen;
  for (const std::string& value : report->All("NPU ID")) {
    uint32_t id = 0;
    if (!absl::SimpleAtoi(value, &id) || !seen.insert(id).second) {
      return Bad("-l", "no new NPU id:", value);
    }
    ids.push_back(id);
  }
  if (ids.size() != *count) {
    return Bad(
        "-l",
        absl::StrCat(ids.size(), " NPU ids, but a count of ", *count, " in"),
        output);
  }
  return ids;
}

absl::StatusOr<NpuSmiHealth> ParseNpuSmiHealth(absl::string_view output) {
  const absl::StatusOr<Report> report = Report::Parse("-t health", output);
  if (!report.ok()) return report.status();
  absl::StatusOr<const std::string*> word = report->Optional("Health Status");
  if (word.ok() && *word == nullptr) word = report->Optional("Health");
  if (!word.ok()) return word.status();
  if (*word == nullptr) return report->MissingKey("Health Status");
  const absl::StatusOr<NpuSmiHealth::Status> status = HealthStatusOf(**word);
  if (!status.ok()) return status.status();
  NpuSmiHealth health;
  health.status = *status;
  const absl::StatusOr<const std::string*> codes =
      report->Optional("Error Code");
  if (!codes.ok()) return codes.status();
  if (*codes != nullptr && **codes != "NA") {
    health.error_codes =
        absl::StrSplit(**codes, absl::ByAnyChar(" ,\t"), absl::SkipEmpty());
  }
  for (const std::string& code : health.error_codes) {
    if (!IsHex(code)) return Bad("-t health", "no error code:", code);
  }
  const std::vector<std::string>& information =
      report->All("Error Information");
  if (!information.empty() && information[0] != "NA") {
    health.information = PrintableText(information[0], kMaxInformationBytes);
  }
  return health;
}

absl::StatusOr<NpuSmiSuperPod> ParseNpuSmiSuperPod(absl::string_view output) {
  const absl::StatusOr<Report> report = Report::Parse("-t spod-info", output);
  if (!report.ok()) return report.status();
  const absl::StatusOr<std::optional<uint64_t>> sdid =
      report->OptionalNumber("SDID");
  if (!sdid.ok()) return sdid.status();
  const absl::StatusOr<std::optional<uint64_t>> index =
      report->OptionalNumber("Server Index");
  if (!index.ok()) return index.status();
  const absl::StatusOr<uint64_t> size = report->NumberOf("Super Pod Size");
  if (!size.ok()) return size.status();
  const absl::StatusOr<uint64_t> id = report->NumberOf("Super Pod ID");
  if (!id.ok()) return id.status();
  NpuSmiSuperPod pod;
  pod.sdid = *sdid;
  pod.server_index = *index;
  pod.size = *size;
  pod.id = *id;
  return pod;
}

absl::StatusOr<NpuSmiBoard> ParseNpuSmiBoard(absl::string_view output) {
  const absl::StatusOr<Report> report = Report::Parse("-t board", output);
  if (!report.ok()) return report.status();
  const absl::StatusOr<const std::string*> name = report->Optional("Chip Name");
  if (!name.ok()) return name.status();
  const absl::StatusOr<const std::string*> id = report->Optional("Board ID");
  if (!id.ok()) return id.status();
  if (*id == nullptr) return report->MissingKey("Board ID");
  NpuSmiBoard board;
  if (*name != nullptr) {
    board.chip_name = PrintableText(**name, kMaxQuotedBytes);
  }
  absl::string_view digits = **id;
  if (!absl::ConsumePrefix(&digits, "0x") || digits.size() > 8 ||
      !IsHex(digits)) {
    return Bad("-t board", "a board id that is not hexadecimal:", **id);
  }
  board.board_id =
      static_cast<uint32_t>(std::stoul(std::string(digits), nullptr, 16));
  return board;
}

}  // namespace clusterd
