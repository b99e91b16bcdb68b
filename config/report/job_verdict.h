// A report about a job in the few lines that its hosts and a scheduler need.
#ifndef CONFIG_REPORT_JOB_VERDICT_H_
#define CONFIG_REPORT_JOB_VERDICT_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "config/words/message.h"
#include "proto/finding.pb.h"
#include "proto/job.pb.h"

namespace clusterd {

// The prefix of our drain reasons and refusals: "clusterd: ".
inline constexpr absl::string_view kReasonPrefix = "clusterd: ";

// Reasons of a report about one host, and (host "") about none; worst first,
// causes before consequences; without PASS and SKIPPED. Texts are printable
// ASCII on one line, at most 120 characters; a longer repair, which must not be
// cut, is "clusterctl explain RULE". An uncut text has its words, too.
std::vector<JobReason> ReasonsAbout(const Report& report,
                                    absl::string_view host);

// The report's conclusion about the job, without job_digest. `report` is of
// that job. Every host of the job has its state. Holds at most 24 reasons of a
// host and 16 of the cluster, and never much more than 400 kB in total: the
// worst of every host comes before the second of any.
JobVerdict MakeJobVerdict(const Report& report, const JobSpec& job);

// Bytes of a verdict: `common` and one host's `own`, concatenated, are the
// verdict as that host needs it. It has the first host, which is the master,
// and other hosts only if they have more to report than a pass.
struct VerdictBytes {
  std::string common;
  absl::flat_hash_map<std::string, std::string> own;  // For every host.
};
VerdictBytes BytesForHosts(JobVerdict verdict);

// The report of a job for role hook, which may name any host in a job: the
// verdict, a state for each rule and host, and the failing findings, with what
// was observed, cut to one line. Without facts and other findings.
Report ReportForHook(const Report& report);

// The words of `text`, which has the same meaning in English. For a text that
// has no words they are "RULE/": clusterctl puts the rule's title in front.
FindingValue TextWords(const JobReason& reason);

// "clusterd: link: device 3: DOWN", after the name of another host. The line is
// English: printable ASCII of at most 200 bytes without a line break.
FindingValue ReasonWords(const JobReason& reason);
std::string ReasonLine(const JobReason& reason);

}  // namespace clusterd

#endif  // CONFIG_REPORT_JOB_VERDICT_H_
