// The report of a check as one HTML file for people: it needs no network, and
// prints. It has a body in English and one in Chinese; a switch that needs no
// script shows one of them. Each has the verdict, with what was not checked as
// large as what failed, and causes with repairs. Then follow hosts by rack,
// devices by leaf switch, findings, values, changes and each host. The report
// itself is there as JSON: <script type="application/json" id="report">.
#ifndef CONFIG_HTML_REPORT_HTML_H_
#define CONFIG_HTML_REPORT_HTML_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/finding.pb.h"

namespace clusterd {

// `before`: the check to compare with; null: there was none. Both are in
// English, as they are kept and sent. The page opens in the current language.
// It refers to nothing outside of itself, and its content security policy
// allows only its own style, and its own script by digest. Without the script
// it lacks only filters, sorting, copying and the pages of hosts that pass.
// Every text is made safe as for a terminal (SafeText), and escaped for its
// place. At most some 5 MB for 1,152 hosts with 2,000 findings. Internal if the
// template cannot be used, which no report causes.
absl::StatusOr<std::string> ReportHtml(const Report& report,
                                       const Report* before);

}  // namespace clusterd

#endif  // CONFIG_HTML_REPORT_HTML_H_
