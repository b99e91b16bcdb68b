#include "config/values/nearest_word.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"

namespace clusterd {
namespace {

constexpr size_t kMaxWordBytes = 64;

// Optimal string alignment distance.
size_t Edits(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearestWord(absl::string_view word,
                        absl::Span<const absl::string_view> candidates) {
  if (word.size() > kMaxWordBytes) return "";
  const std::string lower = absl::AsciiStrToLower(word);
  absl::string_view nearest;
  size_t fewest = 0;
  for (absl::string_view candidate : candidates) {
    const size_t edits = Edits(lower, absl::AsciiStrToLower(candidate));
    if (edits > std::max<size_t>(1, candidate.size() / 3)) continue;
    if (edits >= std::max<size_t>(1, candidate.size())) continue;
    if (nearest.empty() || edits < fewest) {
      nearest = candidate;
      fewest = edits;
    }
  }
  return std::string(nearest);
}

bool IsOneEditAway(absl::string_view a, absl::string_view b) {
  const size_t lengths = std::max(a.size(), b.size());
  return lengths <= kMaxWordBytes &&
         lengths - std::min(a.size(), b.size()) <= 1 &&
         Edits(absl::AsciiStrToLower(a), absl::AsciiStrToLower(b)) <= 1;
}

}  // namespace clusterd
