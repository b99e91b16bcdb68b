#include "daemon/host/identity_observer.h"

#include <sys/utsname.h>

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "daemon/host/hccn_conf.h"
#include "daemon/host/info_files.h"
#include "daemon/host/missing.h"
#include "daemon/host/npu_series.h"
#include "daemon/host/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxValueBytes = 256;
// Far more than the tool's own bound, which is reported as a problem.
constexpr size_t kMaxConfBytes = 4 << 20;

void ReadText(const FileReader& files, absl::string_view path, TextFact* fact) {
  const absl::StatusOr<std::string> text = files.ReadTrimmed(path);
  if (!text.ok()) return SetMissing(MissingFor(text.status()), fact);
  if (text->empty()) {
    return SetMissing(
        MakeMissing(Missing::UNREADABLE, absl::StrCat(path, ": is empty")),
        fact);
  }
  fact->set_value(PrintableText(*text, kMaxValueBytes));
}

template <typename Parser>
void ReadParsed(const FileReader& files, const std::string& path, Parser parse,
                TextFact* fact) {
  const absl::StatusOr<FileText> file = files.Read(path);
  if (!file.ok()) return SetMissing(MissingFor(file.status()), fact);
  const absl::StatusOr<std::string> value = parse(file->text);
  if (!value.ok()) {
    return SetMissing(
        MakeMissing(Missing::UNREADABLE,
                    absl::StrCat(path, ": ", value.status().message())),
        fact);
  }
  fact->set_value(*value);
}

void ReadSeries(const FileReader& files, TextFact* fact) {
  constexpr absl::string_view kFolder = "/sys/bus/pci/devices";
  const absl::StatusOr<std::vector<std::string>> slots = files.List(kFolder);
  if (!slots.ok()) return SetMissing(MissingFor(slots.status()), fact);
  std::vector<std::string> series;
  for (const std::string& slot : *slots) {
    const std::string folder = absl::StrCat(kFolder, "/", slot);
    const absl::StatusOr<std::string> vendor =
        files.ReadTrimmed(absl::StrCat(folder, "/vendor"));
    const absl::StatusOr<std::string> device =
        files.ReadTrimmed(absl::StrCat(folder, "/device"));
    // A device may be unplugged meanwhile.
    if (!vendor.ok() || !device.ok()) continue;
    const absl::string_view name = NpuSeriesOf(*vendor, *device);
    if (!name.empty()) series.emplace_back(name);
  }
  if (series.empty()) {
    return SetMissing(
        MakeMissing(Missing::ABSENT,
                    absl::StrCat(kFolder, ": no PCI id of a known NPU series")),
        fact);
  }
  fact->set_value(CountNpuSeries(series));
}

void ReadArchitecture(TextFact* fact) {
  utsname name;
  if (uname(&name) == 0) fact->set_value(PrintableText(name.machine, 64));
}

}  // namespace

IdentityFacts ReadIdentity(const FileReader& files) {
  IdentityFacts facts;
  ReadText(files, "/proc/sys/kernel/hostname", facts.mutable_hostname());
  ReadText(files, "/proc/sys/kernel/osrelease", facts.mutable_kernel_release());
  *facts.mutable_boot_id() = ReadBootId(files);
  ReadText(files, "/etc/machine-id", facts.mutable_machine_id());
  ReadArchitecture(facts.mutable_architecture());
  ReadParsed(files, "/etc/os-release", ParsePrettyName,
             facts.mutable_os_release());
  ReadSeries(files, facts.mutable_npu_series());
  return facts;
}

TextFact ReadBootId(const FileReader& files) {
  TextFact fact;
  ReadText(files, "/proc/sys/kernel/random/boot_id", &fact);
  return fact;
}

VersionFacts ReadVersions(const FileReader& files) {
  VersionFacts facts;
  const absl::StatusOr<FileText> info = files.Read("/etc/ascend_install.info");
  absl::StatusOr<std::string> prefix = std::string(kDefaultInstallPath);
  if (info.ok()) prefix = ParseInstallPath(info->text);
  if (prefix.ok()) {
    ReadParsed(files, absl::StrCat(*prefix, "/driver/version.info"),
               ParseVersionInfo, facts.mutable_driver());
    ReadParsed(files, absl::StrCat(*prefix, "/firmware/version.info"),
               ParseVersionInfo, facts.mutable_firmware());
  } else {
    SetMissing(MissingFor(prefix.status()), facts.mutable_driver());
    SetMissing(MissingFor(prefix.status()), facts.mutable_firmware());
  }
  SetMissing(MakeMissing(Missing::NOT_QUERIED,
                         "clusterd does not know where CANN keeps its version"),
             facts.mutable_cann());
  return facts;
}

HccnConfFact ReadHccnConf(const FileReader& files) {
  HccnConfFact fact;
  const absl::StatusOr<FileText> file =
      files.Read("/etc/hccn.conf", kMaxConfBytes);
  if (!file.ok()) {
    SetMissing(MissingFor(file.status()), &fact);
    return fact;
  }
  absl::StatusOr<HccnConf> conf = ParseHccnConf(file->text);
  if (!conf.ok()) {
    SetMissing(MissingFor(conf.status()), &fact);
    return fact;
  }
  conf->set_mode(file->mode);
  *fact.mutable_value() = *std::move(conf);
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
