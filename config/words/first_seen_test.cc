#include <string>

#include "config/words/subject_text.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(FirstMetTest, KeepsTheOrderAndOneValuePerKey) {
  FirstSeen<std::string, int> counts;
  for (const char* word : {"b", "a", "b"}) ++counts[word];
  std::string text;
  for (const auto& [word, count] : counts) {
    text += word + std::to_string(count);
  }
  EXPECT_EQ(text, "b2a1");
  EXPECT_EQ(counts.size(), 2u);
}

}  // namespace
}  // namespace clusterd
