// How a state is called and drawn: √ pass, - skipped, ‼ warn, ? unknown, ×
// fail. Symbol and word stand together, so that no meaning hangs on a colour.
#ifndef CLIENT_PRINT_STATE_WORD_H_
#define CLIENT_PRINT_STATE_WORD_H_

#include <string>

#include "client/print/terminal.h"
#include "proto/finding.pb.h"

namespace clusterd {

// A state that this program does not know (a newer peer, or none set) counts
// as UNKNOWN.
State KnownState(State state);

// "√", or "+" and the like where the style is not UTF-8.
const char* StateSymbol(State state, bool utf8);

// "pass", "skipped", "warn", "unknown", "fail".
const char* StateWord(State state);

// Symbol and word with the word padded to the longest one, in the state's
// colour: "√ pass   ". Symbols are ASCII where the style is: + - ! ? x.
std::string StateLabel(State state, const Style& style);

// The worse of two: FAIL, UNKNOWN, WARN, then SKIPPED and PASS.
State WorseState(State a, State b);

Paint StatePaint(State state);

}  // namespace clusterd

#endif  // CLIENT_PRINT_STATE_WORD_H_
