#include "tests/sim/npu_smi.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace sim {
namespace {

// The folder <card>.<chip> is a link to the device's.
constexpr char kScript[] = R"(#!/bin/sh
cd "${0%/*}/../../../var/lib/npu_smi_sim" || exit 1
case "$1 $2" in
  "info ") exec cat table ;;
  "info -m") exec cat mapping ;;
  "info -t") [ -f "$5.${7:-0}/$3" ] && exec cat "$5.${7:-0}/$3" ;;
esac
echo "Error parameter of $2"
exit 1
)";

std::string AnswerFile(int device, const char* query) {
  return absl::StrCat("var/lib/npu_smi_sim/device", device, "/", query);
}

std::string Line(const std::string& key, const std::string& value) {
  return absl::StrFormat("\t%-30s : %s", key, value);
}

absl::Status WriteAnswer(
    const HostFolder& folder, int device, const char* query,
    const std::vector<std::pair<std::string, std::string>>& lines) {
  std::string text;
  for (const auto& [key, value] : lines) {
    absl::StrAppend(&text, Line(key, value), "\n");
  }
  return folder.Write(AnswerFile(device, query), text);
}

// Only of a super pod is it known what npu-smi says.
absl::Status WriteSuperPodPlace(const HostFolder& folder, int device,
                                int server) {
  const SuperPodPlace place = MakeSuperPodPlace(server, device);
  return WriteAnswer(folder, device, "spod-info",
                     {{"SDID", absl::StrCat(place.sdid())},
                      {"Super Pod Size", absl::StrCat(place.size())},
                      {"Super Pod ID", absl::StrCat(place.super_pod_id())},
                      {"Server Index", absl::StrCat(place.server_index())}});
}

absl::Status WriteUnsupported(const HostFolder& folder, int device,
                              const char* query) {
  return folder.Write(
      AnswerFile(device, query),
      absl::StrCat("This device does not support querying ", query, ".\n"));
}

}  // namespace

absl::Status SetChipHealth(const HostFolder& folder, int device,
                           const std::string& value) {
  const std::vector<std::string> parts =
      absl::StrSplit(value, absl::MaxSplits('/', 1));
  const bool has_codes = parts.size() > 1;
  std::vector<std::string> codes;
  if (has_codes) codes = absl::StrSplit(parts[1], '/');
  return WriteAnswer(
      folder, device, "health",
      {{"Health Status", parts[0]},
       {"Error Code", has_codes ? absl::StrJoin(codes, " ") : "NA"},
       {"Error Information", has_codes ? "simulated fault" : "NA"}});
}

absl::Status SetMemoryErrors(const HostFolder& folder, int device,
                             const std::string& value) {
  return WriteAnswer(folder, device, "ecc",
                     {{"HBM Single Bit Error Count", "0"},
                      {"HBM Double Bit Error Count", value},
                      {"HBM Single Bit Aggregate Total Err Cnt", "0"},
                      {"HBM Double Bit Aggregate Total Err Cnt", value},
                      {"HBM Single Bit Isolated Pages Count", "0"},
                      {"HBM Double Bit Isolated Pages Count", "0"},
                      {"HBM Single Bit Next-Isolated Pages Count", "0"},
                      {"HBM Double Bit Next-Isolated Pages Count", value}});
}

absl::Status SetCompatibility(const HostFolder& folder, int device,
                              const std::string& value) {
  return WriteAnswer(folder, device, "board",
                     {{"Software Version", "23.0.7"},
                      {"Firmware Version", "7.1.0.11.220"},
                      {"Compatibility", value},
                      {"PCIe Bus Info", "0000:61:00.0"}});
}

absl::Status SetHccs(const HostFolder& folder, int device,
                     const std::string& value) {
  const std::vector<std::string> parts = absl::StrSplit(value, '/');
  const std::string first = parts.size() > 1 ? parts[1] : "4";
  return WriteAnswer(
      folder, device, "hccs",
      {{"hccs health status ", parts[0]},
       {"hccs lane mode ", absl::StrCat("[", first, " 4 4 4 4 4 4 ]")},
       {"hccs error count ", "[0 0 0 0 0 0 0 ]"}});
}

absl::Status SetSuperPodValue(const HostFolder& folder, int device,
                              const std::string& key,
                              const std::string& value) {
  const std::string path = AnswerFile(device, "spod-info");
  std::vector<std::string> lines = absl::StrSplit(folder.Read(path), '\n');
  for (std::string& line : lines) {
    if (!absl::StartsWith(line, absl::StrCat("\t", key, " "))) continue;
    line = Line(key, value);
    return folder.Write(path, absl::StrJoin(lines, "\n"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      folder.Path(path), ": has no ", key, ", expected one of a super pod"));
}

absl::Status WriteNpuSmi(const HostFolder& folder, const std::string& product,
                         const std::vector<int>& devices, int server) {
  const bool is_a3 = absl::StartsWith(product, "A3");
  std::string mapping =
      absl::StrCat("\tNPU ID   Chip ID   Chip Logic ID   ",
                   is_a3 ? "Chip Phy-ID   " : "", "Chip Name\n");
  std::string table = absl::StrCat(
      "| npu-smi 24.1.rc1                 Version: 24.1.rc1 |\n"
      "| NPU   Name                | Health        | Power(W)    Temp(C) |\n"
      "| Chip  ",
      is_a3 ? "Phy-ID" : "",
      " | Bus-Id | AICore(%)  Memory-Usage(MB)  HBM-Usage(MB) |\n");
  absl::Status status = folder.Write(kNpuSmi, kScript, 0755);
  for (size_t i = 0; i < devices.size(); ++i) {
    const int id = devices[i];
    const int card = is_a3 ? id / 2 : id;
    const int chip = is_a3 ? id % 2 : 0;
    absl::StrAppend(
        &mapping, "\t", card, "   ", chip, "   ", i, "   ",
        is_a3 ? absl::StrCat(id, "   Ascend910\n") : "Ascend 910B\n");
    absl::StrAppend(&table, "| ", card,
                    "     Ascend910 | OK | 95.1  40  0 / 0 |\n| ", chip,
                    "     ", is_a3 ? absl::StrCat(id) : "",
                    " | 0000:61:00.0 | 0  0 / 0  ", 3412, " / 65536 |\n");
    const bool has_hccs = is_a3 || product == "A2" || product == "A2-Box16";
    for (const absl::Status& step :
         {SetChipHealth(folder, id, "OK"), SetMemoryErrors(folder, id, "0"),
          SetCompatibility(folder, id, "OK"),
          has_hccs ? SetHccs(folder, id, "OK")
                   : WriteUnsupported(folder, id, "hccs"),
          product == "A3-superpod" ? WriteSuperPodPlace(folder, id, server)
                                   : WriteUnsupported(folder, id, "spod-info"),
          folder.Link(absl::StrCat("var/lib/npu_smi_sim/", card, ".", chip),
                      absl::StrCat("device", id))}) {
      status.Update(step);
    }
  }
  status.Update(folder.Write("var/lib/npu_smi_sim/mapping", mapping));
  status.Update(folder.Write("var/lib/npu_smi_sim/table", table));
  return status;
}

absl::Status WriteBrokenNpuSmi(const HostFolder& folder, bool hangs) {
  return folder.Write(
      kNpuSmi, hangs ? "#!/bin/sh\nexec sleep 3600\n" : "#!/bin/sh\n", 0755);
}

}  // namespace sim
}  // namespace clusterd
