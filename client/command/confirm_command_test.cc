#include <string>

#include "absl/strings/str_cat.h"
#include "config/values/version.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kRun[] = "3fa2c4d5e6f70812";
constexpr int64_t kNoon = 1700000000000;
constexpr char kNoonText[] = "2023-11-14 22:13:20 UTC";

// The line about the apply.
std::string LineWith(const FindingValue& how) {
  return absl::StrCat(Say("apply-named", kRun, how), "\n");
}

ConfirmResponse ResponseWith(Confirmation::State state) {
  ConfirmResponse response;
  response.set_schema_version(1);
  response.set_run_id(kRun);
  response.mutable_confirmation()->set_state(state);
  response.mutable_confirmation()->set_deadline_ms(kNoon);
  response.mutable_confirmation()->set_confirmed_by("bob");
  return response;
}

TEST(ConfirmCommandTest, SaysThatItStaysAndByWhom) {
  ProgramWorld world;
  world.script.confirmed = ResponseWith(Confirmation::CONFIRMED);
  WatchedController controller(world);
  EXPECT_THAT(RunProgram({"confirm", "3fa2"}, world),
              Ends(0, Out(LineWith(Worded("apply-confirmed", "bob")))));
  EXPECT_EQ(controller.confirmed_id(), "3fa2");
}

TEST(ConfirmCommandTest, IsNotDoneWhileSomethingIsWaitedFor) {
  ProgramWorld world;
  world.script.confirmed = ResponseWith(Confirmation::PENDING);
  world.script.confirmed.mutable_confirmation()->set_confirmed_at_ms(1);
  world.script.confirmed.mutable_confirmation()->set_waits_for("node07");
  EXPECT_THAT(
      RunProgram({"confirm", "3fa2"}, world),
      Ends(2, Out(LineWith(Worded("apply-reverts-unless-checked", kNoonText,
                                  Worded("apply-waits-for", "node07"))))));
  EXPECT_THAT(HelpOfStatus("confirm", 2), HasSubstr("the apply still waits"));
}

TEST(ConfirmCommandTest, IsNotDoneWhileAHostIsNotNotified) {
  ProgramWorld world;
  world.script.confirmed = ResponseWith(Confirmation::CONFIRMED);
  world.script.confirmed.mutable_confirmation()->add_pending("node07");
  EXPECT_THAT(
      RunProgram({"confirm", "3fa2"}, world),
      Ends(2,
           Out(LineWith(Worded("apply-confirmed-partly", "bob", "node07")))));
}

TEST(ConfirmCommandTest, JsonHasASchemaVersion) {
  ProgramWorld world;
  world.script.confirmed = ResponseWith(Confirmation::CONFIRMED);
  const auto response = FromJson<ConfirmResponse>(
      RunProgram({"confirm", "3fa2", "-o", "json"}, world).out);
  EXPECT_EQ(response.schema_version(), kReportSchemaVersion);
  EXPECT_EQ(response.confirmation().state(), Confirmation::CONFIRMED);
}

TEST(ExtendCommandTest, SaysWhenItRevertsNow) {
  ProgramWorld world;
  world.script.confirmed = ResponseWith(Confirmation::PENDING);
  WatchedController controller(world);
  EXPECT_THAT(RunProgram({"extend", "3fa2", "10m"}, world),
              Ends(0, Out(LineWith(Worded("apply-reverts-unless-confirmed",
                                          kNoonText, "", kRun)))));
  ASSERT_TRUE(controller.extend_request().has_value());
  EXPECT_EQ(controller.extend_request()->id(), "3fa2");
  EXPECT_EQ(controller.extend_request()->by_ms(), 600000u);
}

TEST(ExtendCommandTest, TakesNoTimeThatIsNone) {
  ProgramWorld world;
  for (const char* wrong : {"soon", "59s", "25h"}) {
    EXPECT_THAT(RunProgram({"extend", "3fa2", wrong}, world),
                Ends(3, Err(HasSubstr("DURATION"))))
        << wrong;
  }
}

}  // namespace
}  // namespace clusterd
