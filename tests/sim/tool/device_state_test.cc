#include "tests/sim/tool/device_state.h"

#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd::sim {
namespace {

using ::testing::Optional;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::string NewPath(const char* name) {
  const char* folder = getenv("TEST_TMPDIR");
  return absl::StrCat(folder == nullptr ? "/tmp" : folder, "/", name, ".",
                      getpid());
}

TEST(DeviceStateTest, ReadsLinesAndSemicolonsAlike) {
  const DeviceState state =
      DeviceState::Parse("ip.0=10.0.0.1; mask.0=255.255.255.0\nboard_id=0x30");
  EXPECT_THAT(state.values(),
              UnorderedElementsAre(Pair("ip.0", "10.0.0.1"),
                                   Pair("mask.0", "255.255.255.0"),
                                   Pair("board_id", "0x30")));
}

TEST(DeviceStateTest, IgnoresWordsWithoutAValue) {
  const DeviceState state =
      DeviceState::Parse("two cards, ids 1 and 4; ip.4=10.0.0.4; =5;;");
  EXPECT_THAT(state.values(), UnorderedElementsAre(Pair("ip.4", "10.0.0.4")));
}

TEST(DeviceStateTest, KeepsAnEmptyValueApartFromNone) {
  const DeviceState state = DeviceState::Parse("ping.3=");
  EXPECT_THAT(state.Find("ping.3"), Optional(std::string()));
  EXPECT_EQ(state.Find("ping.4"), std::nullopt);
}

TEST(DeviceStateTest, TextOfSpecialCharactersComesBack) {
  DeviceState state;
  const std::string value = "a;b\n\tc\\n = d";
  state.Set("lldp.0", value);
  EXPECT_THAT(DeviceState::Parse(state.Text()).Find("lldp.0"), Optional(value));
}

TEST(DeviceStateTest, NumbersAreDecimalHexOrNegative) {
  const DeviceState state =
      DeviceState::Parse("a=0x30;b=-16;c=010;d=0xffffffff;e=1x;f=");
  EXPECT_THAT(state.Number("a"), Optional(48));
  EXPECT_THAT(state.Number("b"), Optional(-16));
  EXPECT_THAT(state.Number("c"), Optional(10));
  EXPECT_THAT(state.Number("d"), Optional(0xffffffffL));
  EXPECT_EQ(state.Number("e"), std::nullopt);
  EXPECT_EQ(state.Number("f"), std::nullopt);
}

TEST(StateFileTest, MissingFileIsAnEmptyState) {
  EXPECT_EQ(StateFile("/nonexistent/state").Read().Text(), "");
}

TEST(StateFileTest, SaysWhenAChangeCannotBeKept) {
  EXPECT_FALSE(StateFile("/nonexistent/state").Update([](DeviceState& state) {
    state.Set("ip.0", "10.0.0.1");
  }));
}

TEST(StateFileTest, ShorterStateLeavesNothingOfTheLonger) {
  const std::string path = NewPath("shrinks");
  const StateFile file(path);
  ASSERT_TRUE(file.Update(
      [](DeviceState& state) { state.Set("lldp.0", std::string(5000, 'x')); }));
  ASSERT_TRUE(file.Update([](DeviceState& state) { state.Erase("lldp.0"); }));
  EXPECT_EQ(file.Read().Text(), "");
  unlink(path.c_str());
}

TEST(StateFileTest, ConcurrentChangesAreAllKept) {
  const std::string path = NewPath("counts");
  const StateFile file(path);
  constexpr int kThreads = 4, kRounds = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&file] {
      for (int round = 0; round < kRounds; ++round) {
        file.Update([](DeviceState& state) {
          state.Set("n", absl::StrCat(state.Number("n").value_or(0) + 1));
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(file.Read().Number("n"), Optional(kThreads * kRounds));
  unlink(path.c_str());
}

}  // namespace
}  // namespace clusterd::sim
