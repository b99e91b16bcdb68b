#include "absl/strings/match.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

CancelResponse CancelOf(uint32_t wave, uint32_t at_work, uint32_t left) {
  CancelResponse response;
  response.set_schema_version(1);
  response.set_run_id("3fa2c4d5e6f70812");
  response.set_actor("ann");
  response.mutable_cancelled()->set_actor("bob");
  response.mutable_cancelled()->set_wave(wave);
  response.set_waves(3);
  response.set_at_work(at_work);
  response.set_not_started(left);
  return response;
}

TEST(CancelCommandTest, SaysWhatIsFinishedAndWhatIsLeftOut) {
  ProgramWorld world;
  world.script.cancelled = CancelOf(1, 2, 4);
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram({"cancel", "3fa2"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(controller.cancelled_id(), "3fa2");
  EXPECT_EQ(output.out,
            "apply 3fa2c4d5e6f70812 of ann: cancelled by bob in wave 1 of 3: 2 "
            "hosts finish what is under way, 4 hosts are not started\n"
            "look with: clusterctl show 3fa2c4d5e6f70812\n");
}

TEST(CancelCommandTest, SaysThatTheLastWaveLeavesNothingOut) {
  ProgramWorld world;
  world.script.cancelled = CancelOf(3, 1, 0);
  world.script.cancelled.set_rollback(true);
  EXPECT_EQ(RunProgram({"cancel", "3fa2", "-o", "short"}, world).out,
            "rollback 3fa2c4d5e6f70812 of ann: cancelled by bob in wave 3 of "
            "3, the last: 1 host finishes what is under way, nothing is left "
            "out\n");
}

TEST(CancelCommandTest, JsonHasASchemaVersion) {
  ProgramWorld world;
  world.script.cancelled = CancelOf(1, 2, 4);
  const ProgramOutput output =
      RunProgram({"cancel", "3fa2", "-o", "json"}, world);
  CancelResponse response;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(output.out, &response).ok())
      << output.out;
  EXPECT_EQ(response.schema_version(), 1u);
  EXPECT_EQ(response.cancelled().actor(), "bob");
}

TEST(CancelCommandTest, UnknownOrFinishedRunIsStatus3) {
  for (const grpc::Status& refused :
       {grpc::Status(grpc::StatusCode::NOT_FOUND, "no entry 3fa2"),
        grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                     "apply 3fa2c4d5e6f70812 of ann: is already over")}) {
    ProgramWorld world;
    world.script.cancel_status = refused;
    const ProgramOutput output = RunProgram({"cancel", "3fa2"}, world);
    EXPECT_EQ(output.status, 3);
    EXPECT_EQ(output.out, "");
    EXPECT_TRUE(absl::StrContains(output.err, refused.error_message()))
        << output.err;
  }
  EXPECT_TRUE(
      absl::StrContains(HelpOfStatus("cancel", 3), "that is already over"));
}

TEST(CancelCommandTest, RoleThatIsNotEnoughIsStatus2) {
  ProgramWorld world;
  world.script.cancel_status = grpc::Status(grpc::StatusCode::PERMISSION_DENIED,
                                            "Cancel needs role operator");
  EXPECT_EQ(RunProgram({"cancel", "3fa2"}, world).status, 2);
  EXPECT_TRUE(
      absl::StrContains(HelpOfStatus("cancel", 2), "the role is not enough"));
}

TEST(CancelCommandTest, WrongIdIsNotAsked) {
  ProgramWorld world;
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram({"cancel", "XYZ"}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(controller.cancelled_id(), "");
  EXPECT_TRUE(absl::StrContains(output.err, "ID: \"XYZ\", expected 4 to 16"));
}

}  // namespace
}  // namespace clusterd
