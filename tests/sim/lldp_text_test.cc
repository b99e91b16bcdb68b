#include "tests/sim/lldp_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd::sim {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SwitchNeighbourTextTest, NamesSwitchAndPort) {
  SwitchPort port;
  port.switch_name = "leaf-03";
  port.port = "400GE1/0/7";
  port.number = 4;
  const std::string text = SwitchNeighbourText(port);
  EXPECT_THAT(text, HasSubstr("Port ID TLV\n\tIfname: 400GE1/0/7\n"));
  EXPECT_THAT(text, HasSubstr("System Name TLV\n\tleaf-03\n"));
  EXPECT_THAT(text, HasSubstr("Versatile Routing Platform"));
  EXPECT_THAT(text, EndsWith("End of LLDPDU TLV"));
}

TEST(NpuNeighbourTextTest, IsNoSwitch) {
  EXPECT_THAT(NpuNeighbourText(2), HasSubstr("AscendNPU"));
  EXPECT_THAT(NpuNeighbourText(2), Not(HasSubstr("Routing")));
}

TEST(LongNeighbourTextTest, IsLongerThanTheToolPassesOn) {
  EXPECT_GT(LongNeighbourText(0).size(), 1999u);
}

}  // namespace
}  // namespace clusterd::sim
