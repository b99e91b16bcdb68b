
#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "daemon/agent/identity/leaf_renewal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/ca_dir.h"
#include "tests/support/config/test_authority.h"
#include "tests/support/process/captured_log.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

const SpiffeId kSelf{"demo", IdentityKind::kHost, "node07", Role::kViewer};

class HeldIdentityTest : public testing::Test {
 protected:
  HeldIdentityTest() {
    std::string folder = testing::TempDir() + "/held.XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    files_ = {folder + "/ca.crt", folder + "/host.crt", folder + "/host.key"};
    first_ = authority_->Issue({kSelf.ToString()});
    Write(first_);
    held_.emplace(files_, kSelf, *ReadPairOf(kSelf, files_), &log_);
  }

  void Write(const TlsPem& pair, unsigned key_mode = 0600) {
    WriteTestFile(files_.ca, pair.ca, 0644);
    WriteTestFile(files_.certificate, pair.certificate, 0644);
    WriteTestFile(files_.key, pair.key, key_mode);
  }
  // Expects a refusal with this mistake, and that the first pair stays.
  void ExpectRefused(const std::string& mistake) {
    held_->Check();
    EXPECT_THAT(log_.Lines(), HasSubstr("last good pair stays"));
    EXPECT_THAT(log_.Lines(), HasSubstr(mistake));
    EXPECT_EQ(held_->pair().certificate, first_.certificate);
    EXPECT_EQ(held_->pair().key, first_.key);
  }

  const std::unique_ptr<TestAuthority> authority_ = TestAuthority::Create();
  CapturedLog log_;
  TlsFiles files_;
  TlsPem first_;
  std::optional<HeldIdentity> held_;
};

TEST_F(HeldIdentityTest, TakesUpANewPair) {
  EXPECT_NE(held_->ForDial(), nullptr);
  EXPECT_FALSE(held_->IsNewerThanDialled());
  const TlsPem next = authority_->Issue({kSelf.ToString()});
  Write(next);
  held_->Check();
  EXPECT_EQ(held_->pair().certificate, next.certificate);
  EXPECT_TRUE(held_->IsNewerThanDialled());
  held_->ForDial();
  EXPECT_FALSE(held_->IsNewerThanDialled());
  EXPECT_EQ(log_.Lines(), "");
}

TEST_F(HeldIdentityTest, RefusesAPairThatCannotBeUsed) {
  const TlsPem good = authority_->Issue({kSelf.ToString()});
  const std::string other = TestAuthority::Create()->certificate_pem();
  TlsPem pair = good;
  pair.key = first_.key;
  Write(pair);
  ExpectRefused("the key is not the certificate's");
  pair = good;
  pair.certificate.resize(pair.certificate.size() / 2);
  Write(pair);
  ExpectRefused("host.crt: no certificate");
  pair = good;
  pair.ca += other;
  pair.ca.resize(pair.ca.size() - 40);
  Write(pair);
  ExpectRefused("ca.crt: cut short: 2 certificates begin, 1 can be read");
  pair = good;
  pair.ca = other;
  Write(pair);
  ExpectRefused("host.crt: the certificate: ");
  Write(good, 0644);
  ExpectRefused("others have access to the private key (mode 0644)");
  IssueOptions past;
  past.valid_from = -absl::Hours(2);
  past.valid_until = -absl::Hours(1);
  Write(authority_->Issue({kSelf.ToString()}, past));
  ExpectRefused("not valid now");
}

// The chain of every joined host: its own certificate, then the intermediate.
TEST_F(HeldIdentityTest, ChainThatIsCutAnywhereIsRefused) {
  const auto below = authority_->MakeBelow("an intermediate");
  TlsPem chain = below->Issue({kSelf.ToString()});
  const size_t own = chain.certificate.size();
  chain.certificate += below->certificate_pem();
  chain.ca = authority_->certificate_pem();
  Write(chain);
  ASSERT_TRUE(ReadPairOf(kSelf, files_).ok());
  for (const size_t size :
       {own, own + 3, own + 30, own + 200, chain.certificate.size() - 30}) {
    TlsPem cut = chain;
    cut.certificate.resize(size);
    Write(cut);
    ExpectRefused("host.crt: ");
    EXPECT_FALSE(ReadPairOf(kSelf, files_).ok()) << size;
  }
  ExpectRefused("host.crt: cut short: 2 certificates begin, 1 can be read");
  ExpectRefused("host.crt: the certificate: unable to get local issuer");
  Write(chain);
  held_->Check();
  EXPECT_EQ(held_->pair().certificate, chain.certificate);
}

TEST_F(HeldIdentityTest, CertificateOfSomebodyElseIsRefused) {
  for (const char* other :
       {"spiffe://demo/host/node08", "spiffe://other/host/node07",
        "spiffe://demo/user/node07"}) {
    Write(authority_->Issue({other}));
    ExpectRefused(std::string("is ") + other +
                  ", expected spiffe://demo/host/node07");
  }
}

TEST_F(HeldIdentityTest, MissingFileIsRefusedAndLoggedOnce) {
  unlink(files_.key.c_str());
  ExpectRefused("host.key: No such file");
  const std::string lines = log_.Lines();
  held_->Check();
  EXPECT_EQ(log_.Lines(), lines);
}

TEST(RenewalTimeTest, SpreadsFromTwoToThreeFifthsOfTheLife) {
  CertificateInfo certificate;
  certificate.not_before = absl::UnixEpoch();
  certificate.not_after = absl::UnixEpoch() + absl::Hours(100);
  EXPECT_EQ(RenewalTime(certificate, 0), absl::UnixEpoch() + absl::Hours(40));
  EXPECT_EQ(RenewalTime(certificate, 0.5), absl::UnixEpoch() + absl::Hours(50));
  EXPECT_EQ(RenewalTime(certificate, 1), absl::UnixEpoch() + absl::Hours(60));
}

}  // namespace
}  // namespace clusterd
