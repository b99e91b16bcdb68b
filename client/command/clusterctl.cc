#include "client/command/clusterctl.h"

#include <algorithm>
#include <memory>
#include <sstream>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/command/apply_run.h"
#include "client/command/check_run.h"
#include "client/command/commands.h"
#include "client/command/exit_status.h"
#include "client/print/terminal_text.h"
#include "config/spec/nearest_word.h"
#include "config/version/version.h"

namespace clusterd {
namespace {

constexpr char kDescription[] =
    "clusterctl says whether an Ascend training cluster is ready, what to do "
    "where\n"
    "it is not, and does it on request. It asks the cluster's "
    "clusterd-controller\n"
    "over mutual TLS.";

constexpr char kFooter[] =
    R"(Each connection setting is taken from the first place that has it: option,
environment (CLUSTERD_CONTROLLER, CLUSTERD_CLUSTER, CLUSTERD_CA, CLUSTERD_CERT,
CLUSTERD_KEY), ~/.config/clusterd/client.yaml, /etc/clusterd/client.yaml.

`clusterctl COMMAND --help` shows options, exit statuses and examples.)";

// CLI11 does not wrap descriptions; a terminal's first 80 columns must do.
class WrappedHelp final : public CLI::Formatter {
 public:
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

// An option with an empty value is a script's unset variable, and never means
// "none" or "all".
void RefuseEmptyValues(CLI::App& command) {
  const CLI::Validator not_empty(
      [](std::string& value) {
        return value.empty() ? std::string("is empty, expected a value") : "";
      },
      "");
  for (CLI::Option* option : command.get_options()) {
    if (option->nonpositional() && option->get_items_expected_max() > 0) {
      option->check(not_empty);
    }
  }
  for (CLI::App* child : command.get_subcommands({})) RefuseEmptyValues(*child);
}

void BuildTree(CLI::App& root, ConnectionFlags& connection, CommandRun& run) {
  root.name("clusterctl");
  root.formatter(std::make_shared<WrappedHelp>());  // Commands inherit it.
  root.footer(kFooter);
  root.require_subcommand(0, 1);
  root.set_version_flag(
      "--version", [] { return std::string(kClusterdVersion); },
      "Print versions");
  AddCheckCommand(root, connection, run);
  AddPlanCommand(root, connection, run);
  AddApplyCommand(root, connection, run);
  AddRollbackCommand(root, connection, run);
  AddHistoryCommand(root, connection, run);
  AddShowCommand(root, connection, run);
  AddHostsCommand(root, connection, run);
  AddDescribeCommand(root, connection, run);
  AddConfigCommand(root, connection, run);
  AddExplainCommand(root, run);
  AddVersionCommand(root, connection, run);
  AddConnectionOptions(root, connection);
  RefuseEmptyValues(root);
}

// The arguments from the last to the first, as CLI11 takes them, with "--name="
// in two: CLI11 would take the argument behind it for the value.
std::vector<std::string> ForParser(const std::vector<std::string>& arguments) {
  std::vector<std::string> result;
  for (const std::string& argument : arguments) {
    if (absl::StartsWith(argument, "--") && absl::EndsWith(argument, "=")) {
      result.push_back(argument.substr(0, argument.size() - 1));
      result.emplace_back();
    } else {
      result.push_back(argument);
    }
  }
  std::reverse(result.begin(), result.end());
  return result;
}

// The innermost command that the line names, and its full name.
struct NamedCommand {
  CLI::App* app;
  std::string name;  // Empty: none was named.
};

NamedCommand FindNamedCommand(CLI::App& root) {
  NamedCommand named{&root, ""};
  while (!named.app->get_subcommands().empty()) {
    named.app = named.app->get_subcommands().front();
    absl::StrAppend(&named.name, named.name.empty() ? "" : " ",
                    named.app->get_name());
  }
  return named;
}

// What could stand where `word` stands: options for an option, else commands.
std::vector<std::string> Candidates(const CLI::App& command, bool option) {
  std::vector<std::string> names;
  if (!option) {
    for (const CLI::App* child :
         command.get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(child->get_name());
    }
    return names;
  }
  for (const CLI::Option* known : command.get_options()) {
    for (const std::string& name : known->get_lnames()) {
      names.push_back(absl::StrCat("--", name));
    }
  }
  return names;
}

bool IsOption(const std::string& word) { return absl::StartsWith(word, "-"); }

std::string UnexpectedArgument(const CLI::App& command,
                               const std::string& word) {
  const bool option = IsOption(word);
  const std::string key = word.substr(0, word.find('='));
  const std::vector<std::string> names = Candidates(command, option);
  const std::vector<absl::string_view> views(names.begin(), names.end());
  const std::string nearest = DidYouMean(key, views);
  if (option)
    return absl::StrCat("option \"", key, "\" does not exist", nearest);
  if (names.empty()) return absl::StrCat("\"", word, "\" was not expected");
  return absl::StrCat("command \"", word, "\" does not exist, expected ",
                      absl::StrJoin(names, ", "), nearest);
}

std::vector<std::string> ParseMistakes(const CLI::ParseError& error,
                                       const CLI::App& command,
                                       const CLI::App& root) {
  const bool extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool required =
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (!extras && !required) return {error.what()};
  const bool wants_command = !Candidates(command, /*option=*/false).empty();
  std::vector<std::string> mistakes;
  for (const std::string& word : root.remaining(/*recurse=*/true)) {
    mistakes.push_back(UnexpectedArgument(command, word));
    // What follows an unknown command are that command's own words.
    if (wants_command && !IsOption(word)) return mistakes;
  }
  if (required && wants_command) {
    mistakes.push_back(absl::StrCat(
        "no command, expected ",
        absl::StrJoin(Candidates(command, /*option=*/false), ", ")));
  } else if (required) {
    mistakes.push_back(error.what());
  }
  return mistakes;
}

// The value of --report on a line that cannot be parsed.
std::string ReportArgument(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (absl::StartsWith(arguments[i], "--report="))
      return arguments[i].substr(9);
    if (arguments[i] == "--report" && i + 1 < arguments.size()) {
      return arguments[i + 1];
    }
  }
  return "";
}

int RejectLine(const CLI::ParseError& error, CLI::App& root,
               const std::vector<std::string>& arguments, Session& session) {
  const NamedCommand named = FindNamedCommand(root);
  const std::vector<std::string> mistakes =
      ParseMistakes(error, *named.app, root);
  const std::string report_file = ReportArgument(arguments);
  const std::string text = absl::StrJoin(mistakes, "\n");
  if (named.name == "check" && !report_file.empty()) {
    WriteUsageReport(report_file, text, session);
  }
  if ((named.name == "apply" || named.name == "rollback") &&
      !report_file.empty()) {
    WriteUsageApplyReport(named.name, report_file, text, session);
  }
  if (!named.name.empty()) return RejectUsage(named.name, mistakes, session);
  for (const std::string& mistake : mistakes) {
    session.err << "clusterctl: " << SafeText(mistake, false) << "\n";
  }
  session.err << "see: clusterctl --help\n";
  return kExitUsage;
}

}  // namespace

int RunClusterctl(const std::vector<std::string>& arguments, Session& session) {
  ConnectionFlags connection;
  CommandRun run;
  CLI::App root(kDescription);
  BuildTree(root, connection, run);
  try {
    root.parse(ForParser(arguments));
  } catch (const CLI::CallForHelp&) {
    session.out << root.help();
    return kExitPass;
  } catch (const CLI::CallForVersion&) {
    return RunClusterctl({"version"}, session);
  } catch (const CLI::ParseError& error) {
    return RejectLine(error, root, arguments, session);
  }
  if (run) return run(session);
  session.err << root.help();
  return kExitUsage;
}

}  // namespace clusterd
