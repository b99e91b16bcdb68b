#include "daemon/host/npu_smi/device_ids.h"

#include <future>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"

namespace clusterd {
namespace {

constexpr absl::string_view kNpuSmi[] = {"/usr/local/sbin/npu-smi",
                                         "/usr/local/bin/npu-smi"};

constexpr size_t kLogicIdColumn = 2;
constexpr size_t kPhysicalIdColumn = 3;

// At most two digits: hccn_tool accepts no more.
std::optional<uint32_t> ParseId(absl::string_view digits) {
  uint32_t id = 0;
  if (digits.size() > 2 || !ParseDigits(digits, &id)) return {};
  return id;
}

absl::Status UnexpectedMapping(absl::string_view line) {
  return InvalidWords("fact-odd", QuotedText(line));
}

absl::StatusOr<std::set<uint32_t>> IdsFromNodes(const FileReader& files) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List("/dev"));
  std::set<uint32_t> ids;
  for (const std::string& name : names) {
    const std::optional<uint32_t> id = DeviceIdOfNode(name);
    if (id.has_value()) ids.insert(*id);
  }
  return ids;
}

absl::StatusOr<std::set<uint32_t>> IdsFromNpuSmi(const std::string& npu_smi,
                                                 const HostAccess& host) {
  ASSIGN_OR_RETURN(const ChipMap map, ReadNpuSmiMapping(npu_smi, host));
  std::set<uint32_t> ids;
  for (const auto& [id, place] : map.chips) ids.insert(id);
  return ids;
}

absl::StatusOr<DeviceIdsFact::Ids> FindIds(const HostAccess& host) {
  DeviceIdsFact::Ids found;
  absl::StatusOr<std::set<uint32_t>> ids = IdsFromNodes(host.files());
  if (ids.ok() && !ids->empty()) {
    found.set_source("/dev/davinci*");
  } else {
    const absl::StatusOr<std::string> npu_smi = LocateNpuSmi(host.paths);
    if (absl::IsNotFound(npu_smi.status())) {
      if (!ids.ok() && !absl::IsNotFound(ids.status())) return ids.status();
      return NotFoundWords("fact-no-node-no-smi");
    }
    ids = npu_smi.ok() ? IdsFromNpuSmi(*npu_smi, host) : npu_smi.status();
    found.set_source("npu-smi info -m");
  }
  if (!ids.ok()) return ids.status();
  if (ids->empty()) {
    return NotFoundWords("fact-no-device");
  }
  for (const uint32_t id : *ids) found.add_ids(id);
  return found;
}

using Chips = std::map<uint32_t, ChipPlace>;

// Queries one chip. Holds its lock while it exists.
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

  // A query of the card, on whose board the chip sits, names no chip.
  template <typename Parse>
  auto Ask(absl::string_view query, Parse parse, bool of_card = false)
      -> decltype(parse("")) {
    RETURN_IF_ERROR(stopped_);
    std::vector<std::string> words = {"info", "-t", std::string(query), "-i",
                                      absl::StrCat(place_.card)};
    if (!of_card) words.insert(words.end(), {"-c", absl::StrCat(place_.chip)});
    const std::string line = absl::StrJoin(words, " ");
    const absl::StatusOr<std::string> output = Run(std::move(words));
    auto answer = output.ok() ? parse(*output) : output.status();
    if (answer.ok()) return answer;
    // Without ids, unsupported queries of several chips fold.
    const bool folds = absl::IsUnimplemented(answer.status());
    const absl::Status status = InFront(
        absl::StrCat("`npu-smi ",
                     folds ? absl::StrCat("info -t ", query) : line, "`"),
        answer.status());
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
      return DeadlineWords("fact-no-answer-in",
                           host_.budget->CutBy(result.elapsed));
    }
    if (result.output_cut) {
      return PreconditionWords("msg-step-endless-output");
    }
    const absl::Status failure = NpuSmiFailure(result);
    if (failure.ok()) return std::move(result.standard_output);
    // npu-smi refuses queries of newer releases; a missing chip is a fault.
    const absl::StatusCode code =
        absl::IsInvalidArgument(failure) ? absl::StatusCode::kUnimplemented
        : absl::IsNotFound(failure)      ? absl::StatusCode::kUnavailable
                                         : failure.code();
    return WithWords(absl::Status(code, ""), MessageWords(failure));
  }

  const std::string& npu_smi_;
  const uint32_t device_;
  const ChipPlace place_;
  const HostAccess& host_;
  DeviceLocks* const locks_;
  DeviceLocks::Lock lock_;
  // If not OK, no further query runs, for this reason.
  absl::Status stopped_;
};

void AskChip(ChipSession chip, bool in_super_pod, DeviceFacts* facts) {
  SetFact(chip.Ask("health", ParseNpuSmiHealth), facts->mutable_health());
  SetFact(chip.Ask("ecc", ParseNpuSmiEcc), facts->mutable_memory_errors());
  SetFact(chip.Ask("board", ParseNpuSmiCompatibility, /*of_card=*/true),
          facts->mutable_compatibility());
  absl::StatusOr<HccsLinks> hccs = chip.Ask("hccs", ParseNpuSmiHccs);
  // Some builds use this name for the query.
  if (absl::IsUnimplemented(hccs.status())) {
    absl::StatusOr<HccsLinks> xlink = chip.Ask("xlink", ParseNpuSmiHccs);
    if (!absl::IsUnimplemented(xlink.status())) hccs = std::move(xlink);
  }
  SetFact(std::move(hccs), facts->mutable_hccs());
  if (!in_super_pod) return;
  SetFact(chip.Ask("spod-info", ParseNpuSmiSuperPod),
          facts->mutable_super_pod());
}

void MissChip(const Missing& missing, bool in_super_pod, DeviceFacts* facts) {
  SetAllMissing(missing, facts->mutable_health(),
                facts->mutable_memory_errors(), facts->mutable_compatibility(),
                facts->mutable_hccs(), facts->mutable_memory());
  if (in_super_pod) SetMissing(missing, facts->mutable_super_pod());
}

// Returns the place of each id; a listed chip may be missing. Logic ids are the
// machine's only if both lists are equal, since a missing device shifts all.
// Physical ids are, unless each side has ids that the other lacks. Unavailable:
// the tool lists too few. Unimplemented: it numbers them otherwise.
absl::StatusOr<Chips> FindChips(const std::string& npu_smi,
                                const HostAccess& host,
                                const DeviceIdsFact::Ids& ids,
                                std::vector<uint32_t>* npu_ids) {
  ASSIGN_OR_RETURN(ChipMap map, ReadNpuSmiMapping(npu_smi, host));
  std::set<uint32_t> cards;
  std::set<uint32_t> devices;
  for (const auto& [id, place] : map.chips) {
    cards.insert(place.card);
    devices.insert(id);
  }
  if (npu_ids != nullptr && cards != devices) {
    npu_ids->assign(cards.begin(), cards.end());
  }
  const size_t listed = map.chips.size();
  const size_t expected = ids.ids_size();
  const size_t known = absl::c_count_if(
      ids.ids(), [&](uint32_t id) { return map.chips.count(id) > 0; });
  const bool all_known = known == expected && listed == expected;
  const bool one_side_only = known == expected || known == listed;
  if (map.physical ? one_side_only : all_known) return std::move(map.chips);
  return WithWords(listed < expected && !map.physical
                       ? absl::UnavailableError("")
                       : absl::UnimplementedError(""),
                   Worded("fact-ids-differ", listed, expected, ids.source()));
}

// One table has all chips. A 310P's ids have 5 digits.
void ReadMemory(const std::string& npu_smi, const HostAccess& host,
                const Chips& chips, std::vector<DeviceFacts>* facts) {
  const auto output = RunNpuSmi({npu_smi, "info"}, host);
  const auto table = output.ok() ? ParseNpuSmiMemory(*output) : output.status();
  for (DeviceFacts& device : *facts) {
    const auto place = chips.find(device.id());
    if (place == chips.end()) continue;
    DeviceMemoryFact* const fact = device.mutable_memory();
    const auto key = std::make_pair(place->second.card, place->second.chip);
    if (!table.ok()) {
      SetMissing(MissingFor(table.status()), fact);
    } else if (const auto row = table->find(key); row != table->end()) {
      *fact->mutable_value() = row->second;
    } else {
      SetMissing(Missing::NOT_SUPPORTED, Worded("fact-no-memory"), fact);
    }
  }
}

}  // namespace

std::optional<uint32_t> DeviceIdOfNode(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "davinci")) return {};
  return ParseId(name);
}

absl::StatusOr<ChipMap> ParseNpuSmiMapping(absl::string_view output) {
  ChipMap map;
  size_t column = 0;
  for (const absl::string_view line : NpuSmiDataLines(output)) {
    if (column == 0) {
      if (!absl::StrContains(line, "NPU ID") ||
          !absl::StrContains(line, "Chip Logic ID")) {
        return UnexpectedMapping(line);
      }
      map.physical = absl::StrContains(line, "Chip Phy-ID");
      column = map.physical ? kPhysicalIdColumn : kLogicIdColumn;
      continue;
    }
    std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    words.resize(kPhysicalIdColumn + 1);
    if (words[kLogicIdColumn] == "-") continue;
    const std::optional<uint32_t> id = ParseId(words[column]);
    ChipPlace place;
    if (!id.has_value() || !ParseId(words[kLogicIdColumn]).has_value() ||
        !ParseDigits(words[0], &place.card) ||
        !ParseDigits(words[1], &place.chip)) {
      return UnexpectedMapping(line);
    }
    map.chips.emplace(*id, place);
  }
  if (column == 0) return UnexpectedMapping(output);
  return map;
}

absl::StatusOr<std::string> RunNpuSmi(std::vector<std::string> argv,
                                      const HostAccess& host) {
  const std::string name = absl::StrCat(
      "`npu-smi ", absl::StrJoin(argv.begin() + 1, argv.end(), " "), "`");
  Command command = {std::move(argv), host.budget->ForCommand()};
  command.needs_driver = true;
  ASSIGN_OR_RETURN(CommandResult result, host.runner->Run(command));
  if (result.timed_out) {
    return DeadlineWords("fact-no-answer", name,
                         host.budget->CutBy(result.elapsed));
  }
  if (result.output_cut) {
    return InFront(name, UnavailableWords("msg-step-endless-output"));
  }
  const absl::Status failure = NpuSmiFailure(result);
  if (failure.ok()) return std::move(result.standard_output);
  return WithWords(absl::UnavailableError(""),
                   Worded("about", name, MessageWords(failure)));
}

absl::StatusOr<ChipMap> ReadNpuSmiMapping(const std::string& npu_smi,
                                          const HostAccess& host) {
  ASSIGN_OR_RETURN(const std::string output,
                   RunNpuSmi({npu_smi, "info", "-m"}, host));
  absl::StatusOr<ChipMap> map = ParseNpuSmiMapping(output);
  if (map.ok()) return map;
  return InFront("`npu-smi info -m`", map.status());
}

absl::StatusOr<std::string> LocateNpuSmi(const HostPaths& paths) {
  return FindProgram(paths.root, kNpuSmi);
}

DeviceIdsFact ReadDeviceIds(const HostAccess& host) {
  return MakeFact<DeviceIdsFact>(FindIds(host));
}

std::vector<DeviceFacts> ReadChips(const HostAccess& host,
                                   const ObserveRequest& request,
                                   const DeviceIdsFact::Ids& ids,
                                   DeviceLocks* locks,
                                   std::vector<uint32_t>* npu_ids) {
  std::vector<DeviceFacts> facts(ids.ids_size());
  const absl::StatusOr<std::string> npu_smi = LocateNpuSmi(host.paths);
  absl::StatusOr<Chips> chips = Chips();
  std::optional<Missing> missing;
  if (request.generation() == NpuToolFacts::ASCEND_950) {
    missing = MakeMissing(Missing::NOT_QUERIED, Worded("fact-npu-smi-950"));
  } else if (!npu_smi.ok()) {
    missing = MissingFor(npu_smi.status());
  } else if (chips = FindChips(*npu_smi, host, ids, npu_ids); !chips.ok()) {
    missing = MissingFor(chips.status());
  }
  std::vector<std::future<void>> running;
  for (int i = 0; i < ids.ids_size(); ++i) {
    const uint32_t id = ids.ids(i);
    DeviceFacts* const of = &facts[i];
    of->set_id(id);
    if (missing.has_value()) {
      MissChip(*missing, request.ask_vnic(), of);
    } else if (chips->count(id) == 0) {
      MissChip(MakeMissing(Missing::TOOL_FAILED, Worded("fact-not-listed")),
               request.ask_vnic(), of);
    } else {
      running.push_back(std::async([&, id, of] {
        AskChip(ChipSession(*npu_smi, id, chips->at(id), host, locks),
                request.ask_vnic(), of);
      }));
    }
  }
  for (std::future<void>& each : running) each.get();
  if (!missing.has_value()) ReadMemory(*npu_smi, host, *chips, &facts);
  return facts;
}

}  // namespace clusterd
