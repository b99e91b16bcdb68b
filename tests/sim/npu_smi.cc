#include "tests/sim/npu_smi.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd::sim {
namespace {

// The folder <card>.<chip> is a link to the device's, which also has its lines
// of the mapping and the table.
constexpr char kScript[] = R"(#!/bin/sh
cd "${0%/*}/../../../var/lib/npu_smi_sim" || exit 1
case "$1 $2" in
  "info ") exec cat table device*/table ;;
  "info -m") exec cat mapping device*/mapping ;;
  "info -t") [ -f "$5.${7:-0}/$3" ] && exec cat "$5.${7:-0}/$3" ;;
esac
echo "Error parameter of $2"
exit 1
)";

std::string AnswerFile(int device, const char* query) {
  return absl::StrCat("var/lib/npu_smi_sim/device", device, "/", query);
}

// "2 1": chip 1 of card 2.
std::string PlaceOf(const HostFolder& folder, int device) {
  return folder.Read(AnswerFile(device, "place"));
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

// npu-smi's answer is only known for a super pod.
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
  // The query names only the card, and the script then takes its chip 0.
  const bool is_second = absl::EndsWith(PlaceOf(folder, device), " 1");
  return WriteAnswer(folder, is_second ? device - 1 : device, "board",
                     {{"Software Version", "23.0.7"},
                      {"Firmware Version", "7.1.0.11.220"},
                      {"Compatibility", value},
                      {"PCIe Bus Info", "0000:61:00.0"}});
}

absl::Status SetMemoryUse(const HostFolder& folder, int device,
                          const std::string& value) {
  const std::vector<std::string> place =
      absl::StrSplit(PlaceOf(folder, device), ' ');
  if (place.size() != 2) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder.root(), ": npu-smi knows no device ", device));
  }
  // Only the table of an A3 has a second number there.
  const bool is_a3 = absl::StrContains(
      folder.Read("var/lib/npu_smi_sim/mapping"), "Chip Phy-ID");
  return folder.Write(
      AnswerFile(device, "table"),
      absl::StrCat("| ", place[0],
                   "     Ascend910 | OK | 95.1  40  0 / 0 |\n| ", place[1],
                   "     ", is_a3 ? absl::StrCat(device) : "",
                   " | 0000:61:00.0 | 0  0 / 0  ", value, " / 65536 |\n"));
}

absl::Status HideChip(const HostFolder& folder, int device) {
  absl::Status status;
  for (const char* file : {"mapping", "table", "health", "ecc", "hccs"}) {
    status.Update(folder.Remove(AnswerFile(device, file)));
  }
  return status;
}

absl::Status SetChipAnswer(const HostFolder& folder, int device,
                           const std::string& text) {
  absl::Status status;
  for (const char* file : {"health", "ecc", "hccs", "spod-info", "board"}) {
    status.Update(folder.Write(AnswerFile(device, file), text + "\n"));
  }
  return status;
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
  const std::string mapping =
      absl::StrCat("\tNPU ID   Chip ID   Chip Logic ID   ",
                   is_a3 ? "Chip Phy-ID   " : "", "Chip Name\n");
  absl::Status status = folder.Write(kNpuSmi, kScript, 0755);
  status.Update(folder.Write("var/lib/npu_smi_sim/mapping", mapping));
  status.Update(folder.Write(
      "var/lib/npu_smi_sim/table",
      absl::StrCat(
          "| npu-smi 24.1.rc1                 Version: 24.1.rc1 |\n"
          "| NPU   Name                | Health        | Power(W)    Temp(C) "
          "|\n"
          "| Chip  ",
          is_a3 ? "Phy-ID" : "",
          " | Bus-Id | AICore(%)  Memory-Usage(MB)  HBM-Usage(MB) |\n")));
  for (size_t i = 0; i < devices.size(); ++i) {
    const int id = devices[i];
    const int card = is_a3 ? id / 2 : id;
    const int chip = is_a3 ? id % 2 : 0;
    const std::string line = absl::StrCat(
        "\t", card, "   ", chip, "   ", i, "   ",
        is_a3 ? absl::StrCat(id, "   Ascend910\n") : "Ascend 910B\n");
    const bool has_hccs = is_a3 || product == "A2" || product == "A2-Box16";
    for (const absl::Status& step :
         {folder.Write(AnswerFile(id, "place"), absl::StrCat(card, " ", chip)),
          folder.Write(AnswerFile(id, "mapping"), line),
          SetMemoryUse(folder, id, "3412"), SetChipHealth(folder, id, "OK"),
          SetMemoryErrors(folder, id, "0"), SetCompatibility(folder, id, "OK"),
          has_hccs ? SetHccs(folder, id, "OK")
                   : WriteUnsupported(folder, id, "hccs"),
          product == "A3-superpod" ? WriteSuperPodPlace(folder, id, server)
                                   : WriteUnsupported(folder, id, "spod-info"),
          folder.Link(absl::StrCat("var/lib/npu_smi_sim/", card, ".", chip),
                      absl::StrCat("device", id))}) {
      status.Update(step);
    }
  }
  return status;
}

absl::Status WriteBrokenNpuSmi(const HostFolder& folder,
                               const std::string& how) {
  std::string script = "#!/bin/sh\n";
  if (how == "hangs") script += "exec sleep 3600\n";
  if (how == "garbled") script += "echo '+---- cut'\n";
  if (how == "refused") {
    script +=
        "echo 'dcmi model initialized failed, because the device is used. "
        "ret is -8020'\nexit 1\n";
  }
  return folder.Write(kNpuSmi, script, 0755);
}

}  // namespace clusterd::sim
