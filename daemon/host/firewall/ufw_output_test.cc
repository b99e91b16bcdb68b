#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/host/firewall/firewall_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ReadTestData(const std::string& name) {
  return TestData("tests/testdata/host/ufw/" + name);
}

// Returns the status of an active ufw with these rows.
std::string Active(absl::string_view rows,
                   absl::string_view policy = "deny (incoming)") {
  return absl::StrCat(
      "Status: active\nLogging: on (low)\nDefault: ", policy,
      ", allow (outgoing), disabled (routed)\nNew profiles: skip\n\n"
      "To                         Action      From\n"
      "--                         ------      ----\n",
      rows, "\n");
}

// Returns "60000-60031/tcp from 10.77.0.0/16" for each entry.
std::vector<std::string> Allowed(absl::string_view text) {
  const absl::StatusOr<AllowedFact::Allowed> allowed = ParseUfwAllowed(text);
  if (!allowed.ok()) return {std::string(allowed.status().message())};
  std::vector<std::string> texts;
  for (const AllowedPort& port : allowed->ports()) {
    texts.push_back(absl::StrCat(port.first_port(), "-", port.last_port(), "/",
                                 port.protocol(), " from ", port.source()));
  }
  return texts;
}

void ExpectRejected(absl::string_view text, const std::string& quoted) {
  const absl::Status status = ParseUfwAllowed(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_THAT(std::string(status.message()), HasSubstr(quoted)) << text;
}

TEST(ParseUfwActiveTest, ReadsTheFirstLineAndNothingElse) {
  EXPECT_TRUE(*ParseUfwActive(ReadTestData("active.txt")));
  EXPECT_FALSE(*ParseUfwActive(ReadTestData("inactive.txt")));
  for (const char* text :
       {"", "Status: aktiv\n", "\nStatus: active\n", "Firewall not loaded\n"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseUfwActive(text).status())) << text;
  }
}

TEST(ParseUfwAllowedTest, ReadsARecordedTable) {
  EXPECT_THAT(Allowed(ReadTestData("active.txt")),
              ElementsAre("60000-60031/tcp from ", "0-65535/ from 10.77.0.0/16",
                          "4791-4791/udp from 10.1.0.0/16", "80-80/tcp from ",
                          "443-443/tcp from ", "1000-2000/tcp from ",
                          "0-21/tcp from 10.9.0.0/16",
                          "24-65535/tcp from 10.9.0.0/16", "77-77/udp from "));
}

TEST(ParseUfwAllowedTest, TakesEarlierRulesOffALaterAllow) {
  const std::pair<std::string, std::vector<std::string>> kCases[] = {
      {"Status: active\nLogging: on (low)\nDefault: deny (incoming), allow "
       "(outgoing), disabled (routed)\nNew profiles: skip\n",
       {}},
      {Active("", "allow (incoming)"), {"0-65535/ from "}},
      {Active("80,443/tcp (Nginx Full)    ALLOW IN    Anywhere\n"),
       {"80-80/tcp from ", "443-443/tcp from "}},
      // Limited ports do not count, and comments say nothing.
      {Active("22/tcp      LIMIT IN    Anywhere\n"), {}},
      {Active("22/tcp   ALLOW IN   Anywhere    # DENY IN x\n"),
       {"22-22/tcp from "}},
      // A deny that touches no allow, or comes after it.
      {Active("23      DENY IN   Anywhere\n24/udp  REJECT IN Anywhere\n24/tcp  "
              "ALLOW IN  Anywhere\n"),
       {"24-24/tcp from "}},
      {Active("24/tcp  ALLOW IN  10.0.0.0/8\n24/tcp  DENY IN   Anywhere\n"),
       {"24-24/tcp from 10.0.0.0/8"}},
      {Active("60010/tcp        DENY IN   Anywhere\n22/tcp           LIMIT IN  "
              "Anywhere\n60000:60031/tcp  ALLOW IN  10.0.0.0/8\n22/tcp         "
              "  ALLOW IN  10.0.0.0/8\n"),
       {"60000-60009/tcp from 10.0.0.0/8", "60011-60031/tcp from 10.0.0.0/8"}},
      {Active("23  DENY IN  Anywhere\n", "allow (incoming)"),
       {"0-22/ from ", "24-65535/ from "}}};
  for (const auto& [text, allowed] : kCases)
    EXPECT_EQ(Allowed(text), allowed) << text;
}

TEST(ParseUfwAllowedTest, RejectsRulesThatItCannotSay) {
  for (const char* row : {
           "9 on eth0            ALLOW IN    Anywhere\n",
           "10.0.0.5 99          ALLOW IN    Anywhere\n",
           "10.0.0.5             ALLOW IN    Anywhere\n",
           "22/tcp               ALLOW IN    10.0.0.1 1024/tcp\n",
           "22/tcp               ALLOW IN    Anywhere on eth0\n",
           "OpenSSH              ALLOW IN    Anywhere\n",
           "22/tcp               ALLOW IN    10.0.0.0/99\n",
           "99999/tcp            ALLOW IN    Anywhere\n",
       }) {
    ExpectRejected(Active(row), "cannot say");
  }
}

TEST(ParseUfwAllowedTest, RejectsWhatItDoesNotKnow) {
  ExpectRejected(Active("something new\n"), "something new");
  ExpectRejected(Active("22/tcp  ALLOW  Anywhere\n"), "unexpected row");
  ExpectRejected(Active("", "ask (incoming)"), "ask");
  ExpectRejected("Status: active\n", "Default");
  // A deny for some sources of a later allow.
  ExpectRejected(Active("60010/tcp        DENY IN   10.0.0.7\n"
                        "60000:60031/tcp  ALLOW IN  10.0.0.0/8\n"),
                 "60010/tcp        DENY IN   10.0.0.7");
}

TEST(ParseUfwConfTest, ReadsTheSpellingsOfItsStartScript) {
  EXPECT_TRUE(*ParseUfwConf("# ENABLED=no\nENABLED=yes\nLOGLEVEL=low\n"));
  EXPECT_TRUE(*ParseUfwConf("ENABLED=\"YES\"\n"));
  EXPECT_FALSE(*ParseUfwConf("ENABLED=no\n"));
  // The last line counts.
  EXPECT_FALSE(*ParseUfwConf("ENABLED=yes\nENABLED=no\n"));
  for (const char* text : {"", "ENABLED=\n", "ENABLED=maybe\n",
                           "LOGLEVEL=low\n", "enabled=yes\n"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseUfwConf(text).status())) << text;
  }
}

}  // namespace
}  // namespace clusterd
