// Prints a report as HTML: sample_report small|large|hostile.
#include <iostream>
#include <string>

#include "config/html/report_html.h"
#include "config/values/version.h"
#include "tests/support/report/sample_reports.h"

namespace clusterd {
namespace {

// Texts in every field; a small report around them, so that all of it is used.
Report HostileReport() {
  Report report = SmallBrokenReport();
  Report hostile;
  FillTexts(HostileTexts(), &hostile);
  report.MergeFrom(hostile);
  report.set_schema_version(kReportSchemaVersion);
  report.clear_error();
  return report;
}

int Print(const std::string& which) {
  absl::StatusOr<std::string> html =
      absl::InvalidArgumentError("expected small, large or hostile");
  if (which == "small") html = ReportHtml(SmallBrokenReport(), nullptr);
  if (which == "large") html = ReportHtml(LargeBrokenReport(), nullptr);
  if (which == "hostile") {
    Report before = HostileReport();
    const int half = before.rules_size() / 2;
    before.mutable_rules()->DeleteSubrange(half, before.rules_size() - half);
    html = ReportHtml(HostileReport(), &before);
  }
  if (!html.ok()) {
    std::cerr << html.status() << "\n";
    return 1;
  }
  std::cout << *html;
  return 0;
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  return clusterd::Print(argc == 2 ? argv[1] : "");
}
