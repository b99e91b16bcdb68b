#include "daemon/host/npu_smi/chip_observer.h"

#include <future>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "daemon/host/files/missing.h"
#include "daemon/host/npu_smi/device_ids.h"
#include "daemon/host/npu_smi/npu_smi_output.h"

namespace clusterd {
namespace {

constexpr size_t kMaxInformationBytes = 500;
// The tool keeps 128 codes at most, and a chip has 8 ports.
constexpr size_t kMaxCodes = 128;
constexpr size_t kMaxPorts = 64;

constexpr std::pair<absl::string_view, ChipHealth::Health> kHealths[] = {
    {"OK", ChipHealth::OK},
    {"Warning", ChipHealth::WARNING},
    {"Alarm", ChipHealth::ALARM},
    {"Critical", ChipHealth::CRITICAL},
    {"UNKNOWN", ChipHealth::NOT_STARTED},
};

absl::Status Bad(absl::string_view what, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(what, " ", QuotedText(text)));
}

// The values of an answer. Views into it.
class Answer {
 public:
  static absl::StatusOr<Answer> Read(absl::string_view output) {
    static const LazyRE2 kForm = {
        "[[:space:]]*([^:]*?)[[:space:]]*:[[:space:]]*(.*)", RE2::Latin1};
    Answer answer;
    answer.text_ = output;
    for (const absl::string_view line : NpuSmiDataLines(output)) {
      absl::string_view key;
      absl::string_view value;
      if (!HasForm(line, *kForm, &key, &value)) {
        return Bad("no colon in", line);
      }
      answer.values_.emplace(key, value);
    }
    return answer;
  }

  bool Has(absl::string_view key) const { return values_.count(key) > 0; }

  // Of a key that must stand once.
  absl::StatusOr<absl::string_view> Value(absl::string_view key) const {
    const auto [first, last] = values_.equal_range(key);
    if (first == last) return Bad(absl::StrCat("no \"", key, "\" in"), text_);
    if (std::next(first) == last) return first->second;
    return Bad(absl::StrCat("\"", key, "\" more than once in"), text_);
  }

  // Of a key that may be missing, or be the tool's NA: "".
  absl::StatusOr<absl::string_view> ValueOrNone(absl::string_view key) const {
    if (!Has(key)) return absl::string_view();
    ASSIGN_OR_RETURN(const absl::string_view value, Value(key));
    return value == "NA" ? absl::string_view() : value;
  }

  template <typename Integer = uint64_t>
  absl::StatusOr<Integer> Number(absl::string_view key) const {
    ASSIGN_OR_RETURN(const absl::string_view value, Value(key));
    Integer number = 0;
    if (ParseDigits(value, &number)) return number;
    return Bad(absl::StrCat("no number for \"", key, "\":"), value);
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

using Chips = std::map<uint32_t, ChipPlace>;

// The questions to one chip. Has its lock for as long as it lives.
class ChipSession {
 public:
  ChipSession(const std::string& npu_smi, uint32_t device, ChipPlace place,
              const HostAccess& host, DeviceLocks* locks)
      : npu_smi_(npu_smi),
        device_(device),
        place_(place),
        host_(host),
        locks_(locks) {
    absl::StatusOr<DeviceLocks::Lock> lock =
        locks->Take(device, host.budget->Left());
    if (lock.ok()) {
      lock_ = *std::move(lock);
    } else {
      stopped_ = lock.status();
    }
  }

  // Of the card, whose board the chip sits on, the query has no chip.
  template <typename Parse>
  auto Ask(absl::string_view query, Parse parse, bool of_card = false)
      -> decltype(parse("")) {
    RETURN_IF_ERROR(stopped_);
    std::vector<std::string> words = {"info", "-t", std::string(query), "-i",
                                      absl::StrCat(place_.card)};
    if (!of_card) {
      words.insert(words.end(), {"-c", absl::StrCat(place_.chip)});
    }
    const std::string line = absl::StrJoin(words, " ");
    const absl::StatusOr<std::string> output = Run(std::move(words));
    auto answer = output.ok() ? parse(*output) : output.status();
    if (answer.ok()) return answer;
    // What chips do not support folds without their ids.
    const bool folds = absl::IsUnimplemented(answer.status());
    const absl::Status status(
        answer.status().code(),
        absl::StrCat("`npu-smi ",
                     folds ? absl::StrCat("info -t ", query) : line,
                     "`: ", answer.status().message()));
    if (absl::IsDeadlineExceeded(status)) stopped_ = status;
    return status;
  }

 private:
  absl::StatusOr<std::string> Run(std::vector<std::string> words) {
    words.insert(words.begin(), npu_smi_);
    Command command = {std::move(words), host_.budget->ForCommand()};
    command.needs_driver = true;
    ASSIGN_OR_RETURN(CommandResult result, host_.runner->Run(command));
    if (result.left_running) locks_->LeaveBehind(device_, result.pid);
    if (result.timed_out) {
      return absl::DeadlineExceededError(
          absl::StrCat("no answer in ", host_.budget->CutBy(result.elapsed)));
    }
    if (result.output_cut) {
      return absl::FailedPreconditionError("endless output");
    }
    const absl::Status failure = NpuSmiFailure(result);
    if (failure.ok()) return std::move(result.standard_output);
    // A line that it refuses is of a newer npu-smi; a chip that it does not
    // find should be there.
    const absl::StatusCode code =
        absl::IsInvalidArgument(failure) ? absl::StatusCode::kUnimplemented
        : absl::IsNotFound(failure)      ? absl::StatusCode::kUnavailable
                                         : failure.code();
    return absl::Status(code, failure.message());
  }

  const std::string& npu_smi_;
  const uint32_t device_;
  const ChipPlace place_;
  const HostAccess& host_;
  DeviceLocks* const locks_;
  DeviceLocks::Lock lock_;
  // Not OK: nothing more is asked, for this reason.
  absl::Status stopped_;
};

void AskChip(ChipSession chip, bool in_super_pod, DeviceFacts* facts) {
  SetFact(chip.Ask("health", ParseNpuSmiHealth), facts->mutable_health());
  SetFact(chip.Ask("ecc", ParseNpuSmiEcc), facts->mutable_memory_errors());
  SetFact(chip.Ask("board", ParseNpuSmiCompatibility, /*of_card=*/true),
          facts->mutable_compatibility());
  absl::StatusOr<HccsLinks> hccs = chip.Ask("hccs", ParseNpuSmiHccs);
  // The same query's name in some builds.
  if (absl::IsUnimplemented(hccs.status())) {
    absl::StatusOr<HccsLinks> xlink = chip.Ask("xlink", ParseNpuSmiHccs);
    if (!absl::IsUnimplemented(xlink.status())) hccs = std::move(xlink);
  }
  SetFact(std::move(hccs), facts->mutable_hccs());
  if (!in_super_pod) return;
  SetFact(chip.Ask("spod-info", ParseNpuSmiSuperPod),
          facts->mutable_super_pod());
}

void SetAllMissing(const Missing& missing, bool in_super_pod,
                   DeviceFacts* facts) {
  SetMissing(missing, facts->mutable_health());
  SetMissing(missing, facts->mutable_memory_errors());
  SetMissing(missing, facts->mutable_compatibility());
  SetMissing(missing, facts->mutable_hccs());
  if (in_super_pod) SetMissing(missing, facts->mutable_super_pod());
}

// Where each id is; one that is not listed may lack there. Logic ids are the
// machine's only if they are the same ones: one device more or less shifts all.
// Physical ids are, but not where each side has some of its own. Unavailable:
// the tool lists too few. Unimplemented: it numbers them otherwise.
absl::StatusOr<Chips> FindChips(const std::string& npu_smi,
                                const HostAccess& host,
                                const DeviceIdsFact::Ids& ids) {
  ASSIGN_OR_RETURN(ChipMap map, ReadNpuSmiMapping(npu_smi, host));
  const size_t listed = map.chips.size();
  const size_t expected = ids.ids_size();
  const size_t known = absl::c_count_if(
      ids.ids(), [&](uint32_t id) { return map.chips.count(id) > 0; });
  const bool all_known = known == expected && listed == expected;
  const bool one_side_only = known == expected || known == listed;
  if (map.physical ? one_side_only : all_known) return std::move(map.chips);
  const std::string why = absl::StrCat(
      "`npu-smi info -m` lists ", listed, " devices, with other ids than the ",
      expected, " of ", ids.source(), ": it cannot be told which is which");
  return listed < expected && !map.physical ? absl::UnavailableError(why)
                                            : absl::UnimplementedError(why);
}

}  // namespace

absl::StatusOr<ChipHealth> ParseNpuSmiHealth(absl::string_view output) {
  ASSIGN_OR_RETURN(const Answer answer, Answer::Read(output));
  const bool of_card = !answer.Has("Health Status") && answer.Has("Health");
  ASSIGN_OR_RETURN(const absl::string_view word,
                   answer.Value(of_card ? "Health" : "Health Status"));
  const auto* const known = absl::c_find_if(
      kHealths, [&](const auto& health) { return health.first == word; });
  if (known == std::end(kHealths)) return Bad("an unknown health", word);
  ChipHealth health;
  health.set_health(known->second);
  ASSIGN_OR_RETURN(const absl::string_view codes,
                   answer.ValueOrNone("Error Code"));
  for (const absl::string_view code :
       absl::StrSplit(codes, absl::ByAnyChar(" ,\t"), absl::SkipEmpty())) {
    if (code.size() > 8 || !absl::c_all_of(code, absl::ascii_isxdigit) ||
        health.error_codes_size() == kMaxCodes) {
      return Bad("no error code:", code);
    }
    health.add_error_codes(absl::AsciiStrToUpper(code));
  }
  ASSIGN_OR_RETURN(const absl::string_view information,
                   answer.ValueOrNone("Error Information"));
  health.set_information(PrintableText(information, kMaxInformationBytes));
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
    return absl::UnimplementedError(absl::StrCat("no line ", kKey));
  }
  ASSIGN_OR_RETURN(const absl::string_view word, answer.Value(kKey));
  for (const absl::string_view known :
       {"OK", "NOK", "UNKNOWN", "NOT SUPPORT"}) {
    if (word == known) return std::string(word);
  }
  return Bad("an unknown compatibility", word);
}

absl::StatusOr<HccsLinks> ParseNpuSmiHccs(absl::string_view output) {
  ASSIGN_OR_RETURN(const Answer answer, Answer::Read(output));
  const std::string name = answer.Has("xlink health status") ? "xlink" : "hccs";
  ASSIGN_OR_RETURN(const absl::string_view word,
                   answer.Value(name + " health status"));
  if (word != "OK" && word != "NOK") return Bad("an unknown status", word);
  HccsLinks links;
  links.set_ok(word == "OK");
  ASSIGN_OR_RETURN(const absl::string_view lanes,
                   answer.ValueOrNone(name + " lane mode"));
  for (const absl::string_view lane :
       absl::StrSplit(lanes, absl::ByAnyChar("[] \t"), absl::SkipEmpty())) {
    uint32_t number = 0;
    if (!ParseDigits(lane, &number) || links.lanes_size() == kMaxPorts) {
      return Bad("no lane mode:", lanes);
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

std::vector<DeviceFacts> ReadChips(const HostAccess& host,
                                   const ObserveRequest& request,
                                   const DeviceIdsFact::Ids& ids,
                                   DeviceLocks* locks) {
  std::vector<DeviceFacts> facts(ids.ids_size());
  const absl::StatusOr<std::string> npu_smi = LocateNpuSmi(host.paths);
  absl::StatusOr<Chips> chips = Chips();
  std::optional<Missing> missing;
  if (request.generation() == NpuToolFacts::ASCEND_950) {
    missing = MakeMissing(Missing::NOT_QUERIED,
                          "npu-smi of an Ascend 950 has a command line that "
                          "clusterd does not know");
  } else if (!npu_smi.ok()) {
    missing = MissingFor(npu_smi.status());
  } else if (chips = FindChips(*npu_smi, host, ids); !chips.ok()) {
    missing = MissingFor(chips.status());
  }
  std::vector<std::future<void>> running;
  for (int i = 0; i < ids.ids_size(); ++i) {
    const uint32_t id = ids.ids(i);
    DeviceFacts* const of = &facts[i];
    of->set_id(id);
    if (missing.has_value()) {
      SetAllMissing(*missing, request.ask_vnic(), of);
    } else if (chips->count(id) == 0) {
      SetAllMissing(MakeMissing(Missing::TOOL_FAILED,
                                "`npu-smi info -m` does not list the device"),
                    request.ask_vnic(), of);
    } else {
      running.push_back(std::async([&, id, of] {
        AskChip(ChipSession(*npu_smi, id, chips->at(id), host, locks),
                request.ask_vnic(), of);
      }));
    }
  }
  for (std::future<void>& each : running) each.get();
  return facts;
}

}  // namespace clusterd
