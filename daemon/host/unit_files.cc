#include "daemon/host/unit_files.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

// In order of precedence, systemd.unit(5).
constexpr absl::string_view kFolders[] = {
    "/etc/systemd/system", "/run/systemd/system",
    "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
    "/lib/systemd/system"};

bool IsLinkToNull(const FileReader& files, const std::string& path) {
  const absl::StatusOr<std::string> link = files.ReadLink(path);
  return link.ok() && *link == "/dev/null";
}

// Whether the unit is to be had: the first folder that has it decides.
bool IsLoadable(const FileReader& files, const std::string& unit) {
  for (const absl::string_view folder : kFolders) {
    const std::string path = absl::StrCat(folder, "/", unit);
    if (!files.CheckExists(path).ok()) continue;
    return !IsLinkToNull(files, path);
  }
  return false;
}

}  // namespace

absl::StatusOr<bool> ReadUnitEnabled(const FileReader& files,
                                     const std::string& unit) {
  bool any_folder = false;
  bool wanted = false;
  for (const absl::string_view folder : kFolders) {
    const absl::StatusOr<std::vector<std::string>> names = files.List(folder);
    if (absl::IsNotFound(names.status())) continue;
    if (!names.ok()) return names.status();
    any_folder = true;
    for (const std::string& name : *names) {
      if (!absl::EndsWith(name, ".wants") &&
          !absl::EndsWith(name, ".requires")) {
        continue;
      }
      const std::string link = absl::StrCat(folder, "/", name, "/", unit);
      const absl::Status exists = files.CheckExists(link);
      if (absl::IsPermissionDenied(exists)) return exists;
      if (exists.ok() && !IsLinkToNull(files, link)) wanted = true;
    }
  }
  if (!any_folder) {
    return absl::NotFoundError("no folder of systemd units");
  }
  return wanted && IsLoadable(files, unit);
}

}  // namespace clusterd
