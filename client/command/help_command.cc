// clusterctl explain (the catalogue of rules), help and completion. Completion
// offers words of the commands, of the rules and of the controller.
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "client/command/command.h"
#include "config/rules/catalogue.h"
#include "config/values/hostlist.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

Row RowOf(const Rule& rule, const Page& page) {
  return {{std::string(rule.name)}, {page.Safe(rule.text().title)}};
}

void ListRules(Page& page) {
  std::vector<Row> rows;
  for (const Rule& rule : RuleCatalogue()) rows.push_back(RowOf(rule, page));
  const std::vector<int> columns = ColumnWidths(rows);
  std::string category;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Rule& rule = RuleCatalogue()[i];
    if (rule.category != category) {
      if (!category.empty()) page.out() << "\n";
      category = std::string(rule.category);
      std::string title = category;
      title[0] = absl::ascii_toupper(title[0]);
      page.out() << page.Strong(title) << "\n";
    }
    page.PrintRow(rows[i], columns, {/*indent=*/2});
  }
}

std::string Key(const char* words) { return Padded(Say(words), 12); }

void ExplainRule(const Rule& rule, Page& page) {
  page.out() << page.Strong(rule.name) << "\n";
  const RuleText& words = rule.text();
  const std::string hook = Say("explain-hook-text", words.with_controller,
                               words.alone, words.alone_why);
  const std::string needs =
      Say(rule.JudgesOneHost() ? "explain-one-host" : "explain-all-hosts");
  const std::pair<const char*, absl::string_view> fields[] = {
      {"explain-what", words.title},  {"explain-fails-when", words.fails_when},
      {"explain-level", words.level}, {"explain-why", words.why},
      {"explain-fix", words.fix},     {"explain-needs", needs},
      {"explain-hook", hook},         {"explain-source", words.source}};
  for (const auto& [key, text] : fields) {
    page.Wrapped(Key(key), page.SafeLines(text));
  }
}

// Prints the code, and the rules whose failures cause it. False: unknown.
bool ExplainErrorCode(const std::string& code, Page& page) {
  const auto rows =
      Each<Row>(RulesOfErrorCode(code),
                [&page](const Rule* rule) { return RowOf(*rule, page); });
  const std::string meaning = ErrorCodeMeaning(code);
  if (rows.empty() && meaning.empty()) return false;
  page.out() << page.Strong(code) << "\n";
  const char* const what =
      rows.empty() ? meaning.empty() ? "explain-code" : "explain-code-meaning"
      : meaning.empty() ? "explain-code-rules"
                        : "explain-code-meaning-rules";
  page.Wrapped(Key("explain-what"), Say(what, meaning));
  if (rows.empty()) return true;
  page.PrintTable(rows, {/*indent=*/12});
  page.Wrapped(Key("explain-fix"), Say("explain-code-fix"));
  return true;
}

class ExplainCommand final : public CliCommand {
 public:
  ExplainCommand() : CliCommand("explain") {}

  void AddOptions(CLI::App& app) override { AddOption(app, "RULE", "", name_); }
  bool TakesConnection() const override { return false; }

 private:
  int Work() override {
    // Codes of HCCL and the driver: "EI0009", "EJ0003", "-8020", "507899".
    static const LazyRE2 kErrorCode = {R"([A-Z]{2}\d{4}|-\d{4}|\d{6})"};
    const Style style = OutStyle(ColorMode::kAuto);
    Page page(style, session().out);
    const Rule* rule = FindRule(name_);
    const std::string code = absl::AsciiStrToUpper(name_);
    if (name_.empty()) {
      ListRules(page);
    } else if (rule != nullptr) {
      ExplainRule(*rule, page);
    } else if (!HasForm(code, *kErrorCode)) {
      const FindingValue meant = DidYouMeanWords(name_, RuleNames());
      AddMistake("msg-rule-not-known", name_,
                 meant.words().empty() ? Worded("ctl-explain-lists") : meant);
    } else if (!ExplainErrorCode(code, page)) {
      AddMistake("msg-error-code-not-known", code);
    }
    return mistakes_.empty() ? static_cast<int>(kExitPass) : RejectUsage();
  }

  std::string name_;
};

// A user waits for it at the keyboard.
constexpr absl::Duration kCompletionTimeout = absl::Seconds(1);

// The command of this name below `app`; nullptr if there is none.
const CLI::App* Below(const CLI::App& app, const std::string& name) {
  for (const CLI::App* child : app.get_subcommands({})) {
    if (child->get_name() == name) return child;
  }
  return nullptr;
}

class HelpCommand final : public CliCommand {
 public:
  explicit HelpCommand(const CLI::App& root)
      : CliCommand("help"), root_(root) {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "COMMAND", "", words_);
  }
  bool TakesConnection() const override { return false; }

 private:
  int Work() override {
    const CLI::App* app = &root_;
    std::string name = root_.get_name();
    for (const std::string& word : words_) {
      const CLI::App* const child = Below(*app, word);
      if (child == nullptr) {
        mistakes_.push_back(UnexpectedArgument(*app, word));
        return RejectUsage();
      }
      app = child;
      absl::StrAppend(&name, " ", word);
    }
    session().out << app->get_formatter()->make_help(
        app, name, CLI::AppFormatMode::Normal);
    return kExitPass;
  }

  const CLI::App& root_;
  std::vector<std::string> words_;
};

class CompletionCommand final : public CliCommand {
 public:
  CompletionCommand() : CliCommand("completion") {}

  void AddOptions(CLI::App& app) override { AddArgument(app, "SHELL", shell_); }
  bool TakesConnection() const override { return false; }

 private:
  int Work() override {
    ReadChoice("SHELL", shell_, {"bash", "zsh", "fish"});
    if (!mistakes_.empty()) return RejectUsage();
    session().out << HelpPageText(absl::StrCat("completion.", shell_));
    return kExitPass;
  }

  std::string shell_;
};

// A possible word, and its description.
struct Candidate {
  std::string word;
  std::string what;
};
using Candidates = std::vector<Candidate>;

// The place in the tree where a line ends.
struct Place {
  const CLI::App* app;
  bool of_help = false;  // Only commands may follow "help".
  const CLI::Option* awaits_value = nullptr;  // The last word's option.
  size_t arguments = 0;                       // Before the last word.
  ConnectionFlags connection;                 // As far as the line has it.
};

// Reads `word`, or the text after its "=", as the option's value.
void ReadValue(const CLI::Option& option, absl::string_view word,
               Place& place) {
  for (const ConnectionSetting& setting : AllConnectionSettings()) {
    if (option.check_lname(setting.key)) {
      place.connection[setting.key] = std::string(word);
    }
  }
}

Place PlaceBehind(const CLI::App& root, const std::vector<std::string>& words) {
  Place place = {&root};
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (place.awaits_value != nullptr) {
      ReadValue(*place.awaits_value, word, place);
      place.awaits_value = nullptr;
    } else if (absl::StartsWith(word, "-")) {
      const auto* const option =
          place.app->get_option_no_throw(word.substr(0, equals));
      if (option == nullptr || option->get_items_expected_max() == 0) continue;
      if (equals == std::string::npos) {
        place.awaits_value = option;
      } else {
        ReadValue(*option, word.substr(equals + 1), place);
      }
    } else if (place.app == &root && word == "help") {
      place.of_help = true;
    } else if (const CLI::App* const child = Below(*place.app, word)) {
      place.app = child;
    } else {
      ++place.arguments;
    }
  }
  return place;
}

// Not listed, since only shells run it.
class CompleteCommand final : public CliCommand {
 public:
  CompleteCommand(Place place, std::string typed)
      : CliCommand("complete"),
        place_(std::move(place)),
        typed_(std::move(typed)) {}

 private:
  int Work() override {
    const CLI::App& app = *place_.app;
    const size_t equals = typed_.find('=');
    if (place_.of_help) {
      Print(Commands(app), "");
    } else if (place_.awaits_value != nullptr) {
      PrintValues(*place_.awaits_value, "");
    } else if (absl::StartsWith(typed_, "--") && equals != std::string::npos) {
      const auto* option = app.get_option_no_throw(typed_.substr(0, equals));
      if (option != nullptr) PrintValues(*option, typed_.substr(0, equals + 1));
    } else if (absl::StartsWith(typed_, "-")) {
      Print(Options(app), "");
    } else if (!app.get_subcommands({}).empty()) {
      Print(Commands(app), "");
    } else if (const CLI::Option* argument = Argument(app, place_.arguments)) {
      PrintValues(*argument, "");
    }
    return kExitPass;
  }

  static const CLI::Option* Argument(const CLI::App& app, size_t number) {
    const auto arguments = app.get_options(
        [](const CLI::Option* option) { return option->get_positional(); });
    if (arguments.empty()) return nullptr;
    if (number < arguments.size()) return arguments[number];
    return arguments.back()->get_items_expected_max() > 1 ? arguments.back()
                                                          : nullptr;
  }

  static Candidates Commands(const CLI::App& app) {
    return Each<Candidate>(app.get_subcommands({}), [](const CLI::App* child) {
      return Candidate{child->get_name(), child->get_description()};
    });
  }

  static Candidates Options(const CLI::App& app) {
    Candidates found;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        found.push_back({absl::StrCat("--", name), option->get_description()});
      }
    }
    return found;
  }

  // The words that the option's help names, e.g. "Of a day: auto (default;
  // obeys NO_COLOR), always"; empty if it names none.
  static Candidates WordsOfHelp(std::string help) {
    static const LazyRE2 kNote = {R"( ?\([^)]*\))"};
    static const LazyRE2 kWord = {"[a-z][a-z0-9-]*"};
    RE2::GlobalReplace(&help, *kNote, "");
    Candidates found;
    for (const absl::string_view word :
         absl::StrSplit(help.substr(help.rfind(": ") + 1), ',')) {
      const std::string bare(absl::StripAsciiWhitespace(word));
      if (!HasForm(bare, *kWord)) return {};
      found.push_back({bare, ""});
    }
    return found.size() > 1 ? found : Candidates();
  }

  static Candidates Rules() {
    return Each<Candidate>(RuleCatalogue(), [](const Rule& rule) {
      return Candidate{std::string(rule.name), std::string(rule.text().title)};
    });
  }

  // Empty if the controller cannot be reached, or does not answer in time.
  template <typename Asked, typename Answer>
  Answer Known(grpc::Status (Controller::Stub::*call)(grpc::ClientContext*,
                                                      const Asked&, Answer*),
               const Asked& request) {
    const auto client = Connect();
    if (client == nullptr) return {};
    return client->Ask(call, request, kCompletionTimeout).value_or(Answer());
  }

  // Offers only names without a special meaning to a shell.
  Candidates Hosts() {
    Candidates found;
    const auto known = Known(&Controller::Stub::ListHosts, ListHostsRequest());
    for (const HostEntry& host : known.hosts()) {
      if (IsHostName(host.host())) found.push_back({host.host(), ""});
    }
    return found;
  }

  // `kind`: unspecified for any kind.
  Candidates Runs(HistoryKind kind) {
    static const LazyRE2 kWord = {"[0-9a-z]+"};
    ListHistoryRequest request;
    if (kind != HISTORY_KIND_UNSPECIFIED) request.add_kinds(kind);
    Candidates found;
    const auto known = Known(&Controller::Stub::ListHistory, request);
    for (const HistoryEntry& entry : known.entries()) {
      if (!HasForm(entry.id(), *kWord)) continue;
      found.push_back({entry.id(), absl::StrCat(ActorName(entry.actor()), ", ",
                                                entry.summary())});
    }
    return found;
  }

  // Chooses the words by the value's name in help.
  Candidates Values(const std::string& kind, const std::string& help) {
    if (kind == "RULE" || kind == "RULE,..") return Rules();
    if (kind == "KIND|RULE,..") {
      return Each<Candidate>(StepWords(), [](const std::string& word) {
        return Candidate{word, ""};
      });
    }
    if (kind == "HOST" || kind == "HOSTS") return Hosts();
    if (kind == "ID") return Runs(HISTORY_KIND_UNSPECIFIED);
    if (kind == "APPLY_ID") return Runs(HISTORY_APPLY);
    if (kind == "RUN") return Runs(HISTORY_CHECK);
    if (kind == "FILE" || kind == "PLANFILE" || kind == "PATH") {
      return {{":files", ""}};
    }
    return WordsOfHelp(help);
  }

  // Prints values of the `option` or argument; `before` was already typed.
  void PrintValues(const CLI::Option& option, std::string before) {
    const std::string kind =
        option.get_positional() ? option.get_name() : option.get_type_name();
    const bool is_list = kind == "HOSTS" || absl::EndsWith(kind, ",..");
    const size_t bracket = typed_.rfind('[');
    if (is_list && bracket != std::string::npos &&
        typed_.find(']', bracket) == std::string::npos) {
      return;  // Numbers of a hostlist are unknown.
    }
    const size_t comma = typed_.rfind(',');
    if (is_list && comma != std::string::npos) {
      before = typed_.substr(0, comma + 1);
    }
    Print(Values(kind, option.get_description()), before);
  }

  void Print(const Candidates& candidates, const std::string& before) {
    for (const Candidate& candidate : candidates) {
      const bool files = candidate.word == ":files";
      const std::string word =
          files ? candidate.word : absl::StrCat(before, candidate.word);
      if (!files && !absl::StartsWith(word, typed_)) continue;
      session().out << word;
      const std::string what =
          SafeText(candidate.what, OutStyle(ColorMode::kNever).utf8);
      session().out << (what.empty() ? "" : "\t") << what << "\n";
    }
  }

  const Place place_;
  const std::string typed_;
};

}  // namespace

void AddExplainCommand(CommandList& commands) {
  AddCommands<ExplainCommand>(commands);
}

void AddHelpCommands(const CLI::App& root, CommandList& commands) {
  commands.push_back(std::make_unique<CompletionCommand>());
  commands.push_back(std::make_unique<HelpCommand>(root));
}

int CompleteLine(const CLI::App& root, std::vector<std::string> words,
                 Session& session) {
  std::string typed;
  if (!words.empty()) {
    typed = std::move(words.back());
    words.pop_back();
  }
  const Place place = PlaceBehind(root, words);
  return CompleteCommand(place, typed).Run(place.connection, session);
}

}  // namespace clusterd
