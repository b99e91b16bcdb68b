#include "daemon/controller/queue/fact_queue.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/process/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/controller/task_link.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Three attached hosts that answer when the test says so.
class FactQueueTest : public testing::Test {
 protected:
  FactQueueTest() {
    for (int i = 0; i < 3; ++i) {
      Attachment attachment;
      attachment.host = absl::StrCat("server", i);
      attachment.hello.set_machine_id(attachment.host);
      links_.push_back(std::make_shared<TaskLink>());
      attachment.link = links_.back();
      sessions_.push_back(*hosts_.Attach(std::move(attachment)));
    }
  }
  ~FactQueueTest() override {
    if (queue_ != nullptr) queue_->Stop();
    pool_.Drain();
  }

  void Start(CallLimits row) {
    CallLimitTable table = kCallLimits;
    table[static_cast<size_t>(row.of)] = row;
    queue_ = std::make_unique<FactQueue>(
        ControllerParts{nullptr, nullptr, &scheduler_, &pool_, &log_, &hosts_},
        table);
    of_ = row.of;
  }
  void Start(size_t at_once, size_t waiting = 64, size_t callers = 64) {
    CallLimits row = kCallLimits[static_cast<size_t>(CallClass::kCheck)];
    row.at_once = at_once;
    row.at_once_of_one = std::max<size_t>(1, at_once / 2);
    row.waiting = waiting;
    row.waiting_of_one = std::max<size_t>(1, waiting / 4);
    row.callers = callers;
    row.callers_of_one = std::max<size_t>(1, callers / 4);
    Start(row);
  }

  FactQueue::Question Question(const std::string& key, const std::string& who) {
    FactQueue::Question question;
    question.of = of_;
    question.key = key;
    question.who = who;
    return question;
  }
  // Notes the end of the call as "KEY: the number of facts" or its error.
  FactQueue::Ticket Ask(const FactQueue::Question& question,
                        const std::vector<std::string>& hosts = {"server0"}) {
    const FactQueue::Ticket ticket = queue_->NewTicket();
    FactQueue::Work<std::string> work;
    work.prepare = [this, hosts, who = question.who] {
      ++prepared_;
      auto order = std::make_shared<FactOrder>();
      order->run_id = NewRunId();
      order->actor = who;
      order->spec = spec_;
      order->hosts = hosts;
      order->judged.emplace();
      return order;
    };
    work.conclude = [key = question.key](const Gathered& gathered) {
      size_t facts = 0;
      for (const HostFacts& host : gathered.facts) {
        if (!host.has_missing()) ++facts;
      }
      return std::make_shared<const std::string>(
          absl::StrCat(key, ": ", facts));
    };
    FactQueue::Caller<std::string> caller;
    caller.on_end = [this, ticket](const auto& end) {
      deepest_ = std::max(deepest_, ++depth_);
      if (leave_at_end_) queue_->Leave(ticket);
      --depth_;
      ends_.push_back(end.ok() ? **end : std::string(end.status().message()));
      codes_.push_back(end.status().code());
    };
    queue_->Ask(ticket, question, std::move(work), std::move(caller));
    return ticket;
  }
  FactQueue::Ticket Ask(const std::string& key, const std::string& who) {
    return Ask(Question(key, who));
  }
  // A host's question about itself, in a run with all hosts.
  FactQueue::Ticket AskAs(const std::string& host, const std::string& key) {
    FactQueue::Question question = Question(key, host);
    question.host = host;
    question.joins_begun = true;
    question.hold_for = absl::Seconds(2);
    return Ask(question, {"server0", "server1", "server2"});
  }
  // The users whose runs ask hosts, oldest first.
  std::vector<std::string> Asking() {
    std::vector<std::string> who;
    for (const RunningCheck& run : queue_->Running()) {
      who.push_back(run.order->actor);
    }
    return who;
  }
  uint32_t PlaceOf(FactQueue::Ticket ticket) {
    return queue_->ProgressOf(ticket).place();
  }
  // All hosts answer their tasks; returns how many tasks each host had.
  std::vector<size_t> Answer() {
    pool_.Drain();
    // Taken before the first answer, which may begin a run that asks others.
    std::vector<std::vector<Task>> taken;
    for (const auto& link : links_) taken.push_back(link->Take());
    std::vector<size_t> asked;
    for (size_t i = 0; i < links_.size(); ++i) {
      asked.push_back(taken[i].size());
      for (const Task& task : taken[i]) {
        TaskResult result;
        result.set_task_id(task.task_id());
        result.mutable_facts();
        EXPECT_TRUE(hosts_.OnResult(sessions_[i], result).ok());
      }
    }
    pool_.Drain();
    return asked;
  }

  ManualScheduler scheduler_;
  CapturedLog log_;
  WorkerPool pool_{1, 64};
  AttachedHosts hosts_{&scheduler_, &log_};
  std::vector<std::shared_ptr<TaskLink>> links_;
  std::vector<AttachedHosts::SessionId> sessions_;
  const std::shared_ptr<const ClusterSpec> spec_ =
      std::make_shared<const ClusterSpec>(MakeSpec("atlas-training", "", 3));
  CallClass of_ = CallClass::kCheck;
  bool leave_at_end_ = false;
  int depth_ = 0;  // Of calls of on_end, one inside another.
  int deepest_ = 0;
  int prepared_ = 0;
  std::vector<std::string> ends_;
  std::vector<absl::StatusCode> codes_;
  std::unique_ptr<FactQueue> queue_;
};

TEST_F(FactQueueTest, NobodyHasMoreThanHalfOfThePlaces) {
  Start(/*at_once=*/4);
  for (const char* key : {"1", "2", "3", "4"}) Ask(key, "ann");
  EXPECT_THAT(Asking(), ElementsAre("ann", "ann"));
  const FactQueue::Ticket last = Ask("5", "ann");
  EXPECT_EQ(PlaceOf(last), 3u);
  const FactQueue::Ticket bobs = Ask("6", "bob");
  EXPECT_THAT(Asking(), ElementsAre("ann", "ann", "bob"));
  EXPECT_EQ(PlaceOf(bobs), 0u);
}

TEST_F(FactQueueTest, NextIsTheUserWithTheFewestRunning) {
  Start(/*at_once=*/2);
  const FactQueue::Ticket first = Ask("1", "ann");
  const FactQueue::Ticket second = Ask("2", "bob");
  Ask("3", "ann");
  Ask("4", "eve");
  EXPECT_THAT(Asking(), ElementsAre("ann", "bob"));
  Answer();
  queue_->Leave(second);
  EXPECT_THAT(Asking(), ElementsAre("eve"));
  queue_->Leave(first);
  EXPECT_THAT(Asking(), ElementsAre("ann", "eve"));
}

TEST_F(FactQueueTest, NobodyHasMoreThanAQuarterOfWhatWaits) {
  Start(/*at_once=*/1, /*waiting=*/8);
  Ask("0", "bob");
  for (const char* key : {"1", "2"}) Ask(key, "ann");
  EXPECT_THAT(ends_, IsEmpty());
  Ask("3", "ann");
  ASSERT_THAT(codes_, ElementsAre(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(ends_[0], Tells("msg-hub-queue-full", kAny, kAny, "ann"));
  // A caller may still join an equal run, and other users have places.
  Ask("1", "ann");
  Ask("3", "bob");
  EXPECT_EQ(ends_.size(), 1u);
}

TEST_F(FactQueueTest, NobodyHasMoreThanAQuarterOfTheCalls) {
  Start(/*at_once=*/1, /*waiting=*/8, /*callers=*/8);
  Ask("0", "bob");
  Ask("1", "ann");
  const FactQueue::Ticket second = Ask("1", "ann");
  EXPECT_THAT(ends_, IsEmpty());
  Ask("1", "ann");
  EXPECT_EQ(ends_.size(), 1u);
  Ask("1", "eve");
  queue_->Leave(second);
  Ask("1", "ann");
  EXPECT_EQ(ends_.size(), 1u);
}

TEST_F(FactQueueTest, OneWhoJoinsTheRunOfAUserWithoutPlacesBringsOne) {
  Start(/*at_once=*/4);
  for (const char* key : {"1", "2", "3"}) Ask(key, "ann");
  EXPECT_THAT(Asking(), ElementsAre("ann", "ann"));
  const FactQueue::Ticket joined = Ask("3", "bob");
  EXPECT_THAT(Asking(), ElementsAre("ann", "ann", "ann"));
  EXPECT_EQ(PlaceOf(joined), 0u);
  EXPECT_EQ(prepared_, 3) << "a shared run is prepared once";
}

TEST_F(FactQueueTest, EqualRunsAskOneAfterTheOther) {
  Start(/*at_once=*/8);
  const FactQueue::Ticket first = Ask("same", "ann");
  const FactQueue::Ticket second = Ask("same", "bob");
  EXPECT_EQ(PlaceOf(first), 0u);
  EXPECT_EQ(PlaceOf(second), 1u) << "its user may just have fixed something";
  Answer();
  EXPECT_THAT(ends_, ElementsAre("same: 1"));
  EXPECT_EQ(PlaceOf(second), 0u);
  EXPECT_EQ(queue_->ProgressOf(first).answered(), 1u) << "until it leaves";
}

TEST_F(FactQueueTest, RunKeepsItsPlaceUntilItsAnswerIsTaken) {
  Start(/*at_once=*/1);
  const FactQueue::Ticket first = Ask("1", "ann");
  Ask("2", "bob");
  const std::string id = queue_->Running()[0].order->run_id;
  EXPECT_EQ(queue_->Find(id)->order->actor, "ann");
  Answer();
  EXPECT_THAT(ends_, ElementsAre("1: 1"));
  EXPECT_THAT(Asking(), IsEmpty());
  EXPECT_EQ(queue_->Find(id).status().code(),
            absl::StatusCode::kFailedPrecondition)
      << "its result is on its way";
  queue_->Leave(first);
  EXPECT_THAT(Asking(), ElementsAre("bob"));
  EXPECT_EQ(queue_->Find(id).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FactQueueTest, RunWithoutCallersEnds) {
  Start(/*at_once=*/1);
  const FactQueue::Ticket first = Ask("1", "ann");
  const FactQueue::Ticket second = Ask("2", "bob");
  queue_->Leave(second);
  EXPECT_EQ(PlaceOf(second), 0u);
  pool_.Drain();
  queue_->Leave(first);
  EXPECT_THAT(Asking(), IsEmpty());
  Answer();
  EXPECT_THAT(ends_, IsEmpty());
  queue_->Leave(first);  // It has left already.
}

TEST_F(FactQueueTest, HostsJoinARunUnderWayAndOnlyTheyAreAsked) {
  Start(kCallLimits[static_cast<size_t>(CallClass::kJob)]);
  AskAs("server0", "job");
  EXPECT_THAT(Answer(), ElementsAre(1, 0, 0));
  AskAs("server1", "job");
  EXPECT_THAT(Answer(), ElementsAre(0, 1, 0));
  scheduler_.Advance(absl::Seconds(2));
  pool_.Drain();
  EXPECT_THAT(ends_, ElementsAre("job: 2", "job: 2"));
  EXPECT_EQ(prepared_, 1);
}

TEST_F(FactQueueTest, HostThatHasNoPartInARunIsRefused) {
  Start(kCallLimits[static_cast<size_t>(CallClass::kJob)]);
  AskAs("server9", "job");
  EXPECT_THAT(codes_, ElementsAre(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(ends_, ElementsAre(Tells("msg-hub-not-in-job", "server9")));
  EXPECT_THAT(Answer(), ElementsAre(0, 0, 0));
  // Nor does it get the result of a run that others began.
  AskAs("server0", "job");
  AskAs("server9", "job");
  EXPECT_EQ(codes_.size(), 2u);
  EXPECT_EQ(codes_.back(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(Answer(), ElementsAre(1, 0, 0));
}

TEST_F(FactQueueTest, YoungerRunDoesNotOvertakeOnAHost) {
  CallLimits row = kCallLimits[static_cast<size_t>(CallClass::kJob)];
  row.of_host = 1;
  row.of_host_of_one = 1;
  Start(row);
  Ask(Question("1", "ann"), {"server0"});
  const FactQueue::Ticket both =
      Ask(Question("2", "bob"), {"server0", "server1"});
  const FactQueue::Ticket younger = Ask(Question("3", "eve"), {"server1"});
  const FactQueue::Ticket other = Ask(Question("4", "eve"), {"server2"});
  EXPECT_EQ(PlaceOf(both), 1u);
  EXPECT_EQ(PlaceOf(younger), 2u);
  EXPECT_EQ(PlaceOf(other), 0u);
  Answer();
  EXPECT_THAT(Asking(), ElementsAre("bob"));
  Answer();
  EXPECT_THAT(Asking(), ElementsAre("eve"));
}

// A full pool ends a run as it begins. Thousands of such ends must not nest.
TEST_F(FactQueueTest, ManyRunsThatEndAsTheyBeginDoNotNest) {
  Start(kCallLimits[static_cast<size_t>(CallClass::kEnforce)]);
  WorkerPool full(1, 0);
  queue_ = std::make_unique<FactQueue>(
      ControllerParts{nullptr, nullptr, &scheduler_, &full, &log_, &hosts_});
  // All wait until the first one, which has ended, leaves.
  const FactQueue::Ticket first = Ask("first", "");
  leave_at_end_ = true;
  for (int i = 0; i < 100; ++i) Ask(absl::StrCat(i), "");
  EXPECT_EQ(ends_.size(), 1u);
  queue_->Leave(first);
  EXPECT_EQ(ends_.size(), 101u);
  EXPECT_EQ(deepest_, 1);
  EXPECT_EQ(codes_.back(), absl::StatusCode::kResourceExhausted);
}

TEST_F(FactQueueTest, ClosedQueueAnswersUsersWhoseRunsAskHosts) {
  Start(/*at_once=*/1);
  Ask("1", "ann");
  Ask("2", "bob");
  queue_->Close();
  Ask("1", "ann");
  EXPECT_THAT(codes_, ElementsAre(absl::StatusCode::kUnavailable,
                                  absl::StatusCode::kUnavailable));
  Answer();
  EXPECT_EQ(ends_.back(), "1: 1");
}

TEST_F(FactQueueTest, StopEndsEveryCallAndRefusesFurtherOnes) {
  Start(/*at_once=*/1);
  Ask("1", "ann");
  Ask("2", "bob");
  pool_.Drain();
  queue_->Stop();
  Ask("3", "ann");
  EXPECT_THAT(codes_, ElementsAre(absl::StatusCode::kUnavailable,
                                  absl::StatusCode::kUnavailable,
                                  absl::StatusCode::kUnavailable));
  EXPECT_THAT(Answer(), ElementsAre(1, 0, 0));
  EXPECT_EQ(ends_.size(), 3u);
}

}  // namespace
}  // namespace clusterd
