#include "daemon/controller/trust/trust_store.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "daemon/controller/trust/join_token.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

HostRecord RecordOf(const std::string& name, const std::string& serial) {
  HostRecord record;
  record.set_name(name);
  record.mutable_held()->set_serial(serial);
  return record;
}

TEST(TrustStoreTest, WhatWasPutIsThereWhenItIsOpenedAgain) {
  const std::string folder = NewStateFolder();
  TokenRecord token;
  token.mutable_entry()->set_id("4f09c2d1");
  token.set_secret_sha256(std::string("\0\1\2", 3));
  {
    const auto store = TrustStore::Open(folder).value();
    ASSERT_TRUE(store->Put(token).ok());
    ASSERT_TRUE(store->Put(RecordOf("node01", "01")).ok());
    ASSERT_TRUE(store->Put(RecordOf("node01", "02")).ok());
  }
  const auto store = TrustStore::Open(folder).value();
  ASSERT_TRUE(store->Token("4f09c2d1").has_value());
  EXPECT_EQ(store->Token("4f09c2d1")->secret_sha256(), token.secret_sha256());
  ASSERT_TRUE(store->Host("node01").has_value());
  EXPECT_EQ(store->Host("node01")->held().serial(), "02");
  EXPECT_FALSE(store->Host("node02").has_value());
  EXPECT_EQ(store->Hosts().size(), 1u);
  token.mutable_entry()->set_used(1);
  ASSERT_TRUE(store->Put(RecordOf("node02", "03"), &token).ok());
  EXPECT_EQ(store->Host("node02")->held().serial(), "03");
  EXPECT_EQ(store->Token("4f09c2d1")->entry().used(), 1u);
  ASSERT_TRUE(store->DropToken("4f09c2d1").ok());
  EXPECT_TRUE(store->Tokens().empty());
}

TEST(TrustStoreTest, FileIsOfTheControllersUserAlone) {
  const std::string folder = NewStateFolder();
  ASSERT_TRUE(TrustStore::Open(folder).ok());
  struct stat found = {};
  ASSERT_EQ(stat((folder + "/trust.db").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

// Never start with an empty one: hosts would lose their names.
TEST(TrustStoreTest, DamagedFileIsNotReplaced) {
  const std::string folder = NewStateFolder();
  std::ofstream(folder + "/trust.db") << std::string(4096, 'x');
  EXPECT_THAT(TrustStore::Open(folder),
              Fails(absl::StatusCode::kDataLoss, HasText("trust.db")));
}

TEST(TrustStoreTest, HistoryIsNoTrustFile) {
  const std::string folder = NewStateFolder();
  OpenStore(folder);
  ASSERT_EQ(
      rename((folder + "/history.db").c_str(), (folder + "/trust.db").c_str()),
      0);
  const absl::Status status = TrustStore::Open(folder).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status, HasText("is not a record of hosts and tokens"));
}

TEST(JoinTokenTest, ReadsBackWhatItPrints) {
  const auto token = NewJoinToken().value();
  const auto read = ParseJoinToken(token.ToString()).value();
  EXPECT_EQ(read.id, token.id);
  EXPECT_TRUE(SameDigest(read.SecretDigest(), token.SecretDigest()));
  EXPECT_FALSE(
      SameDigest(NewJoinToken()->SecretDigest(), token.SecretDigest()));
  // The stored form does not contain the secret.
  EXPECT_EQ(token.SecretDigest().find(token.secret), std::string::npos);
}

TEST(JoinTokenTest, RefusalDoesNotQuoteWhatIsNearlyASecret) {
  const std::string text = NewJoinToken()->ToString();
  for (const std::string& wrong :
       {text.substr(1), text + "0", text.substr(0, text.size() - 1),
        std::string("cj2") + text.substr(3), std::string()}) {
    const absl::Status status = ParseJoinToken(wrong).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << wrong;
    EXPECT_EQ(std::string(status.message()).find(text.substr(14)),
              std::string::npos);
  }
}

}  // namespace
}  // namespace clusterd
