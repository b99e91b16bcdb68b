#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

// The tests' clock is at 2025-01-01 00:00 UTC.
constexpr int64_t kNowMs = 1735689600000;

Waiver LinkWaiver() {
  Waiver waiver;
  waiver.set_id("3fa2c4d5");
  waiver.set_rule("link");
  waiver.add_hosts("n1");
  waiver.add_devices(3);
  waiver.set_reason("cable ordered");
  waiver.set_owner("spiffe://demo/user/ann/role/operator");
  waiver.set_until_ms(kNowMs + 7200000);
  return waiver;
}

ProgramWorld WorldWithOne() {
  ProgramWorld world;
  *world.script.waived.mutable_waiver() = LinkWaiver();
  return world;
}

TEST(WaiveCommandTest, AsksForWhatItsOptionsSay) {
  ProgramWorld world = WorldWithOne();
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output =
      RunProgram({"waive", "link", "n[1-2]", "--devices", "3,0-1", "--until",
                  "2h", "--reason", "cable ordered"},
                 world);
  EXPECT_EQ(output.status, 0) << output.err;
  ASSERT_TRUE(controller.waive_request().has_value());
  const WaiveRequest asked = *controller.waive_request();
  EXPECT_EQ(asked.rule(), "link");
  EXPECT_EQ(asked.hosts(), "n[1-2]");
  EXPECT_EQ(asked.devices(), "3,0-1");
  EXPECT_EQ(asked.until(), "2h");
  EXPECT_EQ(asked.reason(), "cable ordered");
  EXPECT_EQ(output.out,
            "3fa2c4d5: link on n1 device 3 until 2025-01-01 02:00 UTC by ann: "
            "cable ordered\n");
}

TEST(WaiveCommandTest, MaintenanceIsAWaiverOfItsRule) {
  ProgramWorld world = WorldWithOne();
  FakeController controller(world.script);
  world.controller = &controller;
  EXPECT_EQ(RunProgram({"maintenance", "n3", "--until", "2025-01-03T10:00Z",
                        "--reason", "fans"},
                       world)
                .status,
            0);
  ASSERT_TRUE(controller.waive_request().has_value());
  EXPECT_EQ(controller.waive_request()->rule(), "maintenance");
}

TEST(WaiveCommandTest, TellsEveryMistakeOfTheControllersAnswer) {
  ProgramWorld world = WorldWithOne();
  world.script.waive_status = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                                           "rule \"lnik\"\nuntil: \"soon\"");
  const ProgramOutput output = RunProgram(
      {"waive", "lnik", "n9", "--until", "soon", "--reason", "x"}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_TRUE(absl::StrContains(output.err, ": rule \"lnik\"\n") &&
              absl::StrContains(output.err, "waive: until: \"soon\"\n"))
      << output.err;
  EXPECT_EQ(RunProgram({"waive", "link", "n1", "--reason", "x"}, world).status,
            3);
  EXPECT_EQ(RunProgram({"maintenance", "n1", "--until", "2h"}, world).status,
            3);
}

TEST(WaiveCommandTest, EmptyValuesAreForTheControllerToNameWithTheOthers) {
  ProgramWorld world = WorldWithOne();
  FakeController controller(world.script);
  world.controller = &controller;
  EXPECT_EQ(
      RunProgram({"waive", "lnik", "n9", "--until", "", "--reason="}, world)
          .status,
      0);
  ASSERT_TRUE(controller.waive_request().has_value());
  EXPECT_EQ(controller.waive_request()->until(), "");
  EXPECT_EQ(controller.waive_request()->reason(), "");
}

TEST(WaiveCommandTest, RoleThatIsNotEnoughIsStatus2) {
  ProgramWorld world = WorldWithOne();
  world.script.waive_status =
      grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "needs operator");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"waive", "link", "n1", "--until", "2h",
                                 "--reason", "x"},
        std::vector<std::string>{"unwaive", "3fa2c4d5"}}) {
    const ProgramOutput output = RunProgram(arguments, world);
    EXPECT_EQ(output.status, 2);
    EXPECT_TRUE(absl::StrContains(output.err, "needs operator"));
  }
}

TEST(UnwaiveCommandTest, SaysWhatItEnded) {
  const ProgramOutput output =
      RunProgram({"unwaive", "3fa2c4d5"}, WorldWithOne());
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_TRUE(absl::StartsWith(output.out, "ended 3fa2c4d5: link on n1"))
      << output.out;
}

TEST(WaiversCommandTest, ListsEachWithItsStateAndEscapesReasons) {
  ProgramWorld world = WorldWithOne();
  world.script.waivers.set_now_ms(kNowMs);
  *world.script.waivers.add_waivers() = LinkWaiver();
  Waiver& ended = *world.script.waivers.add_waivers();
  ended = LinkWaiver();
  ended.clear_id();
  ended.clear_hosts();
  ended.clear_devices();
  ended.set_until_ms(kNowMs);
  ended.set_reason("a\x1b[31mb\n9: all is well");
  const ProgramOutput output = RunProgram({"waivers"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.out,
            "3fa2c4d5: link on n1 device 3 until 2025-01-01 02:00 UTC by ann: "
            "cable ordered (in force)\n"
            "cluster.yaml: link on every host until 2025-01-01 00:00 UTC by "
            "ann: a\\x1b[31mb\\n9: all is well (ended)\n");
  const ProgramOutput json = RunProgram({"waivers", "-o", "json"}, world);
  ListWaiversResponse response;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(json.out, &response).ok())
      << json.out;
  EXPECT_EQ(response.waivers_size(), 2);
  EXPECT_EQ(RunProgram({"waivers"}, ProgramWorld()).out, "nothing is waived\n");
}

}  // namespace
}  // namespace clusterd
