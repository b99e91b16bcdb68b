#include "config/words/waiver_text.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::EndsWith, ::testing::HasSubstr, ::testing::StartsWith;

// The tests' clock is at 2025-01-01 00:00 UTC.
constexpr int64_t kNowMs = 1735689600000;

Waiver LinkWaiver() {
  auto waiver = FromText<Waiver>(R"(
      id: "3fa2c4d5" rule: "link" hosts: "n1" devices: 3
      reason: "cable ordered" owner: "spiffe://demo/user/ann/role/operator")");
  waiver.set_until_ms(kNowMs + 7200000);
  return waiver;
}

ProgramWorld WorldWithOne() {
  ProgramWorld world;
  *world.script.waived.mutable_waiver() = LinkWaiver();
  return world;
}

FindingValue LineOf(const char* id, const Waiver& waiver) {
  return Worded("waiver-line", id, WaivedWords(waiver), WaiverWords(waiver));
}

TEST(WaiveCommandTest, AsksForWhatItsOptionsSay) {
  ProgramWorld world = WorldWithOne();
  WatchedController controller(world);
  EXPECT_THAT(RunProgram({"waive", "link", "n[1-2]", "--devices", "3,0-1",
                          "--until", "2h", "--reason", "cable ordered"},
                         world),
              Ends(0, Out(ValueText(LineOf("3fa2c4d5", LinkWaiver())) + "\n")));
  ASSERT_TRUE(controller.waive_request().has_value());
  const WaiveRequest asked = *controller.waive_request();
  EXPECT_EQ(asked.rule(), "link");
  EXPECT_EQ(asked.hosts(), "n[1-2]");
  EXPECT_EQ(asked.devices(), "3,0-1");
  EXPECT_EQ(asked.until(), "2h");
  EXPECT_EQ(asked.reason(), "cable ordered");
}

TEST(WaiveCommandTest, MaintenanceIsAWaiverOfItsRule) {
  ProgramWorld world = WorldWithOne();
  WatchedController controller(world);
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
  world.script.waive_status = {grpc::StatusCode::INVALID_ARGUMENT,
                               "rule \"lnik\"\nuntil: \"soon\""};
  EXPECT_THAT(
      RunProgram({"waive", "lnik", "n9", "--until", "soon", "--reason", "x"},
                 world),
      Ends(3, Err(HasSubstr(": rule \"lnik\"\n")),
           Err(HasSubstr("waive: until: \"soon\"\n"))));
  EXPECT_EQ(RunProgram({"waive", "link", "n1", "--reason", "x"}, world).status,
            3);
  EXPECT_EQ(RunProgram({"maintenance", "n1", "--until", "2h"}, world).status,
            3);
}

TEST(WaiveCommandTest, EmptyValuesAreForTheControllerToNameWithTheOthers) {
  ProgramWorld world = WorldWithOne();
  WatchedController controller(world);
  EXPECT_EQ(
      RunProgram({"waive", "lnik", "n9", "--until", "", "--reason="}, world)
          .status,
      0);
  ASSERT_TRUE(controller.waive_request().has_value());
  EXPECT_EQ(controller.waive_request()->until(), "");
  EXPECT_EQ(controller.waive_request()->reason(), "");
}

TEST(UnwaiveCommandTest, SaysWhatItEnded) {
  EXPECT_THAT(RunProgram({"unwaive", "3fa2c4d5"}, WorldWithOne()),
              Ends(0, Out(StartsWith("ended 3fa2c4d5: link on n1"))));
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
  EXPECT_THAT(RunProgram({"waivers"}, world),
              Ends(0,
                   Out(StartsWith(Say("waivers-in-force",
                                      LineOf("3fa2c4d5", LinkWaiver())))),
                   Out(HasSubstr("\ncluster.yaml: link on every host")),
                   Out(EndsWith(Say("waivers-ended",
                                    "ann: a\\x1b[31mb\\n9: all is well") +
                                "\n"))));
  const ProgramOutput json = RunProgram({"waivers", "-o", "json"}, world);
  EXPECT_EQ(FromJson<ListWaiversResponse>(json.out).waivers_size(), 2);
  EXPECT_EQ(RunProgram({"waivers"}, ProgramWorld()).out, "nothing is waived\n");
}

}  // namespace
}  // namespace clusterd
