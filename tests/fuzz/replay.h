// Runs a fuzz target on its corpus, and stands in for libFuzzer where the
// compiler lacks it: runs the target on seeded mutations of the corpus, by
// bytes or by the target's own mutator. A defect ends the process.
#ifndef TESTS_FUZZ_REPLAY_H_
#define TESTS_FUZZ_REPLAY_H_

#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace clusterd {

// Files that match the pattern, sorted by name; none if none does.
std::vector<std::string> FilesOf(const std::string& pattern);

// Files that match one of the target's patterns, sorted by name.
std::vector<std::string> CorpusOf(const FuzzTarget& target);

// Runs the empty input and every file of the corpus; returns them. Names each
// on standard error first, so that the last name there is the one with the
// defect.
std::vector<std::string> ReplayCorpus(const FuzzTarget& target);

// Runs a fixed number of mutations for each unit of effort, fewer if they take
// longer than 20 seconds for each. Returns how many.
int ReplayMutations(const FuzzTarget& target,
                    const std::vector<std::string>& corpus);

}  // namespace clusterd

#endif  // TESTS_FUZZ_REPLAY_H_
