#include "daemon/audit/audit_log.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/audit/audit_chain.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty,
    ::testing::Not, ::testing::ResultOf;

constexpr size_t kLarge = 1 << 20;
const absl::Status kNo = absl::PermissionDeniedError("no");
constexpr char kSelf[] = "spiffe://demo/controller";
constexpr char kNewest[] = "audit of node07: its newest line is ";

class AuditLogTest : public testing::Test {
 protected:
  AuditLogTest() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/audit.jsonl";
  }
  ~AuditLogTest() override {
    audit_.reset();
    std::filesystem::remove_all(folder_);
  }

  AuditLog& Open(size_t max_bytes = kLarge, size_t minute_bytes = 0) {
    audit_.reset();
    audit_ = std::make_unique<AuditLog>(
        path_, AuditLimits{max_bytes, minute_bytes, /*hung_after=*/kPatience},
        kSelf, &scheduler_, &log_);
    return *audit_;
  }
  void Close() { audit_.reset(); }

  static AuditEntry Entry(const std::string& subject,
                          const std::string& who = "spiffe://demo/user/ada") {
    AuditEntry entry;
    entry.set_who(who);
    entry.set_peer("ipv4:10.0.0.9:5123");
    entry.set_what("ApplyPlan");
    entry.set_subject(subject);
    return entry;
  }

  void Append(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::app) << bytes;
  }
  std::vector<AuditEntry> Entries() {
    std::vector<AuditEntry> entries;
    for (const absl::string_view line :
         absl::StrSplit(TextOfFile(path_), '\n', absl::SkipEmpty())) {
      const auto entry = ReadAuditLine(line);
      if (entry.ok()) entries.push_back(*entry);
    }
    return entries;
  }
  // Verifies all files, oldest first.
  AuditFindings Verify(const std::vector<AuditHead>& heads = {}) {
    std::map<uint64_t, AuditText> older;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string number = entry.path().extension().string().substr(1);
      if (number == "jsonl") continue;
      older[std::stoull(number)] = {number, TextOfFile(entry.path())};
    }
    std::vector<AuditText> files;
    for (const auto& [number, file] : older) files.push_back(file);
    files.push_back({"audit.jsonl", TextOfFile(path_)});
    return VerifyAudit(files, heads);
  }

  std::string folder_ = testing::TempDir() + "/audit.XXXXXX";
  std::string path_;
  ManualScheduler scheduler_;
  CapturedLog log_;
  std::unique_ptr<AuditLog> audit_;
};

// No file grows while it exists, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    handler_ = signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_ = {};
  sighandler_t handler_ = SIG_DFL;
};

TEST_F(AuditLogTest, WritesALineBeforeTheEffectAndOneAfterIt) {
  AuditLog& audit = Open();
  ASSERT_TRUE(audit.Begin(Entry("run1")).ok());
  EXPECT_THAT(TextOfFile(path_), HasSubstr("\"result\":\"begins\""));
  audit.End(Entry("run1"), "succeeded");
  const auto entries = Entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].at(), "2024-01-01T00:00:00.000Z");
  EXPECT_EQ(entries[0].who(), "spiffe://demo/user/ada");
  EXPECT_EQ(entries[1].result(), "succeeded");
  EXPECT_THAT(Verify({audit.head()}).breaks, IsEmpty());
}

TEST_F(AuditLogTest, IsTheOwnersAlone) {
  Open();
  EXPECT_EQ(
      std::filesystem::status(path_).permissions(),
      std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(AuditLogTest, ContinuesTheChainAfterARestart) {
  ASSERT_TRUE(Open().Begin(Entry("run1")).ok());
  AuditLog& again = Open();
  EXPECT_EQ(again.head().sequence(), 1u);
  ASSERT_TRUE(again.Begin(Entry("run2")).ok());
  EXPECT_EQ(Verify().lines, 2u);
  EXPECT_THAT(Verify().breaks, IsEmpty());
}

TEST_F(AuditLogTest, ReportsALineThatACrashTruncated) {
  ASSERT_TRUE(Open().Begin(Entry("run1")).ok());
  Close();
  Append(R"({"sequence":"2","at":"2024-01-0)");
  EXPECT_THAT(Verify().breaks,
              ElementsAre(ResultOf(EnglishText, HasSubstr("audit.jsonl:2: "))));
  ASSERT_TRUE(Open().Begin(Entry("run2")).ok());
  const AuditFindings found = Verify();
  EXPECT_THAT(found.breaks, IsEmpty());
  EXPECT_THAT(
      found.notes,
      ElementsAre(ResultOf(EnglishText, HasSubstr("audit.jsonl:2: cut off"))));
  EXPECT_EQ(found.lines, 3u);
  EXPECT_EQ(Entries()[1].what(), kAuditTorn);
}

TEST_F(AuditLogTest, TakesALineThatLacksItsEndAlone) {
  ASSERT_TRUE(Open().Begin(Entry("run1")).ok());
  Close();
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
  ASSERT_TRUE(Open().Begin(Entry("run2")).ok());
  EXPECT_THAT(Verify().breaks, IsEmpty());
  EXPECT_EQ(Verify().lines, 2u);
}

// Ends a process that writes without pause; acknowledged lines are on the disk.
TEST_F(AuditLogTest, HasEveryLineThatWasAcknowledgedBeforeAKill) {
  for (int round = 0; round < 5; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      ManualScheduler scheduler;
      CapturedLog log;
      AuditLog audit(path_, {kLarge}, kSelf, &scheduler, &log);
      while (audit.Begin(Entry("run")).ok()) {
        const uint64_t sequence = audit.head().sequence();
        if (write(pipe_ends[1], &sequence, sizeof(sequence)) < 0) break;
      }
      _exit(1);
    }
    close(pipe_ends[1]);
    uint64_t written = 0;
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(read(pipe_ends[0], &written, sizeof(written)),
                static_cast<ssize_t>(sizeof(written)));
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (read(pipe_ends[0], &written, sizeof(written)) > 0) continue;
    close(pipe_ends[0]);
    EXPECT_GE(Open().head().sequence(), written);
    Close();
    EXPECT_THAT(Verify().breaks, IsEmpty());
  }
}

TEST_F(AuditLogTest, RefusesChangesWhileTheDiskIsFullAndGoesOnAfterwards) {
  AuditLog& audit = Open();
  ASSERT_TRUE(audit.Begin(Entry("run1")).ok());
  const std::string before = TextOfFile(path_);
  {
    const FullDisk full(before.size() + 40);
    EXPECT_THAT(audit.Begin(Entry("run2")),
                Fails(absl::StatusCode::kUnavailable,
                      testing::AllOf(HasText(path_), HasText("File too large"),
                                     HasText("nothing is changed until"))));
    EXPECT_EQ(TextOfFile(path_), before);
    audit.End(Entry("run0"), "succeeded");
  }
  EXPECT_THAT(log_.Lines(), HasSubstr("not written: ApplyPlan run0"));
  ASSERT_TRUE(audit.Begin(Entry("run3")).ok());
  EXPECT_THAT(Verify().breaks, IsEmpty());
  EXPECT_EQ(Entries()[1].subject(), "run3");
}

TEST_F(AuditLogTest, WritesNothingBehindALastLineThatIsNotItsOwn) {
  ASSERT_TRUE(Open().Begin(Entry("run1")).ok());
  Close();
  Append("garbage\n");
  AuditLog& audit = Open();
  const absl::Status refused = audit.Begin(Entry("run2"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("move the file away"));
  std::filesystem::rename(path_, folder_ + "/kept.0");
  EXPECT_TRUE(audit.Begin(Entry("run3")).ok());
}

TEST_F(AuditLogTest, RefusesAFileThatAnotherProcessWrites) {
  AuditLog& audit = Open();
  ManualScheduler scheduler;
  AuditLog second(path_, {kLarge}, kSelf, &scheduler, &log_);
  EXPECT_THAT(std::string(second.Begin(Entry("run1")).message()),
              HasSubstr("another process writes it"));
  EXPECT_TRUE(audit.Begin(Entry("run1")).ok());
}

TEST_F(AuditLogTest, GivesAModeToAFolderThatItMakesAndToNoOther) {
  const auto mode_of = [](const std::string& path) {
    struct stat is = {};
    EXPECT_EQ(stat(path.c_str(), &is), 0) << path;
    return is.st_mode & 07777;
  };
  path_ = folder_ + "/made/here/audit.jsonl";
  EXPECT_TRUE(Open().Begin(Entry("run1")).ok());
  EXPECT_EQ(mode_of(folder_ + "/made/here"), 0700u);
  std::filesystem::create_directory(folder_ + "/elsewhere");
  ASSERT_EQ(chmod((folder_ + "/elsewhere").c_str(), 0755), 0);
  std::filesystem::create_directory_symlink(folder_ + "/elsewhere",
                                            folder_ + "/link");
  path_ = folder_ + "/link/audit.jsonl";
  EXPECT_TRUE(Open().Begin(Entry("run1")).ok());
  EXPECT_EQ(mode_of(folder_ + "/elsewhere"), 0755u);
}

TEST_F(AuditLogTest, ContinuesAFullFileInANewOne) {
  AuditLog& audit = Open(2000);
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(audit.Begin(Entry(absl::StrCat("run", i))).ok());
  }
  EXPECT_LT(std::filesystem::file_size(path_), 3000u);
  EXPECT_EQ(Entries()[0].what(), kAuditContinues);
  const AuditFindings found = Verify({audit.head()});
  EXPECT_THAT(found.breaks, IsEmpty());
  EXPECT_THAT(found.notes, IsEmpty());
  EXPECT_GT(found.lines, 40u);
  Close();
  EXPECT_EQ(Open(2000).head().sequence(), found.lines);
}

TEST_F(AuditLogTest, ContinuesTheNewestOldFileWhereTheNewOneWasNotBegun) {
  ASSERT_TRUE(Open().Begin(Entry("run1")).ok());
  Close();
  std::filesystem::rename(path_, path_ + ".1");
  ASSERT_TRUE(Open().Begin(Entry("run2")).ok());
  EXPECT_THAT(Verify().breaks, IsEmpty());
  EXPECT_EQ(Verify().lines, 3u);
}

TEST_F(AuditLogTest, IsOneChainWhoeverWritesAtTheSameTime) {
  AuditLog& audit = Open(20'000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&audit, i] {
      for (int j = 0; j < 25; ++j) {
        const AuditEntry entry = Entry(absl::StrCat(i, "/", j));
        EXPECT_TRUE(audit.Begin(entry).ok());
        audit.End(entry, "done");
        audit.Refuse(entry, kNo);
        AuditHead head;
        head.set_of(absl::StrCat("node", i));
        head.set_sequence(static_cast<uint64_t>(j + 1));
        audit.NoteHead(head);
        EXPECT_GT(audit.head().sequence(), 0u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Close();
  EXPECT_THAT(Verify().breaks, IsEmpty());
  EXPECT_GT(Verify().lines, 400u);
}

TEST_F(AuditLogTest, FoldsEqualRefusalsOfAMinuteToALineAndTheirNumber) {
  AuditLog& audit = Open();
  for (int i = 0; i < 1000; ++i) {
    AuditEntry entry = Entry(absl::StrCat("plan", i));
    entry.set_peer(absl::StrCat("ipv4:10.0.0.9:", 1000 + i));
    audit.Refuse(entry, absl::PermissionDeniedError("expected operator"));
  }
  audit.Settle();
  EXPECT_EQ(Entries().size(), 1u);
  EXPECT_THAT(Entries()[0].result(),
              HasSubstr("refused: PERMISSION_DENIED: expected operator"));
  scheduler_.Advance(kAuditRefusalWindow);
  Close();
  ASSERT_EQ(Entries().size(), 2u);
  EXPECT_EQ(Entries()[1].times(), 999u);
  EXPECT_THAT(Verify().breaks, IsEmpty());
}

TEST_F(AuditLogTest, TellsRefusalsOfOthersAndOfOtherKindsApart) {
  AuditLog& audit = Open();
  audit.Refuse(Entry("a"), kNo);
  audit.Refuse(Entry("a"), absl::NotFoundError("no"));
  audit.Refuse(Entry("a", "spiffe://demo/user/bob"), kNo);
  audit.Refuse(Entry("a", ""), absl::UnauthenticatedError("no"));
  audit.Settle();
  EXPECT_EQ(Entries().size(), 4u);
}

TEST_F(AuditLogTest, BoundsWhatManyDifferentCallersCanFill) {
  AuditLog& audit = Open();
  for (int i = 0; i < 2000; ++i) {
    audit.Refuse(Entry("a", absl::StrCat("spiffe://demo/user/u", i)), kNo);
  }
  audit.Settle();
  Close();
  const auto entries = Entries();
  EXPECT_EQ(entries.size(), 258u);
  uint32_t written = 0;
  for (const AuditEntry& entry : entries) {
    written += entry.times() == 0 ? 1 : entry.times();
  }
  EXPECT_EQ(written, 2000u);
}

AuditHead Head(const std::string& of, uint64_t sequence, char digit) {
  AuditHead head;
  head.set_of(of);
  head.set_sequence(sequence);
  head.set_sha256(std::string(64, digit));
  return head;
}

// "node07 9 a contradicted", with the first digit of the digest.
std::vector<std::string> Heads(const AuditLog& audit) {
  std::vector<std::string> heads;
  for (const AuditHead& head : audit.heads()) {
    heads.push_back(absl::StrCat(head.of(), " ", head.sequence(), " ",
                                 head.sha256().substr(0, 1),
                                 head.contradicted() ? " contradicted" : ""));
  }
  return heads;
}

TEST_F(AuditLogTest, KeepsTheHeadsOfOthersAlsoOverARestart) {
  AuditLog& audit = Open();
  audit.NoteHead(Head("node07", 3, 'a'));
  audit.NoteHead(Head("node08", 5, 'b'));
  audit.NoteHead(Head("node07", 4, 'c'));
  EXPECT_THAT(Entries(), IsEmpty());
  scheduler_.Advance(kAuditHeadsWindow);
  Close();
  ASSERT_EQ(Entries().size(), 1u);
  EXPECT_EQ(Entries()[0].who(), kSelf);
  EXPECT_EQ(Verify().known.newest.at("node07").sequence(), 4u);
  const auto heads = Open().heads();
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_EQ(AuditHeadText(heads[0]), absl::StrCat("4:", std::string(64, 'c')));
}

TEST_F(AuditLogTest, WritesAllHeadsAnewIntoANewFile) {
  {
    AuditLog& audit = Open(1000);
    audit.NoteHead(Head("node07", 3, 'a'));
    scheduler_.Advance(kAuditHeadsWindow);
  }
  AuditLog& audit = Open(1000);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(audit.Begin(Entry("run")).ok());
  audit.NoteHead(Head("node08", 1, 'b'));
  Close();
  EXPECT_EQ(Open().heads().size(), 2u);
}

TEST_F(AuditLogTest, ReportsThatAnotherFileIsContradicted) {
  AuditLog& audit = Open();
  audit.NoteHead(Head("node07", 9, 'a'));
  audit.NoteHead(Head("node07", 9, 'a'));
  EXPECT_THAT(log_.Lines(), Not(HasSubstr("node07")));
  audit.NoteHead(Head("node07", 4, 'b'));
  audit.NoteHead(Head("node07", 4, 'c'));
  Close();
  EXPECT_THAT(log_.Lines(), HasSubstr(absl::StrCat(kNewest, "4:")));
  const auto entries = Entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].what(), "audit-contradicted");
  EXPECT_THAT(entries[0].result(), HasSubstr(", and was 9:aaaa"));
}

TEST_F(AuditLogTest, ReportsAContradictedFileOnceAWindowAndHidesNone) {
  AuditLog& audit = Open();
  for (int i = 0; i < 1000; ++i) {
    audit.NoteHead(Head("node07", 9, i % 2 == 0 ? 'a' : 'b'));
  }
  audit.NoteHead(Head("node08", 9, 'a'));
  audit.NoteHead(Head("node08", 3, 'a'));
  scheduler_.Advance(kAuditHeadsWindow);
  Close();
  std::vector<std::string> written;
  for (const AuditEntry& entry : Entries()) {
    written.push_back(absl::StrCat(entry.what(), " ", entry.subject()));
  }
  EXPECT_THAT(written,
              ElementsAre("audit-contradicted node07",
                          "audit-contradicted node08", "audit-heads "));
  const std::vector<std::string> warnings =
      absl::StrSplit(log_.Lines(), "audit of node07");
  EXPECT_EQ(warnings.size(), 2u);
}

TEST_F(AuditLogTest, KeepsTheHighestHeadThatAFileContradictsOverARestart) {
  const auto kept = ElementsAre("node07 12 d", "node07 9 a contradicted");
  AuditLog& audit = Open();
  audit.NoteHead(Head("node07", 9, 'a'));
  audit.NoteHead(Head("node07", 4, 'b'));
  audit.NoteHead(Head("node07", 3, 'c'));
  audit.NoteHead(Head("node07", 12, 'd'));
  EXPECT_THAT(Heads(audit), kept);
  Close();
  EXPECT_THAT(Heads(Open(1)), kept);
  // The same in a new file, which begins with all heads.
  ASSERT_TRUE(audit_->Begin(Entry("run")).ok());
  audit_->NoteHead(Head("node08", 1, 'a'));
  Close();
  EXPECT_GT(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  EXPECT_THAT(Heads(Open()), testing::Contains("node07 9 a contradicted"));
}

TEST_F(AuditLogTest, KeepsHeadsOfAFileThatCanOnlyBeReadLater) {
  auto first = std::make_unique<AuditLog>(path_, AuditLimits{kLarge}, kSelf,
                                          &scheduler_, &log_);
  first->NoteHead(Head("node07", 9, 'a'));
  first->NoteHead(Head("node08", 5, 'b'));
  AuditLog& audit = Open();
  ASSERT_FALSE(audit.Begin(Entry("run1")).ok());
  audit.NoteHead(Head("node07", 4, 'c'));
  first.reset();
  ASSERT_TRUE(audit.Begin(Entry("run2")).ok());
  EXPECT_THAT(Heads(audit), ElementsAre("node07 4 c", "node07 9 a contradicted",
                                        "node08 5 b"));
  EXPECT_THAT(log_.Lines(), HasSubstr(absl::StrCat(kNewest, "4")));
}

TEST_F(AuditLogTest, TellsNoHeadOfALineThatHasHeadsAlone) {
  AuditLog& audit = Open();
  ASSERT_TRUE(audit.Begin(Entry("run1")).ok());
  EXPECT_EQ(audit.head_to_tell().sequence(), 1u);
  audit.NoteHead(Head("node07", 9, 'a'));
  scheduler_.Advance(kAuditHeadsWindow);
  ASSERT_TRUE(WaitUntil([&audit] { return audit.head().sequence() >= 2; }));
  EXPECT_EQ(audit.head_to_tell().sequence(), 1u);
  audit.End(Entry("run1"), "done");
  EXPECT_EQ(audit.head_to_tell().sequence(), 3u);
}

TEST_F(AuditLogTest, ReadingLogsAllTheTimeKeepsNobodyFromConfirming) {
  AuditLog& audit = Open(kLarge, /*minute_bytes=*/1000);
  AuditEntry reads = Entry("of user ann");
  reads.set_what(kAuditReadLogs);
  absl::Status refused;
  for (int begun = 0; refused.ok() && begun < 10'000; ++begun) {
    refused = audit.Begin(reads);
    if (refused.ok()) audit.End(reads, "read");
  }
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  for (int i = 0; i < 10; ++i) audit.Refuse(reads, refused);
  AuditEntry confirm = Entry("1fc8");
  confirm.set_what("confirm");
  EXPECT_TRUE(audit.Begin(confirm).ok());
  audit.End(confirm, "APPLIED");
  // The reads come again.
  scheduler_.Advance(absl::Minutes(10));
  EXPECT_TRUE(audit.Begin(reads).ok());
}

TEST_F(AuditLogTest, WritesNoMoreThanTheDiskHoldsForAYear) {
  constexpr size_t kMinute = 1000;
  const double burst =
      kMinute * absl::FDivDuration(kAuditBurst, absl::Minutes(1));
  const auto size = [this] {
    return static_cast<double>(std::filesystem::file_size(path_));
  };
  AuditLog& audit = Open(kLarge, kMinute);
  // An entry's size is bounded, because a controller chooses all texts.
  const std::string text(4096, 'x');
  absl::Status refused;
  int begun = 0;
  for (; refused.ok() && begun < 10'000; ++begun) {
    refused = audit.Begin(Entry(absl::StrCat(begun, text), text));
  }
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("1000 bytes a minute"));
  const double full = size();
  EXPECT_LT(full, burst + 5000);
  // Refusals are counted, heads wait, and begun entries still end.
  for (int i = 0; i < 1000; ++i) {
    audit.Refuse(Entry("a", absl::StrCat("u", i)), kNo);
  }
  audit.Settle();
  EXPECT_EQ(size(), full);
  audit.End(Entry("0"), "done");
  EXPECT_GT(size(), full);
  scheduler_.Advance(absl::Minutes(10));
  EXPECT_TRUE(audit.Begin(Entry("later")).ok());
  Close();
  const auto entries = Entries();
  EXPECT_THAT(Verify().breaks, IsEmpty());
  uint32_t counted = 0;
  for (const AuditEntry& entry : entries) counted += entry.times();
  EXPECT_EQ(counted, 1000u);
}

// A writer reads the clock first: a clock that hangs acts like a disk that
// hangs.
class HangingClock final : public Scheduler {
 public:
  absl::Time Now() override {
    absl::MutexLock lock(&mutex_);
    hanging_ = hangs_;
    mutex_.Await(absl::Condition(this, &HangingClock::GoesOn));
    return absl::UnixEpoch();
  }
  TimerId RunAfter(absl::Duration, std::function<void()>) override { return 1; }
  void Cancel(TimerId) override {}

  void Hang() {
    absl::MutexLock lock(&mutex_);
    hangs_ = true;
  }
  void WaitUntilSomebodyHangs() {
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&hanging_), kPatience));
  }
  void GoOn() {
    absl::MutexLock lock(&mutex_);
    hangs_ = false;
  }

 private:
  bool GoesOn() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !hangs_; }

  absl::Mutex mutex_;
  bool hangs_ ABSL_GUARDED_BY(mutex_) = false;
  bool hanging_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST_F(AuditLogTest, NobodyHangsWithTheDiskAndRefusalsAreCounted) {
  HangingClock clock;
  AuditLimits limits{kLarge};
  limits.hung_after = absl::Milliseconds(1);
  AuditLog audit(path_, limits, kSelf, &clock, &log_);
  ASSERT_TRUE(audit.Begin(Entry("run1")).ok());
  clock.Hang();
  constexpr int kRefusals = 5000;
  for (int i = 0; i < kRefusals; ++i) {
    audit.Refuse(Entry("a", absl::StrCat("spiffe://demo/user/u", i)), kNo);
  }
  clock.WaitUntilSomebodyHangs();
  EXPECT_EQ(audit.head_to_tell().sequence(), 1u);
  audit.NoteHead(Head("node07", 3, 'a'));
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(audit.Begin(Entry("run2")),
                Fails(absl::StatusCode::kUnavailable,
                      Tells("audit-nothing-changed",
                            Worded("msg-trust-audit-disk-hangs", "1ms"))));
  }
  clock.GoOn();
  audit.Settle();
  EXPECT_TRUE(audit.Begin(Entry("run3")).ok());
  // All other refusals have a line of their own.
  EXPECT_EQ(Entries().size(), 1u + 256u + 1u + 1u);
  EXPECT_THAT(Verify().breaks, IsEmpty());
}

}  // namespace
}  // namespace clusterd
