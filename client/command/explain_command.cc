// clusterctl explain: the catalogue of rules, without any controller.
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/command/command.h"
#include "config/rules/catalogue.h"
#include "config/words/terminal.h"

namespace clusterd {
namespace {

void ListRules(Page& page) {
  std::vector<Row> rows;
  for (const Rule& rule : RuleCatalogue()) {
    rows.push_back({{std::string(rule.name)}, {page.Safe(rule.Text().title)}});
  }
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

void ExplainRule(const Rule& rule, Page& page) {
  page.out() << page.Strong(rule.name) << "\n";
  const RuleText& words = rule.Text();
  const std::pair<const char*, absl::string_view> fields[] = {
      {"what        ", words.title},
      {"fails when  ", words.fails_when},
      {"level       ", words.level},
      {"why         ", words.why},
      {"fix         ", words.fix},
      {"needs       ",
       rule.JudgesOneHost() ? "one host" : "all hosts together"},
      {"source      ", words.source}};
  for (const auto& [key, text] : fields) {
    if (!text.empty()) page.Wrapped(key, page.SafeLines(text));
  }
}

class ExplainCommand final : public Command {
 public:
  ExplainCommand() : Command("explain") {}

  void AddOptions(CLI::App& app) override {
    app.add_option("RULE", name_, "Name of a rule, e.g. net-health")
        ->type_name("");
  }
  bool TakesConnection() const override { return false; }

 private:
  int Work() override {
    const Style style = OutStyle(ColorMode::kAuto);
    Page page(style, session().out);
    const Rule* rule = FindRule(name_);
    if (name_.empty()) {
      ListRules(page);
    } else if (rule != nullptr) {
      ExplainRule(*rule, page);
    } else {
      const std::string nearest = NearestRule(name_);
      mistakes_.push_back(absl::StrCat(
          "rule \"", name_, "\" does not exist",
          nearest.empty() ? "; clusterctl explain lists all rules"
                          : absl::StrCat(", did you mean \"", nearest, "\"?")));
    }
    return mistakes_.empty() ? static_cast<int>(kExitPass) : RejectUsage();
  }

  std::string name_;
};

}  // namespace

std::unique_ptr<Command> MakeExplainCommand() {
  return std::make_unique<ExplainCommand>();
}

}  // namespace clusterd
