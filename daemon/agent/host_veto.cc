#include "daemon/agent/host_veto.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "daemon/agent/agent_config.h"

namespace clusterd {

Veto ReadHostVeto(const std::string& config, Log* log) {
  if (config.empty()) return Veto();
  const absl::StatusOr<AgentConfig> read = ReadAgentConfig(config);
  if (read.ok()) return read->veto;
  log->Warning(
      absl::StrCat("this host is only observed until its file has no "
                   "mistake: ",
                   read.status().message()));
  return Veto();
}

}  // namespace clusterd
