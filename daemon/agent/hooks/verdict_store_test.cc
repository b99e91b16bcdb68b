#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "config/identity/signature.h"
#include "config/values/sha256.h"
#include "daemon/agent/hooks/hook_service.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/test_authority.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_file_system.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kFolder[] = "/var/lib/clusterd/verdicts";

class VerdictStoreTest : public testing::Test {
 protected:
  VerdictStoreTest() { files_.PutFolder("/var/lib/clusterd"); }

  JobVerdict Verdict(const std::string& job, absl::Time at) const {
    JobVerdict verdict;
    verdict.set_cluster("test");
    verdict.set_job_id(job);
    verdict.set_job_digest(Sha256Hex(job));
    verdict.set_judged_at_ms(absl::ToUnixMillis(at));
    verdict.set_verdict(PASS);
    return verdict;
  }
  SignedVerdict Signed(const JobVerdict& verdict) const {
    return SignedBy(verdict, controller_);
  }
  static SignedVerdict SignedBy(const JobVerdict& verdict, const TlsPem& who) {
    SignedVerdict made;
    made.set_verdict(verdict.SerializeAsString());
    made.set_signature(SignText(who.key, made.verdict()).value_or(""));
    made.set_certificate(who.certificate);
    return made;
  }
  absl::Status Keep(const JobVerdict& verdict) {
    return store_.Keep(Signed(verdict), verdict);
  }
  bool IsDenied(const JobVerdict& verdict) {
    return absl::IsPermissionDenied(
        store_.Find(verdict.job_digest(), absl::Minutes(10)).status());
  }
  std::vector<std::string> Kept() {
    return files_.List(kFolder).value_or(std::vector<std::string>());
  }

  // The certificates are valid from now.
  FakeClock clock_{absl::Now()};
  FakeFileSystem files_;
  const std::unique_ptr<TestAuthority> authority_ = TestAuthority::Create();
  const TlsPem controller_ = authority_->Issue({"spiffe://test/controller"});
  VerdictStore store_{{kFolder, "test",
                       [this]() -> absl::StatusOr<std::string> {
                         return authority_->certificate_pem();
                       }},
                      &files_,
                      &clock_};
};

TEST_F(VerdictStoreTest, FindsWhatItKept) {
  const JobVerdict verdict = Verdict("slurm:1.0", clock_.Now());
  ASSERT_TRUE(Keep(verdict).ok());
  const auto found =
      store_.Find(verdict.job_digest(), absl::Minutes(10)).value();
  EXPECT_EQ(found.job_id(), "slurm:1.0");
  EXPECT_TRUE(absl::IsNotFound(
      store_.Find(Sha256Hex("another"), absl::Minutes(10)).status()));
}

TEST_F(VerdictStoreTest, BelievesNobodyButAControllerOfTheCluster) {
  const JobVerdict verdict = Verdict("a", clock_.Now());
  ASSERT_TRUE(store_.Prove(Signed(verdict), absl::Minutes(10)).ok());
  SignedVerdict changed = Signed(verdict);
  changed.set_verdict(Verdict("b", clock_.Now()).SerializeAsString());
  JobVerdict elsewhere = verdict;
  elsewhere.set_cluster("prod");
  const auto stranger = TestAuthority::Create();
  for (const SignedVerdict& made :
       {SignedBy(verdict, authority_->Issue({"spiffe://test/host/node1"})),
        SignedBy(verdict, stranger->Issue({"spiffe://test/controller"})),
        changed, Signed(elsewhere), SignedVerdict()}) {
    EXPECT_TRUE(absl::IsPermissionDenied(
        store_.Prove(made, absl::Minutes(10)).status()));
  }
}

TEST_F(VerdictStoreTest, RefusesWhatIsTooOldOrOfTomorrow) {
  const JobVerdict old = Verdict("a", clock_.Now() - absl::Minutes(11));
  ASSERT_TRUE(Keep(old).ok());
  const auto found = store_.Find(old.job_digest(), absl::Minutes(10));
  EXPECT_EQ(found.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("11 min old"));
  EXPECT_TRUE(store_.Find(old.job_digest(), absl::Minutes(12)).ok());
  EXPECT_THAT(store_.Prove(Signed(Verdict("a", clock_.Now() + absl::Hours(1))),
                           absl::Minutes(10)),
              Fails(absl::StatusCode::kFailedPrecondition));
}

TEST_F(VerdictStoreTest, ProvesAgainWhatItReads) {
  const JobVerdict verdict = Verdict("a", clock_.Now());
  ASSERT_TRUE(Keep(verdict).ok());
  ASSERT_THAT(Kept(), SizeIs(1));
  const std::string path = absl::StrCat(kFolder, "/", Kept()[0]);
  SignedVerdict forged = Signed(verdict);
  JobVerdict better = verdict;
  better.set_verdict(PASS);
  better.set_run_id("forged");
  forged.set_verdict(better.SerializeAsString());
  files_.Put(path, forged.SerializeAsString());
  EXPECT_TRUE(IsDenied(verdict));
  // Signed, and of another job than the name says.
  files_.Put(path, Signed(Verdict("b", clock_.Now())).SerializeAsString());
  EXPECT_TRUE(IsDenied(verdict));
  files_.Put(path, "\xff\xff garbage");
  EXPECT_TRUE(IsDenied(verdict));
}

TEST_F(VerdictStoreTest, KeepsOneOfEachJobAndTheNewestOfMany) {
  const JobVerdict first = Verdict("a", clock_.Now());
  ASSERT_TRUE(Keep(first).ok());
  clock_.Advance(absl::Minutes(1));
  JobVerdict second = Verdict("a", clock_.Now());
  second.set_run_id("second");
  ASSERT_TRUE(Keep(second).ok());
  EXPECT_THAT(Kept(), SizeIs(1));
  EXPECT_EQ(store_.Find(first.job_digest(), absl::Hours(1))->run_id(),
            "second");
  for (int i = 0; i < 200; ++i) {
    clock_.Advance(absl::Seconds(1));
    ASSERT_TRUE(Keep(Verdict(absl::StrCat("job", i), clock_.Now())).ok());
  }
  EXPECT_THAT(Kept(), SizeIs(kMaxKeptVerdicts));
  EXPECT_TRUE(store_.Find(Sha256Hex("job199"), absl::Hours(1)).ok());
  EXPECT_FALSE(store_.Find(Sha256Hex("job0"), absl::Hours(1)).ok());
  clock_.Advance(kMaxKeptAge + absl::Hours(1));
  ASSERT_TRUE(Keep(Verdict("new", clock_.Now())).ok());
  EXPECT_THAT(Kept(), SizeIs(1));
}

TEST_F(VerdictStoreTest, GoesOnAfterADaemonThatWasKilledWhileItWrote) {
  files_.PutFolder(kFolder);
  files_.Put(absl::StrCat(kFolder, "/verdict.new"), "half");
  files_.Put(absl::StrCat(kFolder, "/notes.txt"), "a person's");
  const JobVerdict verdict = Verdict("a", clock_.Now());
  ASSERT_TRUE(Keep(verdict).ok());
  files_.LosePower();
  EXPECT_TRUE(store_.Find(verdict.job_digest(), absl::Minutes(1)).ok());
  EXPECT_EQ(files_.Content(absl::StrCat(kFolder, "/notes.txt")), "a person's");
}

TEST_F(VerdictStoreTest, KeepsNothingOfAJobsTextOrOnAFullDisk) {
  JobVerdict verdict = Verdict("a", clock_.Now());
  verdict.set_job_digest("../../../etc/cron.d/x");
  EXPECT_EQ(Keep(verdict).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Kept(), SizeIs(0));
  files_.SetFreeBytes(10);
  EXPECT_FALSE(Keep(Verdict("a", clock_.Now())).ok());
  EXPECT_TRUE(
      absl::IsNotFound(store_.Find(Sha256Hex("a"), absl::Hours(1)).status()));
}

}  // namespace
}  // namespace clusterd
