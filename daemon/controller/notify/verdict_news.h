// A new verdict of a scheduled check, and the JSON that notifiers are told:
//   {"schema_version":1, "cluster":"demo", "schedule":"links",
//    "run_id":"3fa2c4d5e6f70812", "verdict_before":"pass", "verdict":"fail",
//    "summary":"2 failed, 8 passed; 2 worse", "diff":{…}, "report":{…}}
// `diff` is a ReportDiff, since the check before; `verdict_before` is what was
// told last, which may be of an earlier one.
#ifndef DAEMON_CONTROLLER_NOTIFY_VERDICT_NEWS_H_
#define DAEMON_CONTROLLER_NOTIFY_VERDICT_NEWS_H_

#include <string>

#include "proto/finding.pb.h"

namespace clusterd {

struct VerdictNews {
  State before = PASS;
  Report report;  // With its run, schedule, cluster and verdict.
  ReportDiff diff;
};

// "schedule links: fail, was pass (check 3fa2c4d5e6f70812)", for logs.
std::string NewsText(const VerdictNews& news);

// On one line. Of the report's hosts only those that do not pass.
std::string NewsJson(VerdictNews news);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_NOTIFY_VERDICT_NEWS_H_
