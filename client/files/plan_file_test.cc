#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/files/user_files.h"
#include "config/identity/regular_file.h"
#include "config/plan/make_plan.h"
#include "config/plan/settings.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "tests/support/client/sample_plan.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

std::string PathOf(const std::string& name) {
  return absl::StrCat(
      testing::TempDir(), "/",
      testing::UnitTest::GetInstance()->current_test_info()->name(), "-", name);
}

std::string FileOf(const std::string& name, const std::string& content) {
  std::ofstream(PathOf(name), std::ios::binary) << content;
  return PathOf(name);
}

std::string Parsed(const ClusterPlan& plan) {
  const auto again = ParsePlanFile(PlanFileText(plan).value());
  EXPECT_TRUE(again.ok()) << again.status();
  return again->SerializeAsString();
}

TEST(PlanFileTest, KeepsEveryStepAndTheDigestThroughTheFile) {
  const ClusterPlan plan = EveryStepPlan();
  EXPECT_EQ(Parsed(plan), plan.SerializeAsString());
  for (int step = 0; step < plan.hosts(0).steps_size(); ++step) {
    ClusterPlan one = SysctlPlan({"server0"});
    one.mutable_hosts(0)->clear_steps();
    *one.mutable_hosts(0)->add_steps() = plan.hosts(0).steps(step);
    Reseal(one);
    EXPECT_EQ(Parsed(one), one.SerializeAsString())
        << one.hosts(0).ShortDebugString();
  }
}

TEST(PlanFileTest, KeepsTheNamespaceThatAPlanIsFor) {
  for (const int kind : {0, 1, 2, 3}) {
    ClusterPlan plan = SysctlPlan({"server0"});
    NetworkNamespace& target =
        *plan.mutable_hosts(0)->mutable_network_namespace();
    if (kind == 1) target.set_container("train-1");
    if (kind == 2) target.set_pid(0);
    if (kind == 3) target.set_path("/run/netns/x");
    Reseal(plan);
    EXPECT_EQ(Parsed(plan), plan.SerializeAsString()) << kind;
  }
}

TEST(PlanFileTest, KnowsEverySettingAndEveryTargetThereIs) {
  const auto* kinds = SettingTarget::descriptor()->FindOneofByName("of");
  const ClusterPlan plan = EveryStepPlan();
  std::set<int> targets;
  std::set<SettingId> settings;
  for (const PlanStep& step : plan.hosts(0).steps()) {
    EXPECT_NE(SettingOf(step), nullptr) << step.ShortDebugString();
    targets.insert(step.target().of_case());
    settings.insert(step.setting());
  }
  EXPECT_EQ(static_cast<int>(targets.size()), kinds->field_count());
  EXPECT_EQ(settings.size(),
            std::size(kDeviceSettingIds) + std::size(kHostSettingIds));
}

TEST(PlanFileTest, IsTheSamePlanInOtherWhiteSpace) {
  const std::string text = PlanFileText(EveryStepPlan()).value();
  const std::string path =
      FileOf("plan.json", absl::StrReplaceAll(text, {{"\n", " \n\t"}}));
  const auto plan = ReadPlanFile(path);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->digest(), EveryStepPlan().digest());
}

TEST(PlanFileTest, DoesNotSaveWhatItsTextWouldLose) {
  ClusterPlan plan = SysctlPlan({"server0"});
  plan.mutable_hosts(0)
      ->mutable_steps(0)
      ->GetReflection()
      ->MutableUnknownFields(plan.mutable_hosts(0)->mutable_steps(0))
      ->AddVarint(999, 1);
  Reseal(plan);
  ASSERT_TRUE(VerifyPlan(plan).ok());
  const auto text = PlanFileText(plan);
  EXPECT_EQ(text.status(), PreconditionWords("msg-plan-has-unknown-fields"));
}

TEST(ReadPlanFileTest, RefusesAnEditedPlan) {
  const std::string text = PlanFileText(SysctlPlan({"server0"})).value();
  const std::string path =
      FileOf("plan.json", absl::StrReplaceAll(text, {{"65535", "1"}}));
  const absl::Status status = ReadPlanFile(path).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(status.message(),
            Say("about", path,
                Worded("msg-plan-digest-differs",
                       SysctlPlan({"server0"}).digest().substr(0, 64))));
}

TEST(ReadPlanFileTest, RefusesAnAddedKeyAndAnotherSchema) {
  const std::string text = PlanFileText(SysctlPlan({"server0"})).value();
  const auto added = ReadPlanFile(FileOf(
      "a",
      absl::StrReplaceAll(text, {{"\"cluster\":", "\"x\": 1, \"cluster\":"}})));
  EXPECT_TRUE(absl::IsInvalidArgument(added.status())) << added.status();
  ClusterPlan newer = SysctlPlan({"server0"});
  newer.set_schema_version(newer.schema_version() + 1);
  Reseal(newer);
  const auto other = ReadPlanFile(FileOf("b", PlanFileText(newer).value()));
  EXPECT_TRUE(absl::IsFailedPrecondition(other.status())) << other.status();
}

TEST(ReadPlanFileTest, SaysThatAFileIsNoPlan) {
  for (const char* text : {"", "{}", "[]", "hello", "{\"hosts\": 3}",
                           "{\"schema_version\": \"x\"}", "{\"a\": 1}"}) {
    const auto plan = ReadPlanFile(FileOf("f", text));
    EXPECT_TRUE(absl::IsInvalidArgument(plan.status())) << text;
    EXPECT_THAT(plan.status().message(), HasSubstr(": is not a plan of"));
  }
  EXPECT_TRUE(absl::IsNotFound(ReadPlanFile("/nonexistent/plan").status()));
}

TEST(WritePlanFileTest, WritesForItsOwnerOnly) {
  const std::string path = PathOf("plan.json");
  const std::string text = PlanFileText(EveryStepPlan()).value();
  ASSERT_TRUE(WriteTextFile(path, text, kOwnerOnly).ok());
  EXPECT_EQ(*ReadTextFile(path), text);
  struct stat info = {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(ReadPlanFile(path)->digest(), EveryStepPlan().digest());
}

TEST(CheckPlanTargetTest, LetsOnlyPlansAndEmptyFilesBeReplaced) {
  const std::string text = PlanFileText(SysctlPlan({"server0"})).value();
  EXPECT_TRUE(CheckPlanTarget(FileOf("plan", text)).ok());
  EXPECT_TRUE(CheckPlanTarget(
                  FileOf("edited", absl::StrReplaceAll(text, {{"65535", "1"}})))
                  .ok());
  EXPECT_TRUE(CheckPlanTarget(FileOf("empty", "")).ok());
  EXPECT_TRUE(CheckPlanTarget(PathOf("absent")).ok());
  EXPECT_TRUE(CheckPlanTarget("/dev/null").ok());
  EXPECT_EQ(CheckPlanTarget("/nonexistent/plan"),
            FileStatus("/nonexistent/plan", ENOENT));
  const std::string notes = FileOf("notes", "my notes\n");
  EXPECT_EQ(CheckPlanTarget(notes),
            PreconditionWords("msg-target-not-a-plan", notes));
}

}  // namespace
}  // namespace clusterd
