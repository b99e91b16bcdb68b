#include "daemon/controller/gate/call_roles.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/plan/applied_drift.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor_database.h"
#include "gtest/gtest.h"
#include "proto/agent_hub.pb.h"
#include "proto/controller.pb.h"
#include "proto/trust.pb.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::IsEmpty, ::testing::SizeIs;
using Methods =
    std::map<std::string, const google::protobuf::MethodDescriptor*>;

// Maps "Controller.Check" to its method, for every service that is linked into
// this program; it finds a new service without a change here.
Methods AllMethods() {
  // Link them even if nothing else here uses them.
  AgentMessage::descriptor();
  CheckRequest::descriptor();
  JoinRequest::descriptor();
  const google::protobuf::DescriptorPool& pool =
      *google::protobuf::DescriptorPool::generated_pool();
  std::vector<std::string> files;
  google::protobuf::DescriptorPool::internal_generated_database()
      ->FindAllFileNames(&files);
  Methods methods;
  for (const std::string& name : files) {
    const auto* const file = pool.FindFileByName(name);
    if (file == nullptr || file->package() != "clusterd") continue;
    for (int i = 0; i < file->service_count(); ++i) {
      const auto* const service = file->service(i);
      for (int j = 0; j < service->method_count(); ++j) {
        const auto* const method = service->method(j);
        methods[absl::StrCat(service->name(), ".", method->name())] = method;
      }
    }
  }
  return methods;
}

SpiffeId User(Role role) {
  return {"demo", IdentityKind::kUser, "alice", role};
}

TEST(CallRolesTest, EveryMethodHasOneRowAndEveryRowAMethod) {
  Methods missing = AllMethods();
  EXPECT_EQ(missing.count("Controller.ApplyPlan"), 1u);
  EXPECT_EQ(missing.count("AgentHub.Attach"), 1u);
  EXPECT_EQ(missing.count("LocalAgent.RunHook"), 1u);
  for (const CallRole& row : AllCallRoles()) {
    const std::string name = absl::StrCat(row.service, ".", row.method);
    EXPECT_EQ(missing.erase(name), 1u) << name << ": twice, or no such method";
  }
  EXPECT_THAT(missing, IsEmpty()) << missing.begin()->first;
}

TEST(CallRolesTest, FieldsThatChangeARoleAreOfTheRequest) {
  const Methods methods = AllMethods();
  for (const CallRole& row : AllCallRoles()) {
    if (row.field.empty()) continue;
    const auto* const method =
        methods.at(absl::StrCat(row.service, ".", row.method));
    const auto* const field =
        method->input_type()->FindFieldByName(std::string(row.field));
    ASSERT_NE(field, nullptr) << row.method << ": no field " << row.field;
    EXPECT_FALSE(field->is_repeated());
    EXPECT_NE(row.role, row.role_if_set);
  }
}

TEST(CallRolesTest, ForceNeedsAnAdmin) {
  ApplyPlanRequest request;
  const SpiffeId user = User(Role::kOperator);
  EXPECT_TRUE(CheckCallRole("Controller", "ApplyPlan", request, user).ok());
  request.set_force(true);
  EXPECT_THAT(CheckCallRole("Controller", "ApplyPlan", request, user),
              Fails(absl::StatusCode::kPermissionDenied,
                    HasText("ApplyPlan with force: ")));
  EXPECT_TRUE(
      CheckCallRole("Controller", "ApplyPlan", request, User(Role::kAdmin))
          .ok());
}

TEST(CallRolesTest, HookMayAskAboutAJobAndNothingElse) {
  CheckRequest request;
  EXPECT_THAT(CheckCallRole("Controller", "Check", request, User(Role::kHook)),
              Fails(absl::StatusCode::kPermissionDenied,
                    HasText("Check without job: ")));
  request.mutable_job();
  EXPECT_TRUE(
      CheckCallRole("Controller", "Check", request, User(Role::kHook)).ok());
  std::vector<std::string> allowed;
  for (const CallRole& row : AllCallRoles()) {
    if (row.caller != Caller::kUser) continue;
    if (CheckCallRole(row.service, row.method, request, User(Role::kHook))
            .ok()) {
      allowed.emplace_back(row.method);
    }
  }
  EXPECT_THAT(allowed, SizeIs(1));
}

TEST(CallRolesTest, RefusesViewersWhoPlanAndCallsWithoutARow) {
  // Histories and journals mark the controller's own changes by this name.
  EXPECT_FALSE(ParseSpiffeId("spiffe://demo/user/clusterd-controller").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(
      CheckCallRole("Controller", "Plan", PlanRequest(), User(Role::kViewer))));
  EXPECT_TRUE(absl::IsInternal(CheckCallRole(
      "Controller", "Format", CheckRequest(), User(Role::kAdmin))));
  EXPECT_TRUE(absl::IsInternal(
      CheckCallRole("AgentHub", "Attach", CheckRequest(), User(Role::kAdmin))));
}

}  // namespace
}  // namespace clusterd
