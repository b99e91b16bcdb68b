#include "absl/strings/str_cat.h"
#include "config/hccl/job_ports.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

std::string PortsOf(absl::string_view version) {
  const std::optional<CannPorts> ports = CannPortsOf(version);
  return ports ? absl::StrCat(ports->certain, " of ", ports->possible) : "none";
}

TEST(CannPortsOfTest, KnowsTheVersionsWhoseNumberIsPublished) {
  EXPECT_EQ(PortsOf("5.0.4"), "16 of 16");
  EXPECT_EQ(PortsOf("8.0.0"), "16 of 16");
  EXPECT_EQ(PortsOf("8.2.RC1"), "32 of 32");
  EXPECT_EQ(PortsOf("8.10.0"), "32 of 32");
  EXPECT_EQ(PortsOf("9.0.0.beta1"), "32 of 32");
}

TEST(CannPortsOfTest, IsOpenWhereNobodyPublishedIt) {
  EXPECT_EQ(PortsOf("8.1.RC1"), "16 of 32");
}

TEST(CannPortsOfTest, TakesNoOtherTextForAVersion) {
  for (const char* text : {"", "8", "newest", "8.2 ", "12345.0"}) {
    EXPECT_EQ(PortsOf(text), "none") << text;
  }
}

}  // namespace
}  // namespace clusterd
