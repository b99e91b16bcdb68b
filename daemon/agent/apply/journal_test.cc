#include "daemon/agent/apply/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/words/message.h"
#include "tests/support/host/effect_log.h"
#include "tests/support/host/fake_file_system.h"

namespace clusterd {
namespace {

constexpr char kPath[] = "/var/lib/clusterd/apply/a1.journal";

JournalEntry BeginEntry(const std::string& id) {
  JournalEntry entry;
  entry.mutable_begin()->set_apply_id(id);
  return entry;
}

JournalEntry IntentEntry(uint32_t step, const std::string& key) {
  JournalEntry entry;
  entry.mutable_intent()->set_step(step);
  SavedSysctl* saved = entry.mutable_intent()->add_saved()->mutable_sysctl();
  saved->set_key(key);
  saved->set_value("4096");
  return entry;
}

JournalEntry EndEntry(ApplyResult::Outcome outcome) {
  JournalEntry entry;
  entry.mutable_end()->set_outcome(outcome);
  return entry;
}

// A journal with two records, and where the first ends.
struct Written {
  FakeFileSystem files;
  size_t first_end = 0;

  Written() {
    files.PutFolder("/var/lib/clusterd/apply");
    auto journal = Journal::Create(&files, kPath);
    EXPECT_TRUE(journal.ok()) << journal.status();
    EXPECT_TRUE((*journal)->Append(BeginEntry("a1")).ok());
    first_end = files.Content(kPath)->size();
    EXPECT_TRUE((*journal)->Append(IntentEntry(1, "net.core.somaxconn")).ok());
  }
  std::string Bytes() { return *files.Content(kPath); }
};

TEST(JournalTest, ReadsBackWhatWasAppended) {
  Written written;
  const auto journal = Journal::Open(&written.files, kPath).value();
  ASSERT_EQ(journal->entries().size(), 2u);
  EXPECT_EQ(journal->entries()[0].begin().apply_id(), "a1");
  EXPECT_EQ(journal->entries()[1].intent().saved(0).sysctl().value(), "4096");
}

TEST(JournalTest, RefusesARecordThatCouldNotBeReadBack) {
  Written written;
  auto journal = Journal::Open(&written.files, kPath);
  JournalEntry entry;
  entry.mutable_done()->set_detail("\xca");
  EXPECT_FALSE((*journal)->Append(entry).ok());
  EXPECT_TRUE((*journal)->Append(EndEntry(ApplyResult::UNDONE)).ok());
  EXPECT_EQ((*Journal::Open(&written.files, kPath))->entries().size(), 3u);
}

TEST(JournalTest, ARecordIsOnDiskWhenAppendReturns) {
  Written written;
  written.files.LosePower();
  EXPECT_EQ((*Journal::Open(&written.files, kPath))->entries().size(), 2u);
}

TEST(JournalTest, AnyCutOfTheLastRecordLeavesTheOthers) {
  Written written;
  const std::string bytes = written.Bytes();
  for (size_t size = written.first_end; size < bytes.size(); ++size) {
    const auto text = ParseJournal(bytes.substr(0, size)).value();
    EXPECT_EQ(text.entries.size(), 1u);
    EXPECT_EQ(text.good_bytes, written.first_end);
  }
}

TEST(JournalTest, ZerosWhereTheLastRecordShouldBeAreACutToo) {
  Written written;
  std::string bytes = written.Bytes();
  bytes.replace(written.first_end, std::string::npos,
                std::string(bytes.size() - written.first_end, '\0'));
  EXPECT_EQ(ParseJournal(bytes).value().entries.size(), 1u);
}

TEST(JournalTest, AFlippedByteIsDamageOrLeavesOutTheLastRecord) {
  Written written;
  const std::string bytes = written.Bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    const auto text = ParseJournal(damaged);
    EXPECT_TRUE(i < written.first_end
                    ? absl::IsDataLoss(text.status())
                    : !text.ok() || text->entries.size() == 1u)
        << i;
  }
}

TEST(JournalTest, DamageInAHeadThatJustFitsIsNoCut) {
  Written written;
  constexpr size_t kHeadBytes = 4 + 8 + 32;
  const std::string bytes =
      written.Bytes().substr(0, written.first_end + kHeadBytes);
  EXPECT_EQ(ParseJournal(bytes)->entries.size(), 1u);
  for (size_t i = 0; i < 12; ++i) {
    std::string damaged = bytes;
    damaged[written.first_end + i] ^= 0x40;
    EXPECT_TRUE(absl::IsDataLoss(ParseJournal(damaged).status())) << i;
  }
}

TEST(JournalTest, OpenTruncatesAHalfRecordAndAppendsToTheGoodOnes) {
  Written written;
  {
    auto file = written.files.Open(kPath, OpenMode::kReadWrite);
    ASSERT_TRUE((*file)->Truncate(written.Bytes().size() - 3).ok());
  }
  auto journal = Journal::Open(&written.files, kPath).value();
  ASSERT_TRUE(journal->Append(EndEntry(ApplyResult::UNDONE)).ok());
  const auto again = Journal::Open(&written.files, kPath);
  ASSERT_EQ((*again)->entries().size(), 2u);
  EXPECT_TRUE((*again)->entries()[1].has_end());
}

TEST(JournalTest, TellsADamagedFileFromOneOfAnotherVersion) {
  Written written;
  const auto opened = [&written](const std::string& text) {
    written.files.Put(kPath, text);
    const absl::Status status = Journal::Open(&written.files, kPath).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(opened("something else entirely"), ::testing::HasSubstr(kPath));
  EXPECT_THAT(opened("clusterd journal 2\nand its records"),
              ::testing::HasSubstr(Say("msg-step-journal-version")));
}

TEST(JournalTest, TakesNothingMoreAfterAWriteThatFailed) {
  Written written;
  auto journal = Journal::Open(&written.files, kPath);
  written.files.SetFreeBytes(3);
  EXPECT_FALSE((*journal)->Append(EndEntry(ApplyResult::APPLIED)).ok());
  written.files.SetFreeBytes(std::nullopt);
  EXPECT_FALSE((*journal)->Append(EndEntry(ApplyResult::APPLIED)).ok());
  EXPECT_EQ((*Journal::Open(&written.files, kPath))->entries().size(), 2u);
}

TEST(JournalTest, DoesNotWriteOverAnotherApplysJournal) {
  Written written;
  EXPECT_TRUE(
      absl::IsAlreadyExists(Journal::Create(&written.files, kPath).status()));
}

TEST(SummariseJournalTest, TellsWhatIsUnfinished) {
  std::vector<JournalEntry> entries;
  EXPECT_EQ(SummariseJournal(entries).phase, HOST_WAITING);
  EXPECT_FALSE(SummariseJournal(entries).unfinished());
  entries.push_back(BeginEntry("a1"));
  EXPECT_EQ(SummariseJournal(entries).phase, HOST_RUNNING);
  entries.push_back(IntentEntry(1, "a"));
  entries.push_back(IntentEntry(2, "b"));
  EXPECT_TRUE(SummariseJournal(entries).unfinished());
  EXPECT_EQ(SummariseJournal(entries).saved.size(), 2u);
  entries.push_back(EndEntry(ApplyResult::APPLIED));
  EXPECT_EQ(SummariseJournal(entries).phase, HOST_APPLIED);
  JournalEntry undo;
  undo.mutable_undo()->set_rollback(true);
  entries.push_back(undo);
  EXPECT_EQ(SummariseJournal(entries).phase, HOST_REVERTING);
  EXPECT_TRUE(SummariseJournal(entries).undo.rollback());
  EXPECT_TRUE(SummariseJournal(entries).unfinished());
  entries.push_back(EndEntry(ApplyResult::ROLLED_BACK));
  EXPECT_EQ(SummariseJournal(entries).phase, HOST_REVERTED);
  EXPECT_EQ(SummariseJournal(entries).end.outcome(), ApplyResult::ROLLED_BACK);
}

TEST(SummariseJournalTest, WaitsOnlyWhileItIsAppliedAndNobodyHasConfirmedIt) {
  std::vector<JournalEntry> entries = {BeginEntry("a1")};
  entries.emplace_back().mutable_deadline()->set_boottime_ms(1);
  EXPECT_FALSE(SummariseJournal(entries).waits());
  entries.push_back(EndEntry(ApplyResult::APPLIED));
  EXPECT_TRUE(SummariseJournal(entries).waits());
  entries.emplace_back().mutable_deadline()->set_boottime_ms(2);
  EXPECT_EQ(SummariseJournal(entries).deadline->boottime_ms(), 2);
  std::vector<JournalEntry> confirmed = entries;
  confirmed.emplace_back().mutable_confirm();
  EXPECT_FALSE(SummariseJournal(confirmed).waits());
  EXPECT_TRUE(SummariseJournal(confirmed).in_effect());
  entries.emplace_back().mutable_undo()->set_rollback(true);
  *entries.back().mutable_undo()->mutable_reason_words() =
      Worded(kNotConfirmed);
  EXPECT_FALSE(SummariseJournal(entries).waits());
  EXPECT_TRUE(SummariseJournal(entries).not_confirmed());
}

JournalState State(const std::string& id, HostState phase,
                   ApplyResult::Outcome outcome) {
  JournalState state;
  state.begin.set_apply_id(id);
  state.phase = phase;
  state.end.set_outcome(outcome);
  return state;
}

JournalState Applied(const std::string& id) {
  return State(id, HOST_APPLIED, ApplyResult::APPLIED);
}

JournalState Undone(const std::string& id) {
  return State(id, HOST_REVERTED, ApplyResult::UNDONE);
}

TEST(JournalsToDropTest, DropsTheOldestOfEachKindByItself) {
  const KeptJournals kept{2, 1};
  EXPECT_THAT(
      JournalsToDrop({Applied("a1"), Undone("u1"), Applied("a2")}, kept),
      ::testing::IsEmpty());
  EXPECT_THAT(
      JournalsToDrop({Applied("a1"), Undone("u1"), Applied("a2"), Undone("u2"),
                      Undone("u3"), Applied("a3"), Undone("u4")},
                     kept),
      ::testing::ElementsAre("a1", "u1", "u2", "u3"));
}

TEST(JournalsToDropTest, TakesWhatHasResiduesForInEffect) {
  EXPECT_THAT(
      JournalsToDrop(
          {State("r1", HOST_REVERTED, ApplyResult::UNDONE_WITH_RESIDUES),
           State("r2", HOST_REVERTED, ApplyResult::ROLLED_BACK_WITH_RESIDUES),
           State("b1", HOST_REVERTED, ApplyResult::ROLLED_BACK)},
          {2, 0}),
      ::testing::ElementsAre("b1"));
}

TEST(JournalsToDropTest, NeverDropsWhatIsNotFinishedOrWaitsToBeConfirmed) {
  JournalState waits = Applied("w1");
  waits.phase = HOST_CONFIRM_PENDING;
  std::vector<JournalState> states = {
      State("p1", HOST_RUNNING, ApplyResult::OUTCOME_UNSPECIFIED),
      State("p2", HOST_REVERTING, ApplyResult::OUTCOME_UNSPECIFIED),
      State("p3", HOST_REVERTING, ApplyResult::APPLIED), waits};
  EXPECT_THAT(JournalsToDrop(states, {0, 0}), ::testing::IsEmpty());
  states.back().phase = HOST_CONFIRMED;
  EXPECT_THAT(JournalsToDrop(states, {0, 0}), ::testing::ElementsAre("w1"));
}

// Writes a journal of this many bytes, with or without an end.
void PutJournal(FakeFileSystem* files, const std::string& id, size_t bytes,
                ApplyResult::Outcome outcome) {
  auto journal = Journal::Create(
      files, absl::StrCat("/var/lib/clusterd/apply/", id, ".journal"));
  JournalEntry begin = BeginEntry(id);
  begin.mutable_begin()->set_plan_digest(std::string(bytes, 'x'));
  begin.mutable_begin()->set_sequence(files->Snapshot({}).size());
  ASSERT_TRUE((*journal)->Append(begin).ok());
  if (outcome == ApplyResult::OUTCOME_UNSPECIFIED) return;
  ASSERT_TRUE((*journal)->Append(EndEntry(outcome)).ok());
}

TEST(JournalFolderTest, RefusesWhatWouldNotFitAndDropsNothingInEffect) {
  const std::string path = "/var/lib/clusterd/apply";
  FakeFileSystem files;
  files.PutFolder(path);
  PutJournal(&files, "old", 3000, ApplyResult::UNDONE);
  PutJournal(&files, "kept", 3000, ApplyResult::APPLIED);
  PutJournal(&files, "left", 3000, ApplyResult::UNDONE_WITH_RESIDUES);
  PutJournal(&files, "cut", 3000, ApplyResult::OUTCOME_UNSPECIFIED);
  PutJournal(&files, "new", 3000, ApplyResult::ROLLED_BACK);
  JournalFolder folder(&files, path);
  KeptJournals kept;
  kept.bytes = kMaxSavedBytes + 17000;
  const auto ids = [&] {
    std::vector<std::string> all;
    const auto states = folder.List();
    for (const JournalState& state : *states) {
      all.push_back(state.begin.apply_id());
    }
    return all;
  };
  EXPECT_TRUE(folder.MakeRoom(500, kept).ok());
  EXPECT_EQ(ids().size(), 5u);
  EXPECT_TRUE(folder.MakeRoom(3000, kept).ok());
  EXPECT_THAT(ids(), ::testing::ElementsAre("kept", "left", "cut", "new"));
  const absl::Status full = folder.MakeRoom(9000, kept);
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_THAT(ids(), ::testing::ElementsAre("kept", "left", "cut"));
}

TEST(JournalFolderTest, LeavesOutWhatVanishesWhileItReads) {
  const std::string folder = "/var/lib/clusterd/apply";
  FakeFileSystem files;
  // Another call drops the second one while the first one is read.
  files.PutSpecial(folder + "/a1.journal",
                   {[&] {
                      EXPECT_TRUE(files.Remove(folder + "/a2.journal").ok());
                      return std::string();
                    },
                    nullptr});
  files.Put(folder + "/a2.journal", "damaged");
  files.Put(folder + "/a3.journal", "damaged");
  const auto found = JournalFolder(&files, folder).Read().value();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].apply_id, "a1");
  EXPECT_EQ(found[1].apply_id, "a3");
  EXPECT_TRUE(absl::IsDataLoss(found[1].state.status()));
}

// "failed" in GBK, which is not UTF-8.
constexpr char kGbk[] = "hccn_tool: \xca\xa7\xb0\xdc\n";
constexpr char kGbkShown[] = "hccn_tool: \\xca\\xa7\\xb0\\xdc\\n";

TEST(OutcomeTextTest, CanBeReadBackWhateverAProgramSaid) {
  ApplyResult result;
  result.set_error(kGbk);
  result.add_residues(kGbk);
  result.add_forced(kGbk);
  result.add_steps()->set_detail(kGbk);
  CleanTexts(&result);
  ApplyResult read;
  ASSERT_TRUE(read.ParseFromString(result.SerializeAsString()));
  EXPECT_EQ(read.error(), kGbkShown);
  EXPECT_EQ(read.residues(0), kGbkShown);
  EXPECT_EQ(read.forced(0), kGbkShown);
  EXPECT_EQ(read.steps(0).detail(), kGbkShown);
}

TEST(OutcomeTextTest, ComesFromItsWordsInEnglish) {
  const InLanguage chinese(Language::kChinese);
  ApplyResult result;
  *result.mutable_error_words() = Worded("about", "x", kGbk);
  *result.mutable_residues_words()->add_values() =
      Worded("plan-say-is-was", "x", "1", kGbk);
  CleanTexts(&result);
  EXPECT_EQ(result.error(), absl::StrCat("x: ", kGbkShown));
  EXPECT_EQ(result.residues(0), absl::StrCat("x is 1, was ", kGbkShown));
  EXPECT_EQ(ValueText(result.error_words()), absl::StrCat("x：", kGbkShown));
}

TEST(OutcomeTextTest, BoundsTextsEvenWhenAllOfThemIsEscaped) {
  const std::string text = OutcomeText(std::string(1 << 20, '\x01'));
  EXPECT_LE(text.size(), 16384u);
  EXPECT_EQ(text.substr(text.size() - 3), "...");
}

TEST(OutcomeTextTest, LeavesWhatIsCleanAsItIs) {
  ApplyResult result;
  result.set_error("device 1: address is none, expected 10.0.0.1/24");
  result.add_steps()->set_state(StepOutcome::DONE);
  const std::string before = result.SerializeAsString();
  CleanTexts(&result);
  CleanTexts(&result);
  EXPECT_EQ(result.SerializeAsString(), before);
}

// By the clock the second of the two journals came first.
TEST(JournalFolderTest, OrdersByNumberWhateverTheClockSaid) {
  FakeFileSystem files;
  files.PutFolder("/var/lib/clusterd/apply");
  int64_t time = 2000;
  uint64_t sequence = 1;
  for (const char* id : {"first", "second"}) {
    JournalEntry entry = BeginEntry(id);
    entry.mutable_begin()->set_sequence(sequence++);
    entry.mutable_begin()->set_started_at_ms(time);
    time -= 1000;
    auto journal = Journal::Create(
        &files, JournalFolder(&files, "/var/lib/clusterd/apply").PathOf(id));
    ASSERT_TRUE((*journal)->Append(entry).ok());
  }
  const auto states =
      JournalFolder(&files, "/var/lib/clusterd/apply").List().value();
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[0].begin.apply_id(), "first");
  EXPECT_EQ(states[1].begin.apply_id(), "second");
}

TEST(JournalFolderTest, BelievesOnlyWhatRootAloneCanHaveWritten) {
  const std::string folder = "/var/lib/clusterd/apply";
  const struct {
    std::string path;
    uint32_t uid;
    uint32_t mode;
  } kCases[] = {{"/var/lib/clusterd", 12345, 0755},
                {"/var/lib/clusterd", 0, 0775},
                {folder, 12345, 0700},
                {folder, 0, 0777},
                {folder, 0, 0770}};
  for (const auto& each : kCases) {
    Written written;
    JournalFolder journals(&written.files, folder);
    ASSERT_TRUE(journals.Read().ok());
    written.files.SetOwner(each.path, each.uid, each.mode);
    EXPECT_TRUE(absl::IsPermissionDenied(journals.Read().status()))
        << each.path;
    EXPECT_TRUE(absl::IsPermissionDenied(journals.TakeLock().status()))
        << each.path;
  }
  Written written;
  JournalFolder journals(&written.files, folder);
  written.files.SetOwner(kPath, 0, 0666);
  const auto found = journals.Read().value();
  EXPECT_TRUE(absl::IsPermissionDenied(found[0].state.status()));
}

TEST(JournalFolderTest, FollowsNoLinkToAJournal) {
  FakeFileSystem files;
  files.PutLink(kPath);
  const auto found =
      JournalFolder(&files, "/var/lib/clusterd/apply").Read().value();
  EXPECT_TRUE(absl::IsPermissionDenied(found[0].state.status()));
}

}  // namespace
}  // namespace clusterd
