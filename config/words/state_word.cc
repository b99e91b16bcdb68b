#include "config/words/state_word.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

constexpr int kLongestWord = 7;

struct StateRow {
  State state;
  const char* symbol;
  const char* ascii;
  const char* word;
  const char* chinese;
  Paint paint;
};

// The last row is also that of every state that we do not know.
constexpr StateRow kStates[] = {
    {PASS, "√", "+", "pass", "通过", Paint::kGreen},
    {SKIPPED, "-", "-", "skipped", "跳过", Paint::kDim},
    {WARN, "‼", "!", "warn", "告警", Paint::kYellow},
    {FAIL, "×", "x", "fail", "不通过", Paint::kRed},
    {UNKNOWN, "?", "?", "unknown", "未知", Paint::kMagenta},
};

const StateRow& RowOf(State state) {
  const auto* last = std::end(kStates) - 1;
  return *std::find_if(std::begin(kStates), last, [state](const StateRow& row) {
    return row.state == state;
  });
}

}  // namespace

State KnownState(State state) { return RowOf(state).state; }

const char* StateSymbol(State state, bool utf8) {
  return utf8 ? RowOf(state).symbol : RowOf(state).ascii;
}

const char* StateWord(State state) {
  const StateRow& row = RowOf(state);
  return CurrentLanguage() == Language::kChinese ? row.chinese : row.word;
}

Paint StatePaint(State state) { return RowOf(state).paint; }

FindingValue StateWords(State state) {
  return Worded(absl::StrCat("history-outcome-", RowOf(state).word));
}

std::string StateText(State state, const Style& style) {
  return absl::StrCat(StateSymbol(state, style.utf8), " ",
                      Padded(StateWord(state), kLongestWord));
}

std::string StateLabel(State state, const Style& style) {
  return Painted(style, StatePaint(state), StateText(state, style));
}

State WorseState(State a, State b) {
  // The numbers of the enum are in this order.
  return std::max(KnownState(a), KnownState(b));
}

}  // namespace clusterd
