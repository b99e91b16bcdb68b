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
const char* StateLetter(State state);

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
  std::map<std::string, std::string, std::less<>> anchors_;
  std::map<const Finding*, std::string> places_;
};

// The verdict with the report's subject, in these words.
std::string Headline(const Report& report, const char* words);
// Adds the verdict, the report's subject, and its notes.
void AddHead(const Report& report, PageDictionary* page);
// Boxes for failures and, as large, unchecked rules; warnings and passes.
void AddBoxes(const Report& report, const PageFindings& findings,
              PageDictionary* page);
// A row for each rack, or for 32 hosts of one kind of name, with a cell a host.
void AddRacks(const Report& report, PageDictionary* page);
// A row for each leaf switch, with a column a device index.
void AddRails(const Report& report, PageDictionary* page);
void AddCauses(const Report& report, const PageFindings& findings,
               PageDictionary* page);
void AddFindings(const Report& report, const PageFindings& findings,
                 PageDictionary* page);
void AddValues(const Report& report, PageDictionary* page);
// `old`, to compare with, may be null. It is in English.
void AddSince(const Report* old, const Report& report, PageDictionary* page);
// Adds pages of hosts that do not pass; the script adds the others.
void AddHostPages(const Report& report, const PageFindings& findings,
                  PageDictionary* page);

}  // namespace clusterd

#endif  // CONFIG_HTML_PAGE_SECTIONS_H_
