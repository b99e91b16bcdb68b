// clusterctl explain: the catalogue of rules, without any controller.
#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/command/commands.h"
#include "client/command/common_options.h"
#include "client/command/exit_status.h"
#include "client/print/terminal_text.h"
#include "config/rules/catalogue.h"

namespace clusterd {
namespace {

constexpr char kCommand[] = "explain";
constexpr int kKeyColumns = 12;

constexpr char kFooter[] =
    R"(Without RULE all rules are listed. Asks no controller and no host.

Exit status: 0, or 3 for a rule that does not exist.

Examples:
  clusterctl explain
  clusterctl explain net-health)";

void ListRules(const Style& style, std::ostream& out) {
  int columns = 0;
  for (const RuleInfo& rule : RuleCatalogue()) {
    columns = std::max(columns, TextColumns(rule.name));
  }
  std::string category;
  for (const RuleInfo& rule : RuleCatalogue()) {
    if (rule.category != category) {
      if (!category.empty()) out << "\n";
      category = rule.category;
      std::string title = category;
      title[0] = absl::ascii_toupper(title[0]);
      out << Painted(style, Paint::kBold, title) << "\n";
    }
    out << "  " << Padded(rule.name, columns) << "  "
        << SafeText(rule.title, style.utf8) << "\n";
  }
}

void PrintField(const char* key, const std::string& text, const Style& style,
                std::ostream& out) {
  if (text.empty()) return;
  std::string head = Padded(key, kKeyColumns);
  const int columns =
      style.width > 0 ? std::max(style.width - kKeyColumns, 20) : 0;
  for (const absl::string_view paragraph : absl::StrSplit(text, '\n')) {
    for (const std::string& line :
         WrapText(SafeText(paragraph, style.utf8), columns)) {
      out << head << line << "\n";
      head = std::string(kKeyColumns, ' ');
    }
  }
}

void ExplainRule(const RuleInfo& rule, const Style& style, std::ostream& out) {
  out << Painted(style, Paint::kBold, rule.name) << "\n";
  PrintField("what", rule.title, style, out);
  PrintField("fails when", rule.fails_when, style, out);
  PrintField("level", rule.level, style, out);
  PrintField("why", rule.why, style, out);
  PrintField("fix", rule.fix, style, out);
  PrintField("needs", rule.one_host ? "one host" : "all hosts together", style,
             out);
  PrintField("source", rule.source, style, out);
}

int RunExplain(const std::string& name, Session& session) {
  const Style style =
      StyleOfOut(session.terminal, session.environment, ColorMode::kAuto);
  if (name.empty()) {
    ListRules(style, session.out);
    return kExitPass;
  }
  const RuleInfo* rule = FindRule(name);
  if (rule != nullptr) {
    ExplainRule(*rule, style, session.out);
    return kExitPass;
  }
  const std::string nearest = NearestRule(name);
  return RejectUsage(
      kCommand,
      {absl::StrCat("rule \"", name, "\" does not exist",
                    nearest.empty()
                        ? "; clusterctl explain lists all rules"
                        : absl::StrCat(", did you mean \"", nearest, "\"?"))},
      session);
}

}  // namespace

void AddExplainCommand(CLI::App& root, CommandRun& run) {
  CLI::App* command = root.add_subcommand(
      "explain", "Say what a rule checks, why it matters and how to fix it");
  command->footer(kFooter);
  const auto name = std::make_shared<std::string>();
  command->add_option("RULE", *name, "Name of a rule, e.g. net-health")
      ->type_name("");
  command->callback([&run, name] {
    run = [name](Session& session) { return RunExplain(*name, session); };
  });
}

}  // namespace clusterd
