#include "config/identity/root_bundle.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/test_authority.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string HashOf(const TestAuthority& root) {
  return RootHashes(root.certificate_pem()).front();
}

std::vector<std::string> Texts(const std::vector<FindingValue>& words) {
  std::vector<std::string> texts;
  for (const FindingValue& each : words) texts.push_back(EnglishText(each));
  return texts;
}

class RootBundleTest : public testing::Test {
 protected:
  std::string Both() const {
    return old_->certificate_pem() + next_->certificate_pem();
  }
  // The roots of a host that has joined under the old root.
  Roots Joined() const { return {old_->certificate_pem(), ""}; }
  Roots Take(const Roots& held, const std::string& bundles,
             const std::string& unsigned_pem = "") const {
    return TakeRootBundles(held, bundles, unsigned_pem, "demo", absl::Now());
  }
  // Checks that only this news has changed.
  void ExpectRefused(const Roots& held, const std::string& bundles,
                     const std::string& why) const {
    const Roots after = Take(held, bundles);
    EXPECT_EQ(after.pem, held.pem) << why;
    EXPECT_EQ(after.bundle, held.bundle) << why;
    EXPECT_THAT(Texts(after.news), ElementsAre(HasSubstr(why)));
  }

  const std::unique_ptr<TestAuthority> old_ = TestAuthority::Create("old");
  const std::unique_ptr<TestAuthority> next_ = TestAuthority::Create("next");
  const std::unique_ptr<TestAuthority> thief_ = TestAuthority::Create("thief");
  const std::string both_ = old_->RootBundle("demo", "1", Both());
  const std::string new_alone_ =
      next_->RootBundle("demo", "2", next_->certificate_pem());
};

TEST_F(RootBundleTest, GoesFromTheOldRootToBothAndToTheNewOneAlone) {
  const Roots middle = Take(Joined(), both_);
  EXPECT_EQ(middle.pem, Both());
  EXPECT_EQ(middle.bundle, both_);
  EXPECT_THAT(Texts(middle.news), ElementsAre("root added " + HashOf(*next_)));
  const Roots end = Take(middle, both_ + new_alone_);
  EXPECT_EQ(end.pem, next_->certificate_pem());
  EXPECT_EQ(end.bundle, new_alone_);
  EXPECT_THAT(Texts(end.news), ElementsAre("root removed " + HashOf(*old_)));
  // The same bundles again change nothing.
  EXPECT_THAT(Take(end, both_ + new_alone_).news, ElementsAre());
}

TEST_F(RootBundleTest, LeadsAHostThatWasAwayThroughTheStepThatItMissed) {
  const Roots end = Take(Joined(), both_ + new_alone_);
  EXPECT_EQ(end.pem, next_->certificate_pem());
  EXPECT_THAT(Texts(end.news), ElementsAre("root added " + HashOf(*next_),
                                           "root removed " + HashOf(*old_)));
  // Without that step no path leads to the new root.
  ExpectRefused(Joined(), new_alone_, "join again: clusterd join");
}

TEST_F(RootBundleTest, TakesNoRootThatNoHeldOneHasSigned) {
  const std::string planted = Both() + thief_->certificate_pem();
  ExpectRefused(Joined(), thief_->RootBundle("demo", "9", planted),
                "signed by no root that this host has");
  // The controller holds the key of this certificate.
  const auto intermediate = old_->MakeBelow("intermediate");
  ExpectRefused(Joined(), intermediate->RootBundle("demo", "9", planted),
                "signed by no root that this host has");
  ExpectRefused({intermediate->certificate_pem(), ""},
                intermediate->RootBundle("demo", "9", planted),
                "signed by no root that this host has");
  // Another text under a good signature.
  for (const auto& [from, to] :
       {std::make_pair(next_->certificate_pem(), thief_->certificate_pem()),
        std::make_pair(std::string("number 1"), std::string("number 7"))}) {
    ExpectRefused(Joined(), absl::StrReplaceAll(both_, {{from, to}}),
                  "signed by no root that this host has");
  }
}

TEST_F(RootBundleTest, SaysWhichUnsignedRootsItDoesNotTake) {
  const Roots after = Take(Joined(), "", Both());
  EXPECT_EQ(after.pem, old_->certificate_pem());
  EXPECT_THAT(Texts(after.news),
              ElementsAre("roots not taken: no root of this host has signed a "
                          "bundle with " +
                          HashOf(*next_)));
  EXPECT_THAT(Texts(Take(Joined(), both_, Both()).news),
              ElementsAre("root added " + HashOf(*next_)));
}

TEST_F(RootBundleTest, ThousandsOfRootsFillNoLog) {
  std::string many;
  for (int i = 0; i < 40; ++i) {
    many += TestAuthority::Create()->certificate_pem();
  }
  EXPECT_LE(Take(Joined(), "", many).news.size(), 32u);
}

TEST_F(RootBundleTest, OlderBundleDoesNotComeBack) {
  const Roots end = Take(Joined(), both_ + new_alone_);
  ExpectRefused(end, both_, "not above 2, which this host has");
  // The same for one of this number that the held root has signed.
  ExpectRefused(end, next_->RootBundle("demo", "2", Both()), "not above 2");
  // Without its number the host could not compare.
  ExpectRefused({end.pem, "cut"}, next_->RootBundle("demo", "1", Both()),
                "roots.bundle is damaged");
}

// A thief of its key cannot restore it.
TEST_F(RootBundleTest, RootThatWasRemovedSignsNothing) {
  const Roots end = Take(Joined(), both_ + new_alone_);
  const std::string back = old_->RootBundle("demo", "3", Both());
  ExpectRefused(end, back, "signed by no root that this host has");
  ExpectRefused(end, both_ + new_alone_ + back,
                "signed by no root that this host has");
  // On the way of a host that is behind, either.
  EXPECT_EQ(Take(Joined(), both_ + new_alone_ + back).pem, end.pem);
}

TEST_F(RootBundleTest, FilesThatWerePutBackComeForwardAgain) {
  const Roots middle = Take(Joined(), both_);
  const Roots end = Take(middle, both_ + new_alone_);
  EXPECT_EQ(Take(Joined(), both_ + new_alone_).pem, end.pem);
  EXPECT_EQ(Take(middle, both_ + new_alone_).pem, end.pem);
  // ca.crt alone was replaced; the bundle that the host holds has the old one.
  const Roots half = Take({middle.pem, end.bundle}, both_ + new_alone_);
  EXPECT_EQ(half.pem, end.pem);
  EXPECT_EQ(half.bundle, end.bundle);
  EXPECT_THAT(Texts(half.news), ElementsAre("root removed " + HashOf(*old_)));
}

TEST_F(RootBundleTest, BundleOfAnotherClusterIsRefused) {
  ExpectRefused(Joined(), old_->RootBundle("other", "1", Both()),
                "of cluster other");
}

TEST_F(RootBundleTest, RootThatHasEndedSignsNothing) {
  IssueOptions ended;
  ended.valid_from = -absl::Hours(48);
  ended.valid_until = -absl::Hours(1);
  const auto root = TestAuthority::Create("ended", ended);
  ExpectRefused({root->certificate_pem() + old_->certificate_pem(), ""},
                root->RootBundle("demo", "1", Both()),
                "signed by no root that this host has");
}

TEST_F(RootBundleTest, RefusesWhatIsNoBundle) {
  const std::string leaf =
      old_->Issue({"spiffe://demo/controller"}).certificate;
  for (const std::string& text :
       {std::string("junk\n"), both_ + "junk\n", both_.substr(1),
        both_.substr(0, both_.size() - 1),
        old_->RootBundle("demo", "0", Both()),
        old_->RootBundle("demo", "-1", Both()),
        old_->RootBundle("demo", "18446744073709551616", Both()),
        old_->RootBundle("Demo", "1", Both()),
        old_->RootBundle("demo", "1", ""),
        old_->RootBundle("demo", "1", Both().substr(0, 1000)),
        // A certificate that stands there alone would be trusted directly.
        old_->RootBundle("demo", "1", Both() + leaf),
        old_->RootBundle(
            "demo", "1",
            Both() + old_->MakeBelow("intermediate")->certificate_pem()),
        std::string(kMaxBundleBytes + 1, 'a')}) {
    EXPECT_FALSE(ReadRootBundles(text).ok()) << text.substr(0, 100);
    EXPECT_EQ(Take(Joined(), text).pem, old_->certificate_pem());
  }
  EXPECT_TRUE(ReadRootBundles("")->empty());
  EXPECT_EQ(ReadRootBundles(both_ + new_alone_)->back().number, 2u);
}

}  // namespace
}  // namespace clusterd
