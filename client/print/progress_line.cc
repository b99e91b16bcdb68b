#include "client/print/progress_line.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "config/values/hostlist.h"
#include "config/words/quoted_text.h"

namespace clusterd {

std::string ProgressText(const CheckProgress& progress, bool utf8) {
  if (progress.place() > 0) {
    return absl::StrCat("the controller is busy: place ", progress.place(),
                        " in its queue");
  }
  std::string text =
      absl::StrCat(progress.answered(), " answered, ", progress.failed(),
                   " failed, ", progress.pending(), " pending");
  if (progress.awaited().empty()) return text;
  const auto& awaited = progress.awaited();
  absl::StrAppend(&text, "; awaiting ",
                  FoldHostlist({awaited.begin(), awaited.end()}));
  const uint32_t named = progress.awaited_size();
  if (progress.pending() > named) {
    absl::StrAppend(&text, " and ", progress.pending() - named, " more");
  }
  return SafeText(text, utf8);
}

std::string ApplyProgressText(const ApplyProgress& progress, bool utf8) {
  std::string text =
      absl::StrCat("wave ", progress.wave(), " of ", progress.waves(), ": ",
                   progress.done(), " done, ", progress.failed(), " failed, ",
                   progress.pending(), " pending");
  if (!progress.at_work().empty()) {
    absl::StrAppend(
        &text, "; at work ",
        FoldHostlist({progress.at_work().begin(), progress.at_work().end()}));
  }
  return SafeText(text, utf8);
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
