// A shell's words: how sh(1) splits a text into commands, as far as files of
// logins need it. Nothing is run and nothing is expanded.
#ifndef DAEMON_HOST_SHELL_LINE_H_
#define DAEMON_HOST_SHELL_LINE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace clusterd {

// A word of a shell, without its quotes.
struct ShellWord {
  std::string text;
  std::string raw;
  bool computed = false;
  absl::string_view rest = "";  // The line from its end or unquoted { on.
};

// The words up to ;, && and the like.
struct ShellCommand {
  std::vector<ShellWord> words;
  char before = ';';  // & of &&, or | of || and of a pipe: it may not run.
};

// Splits the first line of a text, which must outlive them, into commands
// without comments. Quotes, && at its end and here-documents make it longer.
class ShellLine {
 public:
  explicit ShellLine(absl::string_view text) : text_(text) {}

  std::vector<ShellCommand> Split();

  // Where the newline behind the commands stands, and the one to go on from.
  size_t end() const { return end_; }
  size_t size() const { return at_; }
  // The text ends within quotes or a here-document.
  bool is_open() const { return is_open_; }

 private:
  void Take(char c);
  void Append(char c);
  void EndWord();
  void EndCommand(char c);
  void TakeQuoted(char quote);
  // Takes an expansion, or an array, to its last character, so that no sign
  // within it ends a word. `around`: the quotes that it stands in, or a blank.
  void TakeExpansion(char around);
  // "<<EOF", "<<-'EOF'": the lines behind this one are a text.
  void NoteHereDocument();
  // Goes from the newline in front of them to that of their last line.
  void SkipHereDocuments();

  const absl::string_view text_;
  size_t at_ = 0;
  size_t end_ = 0;
  bool is_open_ = false;
  std::vector<ShellCommand> commands_;
  std::vector<std::string> documents_;  // The form of the last line of each.
  ShellWord word_;
  bool in_word_ = false;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_SHELL_LINE_H_
