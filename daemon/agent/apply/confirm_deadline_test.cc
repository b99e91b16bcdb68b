#include "daemon/agent/apply/journal_contents.h"
#include "gtest/gtest.h"
#include "tests/support/apply/apply_scenarios.h"

namespace clusterd {
namespace {

constexpr absl::Duration kWithin = absl::Minutes(5);

// Ten minutes after boot, at noon.
const HostTime& Begin() {
  static const HostTime* const begin = new HostTime{
      "boot-1", absl::Minutes(10), absl::FromUnixSeconds(1700000000)};
  return *begin;
}

// `passed` later in the same boot, after the clock was set by `jump`.
HostTime Later(absl::Duration passed, absl::Duration jump) {
  return {"boot-1", Begin().since_boot + passed, Begin().wall + passed + jump};
}

// A minute after the next boot.
HostTime Rebooted(absl::Duration passed, absl::Duration jump) {
  return {"boot-2", absl::Minutes(1), Begin().wall + passed + jump};
}

absl::Duration Left(const HostTime& now) {
  return TimeLeft(MakeDeadline(Begin(), kWithin, kWithin, "ada"), now);
}

TEST(ConfirmDeadlineTest, IsWhenTheTimeOfThisBootHasPassed) {
  EXPECT_EQ(Left(Begin()), kWithin);
  EXPECT_EQ(Left(Later(absl::Minutes(4), absl::ZeroDuration())),
            absl::Minutes(1));
  EXPECT_EQ(Left(Later(kWithin, absl::ZeroDuration())), absl::ZeroDuration());
  EXPECT_EQ(Left(Later(absl::Hours(1), absl::ZeroDuration())),
            absl::ZeroDuration());
}

TEST(ConfirmDeadlineTest, MindsNoClockThatIsSetWithinABoot) {
  for (const absl::Duration jump : {absl::Hours(24), -absl::Hours(24)}) {
    EXPECT_EQ(Left(Later(absl::Minutes(4), jump)), absl::Minutes(1));
    EXPECT_EQ(Left(Later(kWithin, jump)), absl::ZeroDuration());
  }
}

TEST(ConfirmDeadlineTest, GoesByTheWallClockAfterABoot) {
  EXPECT_EQ(Left(Rebooted(absl::Minutes(4), absl::ZeroDuration())),
            absl::Minutes(1));
  EXPECT_EQ(Left(Rebooted(kWithin, absl::ZeroDuration())),
            absl::ZeroDuration());
  // A machine without a battery starts in 1970: never further than at first.
  EXPECT_EQ(Left(Rebooted(absl::Minutes(4), -absl::Hours(24 * 365 * 50))),
            kWithin);
  // It is now if the boot is unknown.
  HostTime now = Begin();
  now.boot_id.clear();
  EXPECT_EQ(Left(now), absl::ZeroDuration());
  EXPECT_FALSE(IsOfThisBoot(MakeDeadline(now, kWithin, kWithin, ""), now));
}

TEST(ConfirmDeadlineTest, ReadsWhichBootItIs) {
  const auto scenario = OpenUfwScenario();
  const MachineAccess access = scenario->Access();
  EXPECT_EQ(ReadHostTime(access.files, access.clock).boot_id, "boot-1");
  scenario->machine.PowerCycle();
  EXPECT_EQ(ReadHostTime(access.files, access.clock).boot_id, "boot-2");
}

TEST(ConfirmDeadlineTest, TheMachinesOwnClockDoesNotStandStill) {
  SystemClock clock;
  const absl::Duration before = clock.SinceBoot();
  EXPECT_GT(before, absl::ZeroDuration());
  EXPECT_GE(clock.SinceBoot(), before);
}

}  // namespace
}  // namespace clusterd
