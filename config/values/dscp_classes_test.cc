#include "config/values/dscp_classes.h"

#include <gtest/gtest.h>

#include "config/values/value_error.h"

namespace clusterd {
namespace {

std::string Canonical(absl::string_view text) {
  const auto classes = ParseDscpClasses(text);
  return classes.ok() ? DscpClassesText(*classes)
                      : std::string(classes.status().message());
}

TEST(DscpClassesTest, SortsAndLeavesOutClassNought) {
  EXPECT_EQ(Canonical("46:2,3:0,33:1"), "33:1,46:2");
  EXPECT_EQ(Canonical("63:3,0:1"), "0:1,63:3");
  EXPECT_EQ(Canonical("33:0"), "0:0");
  EXPECT_EQ(Canonical("0:0"), "0:0");
  // Refuses input that is not a map or names a DSCP twice.
  for (const char* const text :
       {"", "33", "64:1", "1:4", "033:1", "33:1,", "33:1,33:1", "33:0,33:1",
        "33:1 46:2", "-1:1", "33:1\n", "4294967297:1"}) {
    EXPECT_FALSE(ParseDscpClasses(text).ok()) << text;
  }
  EXPECT_EQ(ParseDscpClasses("33:1,64:1").status(),
            WrongValue("value-dscp", "64:1"));
}

}  // namespace
}  // namespace clusterd
