#include "config/spec/host_names.h"

#include "absl/strings/str_cat.h"
#include "config/words/subject_text.h"

namespace clusterd {

bool NamesHost(const ClusterSpec& spec, absl::string_view host) {
  return FirstWith(spec.servers(), &ServerSpec::host, host) != nullptr;
}

std::map<std::string, std::string> HostsByAnyName(const ClusterSpec& spec) {
  std::map<std::string, std::string> hosts;
  for (const ServerSpec& server : spec.servers()) {
    hosts.emplace(server.host(), server.host());
  }
  // A host's own name always means that host.
  for (const ServerSpec& server : spec.servers()) {
    if (!server.address().empty())
      hosts.emplace(server.address(), server.host());
    if (!spec.domain().empty()) {
      hosts.emplace(absl::StrCat(server.host(), ".", spec.domain()),
                    server.host());
    }
  }
  return hosts;
}

std::string HostNamed(const ClusterSpec& spec, absl::string_view name) {
  const auto hosts = HostsByAnyName(spec);
  const auto found = hosts.find(std::string(name));
  return found == hosts.end() ? std::string(name) : found->second;
}

}  // namespace clusterd
