#include "daemon/host/identity_observer.h"

#include <sys/utsname.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/files/info_files.h"
#include "daemon/host/files/missing.h"
#include "daemon/host/hccn/hccn_conf.h"

namespace clusterd {
namespace {

constexpr size_t kMaxValueBytes = 256;
// Far more than the tool's own bound, which is reported as a problem.
constexpr size_t kMaxConfBytes = 4 << 20;

absl::StatusOr<std::string> ReadText(const FileReader& files,
                                     absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string text, files.ReadTrimmed(path));
  if (text.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is empty"));
  }
  return PrintableText(text, kMaxValueBytes);
}

template <typename Parser>
absl::StatusOr<std::string> ReadParsed(const FileReader& files,
                                       const std::string& path, Parser parse) {
  ASSIGN_OR_RETURN(const FileText file, files.Read(path));
  absl::StatusOr<std::string> value = parse(file.text);
  if (value.ok()) return value;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ", value.status().message()));
}

// PCI ids of Huawei's NPUs; the labels are those of its msprechecker
// (Ascend/msit). Other accelerators of the same vendor are no NPUs.
constexpr absl::string_view kHuawei = "0x19e5";
constexpr std::pair<absl::string_view, absl::string_view> kNpuSeries[] = {
    {"0xd100", "Atlas-300"}, {"0xd500", "300I-Duo"}, {"0xd801", "A1"},
    {"0xd802", "A2"},        {"0xd803", "A3"},
};

// "A2 x 8", or "A2 x 7, A3 x 1" with the most frequent first.
std::string SeriesText(const std::map<absl::string_view, int>& counts) {
  std::vector<std::pair<absl::string_view, int>> sorted(counts.begin(),
                                                        counts.end());
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
  return absl::StrJoin(sorted, ", ", absl::PairFormatter(" x "));
}

absl::StatusOr<std::string> ReadSeries(const FileReader& files) {
  constexpr absl::string_view kFolder = "/sys/bus/pci/devices";
  ASSIGN_OR_RETURN(const std::vector<std::string> slots, files.List(kFolder));
  std::map<absl::string_view, int> counts;
  for (const std::string& slot : slots) {
    const auto read = [&](absl::string_view name) {
      // A device may be unplugged meanwhile.
      return absl::AsciiStrToLower(
          files.ReadTrimmed(absl::StrCat(kFolder, "/", slot, "/", name))
              .value_or(""));
    };
    if (read("vendor") != kHuawei) continue;
    const std::string device = read("device");
    for (const auto& [id, series] : kNpuSeries) {
      if (device == id) ++counts[series];
    }
  }
  if (counts.empty()) {
    return absl::NotFoundError(
        absl::StrCat(kFolder, ": no PCI id of a known NPU series"));
  }
  return SeriesText(counts);
}

void ReadArchitecture(TextFact* fact) {
  utsname name;
  if (uname(&name) == 0) fact->set_value(PrintableText(name.machine, 64));
}

}  // namespace

IdentityFacts ReadIdentity(const FileReader& files) {
  IdentityFacts facts;
  SetFact(ReadText(files, "/proc/sys/kernel/hostname"),
          facts.mutable_hostname());
  SetFact(ReadText(files, "/proc/sys/kernel/osrelease"),
          facts.mutable_kernel_release());
  *facts.mutable_boot_id() = ReadBootId(files);
  SetFact(ReadText(files, "/etc/machine-id"), facts.mutable_machine_id());
  ReadArchitecture(facts.mutable_architecture());
  SetFact(ReadParsed(files, "/etc/os-release", ParsePrettyName),
          facts.mutable_os_release());
  SetFact(ReadSeries(files), facts.mutable_npu_series());
  return facts;
}

TextFact ReadBootId(const FileReader& files) {
  TextFact fact;
  SetFact(ReadText(files, "/proc/sys/kernel/random/boot_id"), &fact);
  return fact;
}

VersionFacts ReadVersions(const FileReader& files) {
  VersionFacts facts;
  const absl::StatusOr<std::string> prefix = ReadInstallPath(files);
  const auto read = [&](absl::string_view name) -> absl::StatusOr<std::string> {
    if (!prefix.ok()) return prefix.status();
    return ReadParsed(files, absl::StrCat(*prefix, name), ParseVersionInfo);
  };
  SetFact(read("/driver/version.info"), facts.mutable_driver());
  SetFact(read("/firmware/version.info"), facts.mutable_firmware());
  SetMissing(MakeMissing(Missing::NOT_QUERIED,
                         "clusterd does not know where CANN keeps its version"),
             facts.mutable_cann());
  return facts;
}

HccnConfFact ReadHccnConf(const FileReader& files) {
  HccnConfFact fact;
  const absl::StatusOr<FileText> file =
      files.Read("/etc/hccn.conf", kMaxConfBytes);
  absl::StatusOr<HccnConf> conf =
      file.ok() ? ParseHccnConf(file->text) : file.status();
  if (conf.ok()) conf->set_mode(file->mode);
  SetFact(std::move(conf), &fact);
  return fact;
}

std::string ReadSimulation(const FileReader& files) {
  const absl::StatusOr<FileText> file = files.Read("/etc/clusterd/simulation");
  if (!file.ok()) return "";
  const absl::string_view line =
      absl::string_view(file->text).substr(0, file->text.find('\n'));
  return PrintableText(line, kMaxValueBytes);
}

}  // namespace clusterd
