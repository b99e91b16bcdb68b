// clusterctl explain: the catalogue of rules, without any controller.
#include "absl/strings/ascii.h"
#include "client/command/command.h"
#include "config/rules/catalogue.h"
#include "config/rules/error_codes.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

constexpr char kWhereAllAre[] = "; clusterctl explain lists all rules";

Row RowOf(const Rule& rule, const Page& page) {
  return {{std::string(rule.name)}, {page.Safe(rule.text.title)}};
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

void ExplainRule(const Rule& rule, Page& page) {
  page.out() << page.Strong(rule.name) << "\n";
  const RuleText& words = rule.text;
  const std::string hook =
      absl::StrCat("controller there: ", rule.with_controller,
                   "; controller away: ", rule.alone, ". ", rule.alone_why);
  const std::pair<const char*, absl::string_view> fields[] = {
      {"what        ", words.title},
      {"fails when  ", words.fails_when},
      {"level       ", words.level},
      {"why         ", words.why},
      {"fix         ", words.fix},
      {"needs       ",
       rule.JudgesOneHost() ? "one host" : "all hosts together"},
      {"hook        ", hook},
      {"source      ", words.source}};
  for (const auto& [key, text] : fields) {
    if (!text.empty()) page.Wrapped(key, page.SafeLines(text));
  }
}

// The code, and the rules whose failing leads to it. False: neither is known.
bool ExplainErrorCode(const std::string& code, Page& page) {
  std::vector<Row> rows;
  for (const Rule* rule : RulesOfErrorCode(code)) {
    rows.push_back(RowOf(*rule, page));
  }
  const absl::string_view meaning = ErrorCodeMeaning(code);
  if (rows.empty() && meaning.empty()) return false;
  page.out() << page.Strong(code) << "\n";
  const std::string what =
      meaning.empty() ? "" : absl::StrCat(" that says: ", meaning);
  if (rows.empty()) {
    page.Wrapped("what        ",
                 absl::StrCat("An error of HCCL that a job ends with", what,
                              ". No rule names it."));
    return true;
  }
  page.Wrapped("what        ",
               absl::StrCat("An error of HCCL that a job ends with", what,
                            ". Where one of these rules fails, that is a known "
                            "cause:"));
  page.PrintTable(rows, {/*indent=*/12});
  page.Wrapped("fix         ",
               "clusterctl check says which of them fails, and where; "
               "clusterctl explain RULE says more about one.");
  return true;
}

class ExplainCommand final : public Command {
 public:
  ExplainCommand() : Command("explain") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "RULE", "", name_,
              "Name of a rule, e.g. net-health, or an error code of HCCL");
  }
  bool TakesConnection() const override { return false; }

 private:
  int Work() override {
    // What looks like a code of HCCL or of the driver: "EI0009", "EJ0003".
    static const LazyRE2 kErrorCode = {R"([A-Z]{2}\d{4})"};
    const Style style = OutStyle(ColorMode::kAuto);
    Page page(style, session().out);
    const Rule* rule = FindRule(name_);
    const std::string code = absl::AsciiStrToUpper(name_);
    if (name_.empty()) {
      ListRules(page);
    } else if (rule != nullptr) {
      ExplainRule(*rule, page);
    } else if (!HasForm(code, *kErrorCode)) {
      const std::string nearest = NearestRule(name_);
      AddMistake("rule \"", name_, "\" does not exist",
                 nearest.empty()
                     ? kWhereAllAre
                     : absl::StrCat(", did you mean \"", nearest, "\"?"));
    } else if (!ExplainErrorCode(code, page)) {
      AddMistake("no rule names the error code ", code, kWhereAllAre);
    }
    return mistakes_.empty() ? static_cast<int>(kExitPass) : RejectUsage();
  }

  std::string name_;
};

}  // namespace

void AddExplainCommand(CommandList& commands) {
  commands.push_back(std::make_unique<ExplainCommand>());
}

}  // namespace clusterd
