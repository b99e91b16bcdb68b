// Host names the way Slurm and ClusterShell write them, in and out:
//   node[01-12,15]   rack[1-2]n[01-18]   login,node[1-3]   node[0-30/2]
// Zero padding is kept; several brackets mean every combination, the last one
// counting fastest. Exclusion is a second list.
#ifndef CONFIG_VALUES_HOSTLIST_H_
#define CONFIG_VALUES_HOSTLIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// Names one list may expand to.
inline constexpr int kMaxHostlistNames = 1 << 20;

// True for a valid host name: letters, digits, ".", "-" and "_"; begins and
// ends with a letter or digit; no ".."; at most 253 bytes. Such a name is safe
// as a file name, in a certificate and as a command's argument.
bool IsHostName(absl::string_view name);

// The names in the order written, without duplicates (the first one stays).
// InvalidArgument, quoting the part that is wrong: empty names, open brackets,
// ranges that run backwards, names that IsHostName refuses, over `max_names`
// names. Duplicates count.
absl::StatusOr<std::vector<std::string>> ExpandHostlist(
    absl::string_view text, size_t max_names = kMaxHostlistNames);

// The shortest usual spelling; ExpandHostlist of it gives the same set. Names
// come out sorted: by text, then by number. Text that is not a host name stands
// unchanged in the result. 100,000 names take tens of milliseconds.
std::string FoldHostlist(const std::vector<std::string>& hosts);

}  // namespace clusterd

#endif  // CONFIG_VALUES_HOSTLIST_H_
