#include "daemon/agent/host_veto.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "config/spec/change_kind.h"
#include "daemon/agent/agent_config.h"
#include "daemon/host/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxToldBytes = 512;

struct VetoRead {
  Veto veto;
  absl::Status status;
};

VetoRead ReadVeto(const std::string& config) {
  VetoRead read;
  std::string mistake;
  if (!config.empty()) {
    const absl::StatusOr<AgentConfig> file = ReadAgentConfig(config);
    read.status = file.status();
    if (file.ok()) {
      read.veto = file->veto;
    } else {
      // One line for each mistake; the first will do.
      const absl::string_view all = file.status().message();
      mistake = PrintableText(all.substr(0, all.find('\n')), kMaxToldBytes);
    }
  }
  read.veto.SetFile(PrintableText(config, kMaxToldBytes), mistake);
  return read;
}

}  // namespace

Veto ReadHostVeto(const std::string& config, Log* log) {
  VetoRead read = ReadVeto(config);
  if (!read.status.ok()) {
    log->Warning(
        absl::StrCat("this host is only observed until its file has no "
                     "mistake: ",
                     read.status.message()));
  }
  return std::move(read.veto);
}

std::string WhyNoConfWrite(const std::string& config) {
  if (config.empty()) {
    return "this clusterd runs without --config; to permit that, name a file "
           "there with \"allow: [observe, tls]\" in it";
  }
  const absl::StatusOr<AgentConfig> read = ReadAgentConfig(config);
  if (!read.ok()) {
    return absl::StrCat(
        "this host is only observed until its file has no mistake: ",
        read.status().message());
  }
  if (read->veto.Allows(CHANGE_TLS) || read->veto.Allows(CHANGE_HCCN_CONF)) {
    return "";
  }
  std::vector<std::string> words;
  for (const ChangeKind kind : AllChangeKinds()) {
    if (kind == CHANGE_TLS || read->veto.Allows(kind)) {
      words.push_back(ChangeKindName(kind));
    }
  }
  return absl::StrCat(
      "this host does not allow that; to permit it, put \"allow: [",
      absl::StrJoin(words, ", "), "]\" into ", config, " there");
}

HostAllows ReadHostAllows(const std::string& config) {
  return ReadVeto(config).veto.ToHostAllows();
}

}  // namespace clusterd
