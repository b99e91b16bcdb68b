#include "client/print/progress_line.h"

#include <algorithm>

#include "config/values/hostlist.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"

namespace clusterd {

FindingValue ProgressWords(const CheckProgress& progress) {
  if (progress.place() > 0) {
    return Worded("now-queue-place", progress.place());
  }
  const FindingValue counts = Worded("now-progress", progress.answered(),
                                     progress.failed(), progress.pending());
  const auto& awaited = progress.awaited();
  const uint32_t named = progress.awaited_size();
  if (named == 0) return counts;
  const std::string hosts = FoldHostlist({awaited.begin(), awaited.end()});
  return Worded("now-progress-awaiting", counts,
                progress.pending() <= named
                    ? ToFindingValue(hosts)
                    : Worded("first-of", hosts, progress.pending() - named));
}

std::string ProgressText(const CheckProgress& progress, bool utf8) {
  return SafeText(ValueText(ProgressWords(progress)), utf8);
}

std::string ApplyProgressText(const ApplyProgress& progress, bool utf8) {
  const auto& hosts = progress.at_work();
  return SafeText(
      JoinParts("; ",
                {Say("apply-progress", progress.wave(), progress.waves(),
                     progress.done(), progress.failed(), progress.pending()),
                 SayPart("apply-at-work",
                         FoldHostlist({hosts.begin(), hosts.end()}))}),
      utf8);
}

void ProgressLine::Show(const std::string& text) {
  if (!style_.rewrites) return;
  const int columns = std::max((style_.width > 0 ? style_.width : 80) - 1, 20);
  out_ << "\r\x1b[K" << CutText(text, columns, style_.utf8) << std::flush;
  shown_ = true;
}

void ProgressLine::Clear() {
  if (!shown_) return;
  out_ << "\r\x1b[K" << std::flush;
  shown_ = false;
}

}  // namespace clusterd
