#include <string>

#include "absl/strings/str_cat.h"
#include "client/ticket/bundle.h"
#include "gmock/gmock.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty,
    ::testing::Not, ::testing::Pair;

TEST(WithoutSecretsTest, TakesOutValuesWhoseNamesSpeakOfSecrets) {
  for (const char* line :
       {"export HF_TOKEN=abc123", "WANDB_API_KEY: abc123",
        "env: {'MY_PASSWORD': 'abc123'}", "\"client_secret\": \"abc123\"",
        "mysql --password=abc123 -h db", "AWS_SECRET_ACCESS_KEY=abc123",
        "Authorization: Bearer abc123", "https://ann:abc123@git.site/x",
        "db_passwd = abc123", "password=\"abc123 def abc123\"",
        "python3 train.py --api-key abc123 -n 8",
        "['--hf_token', 'abc123', '-n']"}) {
    RemovedSecrets removed;
    const std::string kept = WithoutSecrets(line, &removed);
    EXPECT_THAT(kept, Not(HasSubstr("abc123"))) << line;
    EXPECT_THAT(kept, HasSubstr("[removed]")) << line;
    EXPECT_EQ(removed.size(), 1u) << line;
  }
}

TEST(WithoutSecretsTest, TakesThemOutOfTextsInsideOfJsonWhichStaysJson) {
  RemovedSecrets removed;
  EXPECT_EQ(WithoutSecrets(R"({"text": "env {\"MY_PASSWORD\": \"abc def\"}"})",
                           &removed),
            R"({"text": "env {\"MY_PASSWORD\": \"[removed]\"}"})");
  EXPECT_EQ(WithoutSecrets(R"({"text": "\"token=abc\" EI0006"})", &removed),
            R"({"text": "\"token=[removed]\" EI0006"})");
  EXPECT_EQ(WithoutSecrets(R"(["--api-key\", \"abc\""])", &removed),
            R"(["--api-key\", \"[removed]\""])");
}

TEST(WithoutSecretsTest, TakesOutPrivateKeysAlsoWhereTheyAreCut) {
  const std::string key =
      "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----";
  RemovedSecrets removed;
  EXPECT_EQ(WithoutSecrets(absl::StrCat("a\n", key, "\nb\n", key), &removed),
            "a\n-----BEGIN RSA PRIVATE KEY-----[removed]\n"
            "b\n-----BEGIN RSA PRIVATE KEY-----[removed]");
  EXPECT_THAT(removed, ElementsAre(Pair("private key", 2)));
  EXPECT_THAT(
      WithoutSecrets("x\n-----BEGIN PRIVATE KEY-----\nMIIabc", &removed),
      Not(HasSubstr("MIIabc")));
  EXPECT_THAT(WithoutSecrets("MIIabc\n-----END PRIVATE KEY-----\nx", &removed),
              Not(HasSubstr("MIIabc")));
}

TEST(WithoutSecretsTest, TakesOutKnownFormsOfTokens) {
  for (const char* token :
       {"ghp_0123456789abcdefghijABCDEFGHIJ", "hf_abcdefghijklmnopqrstuvwx",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIz"}) {
    RemovedSecrets removed;
    EXPECT_THAT(WithoutSecrets(absl::StrCat("got ", token, "!"), &removed),
                Not(HasSubstr(token)));
    EXPECT_THAT(removed, ElementsAre(Pair("token", 1)));
  }
}

TEST(WithoutSecretsTest, LeavesWhatAVendorNeeds) {
  for (const char* line :
       {"[ERROR] HCCL(4711,python3):2026-03-01 [hccl_socket.cc:88] EI0006",
        "key: /etc/clusterd/host.key", "http://10.0.0.1:7443/path",
        "tokenizer loaded", "certificate: /etc/clusterd/host.crt",
        "address_0=10.20.0.1", "torchrun --tokenizer-path /data/llama"}) {
    RemovedSecrets removed;
    EXPECT_EQ(WithoutSecrets(line, &removed), line);
    EXPECT_THAT(removed, IsEmpty()) << line;
  }
}

TEST(WithoutSecretsTest, TakesBytesThatAreNoText) {
  const std::string bytes("\xff\x00token=\xfe\xfd \x00", 12);
  RemovedSecrets removed;
  EXPECT_THAT(WithoutSecrets(bytes, &removed), Not(HasSubstr("\xfd")));
}

}  // namespace
}  // namespace clusterd
