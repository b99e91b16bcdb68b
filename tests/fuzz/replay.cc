#include "tests/fuzz/replay.h"

#include <glob.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <utility>

#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

constexpr int kMutations = 5000;
constexpr size_t kMaxInputBytes = 1 << 16;
constexpr std::chrono::seconds kMaxTime(20);

std::string MutateBytes(std::string input, std::mt19937& random) {
  const int edits = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < edits; ++i) {
    const size_t at = input.empty() ? 0 : random() % input.size();
    switch (random() % 4) {
      case 0:
        input.insert(at, 1, static_cast<char>(random() % 256));
        break;
      case 1:
        if (!input.empty()) input.erase(at, 1 + random() % 8);
        break;
      case 2:
        if (!input.empty()) input[at] = static_cast<char>(random() % 256);
        break;
      default:
        input.insert(at, input.substr(at, random() % 32));
    }
  }
  return input;
}

std::string Mutate(const FuzzTarget& target, std::string input,
                   std::mt19937& random) {
  if (target.mutate == nullptr) return MutateBytes(std::move(input), random);
  const size_t size = input.size();
  input.resize(std::max(size, kMaxInputBytes));
  input.resize(target.mutate(reinterpret_cast<uint8_t*>(input.data()), size,
                             input.size(), static_cast<unsigned>(random())));
  return input;
}

}  // namespace

std::vector<std::string> FilesOf(const std::string& pattern) {
  glob_t found = {};
  // Not finding any is an answer; the caller judges it.
  glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv,
                                 found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return files;
}

std::vector<std::string> CorpusOf(const FuzzTarget& target) {
  std::vector<std::string> files;
  for (const std::string& pattern : target.corpus) {
    for (std::string& file : FilesOf(pattern)) files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> ReplayCorpus(const FuzzTarget& target) {
  std::vector<std::string> inputs = {""};
  target.run(inputs.back());
  for (const std::string& path : CorpusOf(target)) {
    std::fprintf(stderr, "%s: %s\n", target.name.c_str(), path.c_str());
    std::ifstream file(path, std::ios::binary);
    Require(file.is_open());
    inputs.emplace_back(std::istreambuf_iterator<char>(file),
                        std::istreambuf_iterator<char>());
    target.run(inputs.back());
  }
  std::fprintf(stderr, "%s: its corpus has no defect\n", target.name.c_str());
  return inputs;
}

int ReplayMutations(const FuzzTarget& target,
                    const std::vector<std::string>& corpus) {
  std::mt19937 random(20260101);
  const auto end = std::chrono::steady_clock::now() + target.effort * kMaxTime;
  int mutations = 0;
  while (mutations < target.effort * kMutations &&
         std::chrono::steady_clock::now() < end) {
    target.run(Mutate(target, corpus[random() % corpus.size()], random));
    ++mutations;
  }
  return mutations;
}

}  // namespace clusterd
