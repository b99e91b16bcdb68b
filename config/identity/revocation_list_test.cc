#include "config/identity/revocation_list.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "openssl/x509v3.h"
#include "tests/support/config/test_authority.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

class RevocationListsTest : public testing::Test {
 protected:
  TlsPem Issue(const std::string& host) {
    return ca_->Issue({absl::StrCat("spiffe://demo/host/", host)});
  }
  CertificateKey Key(const TlsPem& pem) {
    return *ReadCertificateKey(pem.certificate);
  }
  absl::StatusOr<RevocationLists> Parse(const std::vector<std::string>& texts) {
    return RevocationLists::Parse(texts, ca_->certificate_pem());
  }

  const std::unique_ptr<TestAuthority> ca_ = TestAuthority::Create();
  const TlsPem good_ = Issue("good");
  const TlsPem bad_ = Issue("bad");
  const absl::Time now_ = absl::Now();
};

TEST_F(RevocationListsTest, NameWhatTheCaHasTakenBackAndNothingElse) {
  const auto lists = Parse({ca_->RevocationList({bad_.certificate})});
  ASSERT_TRUE(lists.ok()) << lists.status();
  EXPECT_EQ(lists->lists(), 1u);
  EXPECT_EQ(lists->revoked(), 1u);
  EXPECT_TRUE(lists->Check(Key(good_), now_).ok());
  const absl::Status revoked = lists->Check(Key(bad_), now_);
  EXPECT_EQ(revoked.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(revoked.message()), HasSubstr("is revoked"));
  EXPECT_EQ(lists->NotInForce(now_), "");
}

TEST_F(RevocationListsTest, OfOneCaTheNewestCounts) {
  const std::string older =
      ca_->RevocationList({}, {-absl::Hours(2), absl::Hours(1)});
  const std::string newer = ca_->RevocationList({bad_.certificate});
  for (const auto& texts : {std::vector<std::string>{older, newer},
                            std::vector<std::string>{newer + older}}) {
    EXPECT_FALSE(Parse(texts).value().Check(Key(bad_), now_).ok());
  }
}

TEST_F(RevocationListsTest, OfOneCaTheHighestNumberCounts) {
  // The times do not matter: a CA's clock may have been set.
  const std::string older =
      ca_->RevocationList({}, {-absl::Hours(1)}, {{NID_crl_number, "0x9"}});
  const std::string newer = ca_->RevocationList(
      {bad_.certificate}, {-absl::Hours(2)}, {{NID_crl_number, "0x10"}});
  for (const std::string& text : {older + newer, newer + older}) {
    EXPECT_FALSE(Parse({text}).value().Check(Key(bad_), now_).ok());
  }
}

// For every kind: the certificates of the other parts would pass.
TEST_F(RevocationListsTest, ListOfAPartIsRefused) {
  const TestAuthority::ListExtensions parts[] = {
      {{NID_issuing_distribution_point, "onlyuser:TRUE"}},
      {{NID_issuing_distribution_point, "critical,onlyuser:TRUE"}},
      {{NID_issuing_distribution_point, "indirectCRL:TRUE"}},
      {{NID_crl_number, "7"}, {NID_delta_crl, "6"}},
      {{NID_delta_crl, "critical,6"}},
      {{NID_issuing_distribution_point, "fullname:URI:http://ca/1.crl"}},
  };
  for (const auto& extensions : parts) {
    EXPECT_THAT(
        Parse({ca_->RevocationList({bad_.certificate}, {}, extensions)}),
        Fails(absl::StatusCode::kInvalidArgument, Tells("crl-not-whole")));
  }
  EXPECT_THAT(Parse({ca_->IndirectList({bad_.certificate})}).status(),
              Tells("crl-not-whole"));
}

TEST_F(RevocationListsTest, NumberThatIsNoneIsRefused) {
  const TestAuthority::ListExtensions wrongs[] = {
      {{NID_crl_number, "-1"}},
      {{NID_crl_number, "0x1" + std::string(40, '0')}},
      {{NID_crl_number, "1"}, {NID_crl_number, "2"}},
  };
  for (const auto& extensions : wrongs) {
    EXPECT_EQ(Parse({ca_->RevocationList({}, {}, extensions)}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << extensions[0].second;
  }
  EXPECT_TRUE(
      Parse({ca_->RevocationList(
                {}, {}, {{NID_crl_number, "0x" + std::string(40, 'f')}})})
          .ok());
}

TEST_F(RevocationListsTest, NoListIsTakenThatIsOlderThanWhatWasSeen) {
  const auto list = [&](absl::Duration begins, const std::string& number,
                        const std::vector<std::string>& revoked = {}) {
    TestAuthority::ListExtensions extensions;
    if (!number.empty()) extensions.push_back({NID_crl_number, number});
    return *Parse({ca_->RevocationList(revoked, {begins}, extensions)});
  };
  const absl::Duration early = -absl::Hours(2);
  const absl::Duration late = -absl::Hours(1);
  const ListAges numbered = list(late, "0x10", {bad_.certificate}).Newest({});
  for (const auto& older :
       {list(late, "0xf"), list(-absl::Minutes(1), "0xf"), list(early, "0x10"),
        list(early, ""), list(late, "0"),
        list(early, "0x10", {bad_.certificate})}) {
    const absl::Status status = older.CheckNotOlder(numbered);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("number 0x10 of "));
  }
  for (const auto& newer :
       {list(late, "0x10", {bad_.certificate}), list(early, "0x11"),
        list(early, "0x100"), list(-absl::Minutes(1), "0x10"),
        list(-absl::Minutes(1), "")}) {
    EXPECT_TRUE(newer.CheckNotOlder(numbered).ok())
        << newer.CheckNotOlder(numbered);
  }
  // Two of one second.
  EXPECT_TRUE(IsOlder({"10", now_, 0}, {"10", now_, 1}));
  EXPECT_TRUE(IsOlder({"", now_, 0}, {"10", now_, 1}));
  const ListAges timed = list(late, "").Newest({});
  EXPECT_FALSE(list(early, "").CheckNotOlder(timed).ok());
  EXPECT_FALSE(list(early, "0x10").CheckNotOlder(timed).ok());
  // A list without a number in between does not make the older one good.
  const ListAges both = list(-absl::Minutes(1), "").Newest(numbered);
  EXPECT_FALSE(list(late, "0xf").CheckNotOlder(both).ok());
  EXPECT_FALSE(list(-absl::Seconds(30), "0xf").CheckNotOlder(both).ok());
  // Another CA's certificates are not affected.
  EXPECT_TRUE(
      list(early, "0x1").CheckNotOlder({{"another", {"ff", now_, 9}}}).ok());
}

// A CA with a new key has two lists: that of one key must not replace that of
// the other, whatever their numbers.
TEST_F(RevocationListsTest, TwoKeysUnderOneNameHaveAListEach) {
  const auto other = TestAuthority::Create();
  const std::string both = ca_->certificate_pem() + other->certificate_pem();
  const auto list = [](const TestAuthority& ca, const std::string& number,
                       const std::vector<std::string>& revoked = {}) {
    return ca.RevocationList(revoked, {}, {{NID_crl_number, number}});
  };
  const std::string others = list(*other, "9");
  const std::string own = list(*ca_, "2", {bad_.certificate});
  for (const std::string& text : {own + others, others + own}) {
    const auto lists = RevocationLists::Parse({text}, both);
    ASSERT_TRUE(lists.ok()) << lists.status();
    EXPECT_EQ(lists->lists(), 2u);
    EXPECT_TRUE(lists->Check(Key(good_), now_).ok());
    EXPECT_EQ(lists->Check(Key(bad_), now_).code(),
              absl::StatusCode::kPermissionDenied);
    const auto older = RevocationLists::Parse({list(*ca_, "1") + others}, both);
    EXPECT_FALSE(older->CheckNotOlder(lists->Newest({})).ok());
    EXPECT_TRUE(lists->CheckNotOlder(older->Newest({})).ok());
  }
  const IssueOptions names_key = {-absl::Hours(1), absl::Hours(1), true};
  const TlsPem by_ca = ca_->Issue({"spiffe://demo/host/a"}, names_key);
  const TlsPem by_other = other->Issue({"spiffe://demo/host/a"}, names_key);
  const auto alone = RevocationLists::Parse({others}, both).value();
  EXPECT_TRUE(alone.Check(Key(by_other), now_).ok());
  EXPECT_EQ(alone.Check(Key(by_ca), now_).code(),
            absl::StatusCode::kFailedPrecondition);
  // For a certificate without its CA's key id, all lists must be in force.
  const std::string ended = other->RevocationList(
      {}, {-absl::Hours(2), -absl::Hours(1)}, {{NID_crl_number, "9"}});
  const auto half = RevocationLists::Parse({own + ended}, both).value();
  EXPECT_TRUE(half.Check(Key(by_ca), now_).ok());
  EXPECT_EQ(half.Check(Key(good_), now_).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(RevocationListsTest, OneThatIsNotInForceLetsNobodyOfItsCaThrough) {
  for (const IssueOptions& times :
       {IssueOptions{-absl::Hours(2), -absl::Hours(1)},
        IssueOptions{absl::Hours(1), absl::Hours(2)}}) {
    const auto lists = Parse({ca_->RevocationList({bad_.certificate}, times)});
    ASSERT_TRUE(lists.ok()) << lists.status();
    EXPECT_EQ(lists->Check(Key(good_), now_).code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(lists->Check(Key(bad_), now_).code(),
              absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(lists->NotInForce(now_),
                HasSubstr("the list of CN=clusterd test authority: "));
  }
}

TEST_F(RevocationListsTest, CaWithoutAListLetsNobodyThrough) {
  const auto other = ca_->MakeBelow("below");
  const auto lists = Parse({ca_->RevocationList({})}).value();
  const absl::Status status = lists.Check(
      *ReadCertificateKey(other->Issue({"spiffe://demo/host/a"}).certificate),
      now_);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "no list of CN=below by the key that issued the certificate");
}

TEST_F(RevocationListsTest, CaBelowOursSignsItsOwn) {
  const auto below = ca_->MakeBelow("below");
  const TlsPem good = below->Issue({"spiffe://demo/host/a"});
  const TlsPem bad = below->Issue({"spiffe://demo/host/b"});
  const std::string list = below->RevocationList({bad.certificate});
  EXPECT_EQ(Parse({list}).status().code(), absl::StatusCode::kPermissionDenied);
  const auto lists = Parse({below->certificate_pem() + list}).value();
  EXPECT_TRUE(lists.Check(Key(good), now_).ok());
  EXPECT_FALSE(lists.Check(Key(bad), now_).ok());
}

TEST_F(RevocationListsTest, CaThatIsRevokedTakesItsCertificatesAlong) {
  const auto below = ca_->MakeBelow("below");
  const TlsPem leaf = below->Issue({"spiffe://demo/host/a"});
  const auto lists = Parse({below->certificate_pem(), below->RevocationList({}),
                            ca_->RevocationList({below->certificate_pem()})});
  ASSERT_TRUE(lists.ok()) << lists.status();
  const absl::Status status = lists->Check(Key(leaf), now_);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status.message(), "the CA CN=below is revoked");
}

TEST_F(RevocationListsTest, StrangersListIsRefusedUnderTheSameName) {
  const auto stranger = TestAuthority::Create();
  for (const std::string& beside :
       {std::string(), stranger->certificate_pem()}) {
    EXPECT_THAT(Parse({beside + stranger->RevocationList({})}),
                Fails(absl::StatusCode::kPermissionDenied,
                      Tells("msg-trust-crl-not-signed")));
  }
}

TEST_F(RevocationListsTest, TextThatIsNoListIsRefused) {
  std::string cut = ca_->RevocationList({bad_.certificate});
  cut.resize(cut.size() / 2);
  for (const std::string& text :
       {std::string(), std::string("nonsense"), good_.certificate, cut}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Parse({text}).status())) << text;
  }
  // One good list does not replace a bad one.
  EXPECT_FALSE(Parse({ca_->RevocationList({}), cut}).ok());
}

TEST(ReadRevocationTextsTest, ReadsAFileOrTheListsOfAFolder) {
  const std::string folder = testing::TempDir() + "/lists";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  EXPECT_TRUE(absl::IsNotFound(ReadRevocationTexts(folder).status()));
  std::ofstream(folder + "/b.crl") << "second";
  std::ofstream(folder + "/a.pem") << "first";
  std::ofstream(folder + "/README") << "no list";
  const auto texts = ReadRevocationTexts(folder).value();
  EXPECT_THAT(texts, testing::ElementsAre("first", "second"));
  const auto one = ReadRevocationTexts(folder + "/README").value();
  EXPECT_THAT(one, testing::ElementsAre("no list"));
  EXPECT_EQ(ReadRevocationTexts(folder + "/nowhere").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace clusterd
