#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/hccl/job_variables.h"
#include "config/values/nearest_word.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/launch_observer.h"
#include "daemon/host/shell_line.h"

namespace clusterd {
namespace {

constexpr absl::string_view kPamFile = "/etc/environment";
constexpr absl::string_view kShellFolder = "/etc/profile.d";
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr int kMaxVariables = 256;
constexpr size_t kMaxValueBytes = 1024;
constexpr size_t kMaxOtherFileBytes = 64 << 10;

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
    counted_ = text.data();
    if (absl::ConsumePrefix(&text, kByteOrderMark)) {
      const absl::string_view line = text.substr(0, text.find('\n'));
      AddNotRead(line, EnvironmentVariable::AFTER_MARK);
      text.remove_prefix(line.size());
    }
    if (absl::StartsWith(path_, kShellFolder) && absl::EndsWith(path_, ".sh")) {
      return ReadShell(text);
    }
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      CountTo(line);
      carriage_return_ = absl::ConsumeSuffix(&line, "\r");
      if (path_ == kPamFile) {
        ReadPamLine(line);
      } else {
        AddNotRead(line, EnvironmentVariable::OTHER_FILE);
      }
    }
  }

 private:
  using Words = std::vector<ShellWord>;

  void ReadShell(absl::string_view text) {
    while (!text.empty() && !has_ended_) {
      CountTo(text);
      ShellLine line(is_broken_ ? text.substr(0, text.find('\n')) : text);
      std::vector<ShellCommand> commands = line.Split();
      // A shell refuses the text from here on, or this reader misreads it.
      if (line.is_open() && !std::exchange(is_broken_, true)) continue;
      end_ = text.data() + line.end();
      carriage_return_ = absl::EndsWith(text.substr(0, line.end()), "\r");
      for (ShellCommand& command : commands) Run(command);
      text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
  }

  // Sets line_ to the line on which `rest` begins.
  void CountTo(absl::string_view rest) {
    while (counted_ < rest.data()) line_ += *counted_++ == '\n';
  }

  bool IsPerhaps() const { return conditional_ || is_broken_ || may_end_; }

  EnvironmentVariable* Add(absl::string_view name) {
    if (variables_.variables_size() == kMaxVariables) return nullptr;
    EnvironmentVariable* const variable = variables_.add_variables();
    variable->set_name(PrintableText(name));
    variable->set_file(std::string(path_));
    variable->set_line(line_);
    variable->set_conditional(IsPerhaps());
    variable->set_carriage_return(carriage_return_);
    return variable;
  }

  // `rest` follows on the line. After export bash expands braces.
  void AddValue(absl::string_view name, absl::string_view value, bool computed,
                bool exported, absl::string_view rest = "") {
    // Characters that cut the value off, with a likely rest of it.
    static const LazyRE2 kCut = {
        R"((?s)(; *[\w.-]+[:,{][^\s;]*|;\d[\w.-]*|;[\w.-]+$|#.*|[(].*|)"
        R"((?:\s|\\\n)+(?:\d[\w.:,/-]*|[a-z]+\d*|[\w.-]+[:,./][\w.:,/-]*)|)"
        R"([{][^{}]*(?:,[^{}]*[}]|[(]|[}]; *[\w.-]+[:,{])\S*)(?:[\s;&|].*)?)"};
    static const LazyRE2 kNoPart = {";(?:fi|done|esac|exit|return|true)"};
    // A separate shell sets it.
    static const LazyRE2 kApart = {R"((\s*[&|](?:[^&|>].*)?))"};
    if (!IsJobVariable(name)) return;
    if (!exported && absl::StartsWith(rest, "{")) rest = "";
    // A further assignment keeps an exported variable exported.
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
      variable->set_value(SafeText(CutUtf8(value, kMaxValueBytes), true));
    }
  }

  // Marks all its lines, earlier and later ones.
  void Export(absl::string_view name) {
    exported_.emplace(name);
    for (EnvironmentVariable& each : *variables_.mutable_variables()) {
      if (each.name() == name &&
          each.effect() == EnvironmentVariable::NOT_EXPORTED) {
        each.set_effect(EnvironmentVariable::SET);
      }
    }
  }

  // Adds the first job variable in a line that sets none.
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

  // pam_env skips leading blanks and "export ", ends at a # and removes quotes
  // around a value (Linux-PAM, _parse_env_file).
  void ReadPamLine(absl::string_view line) {
    static const LazyRE2 kForm = {R"(([A-Za-z0-9_]+)=(.*))", RE2::Latin1};
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
    // A # within the value, quoted or not, does not begin a comment.
    if (is_quoted ? value.size() > 1 && value.back() == value[0]
                  : absl::ascii_isspace(line.back())) {
      rest = "";
    }
    AddValue(name, bare, /*computed=*/false, /*exported=*/true, rest);
  }

  // Removes words that open and close blocks, and others before a command in
  // one.
  void TakeBlocks(Words* words) {
    static const LazyRE2 kOpen = {R"(if|while|until|for|case|select|\{|\()"};
    static const LazyRE2 kClose = {R"(fi|done|esac|\}|\))"};
    static const LazyRE2 kInner = {"then|else|elif|do|!|command|builtin"};
    const auto is = [](absl::string_view text) {
      return [text](const ShellWord& word) { return word.raw == text; };
    };
    const auto open = absl::c_find_if(*words, is("("));
    const auto close = absl::c_find_if(*words, is(")"));
    // "f() {" and "function f {"; the pattern of a case: "Linux) ".
    if (words->size() > 1 &&
        (is("function")(words->front()) ||
         (open == words->begin() + 1 && close == open + 1))) {
      begins_function_ = true;
      words->erase(words->begin(), absl::c_find_if(*words, is("{")));
    } else if (absl::EndsWith(blocks_, "c") && close != words->end() &&
               (close < open || open == words->begin())) {
      words->erase(words->begin(), close + 1);
    }
    while (!words->empty()) {
      const std::string word = words->front().raw;
      if (HasForm(word, *kOpen)) {
        blocks_ += std::exchange(begins_function_, false) ? '(' : word[0];
      } else if (HasForm(word, *kClose)) {
        if (!blocks_.empty()) blocks_.pop_back();
      } else if (!HasForm(word, *kInner)) {
        break;
      }
      words->erase(words->begin());
      if (word != "for" && word != "case" && word != "select") continue;
      // Pattern words are not commands; one may follow the pattern.
      const auto end = absl::c_find_if(*words, is(")"));
      words->erase(words->begin(), end == words->end() ? end : end + 1);
    }
    if (absl::c_count_if(*words, is(")")) > absl::c_count_if(*words, is("(")) &&
        is(")")(words->back())) {
      words->pop_back();
      ends_ = true;
    }
  }

  void Run(ShellCommand& command) {
    static const LazyRE2 kEndsWell = {"true|:|echo|export|unset|set"};
    Words& words = command.words;
    if (!words.empty()) CountTo(words[0].rest);
    if (std::exchange(ends_, false) && !blocks_.empty()) blocks_.pop_back();
    TakeBlocks(&words);
    const bool is_sure = command.before == ';' ||
                         (command.before == '&' && ends_well_ && !conditional_);
    conditional_ = !is_sure || !blocks_.empty();
    ends_well_ = !words.empty() && HasForm(words[0].raw, *kEndsWell);
    if (words.empty() || has_ended_) return;
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
      for (const ShellWord& each : arguments) {
        if (each.text == "-a" || each.text == "allexport") exports_all_ = true;
        if (each.text == "+a") exports_all_ = false;
      }
      AddWithoutEffect(arguments);
    } else if (name == "return" || name == "exit") {
      if (absl::StrContains(blocks_, '(')) return;
      (conditional_ || is_broken_ ? may_end_ : has_ended_) = true;
    } else if (name == "setenv" || IsOneEditAway(name, "export") ||
               // With a program, env sets it only for that program.
               (name == "env" && absl::c_all_of(arguments, IsAssignment))) {
      AddWithoutEffect(arguments);
    } else if (name == "eval" || name == ":") {
      AddWorkedOut(arguments);
    } else {
      Assign(words);
    }
  }

  void AddWithoutEffect(const Words& arguments) {
    for (const ShellWord& word : arguments) {
      if (absl::StartsWith(word.raw, "$")) continue;
      AddNotRead(word.raw.substr(0, word.raw.find('=')));
    }
  }

  static bool IsAssignment(const ShellWord& word) {
    static const LazyRE2 kForm = {R"((?s)[A-Za-z_]\w*\+?=.*)", RE2::Latin1};
    return !absl::StartsWith(word.raw, "$") && HasForm(word.text, *kForm);
  }

  // Handles NAME=value; false for other words.
  bool TakeAssignment(const ShellWord& word, bool exported) {
    static const LazyRE2 kForm = {R"((?s)([A-Za-z_]\w*)(\+?)=(.*))",
                                  RE2::Latin1};
    absl::string_view name;
    absl::string_view plus;
    absl::string_view value;
    if (absl::StartsWith(word.raw, "$") ||
        !HasForm(word.text, *kForm, &name, &plus, &value)) {
      return false;
    }
    absl::string_view rest = word.rest.substr(0, end_ - word.rest.data());
    absl::ConsumeSuffix(&rest, "\r");
    AddValue(name, value, word.computed || !plus.empty(), exported, rest);
    return true;
  }

  void Declare(absl::string_view command, const Words& arguments) {
    bool exported = command == "export";
    bool takes_back = false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ShellWord& word = arguments[i];
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
      if (is_split || is_cut) {
        ends_well_ = false;
        return AddNotRead(word.raw);
      }
      if (takes_back) {
        Unset({word});
      } else if (TakeAssignment(word, exported)) {
        continue;
      } else if (exported && !word.computed &&
                 // HCCL-IF-IP=…: not a variable's name.
                 word.text.find_first_of("=:") == std::string::npos) {
        Export(word.text);
      } else {
        ends_well_ = false;
        AddNotRead(word.raw);
      }
    }
  }

  void Unset(const Words& arguments) {
    for (const ShellWord& word : arguments) {
      if (!IsJobVariable(word.text)) continue;
      // A condition may leave an earlier value in place.
      AddValue(word.text, "", IsPerhaps(), /*exported=*/true);
      exported_.erase(word.text);
    }
  }

  // Adds names that a builtin sets to computed values.
  void AddWorkedOut(const Words& arguments) {
    static const LazyRE2 kName = {R"(\b([A-Za-z_]\w*)[+:]?=)"};
    for (const ShellWord& word : arguments) {
      re2::StringPiece rest(word.raw);
      std::string name;
      while (RE2::FindAndConsume(&rest, *kName, &name)) {
        AddValue(name, "", /*computed=*/true, /*exported=*/true);
      }
    }
  }

  // Handles words that do not begin with a known command.
  void Assign(const Words& words) {
    if (absl::c_all_of(words, IsAssignment)) {
      for (const ShellWord& word : words) TakeAssignment(word, exports_all_);
      ends_well_ = !absl::c_any_of(words, [](auto& w) { return w.computed; });
      return;
    }
    // Applies only to one program.
    if (IsAssignment(words[0]) && !absl::EndsWith(words[0].raw, "=")) return;
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
  uint32_t line_ = 1;
  const char* counted_ = nullptr;  // line_ counts lines before this.
  const char* end_ = nullptr;      // Where the line ends.
  bool carriage_return_ = false;
  bool conditional_ = false;
  bool exports_all_ = false;
  std::set<std::string> exported_;
  std::string blocks_;  // One character each; ( for functions and subshells.
  bool ends_ = false;   // A subshell ends after the last command.
  bool begins_function_ = false;
  bool ends_well_ = false;  // The last command certainly succeeded.
  bool may_end_ = false;    // An earlier return was conditional.
  bool has_ended_ = false;
  bool is_broken_ = false;  // Quotes or here-documents that never end.
};

}  // namespace

void AddLoginFile(absl::string_view path, absl::string_view text,
                  EnvironmentFact::Variables* variables) {
  LoginFile(path, variables).Read(text);
}

absl::StatusOr<EnvironmentFact::Variables> ReadLoginEnvironment(
    const FileReader& files) {
  std::vector<std::string> paths = {std::string(kPamFile)};
  std::vector<std::string> others = {
      "/etc/profile",        "/etc/bashrc",    "/etc/bash.bashrc",
      "/etc/csh.cshrc",      "/etc/csh.login", "/etc/security/pam_env.conf",
      "/root/.bash_profile", "/root/.profile", "/root/.bashrc"};
  const auto names = files.List(kShellFolder);
  if (!names.ok() && !absl::IsNotFound(names.status())) return names.status();
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    const std::string path = absl::StrCat(kShellFolder, "/", name);
    (absl::EndsWith(name, ".sh") ? paths : others).push_back(path);
  }
  EnvironmentFact::Variables variables;
  for (const std::string& path : paths) {
    const absl::StatusOr<FileText> file = files.Read(path);
    if (absl::IsNotFound(file.status())) continue;
    RETURN_IF_ERROR(file.status());
    AddLoginFile(path, file->text, &variables);
  }
  for (const std::string& path : others) {
    const auto file = files.Read(path, kMaxOtherFileBytes);
    if (file.ok()) {
      AddLoginFile(path, file->text, &variables);
    } else if (!absl::IsNotFound(file.status()) &&
               !absl::IsFailedPrecondition(file.status())) {
      // Shells do not read directories.
      EnvironmentVariable* const unreadable = variables.add_variables();
      FindingValue why = MessageWords(file.status());
      // The file has a field of its own.
      if (why.words() == "fact-file-over") {
        why = Worded("fact-over", FindingValue(why.values(1)));
      }
      unreadable->set_name(PrintableText(EnglishText(why)));
      *unreadable->mutable_name_words() = PrintableWords(why);
      unreadable->set_file(path);
      unreadable->set_effect(EnvironmentVariable::UNREADABLE_FILE);
    }
  }
  return variables;
}

}  // namespace clusterd
