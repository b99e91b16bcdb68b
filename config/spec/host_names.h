// Alternative names of a host where people name hosts: the address that the
// spec gives it, or its name followed by the spec's `domain`.
#ifndef CONFIG_SPEC_HOST_NAMES_H_
#define CONFIG_SPEC_HOST_NAMES_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "proto/spec.pb.h"

namespace clusterd {

// True if the spec has a server of this name.
bool NamesHost(const ClusterSpec& spec, absl::string_view host);

// The hosts' names by every name that the spec knows, including their own. The
// name of one host is never taken for another.
std::map<std::string, std::string> HostsByAnyName(const ClusterSpec& spec);

// The host's name in the spec; `name` itself if the spec does not know it.
std::string HostNamed(const ClusterSpec& spec, absl::string_view name);

}  // namespace clusterd

#endif  // CONFIG_SPEC_HOST_NAMES_H_
