#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/audit/audit_chain.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// Lines 1 to `count` of one chain; the last one names the controller's head.
struct Chain {
  explicit Chain(int count) {
    for (int i = 1; i <= count; ++i) {
      AuditEntry entry;
      entry.set_sequence(static_cast<uint64_t>(i));
      entry.set_what("apply");
      entry.set_subject(absl::StrCat("run", i));
      entry.set_previous(head.sha256());
      if (i == count) {
        AuditHead* const other = entry.add_heads();
        other->set_of(kControllerFile);
        other->set_sequence(7);
        other->set_sha256(std::string(64, 'c'));
      }
      absl::StrAppend(&text, SealAuditLine(&entry), "\n");
      head = HeadOf(entry);
    }
  }
  std::string text;
  AuditHead head;
};

TEST(AuditVerifyTest, SaysThatAFileIsIntactWithItsHead) {
  const Chain chain(3);
  const std::string path = TestFile("audit.jsonl", chain.text);
  EXPECT_THAT(RunProgram({"audit", "verify", path}),
              Ends(0, Out(Tells("audit-intact",
                                Worded("audit-lines-to", Counted(3, "line"),
                                       AuditHeadText(chain.head))))));
}

TEST(AuditVerifyTest, NamesTheLineThatWasAltered) {
  const std::string path = TestFile(
      "audit.jsonl", absl::StrReplaceAll(Chain(3).text, {{"run2", "run9"}}));
  EXPECT_THAT(RunProgram({"audit", "verify", path}),
              Ends(1, Out(HasSubstr(absl::StrCat(path, ":2: altered: "))),
                   Out(Tells("audit-broken", Counted(1, "break"),
                             Counted(2, "line")))));
}

TEST(AuditVerifyTest, FindsACutTailByAHeadOfTheCommandLine) {
  const std::string path = TestFile("audit.jsonl", Chain(3).text);
  EXPECT_THAT(RunProgram({"audit", "verify", path, "--head",
                          absl::StrCat("5:", std::string(64, 'a'))}),
              Ends(1, Out(HasSubstr("2 lines are cut off"))));
}

TEST(AuditVerifyTest, FindsACutTailByTheHeadThatTheControllerKeeps) {
  const std::string path = TestFile("audit.jsonl", Chain(3).text);
  const Chain whole(5);
  ProgramWorld world;
  AuditHead* const head = world.script.audit_heads.add_heads();
  *head = whole.head;
  head->set_of("server0");
  EXPECT_THAT(RunProgram({"audit", "verify", path, "--of", "server0"}, world),
              Ends(1, Out(HasSubstr("2 lines are cut off"))));
  EXPECT_THAT(RunProgram({"audit", "verify", path, "--of", "server9"}, world),
              Ends(3, Err(Tells("msg-trust-audit-not-kept", "\"server9\""))));
}

TEST(AuditVerifyTest, FailsForAHeadThatTheHostHasContradictedSince) {
  const Chain chain(3);
  const std::string path = TestFile("audit.jsonl", chain.text);
  ProgramWorld world;
  for (const AuditHead& kept : {chain.head, Chain(5).head}) {
    AuditHead* const head = world.script.audit_heads.add_heads();
    *head = kept;
    head->set_of("server0");
    head->set_contradicted(kept.sequence() == 5);
  }
  EXPECT_THAT(RunProgram({"audit", "verify", path, "--of", "server0"}, world),
              Ends(1, Out(HasSubstr("2 lines are cut off"))));
  EXPECT_THAT(RunProgram({"audit", "head"}, world).out,
              HasSubstr("  contradicted\n"));
}

TEST(AuditVerifyTest, TakesWrongUsageAndMissingFilesAsSuch) {
  const std::string path = TestFile("audit.jsonl", Chain(1).text);
  EXPECT_EQ(RunProgram({"audit", "verify"}).status, 3);
  EXPECT_EQ(RunProgram({"audit", "verify", "/nonexistent/a"}).status, 3);
  EXPECT_THAT(
      RunProgram({"audit", "verify", path, "--head", "x", "--head", "1:y"}),
      Ends(3, Err(HasSubstr("\"x\"")), Err(HasSubstr("\"1:y\""))));
}

TEST(AuditVerifyTest, SpeaksTheUsersLanguage) {
  ProgramWorld chinese;
  chinese.environment["CLUSTERD_LANG"] = "zh";
  const std::string whole = TestFile("whole.jsonl", Chain(3).text);
  const std::string altered = TestFile(
      "altered.jsonl", absl::StrReplaceAll(Chain(3).text, {{"run2", "run9"}}));
  for (const std::string& path : {whole, altered}) {
    const ProgramOutput first = RunProgram({"audit", "verify", path});
    const ProgramOutput second = RunProgram({"audit", "verify", path}, chinese);
    EXPECT_EQ(first.status, second.status);
    EXPECT_NE(first.out, second.out);
  }
}

TEST(AuditHeadTest, ListsWhatTheControllerKeeps) {
  ProgramWorld world;
  AuditHead* const head = world.script.audit_heads.add_heads();
  head->set_of("server0");
  head->set_sequence(12);
  head->set_sha256("ab");
  EXPECT_THAT(RunProgram({"audit", "head"}, world),
              Ends(0, Out("FILE     HEAD\n"
                          "server0  12:ab\n")));
}

TEST(AuditHeadTest, ReadsFromAHostsFileWhatItKeepsOfTheController) {
  const Chain chain(2);
  const std::string path = TestFile("audit.jsonl", chain.text);
  EXPECT_THAT(RunProgram({"audit", "head", path}),
              Ends(0, Out(absl::StrCat("FILE        HEAD\n"
                                       "this file   ",
                                       AuditHeadText(chain.head),
                                       "\n"
                                       "controller  7:",
                                       std::string(64, 'c'), "\n"))));
}

}  // namespace
}  // namespace clusterd
