#include "absl/strings/match.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

LockEntry LockOf(const std::string& identity, const std::string& reason) {
  LockEntry lock;
  lock.set_identity(identity);
  lock.set_by("spiffe://demo/user/ann/role/admin");
  lock.set_since_ms(1735689600000);
  lock.set_reason(reason);
  return lock;
}

TEST(LockCommandTest, SaysWhoIsLockedAndHowManyStreamsEnded) {
  ProgramWorld world;
  *world.script.locked.mutable_lock() = LockOf("host/node07", "stolen");
  world.script.locked.set_ended(1);
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output =
      RunProgram({"lock", "node07", "--reason", "stolen"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  ASSERT_TRUE(controller.lock_request().has_value());
  EXPECT_EQ(controller.lock_request()->identity(), "node07");
  EXPECT_EQ(controller.lock_request()->reason(), "stolen");
  EXPECT_TRUE(absl::StartsWith(output.out, "host/node07: locked since 2025-01"))
      << output.out;
  EXPECT_TRUE(absl::EndsWith(
      output.out,
      " by spiffe://demo/user/ann/role/admin: stolen (1 stream ended)\n"))
      << output.out;
}

TEST(LockCommandTest, LockThatIsNotOnDiskIsStatus1AndSaysSo) {
  ProgramWorld world;
  *world.script.locked.mutable_lock() = LockOf("user/eve", "");
  world.script.locked.set_not_on_disk("the lock is in memory alone: no space");
  const ProgramOutput output = RunProgram({"lock", "user/eve"}, world);
  EXPECT_EQ(output.status, 1);
  EXPECT_TRUE(absl::StartsWith(output.out, "user/eve: locked since 2025-01"))
      << output.out;
  EXPECT_TRUE(absl::StrContains(
      output.err, "user/eve: the lock is in memory alone: no space\n"))
      << output.err;
}

TEST(LockCommandTest, ReasonThatIsTooLongIsWrongUsage) {
  ProgramWorld world;
  const ProgramOutput output =
      RunProgram({"lock", "node07", "--reason", std::string(201, 'x')}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_TRUE(absl::StrContains(output.err, "expected at most 200"))
      << output.err;
}

TEST(LockCommandTest, UnknownHostIsStatus3AndRoleThatIsNotEnough2) {
  for (const auto& [code, status] :
       {std::make_pair(grpc::StatusCode::NOT_FOUND, 3),
        std::make_pair(grpc::StatusCode::INVALID_ARGUMENT, 3),
        std::make_pair(grpc::StatusCode::PERMISSION_DENIED, 2)}) {
    ProgramWorld world;
    world.script.lock_status = grpc::Status(code, "not like this");
    for (const std::string command : {"lock", "unlock"}) {
      const ProgramOutput output = RunProgram({command, "noed07"}, world);
      EXPECT_EQ(output.status, status) << command;
      EXPECT_TRUE(absl::StrContains(output.err, "not like this"));
    }
  }
}

TEST(UnlockCommandTest, SaysWhatTheLockWas) {
  ProgramWorld world;
  *world.script.unlocked.mutable_lock() = LockOf("user/alice", "");
  const ProgramOutput output =
      RunProgram({"unlock", "user/alice", "-o", "short"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_TRUE(absl::StartsWith(output.out, "unlocked user/alice: locked since"))
      << output.out;
}

TEST(LocksCommandTest, ListsEachWithItsReason) {
  ProgramWorld world;
  *world.script.locks.add_locks() = LockOf("host/node07", "stolen\x1b[31m");
  *world.script.locks.add_locks() = LockOf("user/alice", "");
  const ProgramOutput table = RunProgram({"locks"}, world);
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_TRUE(absl::StrContains(table.out, "\nuser/alice: locked since 2025"));
  EXPECT_FALSE(absl::StrContains(table.out, "\x1b")) << table.out;
  EXPECT_EQ(RunProgram({"locks", "-o", "short"}, world).out,
            "2 locked: host/node07, user/alice\n");
  const ProgramOutput json = RunProgram({"locks", "-o", "json"}, world);
  ListLocksResponse response;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(json.out, &response).ok())
      << json.out;
  EXPECT_EQ(response.locks_size(), 2);
}

TEST(LocksCommandTest, SaysThatNobodyIs) {
  ProgramWorld world;
  EXPECT_EQ(RunProgram({"locks"}, world).out, "no locks\n");
}

}  // namespace
}  // namespace clusterd
