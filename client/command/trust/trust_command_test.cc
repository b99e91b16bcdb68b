#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::Not;

// The clock of RunProgram is at 2025-01-01.
constexpr int64_t kNowMs = 1735689600'000;
constexpr int64_t kDayMs = 24 * 3600'000;

CreateTokenResponse Made(uint32_t port) {
  auto made = FromText<CreateTokenResponse>(
      R"(entry {id: "4f09c2d1" hosts: "node[01-12]" uses: 12})");
  made.mutable_entry()->set_expires_ms(kNowMs + 2 * 3600'000);
  made.set_token("cj1.4f09c2d1.secret");
  made.set_ca_hash("sha256:abc");
  made.set_enrol_port(port);
  return made;
}

constexpr char kJoin[] =
    "clusterd join --controller head:7443 --ca-hash sha256:abc ";
constexpr char kToken[] = "--token cj1.4f09c2d1.secret";

TEST(TokenCommandTest, PrintsTheLineForEveryHost) {
  ProgramWorld world;
  world.script.token = Made(7444);
  WatchedController controller(world);
  EXPECT_THAT(
      RunProgram({"token", "create", "--hosts", "node[01-12]", "--ttl", "2h"},
                 world),
      Ends(0,
           Out(Tells("token-created", "4f09c2d1", Counted(12, "host"),
                     "node[01-12]", "2025-01-01 02:00 UTC")),
           Out(HasSubstr(absl::StrCat("\n  ", kJoin, kToken, "\n")))));
  EXPECT_EQ(controller.token_request()->hosts(), "node[01-12]");
  EXPECT_EQ(controller.token_request()->ttl_ms(), 2u * 3600'000);
  EXPECT_EQ(controller.token_request()->uses(), 0u);
  EXPECT_EQ(RunProgram({"token", "create", "--uses", "7"}, world).status, 0);
  EXPECT_EQ(controller.token_request()->uses(), 7u);
}

TEST(TokenCommandTest, ShortIsTheLineAloneAndNamesAnUnusualPort) {
  ProgramWorld world;
  world.script.token = Made(9000);
  EXPECT_EQ(RunProgram({"token", "create", "-o", "short"}, world).out,
            absl::StrCat(kJoin, "--enrol-port 9000 ", kToken, "\n"));
}

TEST(TokenCommandTest, WarnsOfAnAddressThatNoHostReaches) {
  ProgramWorld world;
  world.script.token = Made(7444);
  world.environment["CLUSTERD_CONTROLLER"] = "127.0.0.1:7443";
  EXPECT_THAT(RunProgram({"token", "create"}, world).err,
              Tells("msg-trust-local-address", "127.0.0.1:7443"));
}

TEST(TokenCommandTest, WrongWordsAreStatus3AndAskNobody) {
  ProgramWorld world;
  WatchedController controller(world);
  EXPECT_THAT(RunProgram({"token", "create", "--hosts", "node[", "--ttl", "30s",
                          "--uses", "0"},
                         world),
              Ends(3, Err(HasSubstr("--uses: ")), Err(HasSubstr("--hosts: ")),
                   Err(Tells("msg-duration-out-of-range", "--ttl", "30s", "1m",
                             "24h"))));
  EXPECT_FALSE(controller.token_request().has_value());
}

TEST(TokenCommandTest, ListShowsUseAndEnd) {
  ProgramWorld world;
  TokenEntry* const token = world.script.tokens.add_tokens();
  *token = Made(0).entry();
  token->set_used(7);
  token->set_creator("spiffe://demo/user/ann/role/admin");
  TokenEntry* const old = world.script.tokens.add_tokens();
  old->set_id("00000001");
  old->set_expires_ms(kNowMs - 1);
  const std::string out = RunProgram({"token", "list"}, world).out;
  EXPECT_THAT(out, AllOf(HasSubstr("4f09c2d1"), HasSubstr("node[01-12]"),
                         HasSubstr("  7 of 12  "), HasSubstr("in 2 h"),
                         HasSubstr("user/ann"), HasSubstr("expired")));
  EXPECT_EQ(RunProgram({"token", "list"}).out, "no tokens\n");
}

TEST(TokenCommandTest, RevokesByIdOrByTheWholeToken) {
  for (const char* word : {"4f09c2d1", "cj1.4f09c2d1.secret"}) {
    ProgramWorld world;
    world.script.revoked.mutable_entry()->set_id("4f09c2d1");
    WatchedController controller(world);
    const ProgramOutput output = RunProgram({"token", "revoke", word}, world);
    EXPECT_EQ(controller.decision(), "revoke 4f09c2d1");
    EXPECT_THAT(output.out, AllOf(HasSubstr("token 4f09c2d1: revoked"),
                                  Not(HasSubstr("secret"))));
  }
}

ListCertificatesResponse Certificates() {
  ListCertificatesResponse list;
  list.set_cluster("demo");
  for (int i = 1; i <= 3; ++i) {
    CertificateEntry* const entry = list.add_certificates();
    entry->set_host(absl::StrCat("node0", i));
    entry->set_state(CertificateEntry::ENROLLED);
    entry->set_serial(absl::StrCat("aa", i));
    entry->set_ends_ms(kNowMs + 20 * kDayMs);
  }
  auto others = FromText<ListCertificatesResponse>(R"(
      certificates {host: "node04" state: BY_HAND}
      certificates {host: "node05" state: WAITS_FOR_APPROVAL serial: "bb"
                    waiting_machine_id: "cafe" waiting_key: "01ab"
                    waiting_peer: "ipv4:10.0.0.9:1\x1b[2J"}
      own {what: "intermediate CA"})");
  others.mutable_certificates(0)->set_ends_ms(kNowMs + 29 * kDayMs);
  others.mutable_own(0)->set_ends_ms(kNowMs + 29 * kDayMs);
  list.MergeFrom(others);
  return list;
}

TEST(CertificatesCommandTest, FoldsHostsThatAgreeAndSaysWhatToDo) {
  ProgramWorld world;
  world.script.certificates = Certificates();
  const std::string counts = "demo: 3 enrolled, 1 by hand, 1 waits\n";
  EXPECT_THAT(
      RunProgram({"certificates"}, world),
      Ends(0,
           Out(AllOf(HasSubstr("enrolled  node[01-03]  2025-01-21 00:00 UTC"),
                     Tells("hosts-renewed"), Tells("hosts-renew-how"),
                     HasSubstr("enrolled; machine cafe from"),
                     HasSubstr("approve node05 01ab, or refuse node05 01ab"),
                     Tells("hosts-own-by-hand", "intermediate CA",
                           "2025-01-30 00:00 UTC"),
                     HasSubstr(counts), Not(HasSubstr("\x1b"))))));
  EXPECT_EQ(RunProgram({"certificates", "-o", "short"}, world).out, counts);
}

TEST(CertificatesCommandTest, DecidesAboutOneHost) {
  const std::vector<std::vector<std::string>> decisions = {
      {"approve", "node05", "01ab"},
      {"refuse", "node05", "01ab"},
      {"reset", "node05"},
      {"reset", "node05", "01ab"}};
  for (const std::vector<std::string>& decision : decisions) {
    ProgramWorld world;
    world.script.approved.mutable_entry()->set_host("node05");
    world.script.reset.set_host("node05");
    WatchedController controller(world);
    EXPECT_THAT(RunProgram(With({"certificates"}, decision), world),
                Ends(0, Out(HasSubstr("node05: "))));
    EXPECT_EQ(controller.decision(),
              decision[0] + " node05" +
                  (decision.size() > 2 ? " " + decision.back() : ""));
  }
}

TEST(CertificatesCommandTest, ResetSaysWhomItHasRefusedAsWell) {
  ProgramWorld world;
  world.script.reset.set_host("node05");
  EXPECT_EQ(RunProgram({"certificates", "reset", "node05"}, world).out,
            Say("certificates-reset", "node05") + "\n");
  world.script.reset.set_refused_machine_id("cafe");
  EXPECT_EQ(RunProgram({"certificates", "reset", "node05"}, world).out,
            Say("certificates-reset-both", "node05", "cafe") + "\n");
}

TEST(CertificatesCommandTest, WrongWordsAreStatus3AndDecideNothing) {
  ProgramWorld world;
  WatchedController controller(world);
  EXPECT_EQ(RunProgram({"certificates", "rest", "node05"}, world).status, 3);
  EXPECT_EQ(RunProgram({"certificates", "reset"}, world).status, 3);
  EXPECT_EQ(RunProgram({"certificates", "list", "node05"}, world).status, 3);
  EXPECT_EQ(RunProgram({"certificates", "reset", "node[1-2]"}, world).status,
            3);
  for (const char* action : {"approve", "refuse"}) {
    EXPECT_THAT(RunProgram({"certificates", action, "node05"}, world).err,
                HasSubstr("KEY: "));
  }
  EXPECT_EQ(controller.decision(), "");
}

// Mistakes and answers are Chinese on the screen, and English in JSON.
TEST(TrustCommandsTest, SpeakTheUsersLanguage) {
  ProgramWorld english;
  english.script.token = Made(7444);
  english.script.reset.set_host("node05");
  english.script.revoked.mutable_entry()->set_id("4f09c2d1");
  ProgramWorld chinese = english;
  chinese.environment["CLUSTERD_LANG"] = "zh";
  const std::vector<std::vector<std::string>> lines = {
      {"token", "create"},
      {"token", "create", "--ttl", "30s"},
      {"token", "revoke", "4f09c2d1"},
      {"certificates", "reset", "node05"},
      {"certificates", "approve", "node05"},
      {"certificates", "list", "node05"},
      {"lock", "node07", "--reason", std::string(201, 'x')},
      {"locks"},
      {"waivers"}};
  for (std::vector<std::string> line : lines) {
    const ProgramOutput first = RunProgram(line, english);
    const ProgramOutput second = RunProgram(line, chinese);
    EXPECT_EQ(first.status, second.status);
    EXPECT_NE(first.out + first.err, second.out + second.err) << second.err;
    line.insert(line.end(), {"-o", "json"});
    EXPECT_EQ(RunProgram(line, english).out, RunProgram(line, chinese).out);
  }
}

}  // namespace
}  // namespace clusterd
