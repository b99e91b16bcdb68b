#include "config/plan/waves.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The number of hosts of each wave.
std::vector<size_t> Sizes(const Waves& waves) {
  std::vector<size_t> sizes;
  for (size_t wave = 0; wave < waves.count(); ++wave) {
    sizes.push_back(waves.begin(wave + 1) - waves.begin(wave));
  }
  return sizes;
}

TEST(WavesTest, HoldEveryHostOnceInOrder) {
  EXPECT_THAT(Sizes(Waves(5, 0, 2)), ElementsAre(2, 2, 1));
  EXPECT_THAT(Sizes(Waves(4, 0, 2)), ElementsAre(2, 2));
  EXPECT_THAT(Sizes(Waves(1, 0, 32)), ElementsAre(1));
  EXPECT_THAT(Sizes(Waves(0, 0, 32)), IsEmpty());
}

TEST(WavesTest, GrowTwofoldBehindACanaryUpToTheirSize) {
  EXPECT_THAT(Sizes(Waves(100, 1, 32)), ElementsAre(1, 2, 4, 8, 16, 32, 32, 5));
  EXPECT_THAT(Sizes(Waves(20, 3, 10)), ElementsAre(3, 6, 10, 1));
  EXPECT_THAT(Sizes(Waves(4, 1, static_cast<size_t>(-1))),
              ElementsAre(1, 2, 1));
}

TEST(WavesTest, CanaryIsAWaveOfItsOwn) {
  EXPECT_THAT(Sizes(Waves(5, 1, 2)), ElementsAre(1, 2, 2));
  EXPECT_THAT(Sizes(Waves(5, 2, 32)), ElementsAre(2, 3));
  EXPECT_THAT(Sizes(Waves(5, 4, 1)), ElementsAre(4, 1));
}

TEST(WavesTest, CanaryOfAllHostsIsTheOnlyWave) {
  EXPECT_THAT(Sizes(Waves(2, 2, 1)), ElementsAre(2));
  EXPECT_THAT(Sizes(Waves(2, 100, 1)), ElementsAre(2));
}

TEST(WavesTest, SizeOfNothingIsOneHostAtATime) {
  EXPECT_THAT(Sizes(Waves(2, 0, 0)), ElementsAre(1, 1));
}

}  // namespace
}  // namespace clusterd
