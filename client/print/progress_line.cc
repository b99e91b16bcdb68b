#include "client/print/progress_line.h"

#include <algorithm>

#include "config/values/hostlist.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/words.h"

namespace clusterd {

std::string ProgressText(const CheckProgress& progress, bool utf8) {
  if (progress.place() > 0) {
    return Say("now-queue-place", progress.place());
  }
  const auto& awaited = progress.awaited();
  std::string hosts = FoldHostlist({awaited.begin(), awaited.end()});
  const uint32_t named = progress.awaited_size();
  if (named > 0 && progress.pending() > named) {
    hosts = Say("first-of", hosts, progress.pending() - named);
  }
  return SafeText(JoinParts("; ", {Say("now-progress", progress.answered(),
                                       progress.failed(), progress.pending()),
                                   SayPart("now-awaiting", hosts)}),
                  utf8);
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
