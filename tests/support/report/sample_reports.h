// Reports for tests of their printed forms.
#ifndef TESTS_SUPPORT_REPORT_SAMPLE_REPORTS_H_
#define TESTS_SUPPORT_REPORT_SAMPLE_REPORTS_H_

#include <string>

#include "absl/types/span.h"
#include "google/protobuf/message.h"
#include "proto/finding.pb.h"

namespace clusterd {

// The judge's report of a broken cluster: 18 hosts a rack, a leaf switch for
// each device index of two racks. Of 1,152 hosts every ninth has devices that
// nothing folds, some 2,000 findings in all. Some hosts are silent, or differ
// in driver or MTU; two cables are exchanged. Of two hosts one has no link on
// one device.
Report LargeBrokenReport(int hosts = 1152);
Report SmallBrokenReport();

// Texts that try to be more than text in a page, each in its way. A browser
// that one of them fools changes document.title to "owned".
absl::Span<const std::string> HostileTexts();
// Fills every text of the message and of those in it, two in each list, with
// the texts in turn and a number behind each. Other fields get allowed values.
void FillTexts(absl::Span<const std::string> texts,
               google::protobuf::Message* message);

}  // namespace clusterd

#endif  // TESTS_SUPPORT_REPORT_SAMPLE_REPORTS_H_
