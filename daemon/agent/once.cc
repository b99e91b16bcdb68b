#include "daemon/agent/once.h"

#include <fstream>
#include <iterator>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "config/identity/tls_credentials.h"
#include "config/spec/spec_loader.h"
#include "daemon/agent/self_check.h"
#include "daemon/agent/self_check_text.h"
#include "google/protobuf/util/json_util.h"

namespace clusterd {
namespace {

constexpr int kWrongConfiguration = 3;

absl::StatusOr<std::string> HostName(const AgentFlags& flags,
                                     const std::string& machine_name) {
  if (flags.tls.certificate.empty()) return machine_name;
  const absl::StatusOr<SpiffeId> self =
      ReadOwnIdentity(flags.tls, flags.cluster, IdentityKind::kHost);
  if (!self.ok()) return self.status();
  return self->name;
}

absl::StatusOr<std::optional<ClusterSpec>> ReadSpec(const std::string& path,
                                                    const std::string& host) {
  if (path.empty()) return std::optional<ClusterSpec>();
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)),
                         std::istreambuf_iterator<char>());
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  absl::StatusOr<ClusterSpec> spec = LoadSpec(path, text);
  if (!spec.ok()) return spec.status();
  for (const ServerSpec& server : spec->servers()) {
    if (server.host() == host) {
      return std::optional<ClusterSpec>(*std::move(spec));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": names no host \"", host,
                   "\", expected this host's name in it (--spec)"));
}

std::string ToJson(const CheckSelfResponse& response) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(response, &json, options);
  return status.ok() ? json : status.ToString();
}

}  // namespace

int RunOnce(const AgentFlags& flags, const std::string& machine_name,
            HostObserver* observer, std::ostream* out, std::ostream* err) {
  const absl::StatusOr<std::string> host = HostName(flags, machine_name);
  if (!host.ok()) {
    *err << host.status().message() << "\n";
    return kWrongConfiguration;
  }
  const absl::StatusOr<std::optional<ClusterSpec>> spec =
      ReadSpec(flags.spec, *host);
  if (!spec.ok()) {
    *err << spec.status().message() << "\n";
    return kWrongConfiguration;
  }
  const CheckSelfResponse response = CheckSelf(observer, *host, *spec);
  *out << (flags.format == "json" ? ToJson(response) : SelfCheckText(response));
  out->flush();
  return SelfCheckExitStatus(response.report());
}

}  // namespace clusterd
