// A host's name stays with the attached machine while that answers and runs.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/words/message.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/controller/attached_machines.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// The decision about a second stream.
class Decision {
 public:
  // Returns 0 while undecided.
  absl::StatusOr<uint64_t> Attach(AttachedHosts* hosts, Attachment second) {
    second.decided = [this](const absl::StatusOr<uint64_t>& session) {
      EXPECT_FALSE(later_.has_value()) << "a second word";
      later_ = session;
    };
    return hosts->Attach(std::move(second));
  }
  const std::optional<absl::StatusOr<uint64_t>>& later() const {
    return later_;
  }

 private:
  std::optional<absl::StatusOr<uint64_t>> later_;
};

std::string ConflictOf(AttachedHosts& hosts, const std::string& name) {
  return ValueText(hosts.Entry(SpecOf({name}), name).conflict_words());
}

using HostClaimsTest = LoggedHostsTest;

TEST_F(HostClaimsTest, ReplacesStreamOfTheSameMachineThatAnswersNoMore) {
  const auto old_link = std::make_shared<FakeLink>();
  const auto first = hosts_.Attach(Machine("a", "m", "1", old_link));
  Answer answer;
  hosts_.Observe(Ask("a"), answer.Expect());
  Decision decision;
  EXPECT_EQ(decision.Attach(&hosts_, Machine("a", "m", "1")).value(), 0u);
  EXPECT_TRUE(old_link->sent.back().task().has_ping());
  EXPECT_FALSE(decision.later().has_value());
  EXPECT_FALSE(old_link->closed.has_value());
  scheduler_.Advance(HostLimits().ask);
  ASSERT_TRUE(decision.later().has_value() && decision.later()->ok());
  EXPECT_TRUE(old_link->closed.has_value());
  EXPECT_TRUE(answer.arrived());
  // The old stream's end does not affect the new one.
  hosts_.Detach(*first, ToFindingValue("closed"));
  EXPECT_TRUE(hosts_.IsAttached("a"));
  EXPECT_EQ(ConflictOf(hosts_, "a"), "");
}

// Its pong is queued behind many other messages.
TEST_F(HostClaimsTest, StreamThatSaysAnythingAtAllLives) {
  const auto link = std::make_shared<FakeLink>();
  const auto session = hosts_.Attach(Machine("a", "m", "1", link));
  Decision decision;
  ASSERT_EQ(*decision.Attach(&hosts_, Machine("a", "m", "1")), 0u);
  ASSERT_TRUE(hosts_.OnDrift(*session, DriftReport()).ok());
  scheduler_.Advance(HostLimits().ask);
  ASSERT_TRUE(decision.later().has_value());
  EXPECT_TRUE(absl::IsFailedPrecondition(decision.later()->status()));
  EXPECT_FALSE(link->closed.has_value());
}

// A copied certificate, with the machine's ids, which are not secret there.
TEST_F(HostClaimsTest, StreamThatLivesIsNotReplacedBySomebodyWithItsIds) {
  const int64_t now_s = absl::ToUnixSeconds(scheduler_.Now());
  const auto link = std::make_shared<FakeLink>();
  Attachment real = Machine("a", "m", "1", link);
  real.hello.set_booted_at_s(now_s - 1000);
  const auto session = hosts_.Attach(real);
  for (const char* boot_id : {"1", "2"}) {
    Attachment thief = Machine("a", "m", boot_id);
    thief.hello.set_booted_at_s(now_s - 10);
    Decision decision;
    ASSERT_EQ(*decision.Attach(&hosts_, thief), 0u);
    // A third one is refused at once.
    EXPECT_TRUE(absl::IsUnavailable(hosts_.Attach(thief).status()));
    TaskResult pong;
    pong.set_task_id(link->sent.back().task().task_id());
    pong.set_pong(true);
    ASSERT_TRUE(hosts_.OnResult(*session, pong).ok());
    ASSERT_TRUE(decision.later().has_value());
    EXPECT_TRUE(absl::IsFailedPrecondition(decision.later()->status()));
    EXPECT_FALSE(link->closed.has_value());
    EXPECT_THAT(ConflictOf(hosts_, "a"),
                HasSubstr(absl::StrCat("(boot id ", boot_id, ") was refused")));
  }
  Answer answer;
  const uint64_t task = hosts_.Observe(Ask("a"), answer.Expect());
  ASSERT_TRUE(hosts_.OnResult(*session, FactsFor(task)).ok());
  EXPECT_NE(answer.facts().conflict(), "") << "for rule host-identity";
}

// Also an older clusterd without ping, or a busy one.
TEST_F(HostClaimsTest, AnyAnswerSaysThatAStreamLives) {
  HostLimits limits;
  limits.max_pending = 1;
  AttachedHosts hosts(&scheduler_, &log_, limits);
  const auto link = std::make_shared<FakeLink>();
  const auto session = hosts.Attach(Machine("a", "m", "1", link));
  Answer busy;
  hosts.Observe(Ask("a"), busy.Expect());
  Decision decision;
  ASSERT_EQ(*decision.Attach(&hosts, Machine("a", "m", "1")), 0u);
  TaskResult unknown;
  unknown.set_task_id(link->sent.back().task().task_id());
  unknown.set_unsupported("what is ping?");
  ASSERT_TRUE(hosts.OnResult(*session, unknown).ok());
  EXPECT_FALSE(decision.later()->ok());
  hosts.Detach(*session, ToFindingValue("closed"));
}

TEST_F(HostClaimsTest, StreamThatEndsWhileItIsAskedGivesTheNameAtOnce) {
  const auto session = hosts_.Attach(Machine("a", "m", "1"));
  Decision decision;
  ASSERT_EQ(*decision.Attach(&hosts_, Machine("a", "m", "1")), 0u);
  hosts_.Detach(*session, ToFindingValue("the connection broke"));
  ASSERT_TRUE(decision.later().has_value());
  ASSERT_TRUE(decision.later()->ok());
  EXPECT_NE(**decision.later(), *session);
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(HostClaimsTest, NameThatIsBoundIsNobodyElses) {
  Attachment other = Machine("a", "m2", "1");
  other.bound_to = "m1";
  EXPECT_TRUE(absl::IsPermissionDenied(hosts_.Attach(other).status()));
  ASSERT_TRUE(hosts_.Attach(Machine("a", "m1", "1")).ok());
  const absl::Status refused = hosts_.Attach(other).status();
  EXPECT_THAT(refused, HasText("clusterctl certificates reset a"));
  EXPECT_THAT(ConflictOf(hosts_, "a"),
              Tells("hub-conflict-machine", kAny, kAny, kAny, "m2"));
}

// The scheduler begins at the first day of 2024.
constexpr int64_t kDay = 24 * 3600;
constexpr int64_t kNow = 1704067200;

Attachment BootedAt(int64_t booted_at_s, const std::string& machine_id = "m") {
  Attachment attachment =
      Machine("a", machine_id, absl::StrCat("boot", booted_at_s));
  attachment.hello.set_booted_at_s(booted_at_s);
  return attachment;
}

// The machine is back before its old stream has missed its pings.
TEST_F(HostClaimsTest, MachineThatHasRestartedTakesOverASilentStream) {
  const Attachment before = BootedAt(kNow - 3 * kDay);
  ASSERT_TRUE(hosts_.Attach(before).ok());
  Answer answer;
  hosts_.Observe(Ask("a"), answer.Expect());
  Decision decision;
  ASSERT_EQ(*decision.Attach(&hosts_, BootedAt(kNow - kDay)), 0u);
  scheduler_.Advance(HostLimits().ask);
  ASSERT_TRUE(decision.later().has_value() && decision.later()->ok());
  EXPECT_TRUE(answer.arrived());
  EXPECT_TRUE(
      std::static_pointer_cast<FakeLink>(before.link)->closed.has_value());
  EXPECT_EQ(ConflictOf(hosts_, "a"), "");
  // A copy of the machine that has run for longer is not its restart.
  EXPECT_FALSE(hosts_.Attach(BootedAt(kNow - 2 * kDay)).ok());
  EXPECT_THAT(
      ConflictOf(hosts_, "a"),
      HasSubstr(absl::StrCat("(boot id boot", kNow - 2 * kDay, ") was")));
}

TEST_F(HostClaimsTest, BootTimesThatTellNothingKeepNobodyOutNorIn) {
  constexpr int64_t kNever = int64_t{1} << 62;
  for (const int64_t absurd : {kNever, -kNever, kNow + 301, int64_t{1000}}) {
    ManualScheduler scheduler;
    CapturedLog log;
    AttachedHosts hosts(&scheduler, &log);
    ASSERT_TRUE(hosts.Attach(BootedAt(kNow - kDay)).ok());
    EXPECT_FALSE(hosts.Attach(BootedAt(absurd)).ok()) << absurd;
    // A first host with such a time does not block a true start for good.
    AttachedHosts taken(&scheduler, &log);
    ASSERT_TRUE(taken.Attach(BootedAt(absurd)).ok());
    EXPECT_EQ(*taken.Attach(BootedAt(kNow - kDay)), 0u) << absurd;
    scheduler.Advance(HostLimits().ask);
    EXPECT_TRUE(taken.IsAttached("a"));
  }
}

TEST_F(HostClaimsTest, LaterStartOfWhatMayBeAnotherMachineIsRefused) {
  const std::pair<Attachment, Attachment> cases[] = {
      {BootedAt(kNow - kDay, "m1"), BootedAt(kNow, "m2")},
      {BootedAt(kNow - kDay, ""), BootedAt(kNow, "")},
      {BootedAt(0), BootedAt(kNow)},
      {BootedAt(kNow - kDay), BootedAt(0)}};
  for (const auto& [first, second] : cases) {
    ManualScheduler scheduler;
    CapturedLog log;
    AttachedHosts hosts(&scheduler, &log);
    ASSERT_TRUE(hosts.Attach(first).ok());
    EXPECT_FALSE(hosts.Attach(second).ok());
  }
}

TEST_F(HostClaimsTest, RefusesSecondMachineAndReportsConflict) {
  for (const bool same_machine_id : {false, true}) {
    ManualScheduler scheduler;
    CapturedLog log;
    AttachedHosts hosts(&scheduler, &log);
    const auto link = std::make_shared<FakeLink>();
    const auto first = hosts.Attach(Machine("a", "m1", "boot1", link));
    const auto second =
        hosts.Attach(Machine("a", same_machine_id ? "m1" : "m2", "boot2"));
    EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_FALSE(link->closed.has_value());
    EXPECT_THAT(ConflictOf(hosts, "a"),
                same_machine_id
                    ? Tells("hub-conflict-boot", kAny, kAny, kAny, "boot2")
                    : Tells("hub-conflict-machine", kAny, kAny, kAny, "m2"));
    Answer answer;
    const uint64_t task = hosts.Observe(Ask("a"), answer.Expect());
    ASSERT_TRUE(hosts.OnResult(*first, FactsFor(task)).ok());
    EXPECT_THAT(answer.facts().conflict(), HasSubstr("10.0.0.1:5000 ("));
  }
}

TEST_F(HostClaimsTest, ForgetsConflictWhenTheSecondMachineStopsTrying) {
  ASSERT_TRUE(hosts_.Attach(Machine("a", "m1", "1")).ok());
  ASSERT_FALSE(hosts_.Attach(Machine("a", "m2", "1")).ok());
  scheduler_.Advance(absl::Minutes(4));
  EXPECT_EQ(ConflictOf(hosts_, "a"), "");
}

TEST_F(HostClaimsTest, ForgetsConflictOfMachineThatRestarted) {
  const auto before = hosts_.Attach(Machine("a", "m", "boot1"));
  // It is back before the controller has noticed that its old stream is dead.
  EXPECT_FALSE(hosts_.Attach(Machine("a", "m", "boot2")).ok());
  hosts_.Detach(*before, ToFindingValue("no answer to pings"));
  EXPECT_TRUE(hosts_.Attach(Machine("a", "m", "boot2")).ok());
  EXPECT_EQ(ConflictOf(hosts_, "a"), "");
}

}  // namespace
}  // namespace clusterd
