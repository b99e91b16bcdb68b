#include "client/print/count_text.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(CountOfTest, ChoosesTheNounByTheNumber) {
  EXPECT_EQ(CountOf(0, "host", "hosts"), "0 hosts");
  EXPECT_EQ(CountOf(1, "host", "hosts"), "1 host");
  EXPECT_EQ(CountOf(2, "host", "hosts"), "2 hosts");
}

}  // namespace
}  // namespace clusterd
