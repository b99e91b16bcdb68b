#include "config/identity/tls_credentials.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

SpiffeId User(Role role) {
  SpiffeId user;
  user.cluster = "demo";
  user.kind = IdentityKind::kUser;
  user.name = "alice";
  user.role = role;
  return user;
}

// The refusal of whole certificates is tested in tests/component.

TEST(RequireRoleTest, EachRoleIncludesTheOnesBeforeIt) {
  const Role roles[] = {Role::kHook, Role::kViewer, Role::kOperator,
                        Role::kAdmin};
  for (const Role has : roles) {
    for (const Role needed : roles) {
      EXPECT_EQ(RequireRole(User(has), needed, "ApplyPlan").ok(), has >= needed)
          << RoleName(has) << " for " << RoleName(needed);
    }
  }
}

TEST(RequireRoleTest, NamesTheRoleNeededAndTheCallers) {
  const absl::Status refused =
      RequireRole(User(Role::kOperator), Role::kAdmin, "ApplyPlan with force");
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(refused.message(),
            "ApplyPlan with force: spiffe://demo/user/alice/role/operator has "
            "the role operator, expected admin");
}

}  // namespace
}  // namespace clusterd
