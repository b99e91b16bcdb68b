// The parts of the page, each from a report into the dictionary of the template
// (page.html), in the current language. Every text passes SafeText and the
// template's escaping for its place.
#ifndef CONFIG_HTML_PAGE_SECTIONS_H_
#define CONFIG_HTML_PAGE_SECTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/report/finding_overview.h"
#include "ctemplate/template.h"
#include "proto/finding.pb.h"

namespace clusterd {

using PageDictionary = ctemplate::TemplateDictionary;

// "F", "U", "W", "P" or "S": the letter beside the state's colour.
std::string StateLetter(State state);

// Sets a variable.
void SetText(const char* name, absl::string_view text, PageDictionary* in);
// Shows the section with TEXT, in these words if any; hides it without a text.
void ShowText(const char* section, absl::string_view text, PageDictionary* in,
              const char* words = nullptr);
// The same with the line ends of the text, for <pre>; the section or nullptr.
PageDictionary* ShowLines(const char* section, absl::string_view text,
                          PageDictionary* in);

// Link targets of findings, causes and hosts, and the layout of findings.
class PageFindings {
 public:
  // The report must outlive it.
  explicit PageFindings(const Report& report);

  const FindingOverview& overview() const { return overview_; }
  // "r-link", the block of a rule; "findings" where it has none.
  std::string AnchorOf(absl::string_view rule) const;
  // Names the rules, as links where they have a block.
  void AddLinks(const std::vector<std::string>& rules,
                PageDictionary* in) const;
  // "3.14": the place of the finding in the report, for the script.
  std::string PlaceOf(const Finding* finding) const {
    return places_.at(finding);
  }

 private:
  const FindingOverview overview_;
  // Without the characters of a rule that no anchor may have.
  std::map<std::string, std::string, std::less<>> anchors_;
  std::map<const Finding*, std::string> places_;
};

// The verdict with the report's subject, in these words. The verdict of this
// and other reports here is the one that rules and hosts support.
std::string Headline(const Report& report, const char* words);
// The verdict, the report's subject and notes; boxes; and the maps.
void AddOverview(const Report& report, const PageFindings& findings,
                 PageDictionary* page);

}  // namespace clusterd

#endif  // CONFIG_HTML_PAGE_SECTIONS_H_
