#include "config/audit/audit_chain.h"

#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/values/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A chain that a test adds lines to.
class Writer {
 public:
  std::string Line(const std::string& subject, AuditEntry entry = {}) {
    if (entry.what().empty()) entry.set_what("apply");
    entry.set_who("spiffe://demo/user/ada/role/operator");
    entry.set_subject(subject);
    entry.set_sequence(head_.sequence() + 1);
    entry.set_previous(head_.sha256());
    const std::string line = SealAuditLine(&entry);
    head_ = HeadOf(entry);
    return line;
  }
  const AuditHead& head() const { return head_; }

 private:
  AuditHead head_;
};

std::vector<std::string> Lines(int count) {
  Writer writer;
  std::vector<std::string> lines;
  for (int i = 1; i <= count; ++i) {
    lines.push_back(writer.Line(absl::StrCat("run", i)));
  }
  return lines;
}

std::string FileOf(const std::vector<std::string>& lines) {
  return absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
}

AuditFindings Verify(const std::string& text,
                     const std::vector<AuditHead>& heads = {}) {
  return VerifyAudit(std::vector<AuditText>{{"a", text}}, heads);
}

// Matches the verifier's message about a line.
template <typename... Values>
Telling At(absl::string_view line, absl::string_view row,
           const Values&... values) {
  return Tells(line, absl::StrCat("msg-trust-audit-", row), values...);
}

TEST(AuditLineTest, ReadsBackWhatWasSealed) {
  AuditEntry entry;
  entry.set_sequence(3);
  entry.set_what("ApplyPlan");
  entry.set_result("refused: \"x\"\n\x1b[2J");
  entry.set_previous(std::string(64, 'a'));
  const std::string line = SealAuditLine(&entry);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  const auto read = ReadAuditLine(line);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), entry.SerializeAsString());
  EXPECT_EQ(read->result(), R"(refused: "x"\n\x1b[2J)");
}

TEST(AuditLineTest, HashesItsBytesUpToTheHashAndTakesFieldsOfNewerWriters) {
  AuditEntry entry;
  entry.set_sequence(1);
  const std::string line = SealAuditLine(&entry);
  const size_t seal = line.find(",\"sha256\"");
  EXPECT_EQ(entry.sha256(), Sha256Hex(line.substr(0, seal)));
  EXPECT_EQ(line, absl::StrCat(R"({"sequence":"1","sha256":")", entry.sha256(),
                               "\"}"));
  const std::string body = R"({"sequence":"1","novel":[1])";
  EXPECT_TRUE(ReadAuditLine(
                  absl::StrCat(body, ",\"sha256\":\"", Sha256Hex(body), "\"}"))
                  .ok());
  // Refuses what is none.
  for (const std::string& line :
       {std::string(), std::string("{}"), std::string("\0\0\0", 3),
        absl::StrCat("x,\"sha256\":\"", Sha256Hex("x"), "\"}"),
        absl::StrCat("{\"sequence\":\"0\",\"sha256\":\"",
                     Sha256Hex("{\"sequence\":\"0\""), "\"}")}) {
    EXPECT_EQ(ReadAuditLine(line).status().code(),
              absl::StatusCode::kInvalidArgument)
        << line;
  }
}

TEST(AuditHeadTest, ReadsBackItsText) {
  AuditHead head;
  head.set_sequence(12);
  head.set_sha256(std::string(64, '0'));
  const auto read = ParseAuditHead(AuditHeadText(head));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(AuditHeadText(*read), AuditHeadText(head));
  for (const char* text : {"", "12", "0:00", "12:xyz", ":", "-1:00"}) {
    EXPECT_FALSE(ParseAuditHead(text).ok()) << text;
  }
}

TEST(VerifyAuditTest, FindsNothingInAWholeFileAndFindsEachByteThatIsAltered) {
  const AuditFindings found = Verify(FileOf(Lines(5)));
  EXPECT_THAT(found.breaks, IsEmpty());
  EXPECT_THAT(found.notes, IsEmpty());
  EXPECT_EQ(found.lines, 5u);
  EXPECT_EQ(found.head.sequence(), 5u);
  EXPECT_THAT(Verify("").breaks, IsEmpty());
  const std::string whole = FileOf(Lines(3));
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string altered = whole;
    altered[i] = altered[i] == 'x' ? 'y' : 'x';
    EXPECT_THAT(Verify(altered).breaks, testing::Not(IsEmpty())) << i;
  }
  // Names the altered line and no other.
  const std::string text =
      absl::StrReplaceAll(FileOf(Lines(5)), {{"run3", "run9"}});
  EXPECT_THAT(Verify(text).breaks, ElementsAre(At("a:3", "altered")));
  // Finds a line that was sealed again by the next one.
  std::vector<std::string> lines = Lines(4);
  AuditEntry entry = *ReadAuditLine(lines[1]);
  entry.set_subject("another");
  lines[1] = SealAuditLine(&entry);
  EXPECT_THAT(Verify(FileOf(lines)).breaks,
              ElementsAre(At("a:3", "not-following", entry.sha256())));
}

TEST(VerifyAuditTest, NamesEachGapWithTheNumberOfItsLines) {
  std::vector<std::string> lines = Lines(9);
  lines.erase(lines.begin() + 6);
  lines.erase(lines.begin() + 1, lines.begin() + 3);
  EXPECT_THAT(Verify(FileOf(lines)).breaks,
              ElementsAre(At("a:2", "lines-missing", 4, 2, 2),
                          At("a:5", "lines-missing", 8, 7, 1)));
}

TEST(VerifyAuditTest, FindsATruncatedHead) {
  std::vector<std::string> lines = Lines(4);
  lines.erase(lines.begin());
  EXPECT_THAT(Verify(FileOf(lines)).breaks,
              ElementsAre(At("a:1", "begin-missing", 2)));
}

TEST(VerifyAuditTest, FindsLinesThatWereSwappedOrPutInTwice) {
  std::vector<std::string> lines = Lines(4);
  std::swap(lines[1], lines[2]);
  EXPECT_THAT(Verify(FileOf(lines)).breaks, SizeIs(3));
  lines = Lines(3);
  lines.insert(lines.begin() + 1, lines[0]);
  EXPECT_THAT(Verify(FileOf(lines)).breaks,
              ElementsAre(At("a:2", "out-of-place", 1, 2)));
}

TEST(VerifyAuditTest, FindsACutTailByTheHeadThatOthersKeep) {
  std::vector<std::string> lines = Lines(5);
  const AuditHead head = HeadOf(*ReadAuditLine(lines.back()));
  EXPECT_THAT(Verify(FileOf(lines), {head}).breaks, IsEmpty());
  lines.resize(3);
  EXPECT_THAT(Verify(FileOf(lines)).breaks, IsEmpty());
  EXPECT_THAT(Verify(FileOf(lines), {head}).breaks,
              ElementsAre(Tells("msg-trust-audit-truncated", 5, 3, 2)));
  // Finds lines that were all rewritten, by an older head.
  Writer writer;
  const std::string first = writer.Line("run1");
  const std::string forged = writer.Line("nothing");
  const std::string last = writer.Line("nothing");
  const AuditHead kept = HeadOf(*ReadAuditLine(Lines(3)[1]));
  const std::string text = FileOf({first, forged, last});
  EXPECT_THAT(Verify(text).breaks, IsEmpty());
  EXPECT_THAT(Verify(text, {kept}).breaks,
              ElementsAre(At("a:2", "rewritten", 2)));
}

TEST(VerifyAuditTest, SaysThatAHeadIsOfAnOlderFile) {
  Writer writer;
  const std::string first = FileOf({writer.Line("run1"), writer.Line("run2")});
  const AuditHead kept = writer.head();
  AuditEntry continues;
  continues.set_what(kAuditContinues);
  const std::string second =
      FileOf({writer.Line("a.2", continues), writer.Line("run3")});
  const AuditFindings both = VerifyAudit(
      std::vector<AuditText>{{"a.2", first}, {"a", second}}, {kept});
  EXPECT_THAT(both.breaks, IsEmpty());
  EXPECT_EQ(both.lines, 4u);
  const AuditFindings alone = Verify(second, {kept});
  EXPECT_THAT(alone.notes, ElementsAre(Tells("audit-continues", "a", "a.2")));
  EXPECT_THAT(alone.breaks,
              ElementsAre(Tells("msg-trust-audit-not-in-files", 2)));
  EXPECT_THAT(
      VerifyAudit(std::vector<AuditText>{{"a", second}, {"a.2", first}}, {})
          .breaks,
      testing::Not(IsEmpty()));
}

TEST(VerifyAuditTest, TakesATornLineOnlyWhereTheNextOneVouchesForIt) {
  Writer writer;
  const std::string first = writer.Line("run1");
  const std::string torn = first.substr(0, 20);
  AuditEntry vouches;
  vouches.set_what(kAuditTorn);
  vouches.mutable_torn()->set_bytes(torn.size());
  vouches.mutable_torn()->set_sha256(Sha256Hex(torn));
  const std::string next = writer.Line("", vouches);
  const AuditFindings found = Verify(FileOf({first, torn, next}));
  EXPECT_THAT(found.breaks, IsEmpty());
  EXPECT_THAT(found.notes, ElementsAre(Tells("a:2", "audit-cut-by-crash", 20)));
  EXPECT_THAT(Verify(FileOf({first, torn + "x", next})).breaks,
              ElementsAre(Tells("a:2")));
  EXPECT_THAT(Verify(absl::StrCat(first, "\n", torn)).breaks,
              ElementsAre(Tells("a:2")));
}

TEST(VerifyAuditTest, TellsTheNewestHeadsOfOthers) {
  Writer writer;
  AuditEntry with_head;
  AuditHead* const head = with_head.add_heads();
  head->set_of("node07");
  head->set_sequence(4);
  const std::string first = writer.Line("", with_head);
  head->set_sequence(5);
  const AuditFindings found =
      Verify(FileOf({first, writer.Line("", with_head)}));
  ASSERT_EQ(found.known.newest.size(), 1u);
  EXPECT_EQ(found.known.newest.at("node07").sequence(), 5u);
}

TEST(KnownHeadsTest, TakesAnOlderHeadFromALineOfHeadsAndFromNoTask) {
  AuditHead newer;
  newer.set_of("controller");
  newer.set_sequence(7);
  AuditHead older = newer;
  older.set_sequence(5);
  AuditEntry heads;
  heads.set_what(kAuditHeads);
  *heads.add_heads() = newer;
  AuditEntry task;
  task.set_what("apply");
  *task.add_heads() = older;
  KnownHeads known;
  known.Read(heads);
  known.Read(task);
  EXPECT_EQ(known.newest.at("controller").sequence(), 7u);
  *heads.mutable_heads(0) = older;
  *heads.add_heads() = newer;
  heads.mutable_heads(1)->set_contradicted(true);
  known.Read(heads);
  ASSERT_EQ(known.All().size(), 2u);
  EXPECT_EQ(known.All()[0].sequence(), 5u);
  EXPECT_TRUE(known.All()[1].contradicted());
}

// A file may hold any bytes.
TEST(VerifyAuditTest, EndsForWhateverBytes) {
  std::mt19937 random(7);
  const std::string whole = FileOf(Lines(4));
  for (int i = 0; i < 500; ++i) {
    std::string text = whole;
    for (int j = 0; j < 4; ++j) {
      const size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text.erase(at, random() % 9);
      } else {
        text.insert(at, 1, static_cast<char>(random()));
      }
    }
    const AuditFindings found = Verify(text);
    EXPECT_TRUE(text == whole || !found.breaks.empty()) << text;
  }
}

}  // namespace
}  // namespace clusterd
