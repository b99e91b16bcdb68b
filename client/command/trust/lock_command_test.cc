#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not, ::testing::StartsWith;

LockEntry LockOf(const std::string& identity, const std::string& reason) {
  LockEntry lock;
  lock.set_identity(identity);
  lock.set_by("spiffe://demo/user/ann/role/admin");
  lock.set_since_ms(1735689600000);
  lock.set_reason(reason);
  return lock;
}

FindingValue WordsOf(const LockEntry& lock) {
  return Worded(lock.reason().empty() ? "lock" : "lock-with-reason",
                lock.identity(), "2025-01-01 00:00:00 +00:00", lock.by(),
                lock.reason());
}

TEST(LockCommandTest, SaysWhoIsLockedAndHowManyStreamsEnded) {
  ProgramWorld world;
  *world.script.locked.mutable_lock() = LockOf("host/node07", "stolen");
  world.script.locked.set_ended(1);
  WatchedController controller(world);
  EXPECT_THAT(RunProgram({"lock", "node07", "--reason", "stolen"}, world),
              Ends(0, Out(absl::StrCat(
                          Say("lock-made", WordsOf(world.script.locked.lock()),
                              Counted(1, "stream")),
                          "\n"))));
  ASSERT_TRUE(controller.lock_request().has_value());
  EXPECT_EQ(controller.lock_request()->identity(), "node07");
  EXPECT_EQ(controller.lock_request()->reason(), "stolen");
}

TEST(LockCommandTest, LockThatIsNotOnDiskIsStatus1AndSaysSo) {
  ProgramWorld world;
  *world.script.locked.mutable_lock() = LockOf("user/eve", "");
  world.script.locked.set_not_on_disk("no space");
  EXPECT_THAT(RunProgram({"lock", "user/eve"}, world),
              Ends(1, Err(HasSubstr("user/eve: no space\n")),
                   Out(StartsWith("user/eve: locked since"))));
}

TEST(LockCommandTest, ReasonThatIsTooLongIsWrongUsage) {
  ProgramWorld world;
  EXPECT_THAT(
      RunProgram({"lock", "node07", "--reason", std::string(201, 'x')}, world),
      Ends(3, Err(HasSubstr("expected at most 200"))));
}

TEST(UnlockCommandTest, SaysWhatTheLockWas) {
  ProgramWorld world;
  *world.script.unlocked.mutable_lock() = LockOf("user/alice", "");
  EXPECT_THAT(
      RunProgram({"unlock", "user/alice", "-o", "short"}, world),
      Ends(0, Out(absl::StrCat(
                  Say("lock-ended", WordsOf(world.script.unlocked.lock())),
                  "\n"))));
}

TEST(LocksCommandTest, ListsEachWithItsReason) {
  ProgramWorld world;
  *world.script.locks.add_locks() = LockOf("host/node07", "stolen\x1b[31m");
  *world.script.locks.add_locks() = LockOf("user/alice", "");
  EXPECT_THAT(RunProgram({"locks"}, world),
              Ends(0, Out(HasSubstr("\nuser/alice: locked")),
                   Out(Not(HasSubstr("\x1b")))));
  EXPECT_EQ(RunProgram({"locks", "-o", "short"}, world).out,
            Say("locks-count", 2) + ": host/node07, user/alice\n");
  const ProgramOutput json = RunProgram({"locks", "-o", "json"}, world);
  EXPECT_EQ(FromJson<ListLocksResponse>(json.out).locks_size(), 2);
}

TEST(LocksCommandTest, SaysThatNobodyIs) {
  ProgramWorld world;
  EXPECT_EQ(RunProgram({"locks"}, world).out, "no locks\n");
}

}  // namespace
}  // namespace clusterd
