#include "daemon/agent/apply/machine.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "config/plan/hccn_conf_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/hccn/hccn_tool.h"

namespace clusterd {
namespace {

// For flock on hccn.conf.
constexpr absl::Duration kLockWait = absl::Seconds(10);

constexpr absl::string_view kUfw[] = {"/usr/sbin/ufw", "/sbin/ufw"};
constexpr absl::string_view kFirewallCmd[] = {"/usr/bin/firewall-cmd",
                                              "/bin/firewall-cmd"};
constexpr absl::string_view kSystemctl[] = {"/usr/bin/systemctl",
                                            "/bin/systemctl"};

// `absent` is where it would be.
std::string PathOr(const absl::StatusOr<std::string>& found,
                   const HostPaths& host, absl::string_view absent) {
  if (found.ok()) return *found;
  if (!absl::IsNotFound(found.status())) return "";
  return absl::StrCat(absl::StripSuffix(host.root, "/"), absent);
}

std::string Find(const HostPaths& host,
                 absl::Span<const absl::string_view> candidates) {
  return PathOr(FindProgram(host.root, candidates), host, candidates[0]);
}

}  // namespace

MachinePaths FindMachinePaths(const HostPaths& host) {
  MachinePaths paths;
  paths.hccn_tool = PathOr(LocateHccnTool(host), host, paths.hccn_tool);
  paths.firewalls.ufw = Find(host, kUfw);
  paths.firewalls.firewall_cmd = Find(host, kFirewallCmd);
  paths.firewalls.systemctl = Find(host, kSystemctl);
  return paths;
}

Machine::Machine(const MachineAccess& access, const MachinePaths& paths)
    : files(access.files),
      reader(access.reader),
      conf(access.files, access.clock, kHccnConfFile, kLockWait),
      tool(access.runner, access.clock, access.locks, paths.hccn_tool,
           paths.command_deadline),
      sysctl(access.open_sysctl
                 ? access.open_sysctl
                 : [files = access.files](
                       const std::string& path,
                       OpenMode mode) { return files->Open(path, mode); }),
      firewall(access.runner, access.files, access.reader, paths.firewalls) {}

}  // namespace clusterd
