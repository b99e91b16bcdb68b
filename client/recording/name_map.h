// Replaces names of hosts, switches and domains by numbered ones, e.g.
// "node-07.lab.example" by "host-1": the same name always by the same.
#ifndef CLIENT_RECORDING_NAME_MAP_H_
#define CLIENT_RECORDING_NAME_MAP_H_

#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace clusterd {

// Not safe for concurrent use.
class NameMap {
 public:
  // The replacement of `name`, e.g. Alias("switch", "leaf-01") = "switch-1".
  // Names count from 1 within their kind and do not depend on case.
  std::string Alias(const std::string& kind, absl::string_view name);

  // As Alias, and Replace then finds the name in any text: as written, its part
  // before the first dot, and the domain behind it (as kind "domain"). A name
  // of one character or of digits only is not looked for (it would hit
  // everything), nor is an IPv4 address.
  void Add(const std::string& kind, absl::string_view name);

  // `text` with every added name replaced, whatever its case, where it is not
  // inside a longer run of letters and digits. The longest name wins.
  std::string Replace(absl::string_view text) const;

 private:
  void AddWord(const std::string& name, const std::string& alias);

  // kind and lower-case name -> alias.
  std::map<std::pair<std::string, std::string>, std::string> aliases_;
  std::map<std::string, int> counts_;
  // Lower-case word -> alias, to look for.
  std::map<std::string, std::string> words_;
};

}  // namespace clusterd

#endif  // CLIENT_RECORDING_NAME_MAP_H_
