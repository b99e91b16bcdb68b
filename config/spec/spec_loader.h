// Reads cluster.yaml into a ClusterSpec with everything expanded. README.md of
// config/examples shows the file; the loader is its definition.
// Text in, message out: reads no file and no machine.
#ifndef CONFIG_SPEC_SPEC_LOADER_H_
#define CONFIG_SPEC_SPEC_LOADER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/spec/mistakes.h"
#include "proto/spec.pb.h"

namespace clusterd {

// The place of one device's address in the file.
struct AddressPlace {
  TextPosition position;
  // Its formula counts servers: removing one moves those after it.
  bool by_index = false;
};
// Indexed by server and device, in the order of the spec.
using SpecPlaces = std::vector<std::vector<AddressPlace>>;

// InvalidArgument when the file has any mistake. The message then holds every
// mistake of the file, one per line, each as
//   cluster.yaml:14:11: n1 device 3: address "10.20.0.300" is not IPv4,
//   expected four numbers 0-255
// in the order of the file (without the break); at most 100 and then the number
// of others. `file_name` is only used in messages. `places`, if given, gets the
// places of the devices' addresses. `rules`: the names of all rules
// (RuleNames), which this folder does not know; without them names in
// `schedule` are not checked.
absl::StatusOr<ClusterSpec> LoadSpec(
    absl::string_view file_name, absl::string_view yaml,
    SpecPlaces* places = nullptr,
    absl::Span<const absl::string_view> rules = {});

// A spec of that name without servers, with the default of every setting that
// is not about devices, for asking hosts before there is a cluster.yaml.
ClusterSpec DefaultSpec(absl::string_view name);

// The spec as YAML with every host, device and default written out. LoadSpec of
// the result is the same spec (but for the digest).
std::string SpecToYaml(const ClusterSpec& spec);

// Its keys `servers` and `devices`.
void AppendServers(const ClusterSpec& spec, std::string* out);

// A host's or cluster's name in YAML, which may need quotes if YAML would read
// it as nothing. No other name needs them.
std::string YamlName(absl::string_view name);

}  // namespace clusterd

#endif  // CONFIG_SPEC_SPEC_LOADER_H_
