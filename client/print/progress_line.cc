#include "client/print/progress_line.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/print/terminal_text.h"
#include "config/spec/hostlist.h"

namespace clusterd {

std::string ProgressText(const CheckProgress& progress, bool utf8) {
  std::string text =
      absl::StrCat(progress.answered(), " ok, ", progress.failed(), " failed, ",
                   progress.pending(), " pending");
  if (progress.awaited().empty()) return text;
  const std::vector<std::string> awaited(progress.awaited().begin(),
                                         progress.awaited().end());
  absl::StrAppend(&text, "; awaiting ", FoldHostlist(awaited));
  const size_t pending = progress.pending();
  if (pending > awaited.size()) {
    absl::StrAppend(&text, " and ", pending - awaited.size(), " more");
  }
  return SafeText(text, utf8);
}

void ProgressLine::Show(const CheckProgress& progress) {
  if (!style_.rewrites) return;
  const int columns = std::max((style_.width > 0 ? style_.width : 80) - 1, 20);
  out_ << "\r\x1b[K"
       << CutText(ProgressText(progress, style_.utf8), columns, style_.utf8)
       << std::flush;
  shown_ = true;
}

void ProgressLine::Clear() {
  if (!shown_) return;
  out_ << "\r\x1b[K" << std::flush;
  shown_ = false;
}

}  // namespace clusterd
