// Names and symbols of states: √ pass, - skipped, ‼ warn, ? unknown, × fail.
// Symbol and word stand together, so that no meaning depends on a colour.
#ifndef CONFIG_WORDS_STATE_WORD_H_
#define CONFIG_WORDS_STATE_WORD_H_

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>

#include "config/words/terminal.h"
#include "proto/finding.pb.h"

namespace clusterd {

// An unknown state (a newer peer, or none set) counts as UNKNOWN.
State KnownState(State state);

// "√", or one of + - ! ? x if the style is not UTF-8.
const char* StateSymbol(State state, bool utf8);

// "pass", "skipped", "warn", "unknown", "fail", or the same in Chinese.
const char* StateWord(State state);

// The same as words.
FindingValue StateWords(State state);

// Symbol and word with the word padded to the longest one: "√ pass   ".
std::string StateText(State state, const Style& style);

// The same in the state's colour.
std::string StateLabel(State state, const Style& style);

// The worse of two: FAIL, UNKNOWN, WARN, then SKIPPED and PASS.
State WorseState(State a, State b);

Paint StatePaint(State state);

template <typename Items>
Counts CountStates(const Items& items) {
  std::map<State, uint32_t> count;
  for (const auto& item : items) {
    if constexpr (std::is_pointer_v<std::decay_t<decltype(item)>>) {
      ++count[KnownState(item->state())];
    } else {
      ++count[KnownState(item.state())];
    }
  }
  Counts counts;
  counts.set_pass(count[PASS]);
  counts.set_skipped(count[SKIPPED]);
  counts.set_warn(count[WARN]);
  counts.set_unknown(count[UNKNOWN]);
  counts.set_fail(count[FAIL]);
  return counts;
}

}  // namespace clusterd

#endif  // CONFIG_WORDS_STATE_WORD_H_
