#include "daemon/host/identity_observer.h"

#include <sys/utsname.h>

#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/files/info_files.h"
#include "daemon/host/hccn/hccn_conf.h"

namespace clusterd {
namespace {

constexpr char kConf[] = "/etc/hccn.conf";
constexpr size_t kMaxValueBytes = 256;
// Far more than the tool's own bound, which is reported as a problem.
constexpr size_t kMaxConfBytes = 4 << 20;
// The tool holds the lock for one rewrite; see ReadShared.
constexpr absl::Duration kConfLockWait = absl::Milliseconds(500);

absl::StatusOr<std::string> ReadText(const FileReader& files,
                                     absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string text, files.ReadTrimmed(path));
  if (!text.empty()) return PrintableText(text, kMaxValueBytes);
  return InvalidArgument(path, ": is empty");
}

// What the file says for `key`.
absl::StatusOr<std::string> ReadValue(const FileReader& files,
                                      const std::string& path,
                                      absl::string_view key) {
  ASSIGN_OR_RETURN(const FileText file, files.Read(path));
  absl::StatusOr<std::string> value = ParseInfoValue(file.text, key);
  if (value.ok()) return value;
  return InFront(path, value.status());
}

// PCI ids of Huawei's NPUs; the labels are those of its msprechecker
// (Ascend/msit). Other accelerators of the same vendor are no NPUs.
constexpr absl::string_view kHuawei = "0x19e5";
constexpr std::pair<absl::string_view, absl::string_view> kNpuSeries[] = {
    {"0xd100", "Atlas-300"}, {"0xd500", "300I-Duo"}, {"0xd801", "A1"},
    {"0xd802", "A2"},        {"0xd803", "A3"},
};

// "A2 x 8", or "A2 x 7, A3 x 1" with the most frequent first.
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
    return NotFound(kFolder, ": no PCI id of a known NPU series");
  }
  std::vector<std::pair<absl::string_view, int>> sorted(counts.begin(),
                                                        counts.end());
  absl::c_stable_sort(
      sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  return absl::StrJoin(sorted, ", ", absl::PairFormatter(" x "));
}

std::string Architecture() {
  utsname name;
  return uname(&name) == 0 ? PrintableText(name.machine, 64) : "";
}

// The toolkit's own file: its place since 8.5, then the one before, "Querying
// the Software Package Version" (instg_0064) of the CANN software installation
// guides 8.0 and 8.5. Captures of it have a line version=8.2.RC1.
absl::StatusOr<std::string> ReadCann(const FileReader& files,
                                     const std::string& prefix) {
  constexpr absl::string_view kFile = "-linux/ascend_toolkit_install.info";
  for (const absl::string_view folder : {"/cann/", "/ascend-toolkit/latest/"}) {
    absl::StatusOr<std::string> version = ReadValue(
        files, absl::StrCat(prefix, folder, Architecture(), kFile), "version");
    if (!absl::IsNotFound(version.status())) return version;
  }
  return NotFound(
      "no ascend_toolkit_install.info in cann or ascend-toolkit/latest below ",
      prefix, "; CANN may live in containers");
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
  facts.mutable_architecture()->set_value(Architecture());
  SetFact(ReadValue(files, "/etc/os-release", "PRETTY_NAME"),
          facts.mutable_os_release());
  SetFact(ReadSeries(files), facts.mutable_npu_series());
  return facts;
}

TextFact ReadBootId(const FileReader& files) {
  return MakeFact<TextFact>(ReadText(files, "/proc/sys/kernel/random/boot_id"));
}

VersionFacts ReadVersions(const FileReader& files) {
  VersionFacts facts;
  const absl::StatusOr<std::string> prefix = ReadInstallPath(files);
  const auto read = [&](absl::string_view name,
                        absl::string_view key) -> absl::StatusOr<std::string> {
    RETURN_IF_ERROR(prefix.status());
    return ReadValue(files, absl::StrCat(*prefix, name), key);
  };
  SetFact(read("/driver/version.info", "Version"), facts.mutable_driver());
  SetFact(read("/firmware/version.info", "Version"), facts.mutable_firmware());
  // Not every driver tells it.
  absl::StatusOr<std::string> compatible =
      read("/driver/version.info", "compatible_version_fw");
  if (absl::IsInvalidArgument(compatible.status())) {
    compatible = absl::NotFoundError(compatible.status().message());
  }
  SetFact(std::move(compatible), facts.mutable_firmware_of_driver());
  SetFact(prefix.ok() ? ReadCann(files, *prefix) : prefix.status(),
          facts.mutable_cann());
  return facts;
}

absl::StatusOr<PrivateFile> CopyHccnConf(const FileReader& files,
                                         Clock* clock) {
  ASSIGN_OR_RETURN(FileText file, files.ReadShared(kConf, clock, kConfLockWait,
                                                   kMaxConfBytes));
  return PrivateFile{files.Resolve(kConf), std::move(file.text), file.mode};
}

HccnConfFact ReadHccnConf(const FileReader& files, Clock* clock) {
  const auto read = [&]() -> absl::StatusOr<HccnConf> {
    ASSIGN_OR_RETURN(const PrivateFile file, CopyHccnConf(files, clock));
    ASSIGN_OR_RETURN(HccnConf conf, ParseHccnConf(file.text));
    conf.set_mode(file.mode);
    return conf;
  };
  return MakeFact<HccnConfFact>(read());
}

std::string ReadSimulation(const FileReader& files) {
  const std::string text =
      files.Read("/etc/clusterd/simulation").value_or(FileText()).text;
  return PrintableText(text.substr(0, text.find('\n')), kMaxValueBytes);
}

}  // namespace clusterd
