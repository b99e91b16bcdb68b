// The outputs of the build from rows of error codes.
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/rules/texts/rule_rows.h"

namespace clusterd {
namespace {

std::string Literal(absl::string_view text) {
  return absl::StrCat("\"", absl::CEscape(text), "\"");
}

// `{meaning, fix}` of the row in one language.
std::string CodeTexts(const RowCode& row) {
  return absl::StrCat("{",
                      Literal(row.has_title() ? row.title() : row.meaning()),
                      ", ", Literal(row.fix()), "}");
}

std::string CodeCell(absl::string_view text) {
  return absl::StrCat(
      "| ", absl::StrReplaceAll(text, {{"|", "\\|"}, {"<", "&lt;"}}), " ");
}

// `a`, `b`
std::string CodeSpans(
    const google::protobuf::RepeatedPtrField<std::string>& texts) {
  return absl::StrJoin(texts, ", ",
                       [](std::string* out, const std::string& text) {
                         absl::StrAppend(out, "`", text, "`");
                       });
}

}  // namespace

std::string CodeTable(absl::Span<const RuleCategory> categories) {
  std::string rows;
  for (const RuleCategory& category : categories) {
    for (const RowCode& row : category.rows.code()) {
      absl::StrAppend(&rows, "    {", Literal(row.name()), ", ",
                      Literal(absl::StrJoin(row.also(), "/")), ",\n     ",
                      Literal(absl::StrJoin(row.form(), "|")), ",\n     ",
                      Literal(absl::StrJoin(row.rule(), "/")), ",\n     ",
                      Literal(row.source()), ",\n     ", CodeTexts(row),
                      ",\n     ", CodeTexts(row.chinese()), ", ",
                      row.has_title() ? "true" : "false", "},\n");
    }
  }
  return absl::StrCat("constexpr ErrorCode kErrorCodes[] = {\n", rows, "};\n");
}

std::string CodePage(absl::Span<const RuleCategory> categories) {
  std::string codes =
      "| code | what it says | what to do | rules | texts without the code | "
      "source |\n|---|---|---|---|---|---|\n";
  std::string titles = "| code | title |\n|---|---|\n";
  for (const RuleCategory& category : categories) {
    for (const RowCode& row : category.rows.code()) {
      if (row.has_title()) {
        absl::StrAppend(&titles, CodeCell(row.name()), CodeCell(row.title()),
                        "|\n");
        continue;
      }
      absl::StrAppend(&codes, CodeCell(row.name()), CodeCell(row.meaning()),
                      CodeCell(row.fix()), CodeCell(CodeSpans(row.rule())),
                      CodeCell(CodeSpans(row.form())), CodeCell(row.source()),
                      "|\n");
    }
  }
  return absl::StrCat(
      codes, "\n## Further entries of the vendor's catalogue\n\n", titles);
}

}  // namespace clusterd
