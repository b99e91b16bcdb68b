// Splits text into commands as sh(1) does, for login files. Runs nothing.
#ifndef DAEMON_HOST_SHELL_LINE_H_
#define DAEMON_HOST_SHELL_LINE_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace clusterd {

// A shell word without its quotes.
struct ShellWord {
  std::string text;
  std::string raw;
  bool computed = false;
  absl::string_view rest = "";  // The line from its end or unquoted { on.
};

// The words up to ;, && and the like.
struct ShellCommand {
  std::vector<ShellWord> words;
  char before = ';';  // & after &&, | after || or in a pipe: may not run.
};

// Splits the first line of a text, which must outlive them, into commands
// without comments. Quotes, && at its end and here-documents extend the line.
class ShellLine {
 public:
  explicit ShellLine(absl::string_view text) : text_(text) {}

  std::vector<ShellCommand> Split();

  // end() is the newline after the commands, size() where to continue.
  size_t end() const { return end_; }
  size_t size() const { return at_; }
  // The text ends within quotes or a here-document.
  bool is_open() const { return is_open_; }

 private:
  void Take(char c);
  void Append(char c) {
    in_word_ = true;
    word_.text += c;
    word_.raw += c;
  }
  void EndWord() {
    at_ = std::min(at_, text_.size());
    if (word_.rest.empty()) word_.rest = text_.substr(at_);
    if (in_word_) commands_.back().words.push_back(std::move(word_));
    word_ = ShellWord();
    in_word_ = false;
  }
  void EndCommand(char c) {
    EndWord();
    const bool is_double = at_ + 1 < text_.size() && text_[at_ + 1] == c;
    if (is_double) ++at_;
    commands_.push_back({{}, c == '&' && !is_double ? ';' : c});
  }
  void TakeQuoted(char quote);
  // Consumes an expansion, or an array, whose characters do not end a word.
  // `around`: the enclosing quotes, or a blank.
  void TakeExpansion(char around);
  // Notes "<<EOF" or "<<-'EOF'": the following lines are a text.
  void NoteHereDocument();
  // Moves from the newline before them to that of their last line.
  void SkipHereDocuments();

  const absl::string_view text_;
  size_t at_ = 0;
  size_t end_ = 0;
  bool is_open_ = false;
  std::vector<ShellCommand> commands_;
  std::vector<std::string> documents_;  // Form of each one's last line.
  ShellWord word_;
  bool in_word_ = false;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_SHELL_LINE_H_
