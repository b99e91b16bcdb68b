// The lines of the files that config import reads, whatever kind they are of:
//   10.10.0.11 ansible_ssh_pass="hush" deviceip=10.20.0.1  # comment
// Text in, words out; what a word may be shown of.
#ifndef CONFIG_LEARN_IMPORT_LINE_H_
#define CONFIG_LEARN_IMPORT_LINE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/spec/mistakes.h"

namespace clusterd {

// The words of a line, without its comment; at least one. Quotes hold a word
// together and are taken off.
struct ImportLine {
  // The value of `key=value`, keys in any case as in slurm.conf; nullopt: there
  // is none.
  std::optional<std::string> Find(absl::string_view key) const;

  TextPosition position;
  std::vector<std::string> words;
};

// Those that have words, a line that a backslash continues as one. The byte
// order mark of an editor is passed over.
std::vector<ImportLine> SplitLines(absl::string_view text);
absl::string_view WithoutByteOrderMark(absl::string_view text);

// For a message, quoted: what stands behind "=" may be a password.
std::string Shown(const std::string& word);

// "[all:vars]", and no hostlist.
bool IsSection(const std::string& word);
// A section, or variables of Ansible.
bool IsOfInventory(const ImportLine& line);

}  // namespace clusterd

#endif  // CONFIG_LEARN_IMPORT_LINE_H_
