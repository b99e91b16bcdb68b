#include "config/identity/root_bundle.h"

#include <memory>
#include <string>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/test_authority.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;

std::string HashOf(const TestAuthority& root) {
  return RootHashes(root.certificate_pem()).front();
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
                     const Telling& why) const {
    const Roots after = Take(held, bundles);
    EXPECT_EQ(after.pem, held.pem);
    EXPECT_EQ(after.bundle, held.bundle);
    EXPECT_THAT(after.news, ElementsAre(why));
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
  EXPECT_THAT(middle.news, ElementsAre(Tells("root-added", HashOf(*next_))));
  const Roots end = Take(middle, both_ + new_alone_);
  EXPECT_EQ(end.pem, next_->certificate_pem());
  EXPECT_EQ(end.bundle, new_alone_);
  EXPECT_THAT(end.news, ElementsAre(Tells("root-removed", HashOf(*old_))));
  // The same bundles again change nothing.
  EXPECT_THAT(Take(end, both_ + new_alone_).news, ElementsAre());
}

TEST_F(RootBundleTest, LeadsAHostThatWasAwayThroughTheStepThatItMissed) {
  const Roots end = Take(Joined(), both_ + new_alone_);
  EXPECT_EQ(end.pem, next_->certificate_pem());
  EXPECT_THAT(end.news, ElementsAre(Tells("root-added", HashOf(*next_)),
                                    Tells("root-removed", HashOf(*old_))));
  // Without that step no path leads to the new root.
  ExpectRefused(Joined(), new_alone_, Tells("bundle-not-signed", 2));
}

TEST_F(RootBundleTest, TakesNoRootThatNoHeldOneHasSigned) {
  const std::string planted = Both() + thief_->certificate_pem();
  ExpectRefused(Joined(), thief_->RootBundle("demo", "9", planted),
                Tells("bundle-not-signed"));
  // The controller holds the key of this certificate.
  const auto intermediate = old_->MakeBelow("intermediate");
  ExpectRefused(Joined(), intermediate->RootBundle("demo", "9", planted),
                Tells("bundle-not-signed"));
  ExpectRefused({intermediate->certificate_pem(), ""},
                intermediate->RootBundle("demo", "9", planted),
                Tells("bundle-not-signed"));
  // Another text under a good signature.
  for (const auto& [from, to] :
       {std::make_pair(next_->certificate_pem(), thief_->certificate_pem()),
        std::make_pair(std::string("number 1"), std::string("number 7"))}) {
    ExpectRefused(Joined(), absl::StrReplaceAll(both_, {{from, to}}),
                  Tells("bundle-not-signed"));
  }
}

TEST_F(RootBundleTest, SaysWhichUnsignedRootsItDoesNotTake) {
  const Roots after = Take(Joined(), "", Both());
  EXPECT_EQ(after.pem, old_->certificate_pem());
  EXPECT_THAT(after.news,
              ElementsAre(Tells("msg-trust-root-not-signed", HashOf(*next_))));
  EXPECT_THAT(Take(Joined(), both_, Both()).news,
              ElementsAre(Tells("root-added", HashOf(*next_))));
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
  ExpectRefused(end, both_, Tells("bundle-not-above", 1, 2));
  // The same for one of this number that the held root has signed.
  ExpectRefused(end, next_->RootBundle("demo", "2", Both()),
                Tells("bundle-not-above", 2, 2));
  // Without its number the host could not compare.
  ExpectRefused({end.pem, "cut"}, next_->RootBundle("demo", "1", Both()),
                Tells("bundle-damaged"));
}

// A thief of its key cannot restore it.
TEST_F(RootBundleTest, RootThatWasRemovedSignsNothing) {
  const Roots end = Take(Joined(), both_ + new_alone_);
  const std::string back = old_->RootBundle("demo", "3", Both());
  ExpectRefused(end, back, Tells("bundle-not-signed"));
  ExpectRefused(end, both_ + new_alone_ + back, Tells("bundle-not-signed"));
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
  EXPECT_THAT(half.news, ElementsAre(Tells("root-removed", HashOf(*old_))));
}

TEST_F(RootBundleTest, BundleOfAnotherClusterIsRefused) {
  ExpectRefused(Joined(), old_->RootBundle("other", "1", Both()),
                Tells("bundle-of-cluster", 1, "other"));
}

TEST_F(RootBundleTest, RootThatHasEndedSignsNothing) {
  IssueOptions ended;
  ended.valid_from = -absl::Hours(48);
  ended.valid_until = -absl::Hours(1);
  const auto root = TestAuthority::Create("ended", ended);
  ExpectRefused({root->certificate_pem() + old_->certificate_pem(), ""},
                root->RootBundle("demo", "1", Both()),
                Tells("bundle-not-signed"));
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
