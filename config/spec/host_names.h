// What else a host of the spec may be called where people name hosts: by the
// address that the spec gives it, or with the spec's `domain` behind its name.
#ifndef CONFIG_SPEC_HOST_NAMES_H_
#define CONFIG_SPEC_HOST_NAMES_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Whether the spec has a server of this name.
bool NamesHost(const ClusterSpec& spec, absl::string_view host);

// The hosts' names by everything that the spec knows them by, also by
// themselves. The name of one host is never taken for another.
std::map<std::string, std::string> HostsByAnyName(const ClusterSpec& spec);

// The host's name in the spec; `name` itself if the spec does not know it.
std::string HostNamed(const ClusterSpec& spec, absl::string_view name);

}  // namespace clusterd

#endif  // CONFIG_SPEC_HOST_NAMES_H_
