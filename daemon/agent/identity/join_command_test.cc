#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "config/identity/signing_request.h"
#include "daemon/agent/identity/enrolment_call.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/test_authority.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kHash = "sha256:" + std::string(64, 'a');

std::optional<int> Parse(std::vector<const char*> words, JoinFlags* flags,
                         std::string* said) {
  words.insert(words.begin(), "join");
  testing::internal::CaptureStderr();
  const auto status =
      ParseJoinFlags(static_cast<int>(words.size()), words.data(), flags);
  *said = testing::internal::GetCapturedStderr();
  return status;
}

TEST(JoinFlagsTest, LineThatTokenCreatePrintsIsEnough) {
  JoinFlags flags;
  std::string said;
  EXPECT_EQ(Parse({"--controller", "head:7443", "--ca-hash", kHash.c_str(),
                   "--token", "cj1.x"},
                  &flags, &said),
            std::nullopt)
      << said;
  EXPECT_EQ(flags.controller, "head:7443");
  EXPECT_EQ(flags.token, "cj1.x");
  EXPECT_EQ(flags.folder, "/etc/clusterd");
  EXPECT_EQ(flags.enrol_port, 0);
}

TEST(JoinFlagsTest, NamesEveryMistakeAtOnce) {
  JoinFlags flags;
  std::string said;
  EXPECT_EQ(
      Parse({"--controller", "head", "--ca-hash", "sha256:12", "--dir", "etc"},
            &flags, &said),
      3);
  EXPECT_THAT(said,
              AllOf(HasSubstr("--controller: \"head\", expected HOST:PORT"),
                    HasSubstr("--ca-hash: \"sha256:12\", expected"),
                    HasSubstr("--token, or --token-file"),
                    HasSubstr(Say("msg-trust-join-folder", "\"etc\""))));
  EXPECT_EQ(Parse({}, &flags, &said), 3);
}

TEST(JoinFlagsTest, NamesMistakesInTheUsersLanguage) {
  const InLanguage chinese(Language::kChinese);
  JoinFlags flags;
  std::string said;
  EXPECT_EQ(Parse({"--controller", "head:7443", "--ca-hash", kHash.c_str()},
                  &flags, &said),
            3);
  EXPECT_THAT(said, HasSubstr(Say("msg-trust-join-no-token")));
}

TEST(CallPatienceTest, SlowControllerIsAskedAsOftenAsABusyOne) {
  const CallPatience patience;
  EXPECT_TRUE(
      MayPass(absl::ResourceExhaustedError("later"), 0, patience, true));
  EXPECT_TRUE(MayPass(absl::DeadlineExceededError("20s"), 29, patience, true));
  EXPECT_FALSE(MayPass(absl::PermissionDeniedError("no"), 1, patience, true));
  EXPECT_FALSE(MayPass(absl::OkStatus(), 1, patience, true));
  // Three tries are enough if none was answered.
  for (const absl::Status& status : {absl::UnavailableError("refused"),
                                     absl::DeadlineExceededError("20s")}) {
    EXPECT_TRUE(MayPass(status, 2, patience, false)) << status;
    EXPECT_FALSE(MayPass(status, 3, patience, false)) << status;
  }
  EXPECT_FALSE(MayPass(absl::UnavailableError("refused"), 3, patience, true));
}

// Checks a controller's answer before a byte of it is written.
class CheckedPairTest : public testing::Test {
 protected:
  Enrolled AnswerOf(const TlsPem& pem, const std::string& name = "node07") {
    Enrolled answer;
    answer.set_cluster("demo");
    answer.set_name(name);
    answer.set_certificate_pem(pem.certificate);
    answer.set_roots_pem(root_->certificate_pem());
    return answer;
  }
  absl::StatusOr<TlsPem> Check(const Enrolled& answer, const std::string& key,
                               absl::Time now = absl::Now()) {
    const Roots roots =
        TakeRootBundles({root_->certificate_pem(), ""}, answer.root_bundles(),
                        answer.roots_pem(), "demo", now);
    return CheckedPair(answer, "demo", roots, key, now);
  }
  void ExpectRefused(const absl::StatusOr<TlsPem>& pair,
                     const std::string& why) {
    EXPECT_FALSE(pair.ok());
    EXPECT_THAT(std::string(pair.status().message()), HasSubstr(why));
  }

  const std::unique_ptr<TestAuthority> root_ = TestAuthority::Create();
  const TlsPem good_ = root_->Issue({"spiffe://demo/host/node07"});
};

TEST_F(CheckedPairTest, TakesAPairOfThisHostAndItsRoots) {
  const auto pair = Check(AnswerOf(good_), good_.key).value();
  EXPECT_EQ(pair.certificate, good_.certificate);
  EXPECT_EQ(pair.ca, root_->certificate_pem());
}

TEST_F(CheckedPairTest, TakesNoRootThatNobodySigned) {
  const auto next = TestAuthority::Create("next");
  Enrolled answer = AnswerOf(good_);
  answer.set_roots_pem(root_->certificate_pem() + next->certificate_pem());
  EXPECT_EQ(Check(answer, good_.key)->ca, root_->certificate_pem());
  answer.set_root_bundles(root_->RootBundle("demo", "1", answer.roots_pem()));
  const auto pair = Check(answer, good_.key);
  EXPECT_EQ(pair->ca, answer.roots_pem());
  EXPECT_EQ(pair->roots_bundle, answer.root_bundles());
}

// Otherwise the host would refuse its own files at the next start.
TEST_F(CheckedPairTest, RefusesAPairThatItsNewRootsDidNotIssue) {
  const auto next = TestAuthority::Create("next");
  Enrolled answer = AnswerOf(good_);
  answer.set_root_bundles(
      root_->RootBundle("demo", "1", next->certificate_pem()));
  const auto pair = Check(answer, good_.key);
  ExpectRefused(pair, "the certificate: ");
  ExpectRefused(pair, "root removed sha256:");
}

TEST_F(CheckedPairTest, RefusesWhatIsNotThisHosts) {
  ExpectRefused(Check(AnswerOf(good_), *MakePrivateKey()),
                "the key is not the certificate's");
  ExpectRefused(Check(AnswerOf(good_, "node08"), good_.key),
                "expected spiffe://demo/host/node08");
  const TlsPem user = root_->Issue({"spiffe://demo/user/node07"});
  ExpectRefused(Check(AnswerOf(user), user.key), "is spiffe://demo/user");
  const TlsPem stranger =
      TestAuthority::Create()->Issue({"spiffe://demo/host/node07"});
  ExpectRefused(Check(AnswerOf(stranger), stranger.key), "the certificate: ");
}

TEST_F(CheckedPairTest, RefusesWhatThisHostsClockDoesNotTake) {
  ExpectRefused(Check(AnswerOf(good_), good_.key, absl::Now() - absl::Hours(5)),
                "set the clock");
  ExpectRefused(
      Check(AnswerOf(good_), good_.key, absl::Now() + absl::Hours(24 * 61)),
      "expired");
}

}  // namespace
}  // namespace clusterd
