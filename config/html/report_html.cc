#include "config/html/report_html.h"

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/html/page_sections.h"
#include "config/report/message_json.h"
#include "config/values/sha256.h"
#include "ctemplate/template.h"

namespace clusterd {
namespace {

#include "config/html/page_parts.inc"

// Compiled once and kept: nothing is added to ctemplate's own cache, and
// expanding it is safe from several threads.
const ctemplate::Template* PageTemplate() {
  static const ctemplate::Template* const page =
      ctemplate::Template::StringToTemplate(kPage_html, sizeof(kPage_html) - 1,
                                            ctemplate::STRIP_WHITESPACE);
  return page;
}

std::string Policy() {
  return absl::StrCat(
      "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-",
      absl::Base64Escape(Sha256(kPage_js)),
      "'; base-uri 'none'; form-action 'none'");
}

// For the inside of <script>, which no text may end and where "<!--" has a
// meaning: these stand inside JSON strings only.
std::string JsonForScript(const Report& report) {
  return absl::StrReplaceAll(
      OnOneLine(MessageJson(report)),
      {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

}  // namespace

absl::StatusOr<std::string> ReportHtml(const Report& report,
                                       const ReportDiff* since) {
  if (PageTemplate() == nullptr)
    return absl::InternalError("html: bad template");
  PageDictionary page("page");
  const PageFindings findings(report);
  AddHead(report, &page);
  AddBoxes(report, findings, &page);
  AddCauses(report, findings, &page);
  AddRacks(report, &page);
  AddRails(report, &page);
  AddFindings(report, findings, &page);
  AddValues(report, &page);
  AddSince(since, &page);
  AddHostPages(report, findings, &page);
  page.SetValue("POLICY", Policy());
  page.SetValueWithoutCopy("STYLE", kPage_css);
  page.SetValueWithoutCopy("SCRIPT", kPage_js);
  const std::string json = JsonForScript(report);
  page.SetValueWithoutCopy("JSON", json);
  std::string html;
  if (!PageTemplate()->Expand(&html, &page)) {
    return absl::InternalError("html: the template cannot be expanded");
  }
  return html;
}

}  // namespace clusterd
