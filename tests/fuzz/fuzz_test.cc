// Runs every fuzz target for a bounded time, each in a process of its own: a
// target's servers live as long as its process, and a defect ends it.
//
// Without libFuzzer that process replays the corpus and seeded mutations of it.
// With it (--config=asan) the process is this program again, whose main is then
// libFuzzer's: it fuzzes the target that the environment names, and runs these
// tests if the environment names none (daemon/docs/building.md).
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/replay.h"
#include "tests/fuzz/require.h"
#include "tests/support/wait/test_file.h"

// libFuzzer's own mutation of bytes; null if it is not linked.
extern "C" __attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t* data,
                                                         size_t size,
                                                         size_t max_size);

// The entry points below are C functions: joining the files of this folder
// gives each file's code a namespace, but not them another name.
namespace clusterd {
namespace {

using ::testing::ContainerEq, ::testing::ExitedWithCode, ::testing::IsEmpty,
    ::testing::Not;

constexpr char kTargetVariable[] = "CLUSTERD_FUZZ";
constexpr int kSecondsOfLibFuzzer = 5;
constexpr char kDefective[] = "defect_";
constexpr size_t kTargets = 39;

const FuzzTarget*& Chosen() {
  static const FuzzTarget* chosen = nullptr;
  return chosen;
}

void BecomeLibFuzzer(const FuzzTarget& target) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string time =
      absl::StrCat("-max_total_time=", kSecondsOfLibFuzzer * target.effort);
  const std::string crashes =
      absl::StrCat("-artifact_prefix=", ::testing::TempDir());
  setenv(kTargetVariable, target.name.c_str(), /*overwrite=*/1);
  execl(program.c_str(), program.c_str(), time.c_str(), crashes.c_str(),
        "-rss_limit_mb=2048", nullptr);
  std::perror(program.c_str());
  std::abort();
}

// Ends the process, with 0 if the target has no defect.
void Fuzz(const FuzzTarget& target) {
  if (LLVMFuzzerMutate != nullptr) BecomeLibFuzzer(target);
  const std::vector<std::string> corpus = ReplayCorpus(target);
  const int mutations = ReplayMutations(target, corpus);
  std::printf("%s: %zu corpus inputs, %d mutations\n", target.name.c_str(),
              corpus.size(), mutations);
  std::fflush(nullptr);
  // Threads of the target's servers may still work: their data must not be
  // destroyed under them.
  _exit(0);
}

// Targets with a defect, which prove that one fails the run.
FUZZ_TEXT(defect_in_corpus, 1, "tests/testdata/spec/ports/*") {
  Require(text.empty());
}

FUZZ_TEXT(defect_in_mutation, 1, "tests/testdata/spec/ports/*") {
  for (const char c : text) Require(absl::ascii_isascii(c));
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const FuzzTarget& target : FuzzTargets()) {
    if (!absl::StartsWith(target.name, kDefective)) {
      names.push_back(target.name);
    }
  }
  return names;
}

class FuzzTest : public ::testing::TestWithParam<std::string> {};

TEST_P(FuzzTest, FindsNoDefect) {
  EXPECT_EXIT(Fuzz(*FindFuzzTarget(GetParam())), ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(Target, FuzzTest, ::testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

TEST(FuzzTargetsTest, AreAllRegistered) { EXPECT_EQ(Names().size(), kTargets); }

TEST(FuzzTargetsTest, FailForADefectInACorpusFileAndNameIt) {
  const FuzzTarget& target = *FindFuzzTarget("defect_in_corpus");
  EXPECT_DEATH(Fuzz(target), CorpusOf(target).front());
}

TEST(FuzzTargetsTest, FailForADefectInAMutation) {
  EXPECT_DEATH(Fuzz(*FindFuzzTarget("defect_in_mutation")),
               "its corpus has no defect");
}

TEST(FuzzTargetsTest, ReplayEveryFileOfTheirCorpus) {
  static auto* const seen = new std::multiset<std::string>();
  FuzzTarget target = *FindFuzzTarget("port_set");
  target.run = [](absl::string_view input) { seen->emplace(input); };
  std::multiset<std::string> expected = {""};
  for (const std::string& file : CorpusOf(target)) {
    expected.insert(TestData(file));
  }
  ReplayCorpus(target);
  EXPECT_THAT(*seen, ContainerEq(expected));
}

// Of the test's data; tests/readers has the records for itself.
std::set<std::string> FilesGiven() {
  std::set<std::string> files;
  for (const char* folder : {"tests/testdata", "tests/readers/capture_seeds",
                             "tests/readers/seeds"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             folder,
             std::filesystem::directory_options::follow_directory_symlink)) {
      if (!entry.is_regular_file()) continue;
      const std::string path = entry.path().string();
      if (!absl::StartsWith(path, "tests/testdata/hccn_tool/captures")) {
        files.insert(path);
      }
    }
  }
  return files;
}

TEST(FuzzTargetsTest, HaveACorpusAndEveryFileIsInOne) {
  std::set<std::string> used;
  for (const std::string& name : Names()) {
    const FuzzTarget& target = *FindFuzzTarget(name);
    EXPECT_THAT(target.corpus, Not(IsEmpty())) << name;
    for (const std::string& pattern : target.corpus) {
      EXPECT_THAT(FilesOf(pattern), Not(IsEmpty())) << name << ": " << pattern;
    }
    for (std::string& file : CorpusOf(target)) used.insert(std::move(file));
  }
  EXPECT_THAT(used, ContainerEq(FilesGiven()));
}

// libFuzzer's arguments: ours first, so that those of the command line count.
std::vector<char*> ArgumentsFor(const FuzzTarget& target, int argc,
                                char** argv) {
  static auto* const seeds = new std::string(
      absl::StrCat("-seed_inputs=", absl::StrJoin(CorpusOf(target), ",")));
  // A program with a mutator would begin with the longest inputs.
  static char length[] = "-len_control=100";
  std::vector<char*> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, seeds->data());
  if (target.mutate == nullptr) {
    arguments.insert(arguments.begin() + 1, length);
  }
  return arguments;
}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const char* const name = getenv(kTargetVariable);
  if (name == nullptr) {
    ::testing::InitGoogleTest(argc, *argv);
    exit(RUN_ALL_TESTS());
  }
  Chosen() = FindFuzzTarget(name);
  if (Chosen() == nullptr) {
    std::fprintf(stderr, "%s=%s: expected one of %s\n", kTargetVariable, name,
                 absl::StrJoin(Names(), ", ").c_str());
    exit(2);
  }
  // By itself libFuzzer does not name the file with the defect.
  ReplayCorpus(*Chosen());
  static auto* const arguments =
      new std::vector<char*>(ArgumentsFor(*Chosen(), *argc, *argv));
  *argc = static_cast<int>(arguments->size());
  arguments->push_back(nullptr);
  *argv = arguments->data();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Chosen()->run(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned seed) {
  return Chosen()->mutate == nullptr
             ? LLVMFuzzerMutate(data, size, max_size)
             : Chosen()->mutate(data, size, max_size, seed);
}

}  // namespace
}  // namespace clusterd
