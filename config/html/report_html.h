// The report of a check as one HTML file for people: a browser on a laptop
// without a network shows all of it, and a printer prints it. From top to
// bottom: the verdict in words, with what was not looked at as large as what
// failed; causes, worst first, with their repairs; hosts by rack; devices by
// leaf switch; findings; values that hosts do not agree on; what is different
// since the run before; each host; and the report itself as JSON, in
// <script type="application/json" id="report">.
#ifndef CONFIG_HTML_REPORT_HTML_H_
#define CONFIG_HTML_REPORT_HTML_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/finding.pb.h"

namespace clusterd {

// `since`: what is different to a run before; null: there was none. The file
// names nothing outside of itself, and its content security policy allows
// nothing but its own style and its own script, which is known by its digest.
// Without the script all is there but filters, sorting, copying and the pages
// of hosts that pass. Every text is made safe as for a terminal (SafeText), and
// escaped for where it stands. Some 5 MB at most for 1,152 hosts with 2,000
// findings. Internal where the template cannot be used, which no report causes.
absl::StatusOr<std::string> ReportHtml(const Report& report,
                                       const ReportDiff* since);

}  // namespace clusterd

#endif  // CONFIG_HTML_REPORT_HTML_H_
