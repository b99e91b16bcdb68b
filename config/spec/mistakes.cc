#include "config/spec/mistakes.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

// Reading continues a while beyond the shown mistakes: the first ones of the
// file are not always found first.
constexpr size_t kMaxKept = 10 * Mistakes::kMaxShown;

}  // namespace

std::string QuoteValue(absl::string_view text) {
  const absl::string_view cut = CutUtf8(text, 80);
  return absl::StrCat("\"", absl::Utf8SafeCEscape(cut),
                      cut.size() < text.size() ? "…" : "", "\"");
}

std::string ToString(TextPosition position) {
  return absl::StrCat(position.line, ":", position.column);
}

void Mistakes::AddError(TextPosition position, const absl::Status& error) {
  for (FindingValue& line : MessageLines(error)) {
    AddMessage(position, std::move(line));
  }
}

void Mistakes::AddMessage(TextPosition position, FindingValue message) {
  ++count_;
  if (kept_.size() < kMaxKept) kept_.push_back({position, std::move(message)});
}

bool Mistakes::IsFirst(TextPosition position, absl::string_view kind) {
  const auto [first, is_new] = once_.try_emplace(
      {position.line, position.column, std::string(kind)}, kept_.size());
  if (!is_new && first->second < kept_.size()) ++kept_[first->second].repeats;
  return is_new;
}

void Mistakes::AddUnknownOf(const Mistakes& other) {
  for (const Mistake& mistake : other.kept_) {
    const bool known = absl::c_any_of(kept_, [&mistake](const Mistake& mine) {
      return mine.position == mistake.position &&
             EnglishText(mine.message) == EnglishText(mistake.message);
    });
    if (known) continue;
    ++count_;
    if (kept_.size() < kMaxKept) kept_.push_back(mistake);
  }
}

absl::Status Mistakes::ToStatus() const {
  if (empty()) return absl::OkStatus();
  std::vector<Mistake> sorted = kept_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Mistake& a, const Mistake& b) {
                     return a.position < b.position;
                   });
  if (sorted.size() > kMaxShown) sorted.resize(kMaxShown);
  std::vector<FindingValue> lines;
  for (const Mistake& mistake : sorted) {
    const FindingValue line =
        Worded("headed",
               absl::StrCat(file_name_, ":", ToString(mistake.position), ": "),
               mistake.message);
    lines.push_back(mistake.repeats == 0
                        ? line
                        : Worded("more-like-it", line, mistake.repeats));
  }
  if (count_ > sorted.size()) {
    lines.push_back(
        Worded("more-mistakes", file_name_, count_ - sorted.size()));
  }
  return WithWords(absl::InvalidArgumentError(""), Lines(lines));
}

}  // namespace clusterd
