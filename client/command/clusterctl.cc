#include <cassert>
#include <map>
#include <sstream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/command/command.h"
#include "config/values/text_form.h"
#include "config/values/version.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "config/words/terminal.h"

namespace clusterd {
namespace {

// A page of help/.
struct HelpPage {
  absl::string_view name;
  absl::string_view text;
};

constexpr HelpPage kHelpPages[] = {
#include "client/command/help_pages.inc"
};

// A page's title, and its footer of exit statuses and examples, divided by the
// first empty line. REQUIRES: the page exists.
std::pair<std::string, std::string> HelpOf(absl::string_view name,
                                           Language language) {
  const std::string page =
      absl::StrCat(language == Language::kChinese ? "zh/" : "", name);
  return absl::StrSplit(absl::StripSuffix(HelpPageText(page), "\n"),
                        absl::MaxSplits("\n\n", 1));
}

// Labels and groups of options that CLI11 writes into help.
constexpr std::pair<const char*, const char*> kHelpLabels[] = {
    {"Usage", "用法"},       {"OPTIONS", "选项"},      {"Options", "选项"},
    {"Positionals", "参数"}, {"Subcommands", "命令"},  {"Subcommand", "命令"},
    {"SUBCOMMAND", "命令"},  {"REQUIRED", "（必填）"}, {"Connection", "连接"},
    {"Job", "作业"},
};

// Descriptions by "check --only", "* --lang" for all commands, and "* config"
// for a group of commands.
using Descriptions = std::map<std::string, std::string, std::less<>>;

Descriptions ReadDescriptions(absl::string_view page) {
  Descriptions texts;
  for (const absl::string_view line :
       absl::StrSplit(HelpPageText(page), '\n', absl::SkipEmpty())) {
    texts.insert(absl::StrSplit(line, absl::MaxSplits('\t', 1)));
  }
  return texts;
}

// Describes the options of the command of that name, and those below it.
void Describe(CLI::App* app, const std::string& name,
              const Descriptions& texts) {
  const auto describe = [&](const std::string& key, auto* described) {
    auto found = texts.find(absl::StrCat(name, " ", key));
    if (found == texts.end()) found = texts.find(absl::StrCat("* ", key));
    if (found != texts.end()) described->description(found->second);
  };
  for (CLI::Option* option : app->get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    describe(
        names.empty() ? option->get_name() : absl::StrCat("--", names.front()),
        option);
    assert(!option->get_description().empty());
  }
  for (CLI::App* child : app->get_subcommands({})) {
    const std::string of_child =
        name == "*" ? child->get_name()
                    : absl::StrCat(name, " ", child->get_name());
    describe(child->get_name(), child);
    child->group(app->get_formatter()->get_label(child->get_group()));
    Describe(child, of_child, texts);
  }
}

// Wraps descriptions to a terminal's 80 columns, which CLI11 does not. Adds
// labels for the groups of options, and pads names by columns instead of bytes.
class WrappedHelp final : public CLI::Formatter {
 public:
  std::string make_group(
      std::string group, bool is_positional,
      std::vector<const CLI::Option*> options) const override {
    return CLI::Formatter::make_group(get_label(group), is_positional,
                                      std::move(options));
  }
  std::string make_option(const CLI::Option* option,
                          bool is_positional) const override {
    const std::string name =
        absl::StrCat("  ", make_option_name(option, is_positional),
                     make_option_opts(option));
    std::string text = CLI::Formatter::make_option(option, is_positional);
    if (name.size() >= get_column_width()) return text;  // It is below.
    return text.insert(name.size(), name.size() - TextColumns(name), ' ');
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return Wrapped(option->get_description());
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, command->get_display_name(true),
                             Wrapped(command->get_description()),
                             get_column_width());
    return out.str();
  }

 private:
  std::string Wrapped(const std::string& text) const {
    return absl::StrJoin(
        WrapText(text, 79 - static_cast<int>(get_column_width())), "\n");
  }
};

// An option's empty value, often an unset variable, never means none or all.
void CheckValues(CLI::App& command, MistakeList* mistakes) {
  for (CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    // The controller reports what a waiver lacks, with its other mistakes.
    if (option->get_required() && name != "--out") continue;
    if (!option->nonpositional()) continue;
    if (option->get_items_expected_max() == 0) continue;
    option->check(CLI::Validator(
        [=](const std::string& value) {
          if (value.empty()) {
            *mistakes = {Worded("msg-option-value-empty", name)};
          } else if (name == "--lang" && value != "en" && value != "zh") {
            *mistakes = {
                Worded("msg-choice-not-known", name, value, "en, zh", "")};
          }
          return mistakes->empty() ? "" : "not valid";
        },
        ""));
  }
  for (CLI::App* child : command.get_subcommands({})) {
    CheckValues(*child, mistakes);
  }
}

std::string OwnVersionLine() {
  return absl::StrCat("clusterctl ", kClusterdVersion, " (protocol ",
                      kProtocolVersion, ", report schema ",
                      kReportSchemaVersion, ")\n");
}

// clusterctl version: the client's version, and that of the controller named by
// an option, the environment or client.yaml.
class VersionCommand final : public CliCommand {
 public:
  VersionCommand() : CliCommand("version") {}

 private:
  int Work() override {
    std::ostream& out = session().out;
    out << OwnVersionLine();
    const absl::StatusOr<ConnectionSettings> settings =
        ResolveConnection(connection(), session().environment,
                          SettingsFiles(session().environment, session().root));
    if (absl::IsNotFound(settings.status())) return kExitPass;
    const auto client = Connect();
    if (client == nullptr) return RejectUsage();
    const absl::StatusOr<GetSpecResponse> spec =
        client->Ask(&Controller::Stub::GetSpec, {}, kShortTimeout);
    if (!spec.ok()) return ReportFailure(spec.status());
    const bool utf8 = OutStyle(ColorMode::kNever).utf8;
    const std::string& version = spec->controller_version();
    out << "controller "
        << (version.empty() ? "of unknown version" : SafeText(version, utf8))
        << ", cluster " << SafeText(spec->spec().name(), utf8) << "\n";
    return kExitPass;
  }
};

// The tree of commands, and those that the command line names.
struct Tree {
  CLI::App root;
  CommandList commands;
  ConnectionFlags connection;
  std::string language;
  CliCommand* named = nullptr;
  MistakeList mistakes;                     // In values of the line.
  std::map<std::string, CLI::App*> groups;  // "config"
};

void AddConnectionOptions(CLI::App& app, ConnectionFlags& connection) {
  for (const ConnectionSetting& setting : AllConnectionSettings()) {
    AddOption(app, absl::StrCat("--", setting.key), setting.placeholder,
              connection[setting.key])
        ->group("Connection");
  }
}

void AddLanguage(CLI::App& app, std::string& language) {
  AddOption(app, "--lang", "LANG", language);
}

// "show" of "config show" is below "config".
CLI::App* AddApp(Tree& tree, absl::string_view name, Language language) {
  const std::pair<std::string, std::string> words =
      absl::StrSplit(name, absl::MaxSplits(' ', 1));
  const std::string& group = words.first;
  const std::string& below = words.second;
  const auto [title, footer] = HelpOf(name, language);
  CLI::App* parent = &tree.root;
  if (!below.empty()) {
    CLI::App*& app = tree.groups[group];
    if (app == nullptr) {
      app = tree.root.add_subcommand(group)->require_subcommand(1);
    }
    parent = app;
  }
  return parent->add_subcommand(below.empty() ? group : below, title)
      ->footer(footer);
}

void BuildTree(Tree& tree, Language language) {
  const InLanguage spoken(language);  // Language of the commands' help.
  tree.root.name("clusterctl");
  tree.root.formatter(std::make_shared<WrappedHelp>());  // Commands inherit it.
  const auto [title, footer] = HelpOf("clusterctl", language);
  tree.root.description(title);
  tree.root.footer(footer);
  tree.root.require_subcommand(0, 1);
  tree.root.set_version_flag("--version",
                             [] { return std::string(kClusterdVersion); });
  // Ordered as in the help text.
  for (const auto add :
       {AddCheckCommand, AddHookCommand, AddPlanCommand, AddRunCommands,
        AddCancelCommands, AddHistoryCommands, AddDiffCommands, AddWatchCommand,
        AddHostCommands, AddWaiverCommands, AddLockCommands, AddLogsCommands,
        AddAuditCommands, AddConfigCommands, AddGenerateCommands,
        AddTrustCommands, AddExplainCommand, AddAnonymiseCommand}) {
    add(tree.commands);
  }
  tree.commands.push_back(std::make_unique<VersionCommand>());
  AddHelpCommands(tree.root, tree.commands);
  for (const auto& owned : tree.commands) {
    CliCommand* const command = owned.get();
    CLI::App* const app = AddApp(tree, command->name(), language);
    command->AddOptions(*app);
    if (command->TakesConnection()) AddConnectionOptions(*app, tree.connection);
    AddLanguage(*app, tree.language);
    app->callback([&tree, command] { tree.named = command; });
  }
  AddConnectionOptions(tree.root, tree.connection);
  AddLanguage(tree.root, tree.language);
  CheckValues(tree.root, &tree.mistakes);
  const bool is_chinese = language == Language::kChinese;
  for (const auto& [english, chinese] : kHelpLabels) {
    if (is_chinese) tree.root.get_formatter()->label(english, chinese);
  }
  Describe(&tree.root, "*",
           ReadDescriptions(is_chinese ? "zh/options" : "en/options"));
}

// The arguments from last to first, as CLI11 takes them. Splits "--name=", for
// which CLI11 would otherwise take the next argument.
std::vector<std::string> ForParser(const std::vector<std::string>& arguments) {
  std::vector<std::string> result;
  // Words after "--" belong to another program.
  const auto end = absl::c_find(arguments, "--");
  for (auto it = arguments.rbegin(); it != arguments.rend(); ++it) {
    absl::string_view word = *it;
    if (it.base() <= end && absl::StartsWith(word, "--") &&
        absl::ConsumeSuffix(&word, "=")) {
      result.emplace_back();
    }
    result.emplace_back(word);
  }
  return result;
}

std::vector<std::string> CommandsBelow(const CLI::App& command) {
  return Each<std::string>(command.get_subcommands({}), &CLI::App::get_name);
}

std::vector<std::string> OptionsOf(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options()) {
    for (const std::string& name : known->get_lnames()) {
      names.push_back(absl::StrCat("--", name));
    }
  }
  return names;
}

bool IsOption(const std::string& word) { return absl::StartsWith(word, "-"); }

// CLI11's message about an option's value.
FindingValue ValueMistake(absl::string_view error) {
  static const LazyRE2 kMissing = {R"((\S+): \d+ required (.*) missing)"};
  static const LazyRE2 kNoFlag = {R"(Could not convert: (-\S+) = .*)"};
  std::string option, value;
  if (HasForm(error, *kMissing, &option, &value)) {
    return Worded("msg-option-value-missing", option, value);
  }
  return HasForm(error, *kNoFlag, &option)
             ? Worded("msg-flag-takes-no-value", option)
             : Worded("msg-line-not-parsed", error);
}

MistakeList ParseMistakes(const CLI::ParseError& error, const CLI::App& command,
                          const Tree& tree) {
  // The kind has the name of the command, or of its own class.
  const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const bool required = kind == CLI::ExitCodes::RequiredError;
  if (!required && kind != CLI::ExitCodes::ExtrasError) {
    if (!tree.mistakes.empty()) return tree.mistakes;
    return {ValueMistake(error.what())};
  }
  const std::vector<std::string> commands = CommandsBelow(command);
  MistakeList mistakes;
  for (const std::string& word : tree.root.remaining(true)) {
    mistakes.push_back(UnexpectedArgument(command, word));
    // Words after an unknown command belong to that command.
    if (!commands.empty() && !IsOption(word)) return mistakes;
  }
  if (!required) return mistakes;
  mistakes.push_back(
      commands.empty()
          ? Worded("msg-argument-required",
                   absl::StripSuffix(error.what(), " is required"))
          : Worded("msg-command-missing", absl::StrJoin(commands, ", ")));
  return mistakes;
}

// An option's value on a line that cannot be parsed.
std::string ArgumentOf(absl::string_view option,
                       const std::vector<std::string>& arguments) {
  const std::string joined = absl::StrCat(option, "=");
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view word = arguments[i];
    if (absl::ConsumePrefix(&word, joined)) return std::string(word);
    const bool has_next = i + 1 < arguments.size();
    if (word == option && has_next) return arguments[i + 1];
  }
  return "";
}

int RejectLine(const CLI::ParseError& error, Tree& tree,
               const std::vector<std::string>& arguments, Session& session) {
  // The innermost command that the line names, and its full name.
  const CLI::App* app = &tree.root;
  std::string name;
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    absl::StrAppend(&name, name.empty() ? "" : " ", app->get_name());
  }
  const MistakeList mistakes = ParseMistakes(error, *app, tree);
  if (ArgumentOf("-o", arguments) == "json" ||
      ArgumentOf("--output", arguments) == "json" ||
      absl::c_linear_search(arguments, "-ojson")) {
    PrintErrorJson(name, MistakesError(mistakes).message(), kExitUsage,
                   session.out);
  }
  for (const auto& command : tree.commands) {
    if (command->name() != name) continue;
    const bool has_report = app->get_option_no_throw("--report") != nullptr;
    return command->RefuseLine(
        mistakes, has_report ? ArgumentOf("--report", arguments) : "", session);
  }
  return TellMistakes(name, mistakes, session);
}

}  // namespace

absl::string_view HelpPageText(absl::string_view name) {
  const HelpPage* const page = FirstWith(kHelpPages, &HelpPage::name, name);
  assert(page != nullptr);
  return page->text;
}

FindingValue UnexpectedArgument(const CLI::App& command,
                                const std::string& word) {
  const bool option = IsOption(word);
  const std::string key = word.substr(0, word.find('='));
  const std::vector<std::string> names =
      option ? OptionsOf(command) : CommandsBelow(command);
  const std::vector<absl::string_view> views(names.begin(), names.end());
  const FindingValue nearest = DidYouMeanWords(key, views);
  if (option) return Worded("msg-option-not-known", key, nearest);
  if (names.empty()) return Worded("msg-argument-not-expected", word);
  return Worded("msg-command-not-known", word, absl::StrJoin(names, ", "),
                nearest);
}

int RunClusterctl(const std::vector<std::string>& arguments, Session& session) {
  const std::string language = ArgumentOf("--lang", arguments);
  if (!language.empty()) session.environment["CLUSTERD_LANG"] = language;
  const InLanguage spoken(LanguageOf(session.environment));
  Tree tree;
  BuildTree(tree, CurrentLanguage());
  if (!arguments.empty() && arguments[0] == "complete") {
    return CompleteLine(tree.root, {arguments.begin() + 1, arguments.end()},
                        session);
  }
  try {
    tree.root.parse(ForParser(arguments));
  } catch (const CLI::CallForHelp&) {
    session.out << tree.root.help();
    return kExitPass;
  } catch (const CLI::CallForVersion&) {
    // Scripts run this, so it never waits for input.
    session.out << OwnVersionLine();
    return kExitPass;
  } catch (const CLI::ParseError& error) {
    return RejectLine(error, tree, arguments, session);
  }
  if (tree.named != nullptr) return tree.named->Run(tree.connection, session);
  session.err << tree.root.help();
  return kExitUsage;
}

}  // namespace clusterd
