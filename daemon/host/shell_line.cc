#include "daemon/host/shell_line.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/values/text_form.h"

namespace clusterd {

std::vector<ShellCommand> ShellLine::Split() {
  commands_.emplace_back();
  do {
    while (at_ < text_.size() && text_[at_] != '\n') Take(text_[at_]);
    EndWord();
    end_ = at_;
    SkipHereDocuments();
  } while (commands_.back().before != ';' && commands_.back().words.empty() &&
           ++at_ < text_.size());
  return std::move(commands_);
}

void ShellLine::Take(char c) {
  if (absl::ascii_isspace(c)) {
    EndWord();
  } else if (c == '#' && !in_word_) {
    at_ = std::min(text_.find('\n', at_), text_.size());
    return;
  } else if (c == ';' || c == '&' || c == '|') {
    EndCommand(c);
  } else if (c == '$' || c == '`' ||
             (c == '(' && absl::EndsWith(word_.raw, "="))) {
    TakeExpansion(' ');
  } else if (c == '(' || c == ')') {
    EndWord();
    Append(c);
    EndWord();
  } else if (c == '\'' || c == '"') {
    TakeQuoted(c);
  } else if (c == '\\' && at_ + 1 < text_.size()) {
    if (text_[++at_] != '\n') Append(text_[at_]);
  } else {
    if (c == '<') NoteHereDocument();
    if (c == '{' && word_.rest.empty()) word_.rest = text_.substr(at_);
    Append(c);
  }
  ++at_;
}

void ShellLine::TakeQuoted(char quote) {
  in_word_ = true;
  for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
    const char c = quote == '"' ? text_[at_] : ' ';
    if (c == '\\' && at_ + 1 < text_.size()) {
      if (text_[++at_] != '\n') Append(text_[at_]);
    } else if (c == '$' || c == '`') {
      TakeExpansion(quote);
    } else {
      Append(text_[at_]);
    }
  }
  if (at_ >= text_.size()) word_.computed = is_open_ = true;
}

void ShellLine::TakeExpansion(char around) {
  in_word_ = word_.computed = true;
  const size_t first = at_;
  std::string ends(1, around);  // Closing characters, outermost first.
  do {
    const char c = text_[at_];
    const char end = ends.back();
    if (c == '\\' && end != '\'') {
      ++at_;
    } else if (ends.size() > 1 && c == end) {
      ends.pop_back();
    } else if (c == '\n') {
      SkipHereDocuments();
    } else if (c == '(' && (end == ')' || ends.size() == 1)) {
      ends += ')';
    } else if (end == ')' && c == '<') {
      NoteHereDocument();
    } else if (c == '\'' && (end == ')' || (end == '}' && around == ' '))) {
      ends += c;
    } else if (end != '\'' && (c == '`' || c == '"')) {
      ends += c;
    } else if (const auto next = text_.substr(at_, 2);
               end != '\'' && (next == "$(" || next == "${")) {
      ends += next == "$(" ? ')' : '}';
      ++at_;
    }
    ++at_;
  } while (ends.size() > 1 && at_ < text_.size());
  if (ends.size() > 1) is_open_ = true;
  --at_;
  absl::StrAppend(&word_.raw, text_.substr(first, at_ - first + 1));
}

void ShellLine::NoteHereDocument() {
  static const LazyRE2 kForm = {
      R"(<<(-?)[ \t]*['"\\]?([^\s\d'"\\<>&|;()][^\s'"\\<>&|;()]*))"};
  re2::StringPiece rest(text_.data() + at_, text_.size() - at_);
  std::string dash;
  std::string last;
  const bool is_string = at_ > 0 && text_[at_ - 1] == '<';
  if (is_string || !RE2::Consume(&rest, *kForm, &dash, &last)) return;
  documents_.push_back(absl::StrCat("(?m)\\n", dash.empty() ? "" : "\\t*",
                                    RE2::QuoteMeta(last), "\\r?$"));
}

void ShellLine::SkipHereDocuments() {
  for (const std::string& end : std::exchange(documents_, {})) {
    re2::StringPiece rest(text_.data() + at_, text_.size() - at_);
    is_open_ = is_open_ || !RE2::FindAndConsume(&rest, end);
    at_ = text_.size() - rest.size();
  }
}

}  // namespace clusterd
