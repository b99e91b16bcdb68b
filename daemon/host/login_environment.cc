#include "daemon/host/login_environment.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/hccl/job_variables.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr absl::string_view kPamFile = "/etc/environment";
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr int kMaxVariables = 256;

// A word of a shell, without its quotes.
struct Word {
  std::string text;
  std::string raw;
  bool computed = false;
  absl::string_view rest = "";  // The line from its end or unquoted { on.
};

// The words up to ;, && and the like.
struct ShellCommand {
  std::vector<Word> words;
  bool conditional = false;  // Runs only if the one before ends well, or not.
};

// Splits one line, which must outlive them, into commands without comments.
class ShellLine {
 public:
  explicit ShellLine(absl::string_view line) : line_(line) {}

  std::vector<ShellCommand> Split() {
    commands_.emplace_back();
    while (at_ < line_.size()) Take(line_[at_]);
    EndWord();
    return std::move(commands_);
  }

 private:
  void Take(char c) {
    if (absl::ascii_isspace(c)) {
      EndWord();
    } else if (c == '#' && !in_word_) {
      at_ = line_.size();
      return;
    } else if (c == ';' || c == '&' || c == '|') {
      EndCommand(c);
    } else if (c == '(' || c == ')') {
      EndWord();
      Append(c);
      EndWord();
    } else if (c == '\'') {
      TakeQuoted();
    } else if (c == '"') {
      TakeDoubleQuoted();
    } else if (c == '\\' && at_ + 1 < line_.size()) {
      Append(line_[++at_]);
    } else if (c == '$' || c == '`') {
      TakeExpansion(c);
    } else {
      if (c == '{' && word_.rest.empty()) word_.rest = line_.substr(at_);
      Append(c);
    }
    ++at_;
  }

  void Append(char c) {
    in_word_ = true;
    word_.text += c;
    word_.raw += c;
  }

  void EndWord() {
    const size_t end = std::min(at_, line_.size());
    if (word_.rest.empty()) word_.rest = line_.substr(end);
    if (in_word_) commands_.back().words.push_back(std::move(word_));
    word_ = Word();
    in_word_ = false;
  }

  void EndCommand(char c) {
    EndWord();
    const bool is_double = at_ + 1 < line_.size() && line_[at_ + 1] == c;
    if (is_double) ++at_;
    commands_.emplace_back();
    // A pipe's commands run in shells of their own.
    commands_.back().conditional = c == '|' || (c == '&' && is_double);
  }

  void TakeQuoted() {
    in_word_ = true;
    for (++at_; at_ < line_.size() && line_[at_] != '\''; ++at_) {
      Append(line_[at_]);
    }
    // A text of several lines.
    if (at_ >= line_.size()) word_.computed = true;
  }

  void TakeDoubleQuoted() {
    in_word_ = true;
    for (++at_; at_ < line_.size() && line_[at_] != '"'; ++at_) {
      const char c = line_[at_];
      if (c == '\\' && at_ + 1 < line_.size()) {
        Append(line_[++at_]);
      } else if (c == '$' || c == '`') {
        TakeExpansion(c);
      } else {
        Append(c);
      }
    }
    if (at_ >= line_.size()) word_.computed = true;
  }

  // To its last character, so that no sign within it ends a word.
  void TakeExpansion(char c) {
    in_word_ = true;
    word_.computed = true;
    const size_t first = at_;
    const char next = at_ + 1 < line_.size() ? line_[at_ + 1] : ' ';
    const char close = c == '`'      ? '`'
                       : next == '(' ? ')'
                       : next == '{' ? '}'
                                     : '\0';
    int depth = 0;
    while (close != '\0' && at_ + 1 < line_.size()) {
      ++at_;
      if (line_[at_] == next && c == '$') ++depth;
      if (line_[at_] == close && (c == '`' || --depth == 0)) break;
    }
    absl::StrAppend(&word_.raw, line_.substr(first, at_ - first + 1));
  }

  const absl::string_view line_;
  size_t at_ = 0;
  std::vector<ShellCommand> commands_;
  Word word_;
  bool in_word_ = false;
};

class LoginFile {
 public:
  LoginFile(absl::string_view path, EnvironmentFact::Variables* variables)
      : path_(path), variables_(*variables) {
    for (const EnvironmentVariable& each : variables->variables()) {
      if (each.effect() == EnvironmentVariable::SET) {
        exported_.insert(each.name());
      }
    }
  }

  void Read(absl::string_view text) {
    const bool has_mark = absl::ConsumePrefix(&text, kByteOrderMark);
    static const LazyRE2 kComment = {R"(\s*#.*)"};
    std::string joined;
    uint32_t number = 0;
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      ++number;
      carriage_return_ = absl::ConsumeSuffix(&line, "\r");
      if (joined.empty()) line_ = number;
      absl::StrAppend(&joined, line);
      if (has_mark && number == 1) {
        AddNotRead(joined, EnvironmentVariable::AFTER_MARK);
      } else if (path_ == kPamFile) {
        ReadPamLine(joined);
      } else if (absl::EndsWith(line, "\\") && !HasForm(joined, *kComment)) {
        joined.pop_back();
        continue;
      } else {
        for (ShellCommand& command : ShellLine(joined).Split()) Run(command);
      }
      joined.clear();
    }
  }

 private:
  using Words = std::vector<Word>;

  EnvironmentVariable* Add(absl::string_view name) {
    if (variables_.variables_size() == kMaxVariables) return nullptr;
    EnvironmentVariable* const variable = variables_.add_variables();
    variable->set_name(PrintableText(name));
    variable->set_file(std::string(path_));
    variable->set_line(line_);
    variable->set_conditional(conditional_);
    variable->set_carriage_return(carriage_return_);
    return variable;
  }

  // `rest` is what follows on the line. Behind export bash expands braces.
  void AddValue(absl::string_view name, absl::string_view value, bool computed,
                bool exported, absl::string_view rest = "") {
    // Signs that cut the value off, and what looks like a part of it.
    static const LazyRE2 kCut = {
        R"((; *[\w.-]+[:,{][^\s;]*|;\d[\w.-]*|;[\w.-]+$|#.*|[(].*|)"
        R"(\s+(?:\d[\w.:,/-]*|[a-z]+\d*|[\w.-]+[:,./][\w.:,/-]*)|)"
        R"([{][^{}]*(?:,[^{}]*[}]|[(]|[}]; *[\w.-]+[:,{])\S*)(?:[\s;&|].*)?)"};
    static const LazyRE2 kNoPart = {";(?:fi|done|esac|exit|return|true)"};
    // A shell of its own sets it.
    static const LazyRE2 kApart = {R"((\s*[&|](?:[^&|>].*)?))"};
    if (!IsJobVariable(name)) return;
    if (!exported && absl::StartsWith(rest, "{")) rest = "";
    // Assigned once more, an exported variable stays exported.
    exported =
        exported || exports_all_ || exported_.count(std::string(name)) > 0;
    if (exported) exported_.emplace(name);
    EnvironmentVariable* const variable = Add(name);
    if (variable == nullptr) return;
    if (!exported) variable->set_effect(EnvironmentVariable::NOT_EXPORTED);
    const bool is_apart = HasForm(rest, *kApart, &rest);
    if (is_apart) variable->set_effect(EnvironmentVariable::NOT_READ);
    const bool is_cut = !HasForm(rest, *kNoPart) && HasForm(rest, *kCut, &rest);
    if (is_apart || is_cut) variable->set_cut(PrintableText(rest));
    variable->set_computed(computed);
    if (computed) {
      variable->clear_conditional();
    } else {
      variable->set_value(PrintableText(value));
    }
  }

  // Every line of it, earlier and later ones.
  void Export(absl::string_view name) {
    exported_.emplace(name);
    for (EnvironmentVariable& each : *variables_.mutable_variables()) {
      if (each.name() == name &&
          each.effect() == EnvironmentVariable::NOT_EXPORTED) {
        each.set_effect(EnvironmentVariable::SET);
      }
    }
  }

  // The first name of a job in a line that sets none.
  void AddNotRead(absl::string_view line, EnvironmentVariable::Effect effect =
                                              EnvironmentVariable::NOT_READ) {
    static const LazyRE2 kName = {R"(([A-Za-z_][\w-]*))"};
    re2::StringPiece rest(line.data(), std::min(line.find('#'), line.size()));
    std::string name;
    while (RE2::FindAndConsume(&rest, *kName, &name)) {
      if (!IsJobVariable(name)) continue;
      EnvironmentVariable* const variable = Add(name);
      if (variable != nullptr) variable->set_effect(effect);
      return;
    }
  }

  // pam_env skips blanks in front and "export ", ends at a # and takes off
  // quotes around a value (Linux-PAM, _parse_env_file).
  void ReadPamLine(absl::string_view line) {
    static const LazyRE2 kForm = {R"(([A-Za-z0-9_]+)=(.*))"};
    const size_t end = std::min(line.find('#'), line.size());
    absl::string_view rest = line.substr(end);
    line = absl::StripLeadingAsciiWhitespace(line.substr(0, end));
    absl::string_view assignment = line;
    absl::ConsumePrefix(&assignment, "export ");
    absl::string_view name;
    absl::string_view value;
    if (!HasForm(assignment, *kForm, &name, &value)) return AddNotRead(line);
    value = absl::StripTrailingAsciiWhitespace(value);
    const bool is_quoted =
        !value.empty() && (value[0] == '"' || value[0] == '\'');
    std::string bare;
    for (const char c : value) {
      if (!is_quoted || (c != '"' && c != '\'')) bare += c;
    }
    // A # within the value, quoted or not, begins no comment.
    if (is_quoted ? value.size() > 1 && value.back() == value[0]
                  : absl::ascii_isspace(line.back())) {
      rest = "";
    }
    AddValue(name, bare, /*computed=*/false, /*exported=*/true, rest);
  }

  // Takes off words that open and close blocks, and what stands in front of a
  // command within one.
  void TakeBlocks(Words* words) {
    static const LazyRE2 kOpen = {
        R"(if|while|until|for|case|select|function|\{|\()"};
    static const LazyRE2 kClose = {R"(fi|done|esac|\}|\))"};
    static const LazyRE2 kInner = {"then|else|elif|do|!"};
    const auto is = [](absl::string_view text) {
      return [text](const Word& word) { return word.raw == text; };
    };
    // "f() {", and the pattern of a case: "Linux) ".
    const bool is_function =
        words->size() > 2 && is("(")((*words)[1]) && is(")")((*words)[2]);
    const bool is_pattern = depth_ > 0 && !absl::c_any_of(*words, is("("));
    const auto end = absl::c_find_if(*words, is(")"));
    if (end != words->end() && end != words->begin() &&
        (is_function || is_pattern)) {
      words->erase(words->begin(), end + 1);
    }
    while (!words->empty()) {
      const std::string word = words->front().raw;
      if (HasForm(word, *kOpen)) {
        ++depth_;
      } else if (HasForm(word, *kClose)) {
        depth_ = std::max(depth_ - 1, 0);
      } else if (!HasForm(word, *kInner)) {
        break;
      }
      words->erase(words->begin());
      // Their words are no command.
      if (word == "for" || word == "case" || word == "select") words->clear();
    }
    if (!words->empty() && words->back().raw == ")") {
      words->pop_back();
      ends_ = true;
    }
  }

  void Run(ShellCommand& command) {
    Words& words = command.words;
    TakeBlocks(&words);
    conditional_ = command.conditional || depth_ > 0;
    if (std::exchange(ends_, false)) depth_ = std::max(depth_ - 1, 0);
    if (words.empty()) return;
    const std::string name = words[0].text;
    const Words arguments(words.begin() + 1, words.end());
    if (name == "export" || name == "readonly" || name == "declare" ||
        name == "typeset" || name == "local") {
      Declare(name, arguments);
    } else if ((name == "." || name == "source") && !arguments.empty() &&
               !arguments[0].raw.empty()) {
      EnvironmentVariable* const file = Add(arguments[0].raw);
      if (file != nullptr) file->set_effect(EnvironmentVariable::SOURCED);
    } else if (name == "unset") {
      Unset(arguments);
    } else if (name == "set") {
      for (const Word& each : arguments) {
        if (each.text == "-a" || each.text == "allexport") exports_all_ = true;
        if (each.text == "+a") exports_all_ = false;
      }
    } else if (name == "setenv") {
      if (!arguments.empty()) AddNotRead(arguments[0].text);
    } else if (name == "eval" || name == ":") {
      AddWorkedOut(arguments);
    } else {
      Assign(words);
    }
  }

  // NAME=value; false: it is something else.
  bool TakeAssignment(const Word& word, bool exported) {
    static const LazyRE2 kForm = {R"((?s)([A-Za-z_]\w*)(\+?)=(.*))"};
    absl::string_view name;
    absl::string_view plus;
    absl::string_view value;
    if (absl::StartsWith(word.raw, "$") ||
        !HasForm(word.text, *kForm, &name, &plus, &value)) {
      return false;
    }
    AddValue(name, value, word.computed || !plus.empty(), exported, word.rest);
    return true;
  }

  void Declare(absl::string_view command, const Words& arguments) {
    bool exported = command == "export";
    bool takes_back = false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Word& word = arguments[i];
      if (absl::StartsWith(word.text, "-") ||
          absl::StartsWith(word.text, "+")) {
        const bool is_on = word.text[0] == '-';
        if (absl::StrContains(word.text, 'x')) exported = is_on;
        if (command == "export" && absl::StrContains(word.text, 'n')) {
          takes_back = true;
        }
        continue;
      }
      const bool is_split = i + 1 < arguments.size() &&
                            absl::StartsWith(arguments[i + 1].text, "=");
      const bool is_cut = absl::EndsWith(word.raw, "=") &&
                          i + 1 < arguments.size() &&
                          !absl::StrContains(arguments[i + 1].raw, '=');
      if (is_split || is_cut) return AddNotRead(word.raw);
      if (takes_back) {
        Unset({word});
      } else if (TakeAssignment(word, exported)) {
        continue;
      } else if (exported && !word.computed &&
                 // HCCL-IF-IP=…: no name of a variable.
                 word.text.find_first_of("=:") == std::string::npos) {
        Export(word.text);
      } else {
        AddNotRead(word.raw);
      }
    }
  }

  void Unset(const Words& arguments) {
    for (const Word& word : arguments) {
      if (!IsJobVariable(word.text)) continue;
      // Under a condition nobody knows whether an earlier value stays.
      AddValue(word.text, "", conditional_, /*exported=*/true);
      exported_.erase(word.text);
    }
  }

  // Names that a builtin sets to what it works out.
  void AddWorkedOut(const Words& arguments) {
    static const LazyRE2 kName = {R"(\b([A-Za-z_]\w*)[+:]?=)"};
    for (const Word& word : arguments) {
      re2::StringPiece rest(word.raw);
      std::string name;
      while (RE2::FindAndConsume(&rest, *kName, &name)) {
        AddValue(name, "", /*computed=*/true, /*exported=*/true);
      }
    }
  }

  // Words that are no command of ours.
  void Assign(const Words& words) {
    static const LazyRE2 kForm = {R"((?s)[A-Za-z_]\w*\+?=.*)"};
    const auto is_assignment = [](const Word& word) {
      return !absl::StartsWith(word.raw, "$") && HasForm(word.text, *kForm);
    };
    if (absl::c_all_of(words, is_assignment)) {
      for (const Word& word : words) TakeAssignment(word, exports_all_);
      return;
    }
    // For one program alone.
    if (is_assignment(words[0]) && !absl::EndsWith(words[0].raw, "=")) return;
    static const LazyRE2 kMeant = {R"(([A-Za-z_][\w-]*)(?::|[:+]?=.*)?)"};
    absl::string_view name;
    const bool is_meant =
        HasForm(words[0].raw, *kMeant, &name) && IsJobVariable(name) &&
        (name.size() < words[0].raw.size() ||
         (words.size() > 1 && absl::StartsWith(words[1].text, "=")));
    if (is_meant || absl::StartsWith(words[0].raw, "$"))
      AddNotRead(words[0].raw);
  }

  const absl::string_view path_;
  EnvironmentFact::Variables& variables_;
  uint32_t line_ = 0;
  bool carriage_return_ = false;
  bool conditional_ = false;
  bool exports_all_ = false;
  std::set<std::string> exported_;
  int depth_ = 0;      // Of blocks.
  bool ends_ = false;  // A subshell ends behind the command.
};

}  // namespace

void AddLoginFile(absl::string_view path, absl::string_view text,
                  EnvironmentFact::Variables* variables) {
  LoginFile(path, variables).Read(text);
}

absl::StatusOr<EnvironmentFact::Variables> ReadLoginEnvironment(
    const FileReader& files) {
  constexpr absl::string_view kFolder = "/etc/profile.d";
  std::vector<std::string> paths = {std::string(kPamFile)};
  const auto names = files.List(kFolder);
  if (!names.ok() && !absl::IsNotFound(names.status())) return names.status();
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    if (absl::EndsWith(name, ".sh")) {
      paths.push_back(absl::StrCat(kFolder, "/", name));
    }
  }
  EnvironmentFact::Variables variables;
  for (const std::string& path : paths) {
    const absl::StatusOr<FileText> file = files.Read(path);
    if (absl::IsNotFound(file.status())) continue;
    RETURN_IF_ERROR(file.status());
    AddLoginFile(path, file->text, &variables);
  }
  return variables;
}

}  // namespace clusterd
