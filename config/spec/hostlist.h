// Host names the way Slurm and ClusterShell write them, in and out:
//   node[01-12,15]   rack[1-2]n[01-18]   login,node[1-3]
// Zero padding is kept. "x" after a pattern list has no meaning here; exclusion
// is a second list.
#ifndef CONFIG_SPEC_HOSTLIST_H_
#define CONFIG_SPEC_HOSTLIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace clusterd {

// Names one list may expand to.
inline constexpr int kMaxHostlistNames = 1 << 20;

// The names in the order written, without duplicates (the first one stays).
// InvalidArgument, quoting the part that is wrong: empty names, open brackets,
// ranges that run backwards, characters no host name has, over
// kMaxHostlistNames names.
absl::StatusOr<std::vector<std::string>> ExpandHostlist(absl::string_view text);

// The shortest usual spelling; ExpandHostlist of it gives the same set. Names
// come out sorted: by text, then by number.
std::string FoldHostlist(absl::Span<const std::string> hosts);

}  // namespace clusterd

#endif  // CONFIG_SPEC_HOSTLIST_H_
