#include "config/spec/product_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// True if hccn_tool would refuse `address` on the product.
bool Refuses(const ProductProfile& profile, absl::string_view address) {
  for (const ReservedSubnet& reserved : profile.reserved) {
    if (reserved.subnet.Contains(*Ipv4Address::Parse(address))) return true;
  }
  return false;
}

const ProductProfile& Profile(absl::string_view product,
                              absl::string_view mode = "") {
  const absl::StatusOr<const ProductProfile*> profile =
      FindProductProfile(product, mode);
  EXPECT_TRUE(profile.ok()) << profile.status();
  return **profile;
}

TEST(ProductProfileTest, ListsEveryProductWithTheDefaultModeFirst) {
  std::vector<std::string> spellings;
  for (const ProductProfile& profile : AllProductProfiles()) {
    spellings.push_back(profile.mode.empty()
                            ? profile.name
                            : profile.name + "/" + profile.mode);
  }
  EXPECT_THAT(spellings,
              ElementsAre("atlas-training/smp", "atlas-training/amp",
                          "atlas-a2", "atlas-a2-box16", "atlas-a3",
                          "atlas-a3-superpod", "atlas-300t", "ascend-950"));
}

TEST(ProductProfileTest, EveryProfileNamesItsReasons) {
  for (const ProductProfile& profile : AllProductProfiles()) {
    EXPECT_THAT(profile.title, Not(IsEmpty())) << profile.name;
    for (const ReservedSubnet& reserved : profile.reserved) {
      EXPECT_THAT(reserved.why, Not(IsEmpty())) << profile.name;
    }
  }
}

TEST(ProductProfileTest, EmptyModeTakesTheDefault) {
  EXPECT_EQ(Profile("atlas-training").mode, "smp");
  EXPECT_EQ(Profile("atlas-training", "amp").mode, "amp");
  EXPECT_EQ(Profile("atlas-a2").mode, "");
}

TEST(ProductProfileTest, DeviceIdsFollowTheProduct) {
  EXPECT_THAT(Profile("atlas-training").device_ids,
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(Profile("atlas-a2").device_ids, SizeIs(8));
  EXPECT_THAT(Profile("atlas-a2-box16").device_ids, SizeIs(16));
  EXPECT_THAT(Profile("atlas-a3").device_ids, SizeIs(16));
  EXPECT_THAT(Profile("atlas-a3-superpod").device_ids, SizeIs(16));
  EXPECT_THAT(Profile("atlas-300t").device_ids, IsEmpty());
  EXPECT_THAT(Profile("ascend-950").device_ids, SizeIs(8));
}

TEST(ProductProfileTest, SubnetPlanAndSizeFollowTheProduct) {
  EXPECT_EQ(Profile("atlas-training").subnet_plan, SubnetPlan::kPairs);
  EXPECT_EQ(Profile("atlas-training", "amp").subnet_plan,
            SubnetPlan::kPerServer);
  EXPECT_EQ(Profile("atlas-a2").subnet_plan, SubnetPlan::kShared);
  EXPECT_EQ(Profile("atlas-a3").subnet_plan, SubnetPlan::kShared);
  EXPECT_EQ(Profile("atlas-300t").subnet_plan, SubnetPlan::kShared);
  EXPECT_EQ(Profile("ascend-950").subnet_plan, SubnetPlan::kShared);
  EXPECT_EQ(Profile("atlas-a3-superpod").subnet_plan, SubnetPlan::kFree);
  EXPECT_EQ(Profile("atlas-training").max_servers, 512u);
  EXPECT_EQ(Profile("atlas-a2").max_servers, 1152u);
  EXPECT_EQ(Profile("atlas-a3").max_servers, 1152u);
  EXPECT_EQ(Profile("ascend-950").max_servers, 0u);
}

TEST(ProductProfileTest, HostVnicRangeIsRefusedByEveryProduct) {
  for (const ProductProfile& profile : AllProductProfiles()) {
    EXPECT_TRUE(Refuses(profile, "192.168.1.7")) << profile.title;
  }
}

TEST(ProductProfileTest, SmpRefusesThreeMoreRangesThanAmp) {
  const ProductProfile& smp = Profile("atlas-training", "smp");
  const ProductProfile& amp = Profile("atlas-training", "amp");
  EXPECT_TRUE(Refuses(smp, "192.168.2.7"));
  EXPECT_TRUE(Refuses(amp, "192.168.2.7"));
  for (absl::string_view address :
       {"192.168.3.7", "192.168.4.7", "192.168.5.7"}) {
    EXPECT_TRUE(Refuses(smp, address)) << address;
    EXPECT_FALSE(Refuses(amp, address)) << address;
  }
  EXPECT_FALSE(Refuses(smp, "192.168.6.7"));
}

TEST(ProductProfileTest, A3RefusesMoreInsideASuperPod) {
  EXPECT_TRUE(Refuses(Profile("atlas-a3"), "192.168.7.255"));
  EXPECT_FALSE(Refuses(Profile("atlas-a3"), "192.168.8.0"));
  EXPECT_FALSE(Refuses(Profile("atlas-a3"), "192.168.100.101"));
  EXPECT_TRUE(Refuses(Profile("atlas-a3-superpod"), "192.168.100.101"));
  EXPECT_FALSE(Refuses(Profile("atlas-a3-superpod"), "193.0.0.0"));
}

TEST(ProductProfileTest, OnlyAscend950HasTheOtherCommandLine) {
  for (const ProductProfile& profile : AllProductProfiles()) {
    EXPECT_EQ(profile.generation, profile.name == "ascend-950"
                                      ? NpuToolFacts::ASCEND_950
                                      : NpuToolFacts::CLASSIC)
        << profile.name;
  }
}

TEST(ProductProfileTest, UnknownProductNamesTheNearestAndAll) {
  const absl::Status status = FindProductProfile("atlas-A33", "").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("product \"atlas-A33\" is not known"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("atlas-a2-box16, atlas-a3, atlas-a3-superpod"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("did you mean \"atlas-a3\"?"));
}

TEST(ProductProfileTest, UnknownModeNamesTheModesOfTheProduct) {
  const absl::Status status =
      FindProductProfile("atlas-training", "snp").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(status.message()),
            "mode \"snp\" is not known for atlas-training, expected one of "
            "smp, amp, did you mean \"smp\"?");
}

TEST(ProductProfileTest, ModeOfAProductWithoutModesIsNotFound) {
  const absl::Status status = FindProductProfile("atlas-a2", "smp").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(status.message()),
            "mode \"smp\": product atlas-a2 has no modes");
}

}  // namespace
}  // namespace clusterd
