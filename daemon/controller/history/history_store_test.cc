#include "daemon/controller/history/history_store.h"

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::unique_ptr<HistoryStore> NewStore(HistoryLimits limits = {}) {
  return OpenStore(NewStateFolder(), limits);
}

const HistoryLimits kTenThousandBytes = [] {
  HistoryLimits limits;
  limits.max_bytes = 10000;
  return limits;
}();

void Add(HistoryStore* store, const HistoryRecord& record) {
  ASSERT_EQ(store->Add(record), absl::OkStatus());
}

std::vector<std::string> Ids(const HistoryStore& store,
                             const ListHistoryRequest& request = {}) {
  std::vector<std::string> ids;
  const auto response = store.List(request);
  EXPECT_TRUE(response.ok()) << response.status();
  if (!response.ok()) return ids;
  for (const HistoryEntry& entry : response->entries()) {
    ids.push_back(entry.id());
  }
  return ids;
}

ListHistoryRequest All() {
  ListHistoryRequest request;
  request.set_limit(kMaxListedEntries);
  return request;
}

std::string Text(const absl::Status& status) {
  return std::string(status.message());
}

class HistoryStoreTest : public testing::Test {
 protected:
  const std::unique_ptr<HistoryStore> store_ = NewStore();
};

TEST_F(HistoryStoreTest, GivesBackRecordWhole) {
  const HistoryRecord record = TestCheck(TestId(1), 100000);
  Add(store_.get(), record);
  const auto read = store_->Get(TestId(1)).value();
  EXPECT_EQ(read.SerializeAsString(), record.SerializeAsString());
}

TEST_F(HistoryStoreTest, KeepsRecordWithoutDetail) {
  HistoryRecord record = TestCheck(TestId(1));
  record.clear_detail();
  Add(store_.get(), record);
  const auto read = store_->Get(TestId(1)).value();
  EXPECT_EQ(read.detail_case(), HistoryRecord::DETAIL_NOT_SET);
}

TEST_F(HistoryStoreTest, RefusesSecondRecordWithSameId) {
  Add(store_.get(), TestCheck(TestId(1), 10));
  EXPECT_THAT(store_->Add(TestCheck(TestId(1), 20)),
              Fails(absl::StatusCode::kAlreadyExists, HasText(TestId(1))));
  EXPECT_THAT(Ids(*store_), ElementsAre(TestId(1)));
}

TEST_F(HistoryStoreTest, RefusesWhatIsNoIdOrKind) {
  for (const char* id :
       {"", "abc", "ABCD", "a b c", "x'); DROP TABLE entry; --", "%%%%", "____",
        "abcd\n", "äöüß", "~~~~", "abcd*"}) {
    const absl::Status status = store_->Add(TestCheck(id));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << id;
    EXPECT_THAT(Text(status), Tells("msg-hub-history-id", kAny, 4, 64));
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Get(id).status())) << id;
    EXPECT_TRUE(absl::IsInvalidArgument(store_->FindApply(id).status())) << id;
  }
  EXPECT_TRUE(
      absl::IsInvalidArgument(store_->Add(TestCheck(std::string(65, 'a')))));
  HistoryRecord record = TestCheck(TestId(1));
  record.mutable_entry()->set_kind(HISTORY_KIND_UNSPECIFIED);
  EXPECT_THAT(Text(store_->Add(record)), HasSubstr("0 is not a valid kind"));
  EXPECT_THAT(Ids(*store_), IsEmpty());
}

TEST_F(HistoryStoreTest, SqlInATextIsText) {
  HistoryRecord record = TestCheck(TestId(1));
  const std::string nasty = "'; DELETE FROM entry; --\" %s ?1 \n";
  record.mutable_entry()->set_actor(nasty);
  record.mutable_entry()->set_outcome(nasty);
  Add(store_.get(), record);
  EXPECT_EQ(store_->Get(TestId(1))->entry().actor(), nasty);
}

TEST_F(HistoryStoreTest, UpdateReplacesInPlace) {
  Add(store_.get(), TestApply(TestId(1)));
  Add(store_.get(), TestCheck(TestId(2)));
  HistoryRecord ended = TestApply(TestId(1));
  ended.mutable_entry()->set_outcome("succeeded");
  ended.mutable_apply()->add_hosts()->set_host("node01");
  ASSERT_EQ(store_->Update(ended), absl::OkStatus());
  EXPECT_THAT(Ids(*store_), ElementsAre(TestId(2), TestId(1)));
  EXPECT_EQ(store_->Get(TestId(1))->SerializeAsString(),
            ended.SerializeAsString());
}

TEST_F(HistoryStoreTest, UpdateOfNothingIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(store_->Update(TestApply(TestId(1)))));
  EXPECT_THAT(Ids(*store_), IsEmpty());
}

TEST_F(HistoryStoreTest, ListsNewestFirstInPages) {
  ListHistoryRequest request;
  request.set_limit(2);
  for (int i = 1; i <= 5; ++i) {
    Add(store_.get(), TestCheck(TestId(i)));
    EXPECT_EQ(store_->List(request)->more(), i > 2) << i;
  }
  EXPECT_THAT(Ids(*store_, request), ElementsAre(TestId(5), TestId(4)));
  request.set_before_id(TestId(4));
  EXPECT_THAT(Ids(*store_, request), ElementsAre(TestId(3), TestId(2)));
  EXPECT_TRUE(store_->List(request)->more());
  request.set_before_id(TestId(2));
  EXPECT_THAT(Ids(*store_, request), ElementsAre(TestId(1)));
  EXPECT_FALSE(store_->List(request)->more());
}

TEST_F(HistoryStoreTest, ListsFiftyByDefault) {
  for (int i = 1; i <= 51; ++i) Add(store_.get(), TestCheck(TestId(i)));
  EXPECT_EQ(Ids(*store_).size(), 50);
  EXPECT_TRUE(store_->List({})->more());
}

TEST_F(HistoryStoreTest, ListsKinds) {
  Add(store_.get(), TestCheck(TestId(1)));
  Add(store_.get(), TestApply(TestId(2)));
  HistoryRecord rollback = TestApply(TestId(3));
  rollback.mutable_entry()->set_kind(HISTORY_ROLLBACK);
  Add(store_.get(), rollback);
  ListHistoryRequest request;
  request.add_kinds(HISTORY_APPLY);
  EXPECT_THAT(Ids(*store_, request), ElementsAre(TestId(2)));
  request.add_kinds(HISTORY_CHECK);
  EXPECT_THAT(Ids(*store_, request), ElementsAre(TestId(2), TestId(1)));
  request.set_before_id(TestId(2));
  EXPECT_THAT(Ids(*store_, request), ElementsAre(TestId(1)));
}

TEST_F(HistoryStoreTest, KeepsWhatAReportSaysAsWords) {
  HistoryRecord record = TestCheck(TestId(1));
  Report& report = *record.mutable_report();
  report.clear_notes();
  *report.add_said() = Worded("hub-controller-ended");
  report.add_notes("an older text");
  report.add_notes("of another");
  ASSERT_TRUE(store_->Add(record).ok());
  EXPECT_THAT(store_->Get(TestId(1)).value().report().notes(),
              ElementsAre(Say("hub-controller-ended"), "of another"));
}

HistoryRecord ScheduledRecord(uint64_t number, const char* schedule,
                              const std::string& changes = "") {
  HistoryRecord record = TestCheck(TestId(number));
  record.mutable_entry()->set_schedule(schedule);
  if (!changes.empty()) {
    *record.mutable_entry()->mutable_changes_words() = ToFindingValue(changes);
  }
  return record;
}

TEST_F(HistoryStoreTest, ListsOfChecksOnlyThoseWithChanges) {
  Add(store_.get(), ScheduledRecord(1, "links", "1 worse"));
  Add(store_.get(), TestApply(TestId(2)));
  Add(store_.get(), TestCheck(TestId(3)));
  Add(store_.get(), ScheduledRecord(4, "links"));
  Add(store_.get(), ScheduledRecord(5, "links", "1 resolved"));
  ListHistoryRequest request;
  request.set_changes_only(true);
  EXPECT_THAT(Ids(*store_, request),
              ElementsAre(TestId(5), TestId(2), TestId(1)));
  request.set_limit(2);
  EXPECT_THAT(Ids(*store_, request), ElementsAre(TestId(5), TestId(2)));
  EXPECT_TRUE(store_->List(request)->more());
  request.set_before_id(TestId(2));
  EXPECT_THAT(Ids(*store_, request), ElementsAre(TestId(1)));
  EXPECT_FALSE(store_->List(request)->more());
}

HistoryRecord RecordBy(uint64_t number, const std::string& actor,
                       int64_t started_at_ms) {
  HistoryRecord record = TestCheck(TestId(number));
  record.mutable_entry()->set_actor(actor);
  record.mutable_entry()->set_started_at_ms(started_at_ms);
  return record;
}

TEST_F(HistoryStoreTest, ListsWhatOneAskedForSinceAMoment) {
  const std::string ann = "spiffe://demo/user/ann/role/admin";
  Add(store_.get(), RecordBy(1, ann, 1000));
  Add(store_.get(), RecordBy(2, "spiffe://demo/host/node07", 2000));
  Add(store_.get(), RecordBy(3, ann, 3000));
  // The clock was set back.
  Add(store_.get(), RecordBy(4, "spiffe://demo/user/bob/role/admin", 1500));
  ListHistoryRequest request;
  request.set_since_ms(2000);
  EXPECT_THAT(Ids(*store_, request), ElementsAre(TestId(3), TestId(2)));
  request.set_who("node07");
  EXPECT_THAT(Ids(*store_, request), ElementsAre(TestId(2)));
  request.set_since_ms(0);
  for (const std::string& who : {std::string("ann"), ann}) {
    request.set_who(who);
    EXPECT_THAT(Ids(*store_, request), ElementsAre(TestId(3), TestId(1)))
        << who;
  }
  request.set_limit(1);
  EXPECT_THAT(Ids(*store_, request), ElementsAre(TestId(3)));
  EXPECT_TRUE(store_->List(request)->more());
  request.set_before_id(TestId(3));
  EXPECT_THAT(Ids(*store_, request), ElementsAre(TestId(1)));
  EXPECT_FALSE(store_->List(request)->more());
  request.set_who("an");
  EXPECT_THAT(Ids(*store_, request), IsEmpty());
}

TEST_F(HistoryStoreTest, FindsTheNewestOfASchedule) {
  Add(store_.get(), ScheduledRecord(1, "links"));
  Add(store_.get(), ScheduledRecord(2, "links"));
  Add(store_.get(), ScheduledRecord(3, "links"));
  Add(store_.get(), ScheduledRecord(4, "all"));
  Add(store_.get(), TestCheck(TestId(5)));
  const auto newest = store_->NewestOfSchedule("links", 2).value();
  ASSERT_EQ(newest.size(), 2u);
  EXPECT_EQ(newest[0].id(), TestId(3));
  EXPECT_EQ(newest[1].id(), TestId(2));
  EXPECT_THAT(*store_->NewestOfSchedule("other", 2), IsEmpty());
}

TEST_F(HistoryStoreTest, OfAQuietScheduleKeepsTheNewestFew) {
  for (uint64_t i = 1; i <= kKeptUnchanged + 4; ++i) {
    Add(store_.get(), ScheduledRecord(i, "links", i == 2 ? "1 worse" : ""));
  }
  const std::vector<std::string> ids = Ids(*store_);
  // The checks around the change, and the newest few.
  EXPECT_EQ(ids.size(), kKeptUnchanged + 2u);
  EXPECT_THAT(ids, testing::IsSupersetOf({TestId(1), TestId(2)}));
  EXPECT_THAT(ids, Not(testing::Contains(TestId(3))));
}

TEST_F(HistoryStoreTest, RefusesListThatMakesNoSense) {
  ListHistoryRequest request;
  request.set_limit(1001);
  EXPECT_THAT(Text(store_->List(request).status()),
              Tells("msg-hub-history-limit", 1001, 1000));
  request.Clear();
  request.add_kinds(static_cast<HistoryKind>(63));
  EXPECT_TRUE(absl::IsInvalidArgument(store_->List(request).status()));
  request.Clear();
  request.set_before_id("ffff");
  EXPECT_TRUE(absl::IsNotFound(store_->List(request).status()));
}

TEST_F(HistoryStoreTest, FindsByUniquePrefix) {
  Add(store_.get(), TestCheck("abcd0000"));
  Add(store_.get(), TestCheck("abce0000"));
  EXPECT_EQ(store_->Get("abcd")->entry().id(), "abcd0000");
  EXPECT_EQ(store_->Get("abce0")->entry().id(), "abce0000");
  EXPECT_THAT(store_->Get("abcf"),
              Fails(absl::StatusCode::kNotFound, HasText("no entry \"abcf\"")));
  EXPECT_TRUE(absl::IsNotFound(store_->Get("abcd00000").status()));
}

TEST_F(HistoryStoreTest, AmbiguousPrefixNamesCandidates) {
  Add(store_.get(), TestCheck("abcd01"));
  Add(store_.get(), TestCheck("abcd02"));
  const absl::Status two = store_->Get("abcd").status();
  EXPECT_TRUE(absl::IsInvalidArgument(two));
  EXPECT_THAT(Text(two), HasSubstr("expected one of abcd01, abcd02"));
  EXPECT_THAT(Text(two), Not(HasSubstr("…")));
  for (int i = 3; i <= 9; ++i) {
    Add(store_.get(), TestCheck(absl::StrCat("abcd0", i)));
  }
  EXPECT_THAT(Text(store_->Get("abcd").status()),
              AllOf(HasSubstr("abcd08, …"), Not(HasSubstr("abcd09"))));
}

TEST_F(HistoryStoreTest, WholeIdWinsOverLongerOnes) {
  Add(store_.get(), TestCheck("abcd01"));
  Add(store_.get(), TestCheck("abcd"));
  EXPECT_EQ(store_->Get("abcd")->entry().id(), "abcd");
}

TEST_F(HistoryStoreTest, FindsAppliesAlone) {
  Add(store_.get(), TestCheck("abcd01"));
  Add(store_.get(), TestApply("abcd02"));
  EXPECT_EQ(store_->FindApply("abcd")->entry().id(), "abcd02");
  EXPECT_EQ(store_->FindApply("abcd02")->apply().actor(), "bob");
  const absl::Status check = store_->FindApply("abcd01").status();
  EXPECT_TRUE(absl::IsNotFound(check));
  EXPECT_THAT(Text(check), Tells("msg-hub-not-an-apply", "abcd01", "check"));
  EXPECT_THAT(Text(store_->FindApply("ffff").status()),
              HasSubstr("no apply \"ffff\""));
}

TEST_F(HistoryStoreTest, FindsWhatRuns) {
  Add(store_.get(), TestApply(TestId(1)));
  Add(store_.get(), TestCheck(TestId(2)));
  Add(store_.get(), TestApply(TestId(3)));
  auto running = store_->FindOpen().value();
  ASSERT_EQ(running.size(), 2);
  EXPECT_EQ(running[0]->entry().id(), TestId(1));
  EXPECT_EQ(running[1]->apply().run_id(), TestId(3));
  HistoryRecord ended = *running[0];
  ended.mutable_entry()->set_outcome("interrupted");
  ASSERT_EQ(store_->Update(ended), absl::OkStatus());
  EXPECT_EQ(store_->FindOpen()->size(), 1);
}

TEST_F(HistoryStoreTest, FindsWhatHostsMayStillReport) {
  HistoryRecord record = TestApply(TestId(1));
  record.mutable_entry()->set_outcome("stopped");
  record.mutable_apply()->add_hosts()->set_state(HOST_LOST);
  Add(store_.get(), record);
  EXPECT_EQ(store_->FindOpen()->size(), 1);
  record.mutable_apply()->mutable_hosts()->rbegin()->set_state(HOST_APPLIED);
  ASSERT_EQ(store_->Update(record), absl::OkStatus());
  EXPECT_THAT(*store_->FindOpen(), IsEmpty());
}

TEST_F(HistoryStoreTest, FindsWhatRunsBesideADamagedOne) {
  const std::string folder = NewStateFolder();
  {
    const auto store = OpenStore(folder);
    for (int i = 1; i <= 3; ++i) Add(store.get(), TestApply(TestId(i)));
  }
  {
    const auto file =
        SqliteDatabase::Open(absl::StrCat(folder, "/", kHistoryFile)).value();
    ASSERT_EQ(file->Execute("UPDATE detail SET record = x'00' WHERE position = "
                            "(SELECT MIN(position) FROM entry)"),
              absl::OkStatus());
  }
  const auto running = OpenStore(folder)->FindOpen().value();
  ASSERT_EQ(running.size(), 3);
  EXPECT_THAT(running[0],
              Fails(absl::StatusCode::kDataLoss,
                    HasText(absl::StrCat("\"", TestId(1), "\" is damaged"))));
  EXPECT_EQ(running[1]->entry().id(), TestId(2));
  EXPECT_EQ(running[2]->entry().id(), TestId(3));
}

TEST_F(HistoryStoreTest, KeepsTwoThousand) {
  const MemoryFolder folder;
  const auto store = OpenStore(folder.path());
  Add(store.get(), TestApply(TestId(1)));  // Runs.
  for (int i = 2; i <= 2001; ++i) Add(store.get(), TestCheck(TestId(i), 1));
  std::vector<std::string> ids = Ids(*store, All());
  ListHistoryRequest rest = All();
  rest.set_before_id(ids.back());
  for (const std::string& id : Ids(*store, rest)) ids.push_back(id);
  ASSERT_EQ(ids.size(), 2000);
  EXPECT_EQ(ids.front(), TestId(2001));
  EXPECT_EQ(ids[1998], TestId(3));
  EXPECT_EQ(ids.back(), TestId(1));
  EXPECT_TRUE(absl::IsNotFound(store->Get(TestId(2)).status()));
}

TEST_F(HistoryStoreTest, KeepsBytesWithinBound) {
  const auto store = NewStore(kTenThousandBytes);
  for (int i = 1; i <= 3; ++i) Add(store.get(), TestCheck(TestId(i), 3000));
  Add(store.get(), TestCheck(TestId(4), 5000));
  EXPECT_THAT(Ids(*store), ElementsAre(TestId(4), TestId(3)));
}

TEST_F(HistoryStoreTest, UpdateMakesRoomForWhatGrows) {
  const auto store = NewStore(kTenThousandBytes);
  Add(store.get(), TestCheck(TestId(1), 100));
  Add(store.get(), TestCheck(TestId(2), 5000));
  ASSERT_EQ(store->Update(TestCheck(TestId(1), 9000)), absl::OkStatus());
  EXPECT_THAT(Ids(*store), ElementsAre(TestId(1)));
}

TEST_F(HistoryStoreTest, RefusesWhatIsLargerThanAll) {
  const auto store = NewStore(kTenThousandBytes);
  Add(store.get(), TestCheck(TestId(1)));
  const absl::Status status = store->Add(TestCheck(TestId(2), 10001));
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(Text(status), HasSubstr("expected at most 10000"));
  EXPECT_THAT(Ids(*store), ElementsAre(TestId(1)));
}

TEST_F(HistoryStoreTest, FileIsForItsOwnerAlone) {
  const std::string folder = NewStateFolder();
  const std::string path = absl::StrCat(folder, "/", kHistoryFile);
  struct stat found;
  OpenStore(folder).reset();
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600);
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  const auto store = OpenStore(folder);
  ASSERT_NE(store, nullptr);
  Add(store.get(), TestCheck(TestId(1)));
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600);
  ASSERT_EQ(stat((path + "-journal").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600);
}

TEST_F(HistoryStoreTest, IsThereAgainWhenOpenedAgain) {
  const std::string folder = NewStateFolder();
  Add(OpenStore(folder).get(), TestApply(TestId(7)));
  const auto store = OpenStore(folder);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->Get(TestId(7))->entry().actor(), "bob");
  EXPECT_EQ(store->FindOpen()->size(), 1);
}

TEST_F(HistoryStoreTest, FileShrinksWhenDetailsGo) {
  const std::string folder = NewStateFolder();
  const std::string path = absl::StrCat(folder, "/", kHistoryFile);
  HistoryLimits limits;
  limits.max_entries = 2;
  const auto store = OpenStore(folder, limits);
  Add(store.get(), TestCheck(TestId(1), 20 << 20));
  Add(store.get(), TestCheck(TestId(2)));
  ASSERT_GT(std::filesystem::file_size(path), 20 << 20);
  Add(store.get(), TestCheck(TestId(3)));
  EXPECT_LT(std::filesystem::file_size(path), 5 << 20);
  EXPECT_THAT(Ids(*store), ElementsAre(TestId(3), TestId(2)));
}

TEST_F(HistoryStoreTest, TakesManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 40;
  const auto store = OpenStore(NewStateFolder());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&store, thread] {
      for (int i = 0; i < kEach; ++i) {
        const std::string id = TestId(thread * 1000 + i);
        EXPECT_EQ(store->Add(TestApply(id)), absl::OkStatus());
        HistoryRecord ended = TestApply(id);
        ended.mutable_entry()->set_outcome("succeeded");
        EXPECT_EQ(store->Update(ended), absl::OkStatus());
        EXPECT_EQ(store->Get(id)->entry().outcome(), "succeeded");
        EXPECT_TRUE(store->List({}).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Ids(*store, All()).size(), kThreads * kEach);
  EXPECT_THAT(*store->FindOpen(), IsEmpty());
}

TEST_F(HistoryStoreTest, KeepsWaiversOverARestartAndOldFilesGetThem) {
  const std::string folder = NewStateFolder();
  Waiver waiver;
  waiver.set_id("3fa2c4d5");
  waiver.set_rule("link");
  waiver.set_reason("a \x1b b");
  {
    const auto store = OpenStore(folder, {});
    ASSERT_EQ(store->PutWaiver(waiver), absl::OkStatus());
    Waiver other = waiver;
    other.set_id("00000000");
    ASSERT_EQ(store->PutWaiver(other), absl::OkStatus());
    ASSERT_EQ(store->DropWaiver("00000000"), absl::OkStatus());
  }
  const auto store = OpenStore(folder, {});
  const auto kept = store->Waivers().value();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].SerializeAsString(), waiver.SerializeAsString());
  const auto closed = HistoryStore::Closed(absl::DataLossError("damaged"));
  EXPECT_TRUE(absl::IsFailedPrecondition(closed->PutWaiver(waiver)));
}

}  // namespace
}  // namespace clusterd
