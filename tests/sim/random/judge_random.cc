// judge_random: judges random clusters and prints wrong judgements.
//   judge_random --seed 1 --count 10000
//   judge_random --seed 4711 --count 1 --verbose   one that failed
#include <time.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "tests/sim/random/random_cluster.h"

namespace clusterd {
namespace {

struct Flags {
  uint64_t seed = 1;
  uint64_t count = 10000;
  uint64_t shown = 20;
  bool verbose = false;
  RandomOptions options;
};

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) / 1e9;
}

int Run(const Flags& flags) {
  uint64_t wrong = 0;
  uint64_t servers = 0;
  uint64_t healthy = 0;
  std::map<std::string, uint64_t> made;  // Variations and faults.
  const double start = ThreadSeconds();
  for (uint64_t i = 0; i < flags.count; ++i) {
    const RandomCluster cluster =
        MakeRandomCluster(flags.seed + i, flags.options);
    servers += cluster.facts.size();
    healthy += cluster.faults.empty() ? 1 : 0;
    for (const std::string& name : cluster.variations) ++made[name];
    for (const PlacedFault& fault : cluster.faults) ++made[fault.kind->name];
    const std::vector<std::string> lines = Misjudged(cluster, flags.options);
    if (flags.verbose || (!lines.empty() && wrong < flags.shown)) {
      std::cout << Describe(cluster) << "\n";
      for (const std::string& line : lines) std::cout << "  " << line << "\n";
    }
    wrong += lines.empty() ? 0 : 1;
  }
  for (const auto& [name, count] : made) {
    std::cout << count << " x " << name << "\n";
  }
  std::cout << flags.count << " clusters, " << servers << " servers, "
            << healthy << " without a fault, " << wrong << " judged wrongly, "
            << ThreadSeconds() - start << " s\n";
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  clusterd::Flags flags;
  std::vector<std::string> without;
  std::vector<std::string> only;
  CLI::App app("Judges random clusters, and says what is judged wrongly.");
  app.add_option("--seed", flags.seed, "of the first cluster");
  app.add_option("--count", flags.count, "how many clusters");
  app.add_option("--shown", flags.shown, "wrong ones that are printed");
  app.add_option("--max-servers", flags.options.max_servers)
      ->check(CLI::Range(2, 1152));
  app.add_option("--max-faults", flags.options.max_faults);
  app.add_option("--without", without,
                 "variations, faults, rules that are left out")
      ->delimiter(',');
  app.add_option("--only", only, "no other variation and fault")
      ->delimiter(',');
  app.add_flag("--verbose", flags.verbose, "describe every cluster");
  CLI11_PARSE(app, argc, argv);
  flags.options.without.insert(without.begin(), without.end());
  flags.options.only.insert(only.begin(), only.end());
  return clusterd::Run(flags);
}
