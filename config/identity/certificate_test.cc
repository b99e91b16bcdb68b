#include "config/identity/certificate.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/test_authority.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

TEST(ParseCertificateTest, ReadsIdentityAndValidity) {
  const auto authority = TestAuthority::Create();
  IssueOptions options;
  options.valid_from = -absl::Hours(3);
  options.valid_until = absl::Hours(5);
  const absl::Time now = absl::Now();
  const TlsPem pem = authority->Issue({"spiffe://demo/host/a"}, options);
  const absl::StatusOr<CertificateInfo> info =
      ParseCertificate(pem.certificate);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->id.ToString(), "spiffe://demo/host/a");
  EXPECT_LT(absl::AbsDuration(info->not_before - (now - absl::Hours(3))),
            absl::Minutes(1));
  EXPECT_LT(absl::AbsDuration(info->not_after - (now + absl::Hours(5))),
            absl::Minutes(1));
}

TEST(CertificateSerialTest, IsTheNumberInHexOrNothing) {
  const auto authority = TestAuthority::Create();
  const std::string first = CertificateSerial(authority->Issue({}).certificate);
  EXPECT_THAT(first, testing::MatchesRegex("[0-9A-F]+"));
  EXPECT_NE(first, CertificateSerial(authority->Issue({}).certificate));
  EXPECT_EQ(CertificateSerial(""), "");
  EXPECT_EQ(CertificateSerial("hello"), "");
}

TEST(ParseCertificateTest, RejectsTextWithoutCertificate) {
  const auto authority = TestAuthority::Create();
  const TlsPem pem = authority->Issue({"spiffe://demo/host/a"});
  for (const std::string& text :
       {std::string(), std::string("hello"), pem.key,
        pem.certificate.substr(0, pem.certificate.size() / 2)}) {
    const absl::Status status = ParseCertificate(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("no certificate"));
  }
}

TEST(ParseCertificateTest, RejectsMissingSecondOrForeignUri) {
  const auto authority = TestAuthority::Create();
  EXPECT_FALSE(ParseCertificate(authority->Issue({}).certificate).ok());
  EXPECT_FALSE(
      ParseCertificate(
          authority->Issue({"spiffe://demo/host/a", "spiffe://demo/controller"})
              .certificate)
          .ok());
  EXPECT_FALSE(
      ParseCertificate(authority->Issue({"https://demo/host/a"}).certificate)
          .ok());
}

TEST(ParseCertificateTest, SeesBytesBehindAnEmbeddedZero) {
  const auto authority = TestAuthority::Create();
  const std::string uri("spiffe://demo/host/a\0.evil", 26);
  EXPECT_THAT(ParseCertificate(authority->Issue({uri}).certificate),
              Fails(absl::StatusCode::kInvalidArgument, HasText("bad name")));
}

TEST(CheckKeyBelongsTest, TellsPairFromStrangers) {
  const auto authority = TestAuthority::Create();
  const TlsPem one = authority->Issue({"spiffe://demo/host/a"});
  const TlsPem other = authority->Issue({"spiffe://demo/host/a"});
  EXPECT_TRUE(CheckKeyBelongs(one.certificate, one.key).ok());
  const absl::Status strangers = CheckKeyBelongs(one.certificate, other.key);
  EXPECT_EQ(strangers.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(strangers.message()), HasSubstr("not the certifi"));
  EXPECT_THAT(std::string(CheckKeyBelongs(one.certificate, one.ca).message()),
              HasSubstr("no private key"));
}

TEST(TestAuthorityTest, IsTheSameAfterLoadingFromPem) {
  const auto authority = TestAuthority::Create();
  const auto loaded =
      TestAuthority::FromPem(authority->certificate_pem(), authority->KeyPem());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const TlsPem pem = (*loaded)->Issue({"spiffe://demo/host/a"});
  EXPECT_EQ(pem.ca, authority->certificate_pem());
  EXPECT_FALSE(TestAuthority::FromPem(pem.ca, pem.key).ok());
}

TEST(ParseSpiffeIdTest, ReadsIdsAndWritesThemBack) {
  using Kind = IdentityKind;
  const std::pair<std::string, SpiffeId> kIds[] = {
      {"spiffe://demo/host/server0",
       {"demo", Kind::kHost, "server0", Role::kViewer}},
      {"spiffe://a.b-c_1/controller",
       {"a.b-c_1", Kind::kController, "", Role::kViewer}},
      {"spiffe://demo/user/Li.Wei",
       {"demo", Kind::kUser, "Li.Wei", Role::kViewer}},
      {"spiffe://demo/user/slurm/role/hook",
       {"demo", Kind::kUser, "slurm", Role::kHook}},
      {"spiffe://demo/user/ops/role/operator",
       {"demo", Kind::kUser, "ops", Role::kOperator}},
      {"spiffe://demo/user/root/role/admin",
       {"demo", Kind::kUser, "root", Role::kAdmin}}};
  for (const auto& [uri, expected] : kIds) {
    const absl::StatusOr<SpiffeId> id = ParseSpiffeId(uri);
    ASSERT_TRUE(id.ok()) << id.status();
    EXPECT_TRUE(*id == expected) << uri;
    EXPECT_EQ(id->ToString(), uri);
  }
}

TEST(ParseSpiffeIdTest, RejectsEveryOtherShape) {
  std::vector<std::string> malformed = absl::StrSplit(
      " spiffe:// spiffe://demo spiffe://demo/ spiffe://demo/host "
      "spiffe://demo/host/ spiffe://demo/host// spiffe://demo/host/a/ "
      "spiffe://demo/host/a/b spiffe://demo//host/a spiffe:///host/a "
      "spiffe://Demo/host/a spiffe://demo:80/host/a spiffe://me@demo/host/a "
      "spiffe://demo/host/a?b spiffe://demo/host/a#b spiffe://demo/host/a%2fb "
      "spiffe://demo/host/.. spiffe://demo/host/. SPIFFE://demo/host/a "
      "https://demo/host/a spiffe://demo/controller/ "
      "spiffe://demo/controller/a spiffe://demo/user spiffe://demo/user/a/role "
      "spiffe://demo/user/a/role/ spiffe://demo/user/a/role/root "
      "spiffe://demo/user/clusterd-controller "
      "spiffe://demo/user/clusterd-controller/role/admin "
      "spiffe://demo/user/Clusterd spiffe://demo/user/a/role/admin/x "
      "spiffe://demo/user/a/group/admin spiffe://demo/host/a/role/admin",
      ' ');
  malformed.insert(malformed.end(),
                   {std::string("spiffe://demo/host/a b"),
                    std::string("spiffe://demo/host/a\n"),
                    std::string("spiffe://demo/host/a\0b", 22),
                    std::string("spiffe://demo/host/\xc3\xa9"),
                    "spiffe://demo/host/" + std::string(254, 'a'),
                    "spiffe://" + std::string(256, 'a') + "/host/a",
                    std::string(5000, 'a')});
  for (const std::string& uri : malformed) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseSpiffeId(uri).status())) << uri;
  }
}

TEST(ParseSpiffeIdTest, ARoleThatIsMistypedIsNamedWithTheNearestOne) {
  const std::pair<const char*, Telling> kMistyped[] = {
      {"operater",
       Tells("id-unknown-role", "operater", "did-you-mean", "operator")},
      {"Admin", Tells("id-unknown-role", "Admin", "did-you-mean", "admin")},
      {"root", Tells("id-unknown-role", "root", "")},
      {"\x1b[2J", Tells("id-unknown-role", "\\x1b[2J", "")}};
  for (const auto& [role, error] : kMistyped) {
    const std::string id = absl::StrCat("spiffe://demo/user/ann/role/", role);
    EXPECT_THAT(ParseSpiffeId(id).status(), error);
  }
  // Escapes what it quotes.
  const absl::Status status =
      ParseSpiffeId("spiffe://demo/host/\x1b[31m").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("\\x1b[31m"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("bad name"));
}

TEST(ParseUriNamesTest, TakesExactlyOne) {
  EXPECT_TRUE(ParseUriNames({"spiffe://demo/host/a"}).ok());
  EXPECT_FALSE(ParseUriNames({}).ok());
  const absl::Status two =
      ParseUriNames({"spiffe://demo/host/a", "spiffe://demo/host/b"}).status();
  EXPECT_THAT(std::string(two.message()), HasSubstr("2 URI names"));
}

TEST(IsClusterNameTest, FollowsTrustDomainRules) {
  EXPECT_TRUE(IsClusterName("demo-1.example_x"));
  EXPECT_FALSE(IsClusterName(""));
  EXPECT_FALSE(IsClusterName("Demo"));
  EXPECT_FALSE(IsClusterName("a/b"));
}

TEST(CertificateEndsTest, NamesEveryCertificateOfABundle) {
  const auto authority = TestAuthority::Create();
  IssueOptions options;
  options.valid_until = absl::Hours(5);
  const absl::Time now = absl::Now();
  const TlsPem pem = authority->Issue({"spiffe://demo/host/a"}, options);
  const auto ends = CertificateEnds(pem.certificate + "\n" + pem.ca);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].subject, "spiffe://demo/host/a");
  EXPECT_LT(absl::AbsDuration(ends[0].not_after - (now + absl::Hours(5))),
            absl::Minutes(1));
  EXPECT_EQ(ends[1].subject, "CN=clusterd test authority");
  EXPECT_TRUE(CertificateEnds("hello").empty());
}

TEST(IsSignedByTest, TellsOurCaFromOneOfTheSameName) {
  const auto authority = TestAuthority::Create();
  const auto stranger = TestAuthority::Create();
  IssueOptions past;
  past.valid_until = -absl::Minutes(1);
  const TlsPem pem = authority->Issue({"spiffe://demo/host/a"}, past);
  EXPECT_TRUE(IsSignedBy(pem.certificate, pem.ca));
  EXPECT_FALSE(IsSignedBy(pem.certificate, stranger->certificate_pem()));
  EXPECT_TRUE(
      IsSignedBy(pem.certificate, stranger->certificate_pem() + "\n" + pem.ca));
  EXPECT_FALSE(IsSignedBy(pem.certificate, ""));
  EXPECT_FALSE(IsSignedBy("", pem.ca));
}

TEST(CheckHasCertificateTest, CountsTheOnesThatAreCutShort) {
  const std::string one = TestAuthority::Create()->certificate_pem();
  EXPECT_TRUE(CheckHasCertificate(one + one).ok());
  EXPECT_THAT(CheckHasCertificate("text"), HasText("no certificate"));
  const std::string cut = one.substr(0, one.size() / 2);
  for (const std::string& text : {one + cut, one + cut + one, cut + one}) {
    const absl::Status status = CheckHasCertificate(text);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("cut short"));
  }
}

}  // namespace
}  // namespace clusterd
