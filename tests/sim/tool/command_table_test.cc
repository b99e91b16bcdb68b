#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/tool/commands.h"

namespace clusterd::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsNull;
using ::testing::NotNull;

TEST(FindCommandTest, AllDevicesHaveRecoveryOnly) {
  EXPECT_THAT(FindCommand("-cfg", true, Product::Build::kA2), NotNull());
  EXPECT_THAT(FindCommand("-ip", true, Product::Build::kA2), IsNull());
}

TEST(FindCommandTest, PublishedBuildLacksTheProductsList) {
  EXPECT_THAT(FindCommand("-ping", false, Product::Build::kA2), NotNull());
  EXPECT_THAT(FindCommand("-ping", false, Product::Build::kA2Default),
              IsNull());
  EXPECT_THAT(FindCommand("-ip", false, Product::Build::kA2Default), NotNull());
}

TEST(FindCommandTest, NameIsTakenWhole) {
  EXPECT_THAT(FindCommand("ip", false, Product::Build::kA2), IsNull());
  EXPECT_THAT(FindCommand("-backup_ip", false, Product::Build::kA2), IsNull());
}

TEST(ToolUsageTest, NamesEveryCommand) {
  EXPECT_THAT(ToolUsage(), HasSubstr("-netdetect -g | -s address A"));
}

}  // namespace
}  // namespace clusterd::sim
