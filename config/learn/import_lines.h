// Lines of the files that config import reads, as words:
//   10.10.0.11 ansible_ssh_pass="hush" deviceip=10.20.0.1  # comment
// and the kind of file that a line suggests. import.cc interprets the words.
#ifndef CONFIG_LEARN_IMPORT_LINES_H_
#define CONFIG_LEARN_IMPORT_LINES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/spec/mistakes.h"

namespace clusterd {

// The words of a line, without its comment; at least one. Quotes, which keep a
// word together, are removed, as are blanks around "=".
struct ImportLine {
  // The value of `key=value`, keys in any case; or nullopt.
  std::optional<std::string> Find(absl::string_view key) const;

  TextPosition position;
  std::vector<std::string> words;
};

// Omits lines without words.
std::vector<ImportLine> SplitLines(absl::string_view text);

// Quoted for a message, without the text after "=": it may be a password.
std::string Shown(const std::string& word);

// "[all:vars]", not a hostlist. Ansible's variables show an inventory, too.
bool IsSection(const std::string& word);
bool IsOfInventory(const ImportLine& line);

// "NodeName=node[001-500] NodeAddr=10.1.0.[1-500]".
bool IsOfSlurm(const ImportLine& line);

// "address_0 10.20.0.2", "address_0=10.20.0.2" or "address_0: 10.20.0.2".
bool IsOfHccnConf(const ImportLine& line);

// "::1 localhost", "ff02::1 ip6-allnodes", "255.255.255.255 broadcasthost".
bool NamesTheMachineItself(const ImportLine& line);

}  // namespace clusterd

#endif  // CONFIG_LEARN_IMPORT_LINES_H_
