#include "config/spec/product_profile.h"

#include <gmock/gmock.h>

#include <tuple>

#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::IsEmpty, ::testing::Not,
    ::testing::SizeIs;

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
  // Every profile names its reasons.
  for (const ProductProfile& profile : AllProductProfiles()) {
    EXPECT_THAT(profile.title, Not(IsEmpty())) << profile.name;
    for (const ReservedSubnet& reserved : profile.reserved) {
      EXPECT_THAT(reserved.why, Not(IsEmpty())) << profile.name;
    }
  }
  // An empty mode takes the default.
  EXPECT_EQ(Profile("atlas-training").mode, "smp");
  EXPECT_EQ(Profile("atlas-training", "amp").mode, "amp");
  EXPECT_EQ(Profile("atlas-a2").mode, "");
  EXPECT_THAT(Profile("atlas-training").device_ids,
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(ProductProfileTest, DevicesSubnetPlanAndSizeFollowTheProduct) {
  const std::tuple<const char*, size_t, SubnetPlan, uint32_t> kProducts[] = {
      {"atlas-training", 8, SubnetPlan::kPairs, 512},
      {"atlas-a2", 8, SubnetPlan::kShared, 1152},
      {"atlas-a2-box16", 16, SubnetPlan::kShared, 1152},
      {"atlas-a3", 16, SubnetPlan::kShared, 1152},
      {"atlas-a3-superpod", 16, SubnetPlan::kFree, 1152},
      {"atlas-300t", 0, SubnetPlan::kShared, 0},
      {"ascend-950", 8, SubnetPlan::kShared, 0}};
  for (const auto& [product, devices, plan, servers] : kProducts) {
    EXPECT_THAT(Profile(product).device_ids, SizeIs(devices)) << product;
    EXPECT_EQ(Profile(product).subnet_plan, plan) << product;
    EXPECT_EQ(Profile(product).max_servers, servers) << product;
  }
  EXPECT_EQ(Profile("atlas-training", "amp").subnet_plan,
            SubnetPlan::kPerServer);
  // Host VNIC range is refused by every product.
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
  // A3 refuses more inside a super pod.
  EXPECT_TRUE(Refuses(Profile("atlas-a3"), "192.168.7.255"));
  EXPECT_FALSE(Refuses(Profile("atlas-a3"), "192.168.8.0"));
  EXPECT_FALSE(Refuses(Profile("atlas-a3"), "192.168.100.101"));
  EXPECT_TRUE(Refuses(Profile("atlas-a3-superpod"), "192.168.100.101"));
  EXPECT_FALSE(Refuses(Profile("atlas-a3-superpod"), "193.0.0.0"));
  // Only Ascend 950 has the other command line.
  for (const ProductProfile& profile : AllProductProfiles()) {
    EXPECT_EQ(profile.generation, profile.name == "ascend-950"
                                      ? NpuToolFacts::ASCEND_950
                                      : NpuToolFacts::CLASSIC)
        << profile.name;
  }
}

TEST(ProductProfileTest, UnknownNamesAreNotFoundAndNameTheNearest) {
  const struct {
    const char* product;
    const char* mode;
    Telling error;
  } kUnknown[] = {
      {"atlas-A33", "",
       Tells("msg-spec-product", "atlas-A33",
             "atlas-training, atlas-a2, atlas-a2-box16, atlas-a3, "
             "atlas-a3-superpod, atlas-300t, ascend-950",
             "did-you-mean", "atlas-a3")},
      {"atlas-training", "snp",
       Tells("msg-spec-mode", "snp", "atlas-training", "smp, amp",
             "did-you-mean", "smp")},
      {"atlas-a2", "smp", Tells("msg-spec-no-modes", "smp", "atlas-a2")},
  };
  for (const auto& unknown : kUnknown) {
    const absl::Status status =
        FindProductProfile(unknown.product, unknown.mode).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(status, unknown.error);
  }
}

}  // namespace
}  // namespace clusterd
