#include "client/print/state_word.h"

#include "absl/strings/str_cat.h"
#include "client/print/terminal_text.h"

namespace clusterd {
namespace {

constexpr int kLongestWord = 7;

}  // namespace

State KnownState(State state) {
  switch (state) {
    case PASS:
    case SKIPPED:
    case WARN:
    case FAIL:
      return state;
    default:
      return UNKNOWN;
  }
}

const char* StateSymbol(State state, bool utf8) {
  switch (KnownState(state)) {
    case PASS:
      return utf8 ? "√" : "+";
    case SKIPPED:
      return "-";
    case WARN:
      return utf8 ? "‼" : "!";
    case FAIL:
      return utf8 ? "×" : "x";
    default:
      return "?";
  }
}

const char* StateWord(State state) {
  switch (KnownState(state)) {
    case PASS:
      return "pass";
    case SKIPPED:
      return "skipped";
    case WARN:
      return "warn";
    case FAIL:
      return "fail";
    default:
      return "unknown";
  }
}

std::string StateLabel(State state, const Style& style) {
  return Painted(style, StatePaint(state),
                 absl::StrCat(StateSymbol(state, style.utf8), " ",
                              Padded(StateWord(state), kLongestWord)));
}

State WorseState(State a, State b) {
  // The numbers of the enum are in this order.
  return static_cast<int>(KnownState(a)) >= static_cast<int>(KnownState(b))
             ? KnownState(a)
             : KnownState(b);
}

Paint StatePaint(State state) {
  switch (KnownState(state)) {
    case PASS:
      return Paint::kGreen;
    case SKIPPED:
      return Paint::kDim;
    case WARN:
      return Paint::kYellow;
    case FAIL:
      return Paint::kRed;
    default:
      return Paint::kMagenta;
  }
}

}  // namespace clusterd
