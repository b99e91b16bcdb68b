// Reports for tests of their printed forms.
#ifndef TESTS_SUPPORT_REPORT_SAMPLE_REPORTS_H_
#define TESTS_SUPPORT_REPORT_SAMPLE_REPORTS_H_

#include <string>

#include "absl/types/span.h"
#include "google/protobuf/message.h"
#include "proto/finding.pb.h"

namespace clusterd {

// The judge's report of a broken cluster: 18 hosts a rack, a leaf switch for
// each device index of two racks. Every ninth of 1,152 hosts has devices whose
// findings do not fold, some 2,000 in total. Some hosts are silent, or differ
// in driver or MTU; two cables are exchanged. The small report has two hosts,
// one with a device without a link.
Report LargeBrokenReport(int hosts = 1152);
Report SmallBrokenReport();

// Texts that try to run as code in a page. A browser that one of them fools
// changes document.title to "owned".
absl::Span<const std::string> HostileTexts();
// Fills every text of the message and its messages, two in each list, with the
// texts in turn, each with a number. Other fields get allowed values.
void FillTexts(absl::Span<const std::string> texts,
               google::protobuf::Message* message);

}  // namespace clusterd

#endif  // TESTS_SUPPORT_REPORT_SAMPLE_REPORTS_H_
