#include "config/hccl/job_variables.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(HcclDataTypeTest, KnowsWhatPeopleCallThemAndHasNoOthers) {
  EXPECT_EQ(HcclDataType("bfp16"), "bfp16");
  EXPECT_EQ(HcclDataType("bf16"), "bfp16");
  EXPECT_EQ(HcclDataType("BFloat16"), "bfp16");
  EXPECT_EQ(HcclDataType("float16"), "fp16");
  EXPECT_EQ(HcclDataType("float"), "fp32");
  for (const char* name : {"", "fp8", "int", "int4", "bf16 "}) {
    EXPECT_EQ(HcclDataType(name), "") << name;
  }
}

TEST(HcclDataTypesTest, AreTheirOwnNames) {
  for (const absl::string_view type : HcclDataTypes()) {
    EXPECT_EQ(HcclDataType(type), type);
  }
}

}  // namespace
}  // namespace clusterd
