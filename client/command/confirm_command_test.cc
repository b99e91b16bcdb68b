#include <string>

#include "config/values/version.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNoon = 1700000000000;

ConfirmResponse ResponseWith(Confirmation::State state) {
  ConfirmResponse response;
  response.set_schema_version(1);
  response.set_run_id("3fa2c4d5e6f70812");
  response.mutable_confirmation()->set_state(state);
  response.mutable_confirmation()->set_deadline_ms(kNoon);
  response.mutable_confirmation()->set_confirmed_by("bob");
  return response;
}

TEST(ConfirmCommandTest, SaysThatItStaysAndByWhom) {
  ProgramWorld world;
  world.script.confirmed = ResponseWith(Confirmation::CONFIRMED);
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram({"confirm", "3fa2"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(controller.confirmed_id(), "3fa2");
  EXPECT_EQ(output.out, "apply 3fa2c4d5e6f70812: confirmed by bob\n");
}

TEST(ConfirmCommandTest, IsNotDoneWhileSomethingIsWaitedFor) {
  ProgramWorld world;
  world.script.confirmed = ResponseWith(Confirmation::PENDING);
  world.script.confirmed.mutable_confirmation()->set_confirmed_at_ms(1);
  world.script.confirmed.mutable_confirmation()->set_waits_for(
      "node07 to attach again");
  const ProgramOutput output = RunProgram({"confirm", "3fa2"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_EQ(
      output.out,
      "apply 3fa2c4d5e6f70812: rolls back at 2023-11-14 22:13:20 UTC "
      "unless its check passes first; waits for node07 to attach again\n");
  EXPECT_THAT(HelpOfStatus("confirm", 2), HasSubstr("the apply still waits"));
}

TEST(ConfirmCommandTest, IsNotDoneWhileAHostIsNotTold) {
  ProgramWorld world;
  world.script.confirmed = ResponseWith(Confirmation::CONFIRMED);
  world.script.confirmed.mutable_confirmation()->add_untold("node07");
  const ProgramOutput output = RunProgram({"confirm", "3fa2"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_THAT(output.out,
              HasSubstr("confirmed by bob; not yet notified: node07"));
}

TEST(ConfirmCommandTest, SaysWhyItIsRefused) {
  ProgramWorld world;
  world.script.confirm_status =
      grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                   "apply 3fa2c4d5e6f70812 of ann: its deadline has passed, so "
                   "its hosts roll "
                   "back");
  const ProgramOutput output = RunProgram({"confirm", "3fa2"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(output.err, HasSubstr("its deadline has passed"));
  world.script.confirm_status =
      grpc::Status(grpc::StatusCode::NOT_FOUND, "no entry 3fa2");
  EXPECT_EQ(RunProgram({"confirm", "3fa2"}, world).status, 3);
}

TEST(ConfirmCommandTest, JsonHasASchemaVersion) {
  ProgramWorld world;
  world.script.confirmed = ResponseWith(Confirmation::CONFIRMED);
  const ProgramOutput output =
      RunProgram({"confirm", "3fa2", "-o", "json"}, world);
  ConfirmResponse response;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(output.out, &response).ok())
      << output.out;
  EXPECT_EQ(response.schema_version(), kReportSchemaVersion);
  EXPECT_EQ(response.confirmation().state(), Confirmation::CONFIRMED);
}

TEST(ExtendCommandTest, SaysWhenItGoesBackNow) {
  ProgramWorld world;
  world.script.confirmed = ResponseWith(Confirmation::PENDING);
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram({"extend", "3fa2", "10m"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  ASSERT_TRUE(controller.extend_request().has_value());
  EXPECT_EQ(controller.extend_request()->id(), "3fa2");
  EXPECT_EQ(controller.extend_request()->by_ms(), 600000u);
  EXPECT_EQ(output.out,
            "apply 3fa2c4d5e6f70812: rolls back at 2023-11-14 22:13:20 "
            "UTC; to keep it, run: clusterctl confirm 3fa2c4d5e6f70812\n");
}

TEST(ExtendCommandTest, TakesNoTimeThatIsNone) {
  ProgramWorld world;
  for (const char* wrong : {"soon", "59s", "25h"}) {
    const ProgramOutput output = RunProgram({"extend", "3fa2", wrong}, world);
    EXPECT_EQ(output.status, 3) << wrong;
    EXPECT_THAT(output.err, HasSubstr("DURATION")) << wrong;
  }
}

}  // namespace
}  // namespace clusterd
