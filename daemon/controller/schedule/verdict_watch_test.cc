#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/rules/catalogue.h"
#include "daemon/controller/schedule/check_schedule.h"
#include "gtest/gtest.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

constexpr Verdicts kGood = {PASS, PASS};
constexpr Verdicts kLinkDown = {FAIL, PASS};
constexpr Verdicts kHostWrong = {FAIL, FAIL};

class VerdictWatchTest : public testing::Test {
 protected:
  // The result of a round `after` so long since the last one.
  News See(const Verdicts& seen, absl::Duration after = absl::Minutes(1)) {
    now_ += after;
    return watch_.See(seen, now_, now_);
  }

  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  VerdictWatch watch_;
};

TEST_F(VerdictWatchTest, PassIsNoNewsAtFirst) {
  EXPECT_EQ(See(kGood), News::kNone);
  EXPECT_EQ(watch_.sent(), PASS);
}

TEST_F(VerdictWatchTest, FailureOutsideTheNetworkIsSentAtOnceAndOnce) {
  EXPECT_EQ(See(kHostWrong), News::kTell);
  EXPECT_EQ(watch_.sent(), FAIL);
  EXPECT_EQ(See(kHostWrong), News::kNone);
  EXPECT_EQ(See(kGood), News::kTell);
  EXPECT_EQ(watch_.sent(), PASS);
}

TEST_F(VerdictWatchTest, NetworkFailureAloneIsSentOnTheSecondRound) {
  EXPECT_EQ(See(kLinkDown), News::kCheckAgain);
  EXPECT_EQ(watch_.sent(), PASS);
  EXPECT_EQ(See(kLinkDown, kSeenTwiceWithin), News::kTell);
  EXPECT_EQ(watch_.sent(), FAIL);
  // A fix, too.
  EXPECT_EQ(See(kGood), News::kCheckAgain);
  EXPECT_EQ(See(kGood), News::kTell);
}

TEST_F(VerdictWatchTest, SecondSightThatComesTooLateIsAFirstOne) {
  EXPECT_EQ(See(kLinkDown), News::kCheckAgain);
  EXPECT_EQ(See(kLinkDown, kSeenTwiceWithin + absl::Seconds(1)),
            News::kCheckAgain);
  EXPECT_EQ(See(kLinkDown), News::kTell);
}

TEST_F(VerdictWatchTest, ThirdFailureInARowIsSentHoweverLateItIs) {
  const absl::Duration late = kSeenTwiceWithin + absl::Minutes(1);
  EXPECT_EQ(See(kLinkDown), News::kCheckAgain);
  EXPECT_EQ(See(kLinkDown, late), News::kCheckAgain);
  EXPECT_EQ(See(kGood, late), News::kNone) << "begins anew";
  EXPECT_EQ(See(kLinkDown, late), News::kCheckAgain);
  EXPECT_EQ(See(kLinkDown, late), News::kCheckAgain);
  EXPECT_EQ(See(kLinkDown, late), News::kTell);
  // A fix, too.
  EXPECT_EQ(See(kGood, late), News::kCheckAgain);
  EXPECT_EQ(See(kGood, late), News::kCheckAgain);
  EXPECT_EQ(See(kGood, late), News::kTell);
}

TEST_F(VerdictWatchTest, LongRoundsAreComparedFromEndToBeginning) {
  EXPECT_EQ(watch_.See(kLinkDown, now_, now_ + absl::Hours(1)),
            News::kCheckAgain);
  EXPECT_EQ(watch_.See(kLinkDown, now_ + absl::Hours(1) + absl::Minutes(2),
                       now_ + absl::Hours(2)),
            News::kTell);
}

TEST_F(VerdictWatchTest, FlappingFailureIsSentOnce) {
  EXPECT_EQ(See(kLinkDown), News::kCheckAgain);
  EXPECT_EQ(See(kGood), News::kNone);
  EXPECT_EQ(See(kLinkDown), News::kTell);
  // An occasional good round is not a fix.
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(See(kGood), News::kCheckAgain);
    EXPECT_EQ(See(kLinkDown), News::kNone);
  }
  EXPECT_EQ(watch_.sent(), FAIL);
}

TEST_F(VerdictWatchTest, ShortFaultIsNeverSent) {
  EXPECT_EQ(See(kLinkDown), News::kCheckAgain);
  EXPECT_EQ(See(kGood), News::kNone);
  EXPECT_EQ(See(kGood, absl::Minutes(10)), News::kNone);
}

TEST_F(VerdictWatchTest, AHostsOwnFaultBehindTheNetworksIsNotDamped) {
  EXPECT_EQ(See(kLinkDown), News::kCheckAgain);
  EXPECT_EQ(See(kHostWrong), News::kTell);
}

class ReportWatchTest : public testing::Test {
 protected:
  // A round a minute after the last one: "again", or news such as "link a,b".
  std::string See(const Failures& failing, const Failures& unjudged = {}) {
    now_ += absl::Minutes(1);
    CheckRound round = {{PASS, PASS}, failing, unjudged, now_, now_};
    for (const auto& [rule, host] : failing) {
      round.verdicts.all = FAIL;
      if (!absl::c_linear_search(NetworkRules(), rule)) {
        round.verdicts.without_network = FAIL;
      }
    }
    NewFailures started;
    const News news = watch_.See(round, &started);
    if (news == News::kCheckAgain) return "again";
    std::string sent;
    for (const auto& [rule, hosts] : started) {
      absl::StrAppend(&sent, sent.empty() ? "" : "; ", rule, " ",
                      absl::StrJoin(hosts, ","));
    }
    return sent;
  }

  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  ReportWatch watch_;
};

constexpr char kMtu[] = "mtu";

TEST_F(ReportWatchTest, EachNewFailureOfARuleAndHostIsSentOnce) {
  EXPECT_EQ(See({{kMtu, "a"}}), "mtu a");
  EXPECT_EQ(See({{kMtu, "a"}}), "");
  EXPECT_EQ(See({{kMtu, "a"}, {kMtu, "b"}, {kMtu, "c"}}), "mtu b,c");
  EXPECT_EQ(See({{kMtu, "a"}, {"drift", "a"}, {"topology", ""}}),
            "drift a; topology ");
  EXPECT_EQ(See({{kMtu, "a"}, {"drift", "a"}, {"topology", ""}}), "");
  EXPECT_EQ(watch_.sent(), FAIL);
}

TEST_F(ReportWatchTest, TheNetworksFailuresAreSeenTwice) {
  EXPECT_EQ(See({{kMtu, "a"}}), "mtu a");
  EXPECT_EQ(See({{kMtu, "a"}, {"link", "b"}}), "again");
  EXPECT_EQ(See({{kMtu, "a"}, {"link", "b"}}), "link b");
  // A flapping failure is sent once.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(See({{kMtu, "a"}}), "again");
    EXPECT_EQ(See({{kMtu, "a"}, {"link", "b"}}), "");
  }
  // A fix that was seen twice counts, and is not news.
  EXPECT_EQ(See({{kMtu, "a"}}), "again");
  EXPECT_EQ(See({{kMtu, "a"}}), "");
  EXPECT_EQ(See({{kMtu, "a"}, {"link", "b"}}), "again");
  EXPECT_EQ(See({{kMtu, "a"}, {"link", "b"}}), "link b");
}

TEST_F(ReportWatchTest, NewsOfAnyKindTellsAllThatFails) {
  EXPECT_EQ(See({{"link", "b"}}), "again");
  EXPECT_EQ(See({{"link", "b"}, {kMtu, "a"}}), "link b; mtu a");
  EXPECT_EQ(See({{"link", "b"}, {kMtu, "a"}}), "");
}

TEST_F(ReportWatchTest, WhatIsNotJudgedIsNotFixed) {
  EXPECT_EQ(See({{kMtu, "a"}, {kMtu, "b"}}), "mtu a,b");
  const Failures silent = {{"host-identity", "a"}, {kMtu, "b"}};
  EXPECT_EQ(See(silent, {{"", "a"}}), "again");
  EXPECT_EQ(See(silent, {{"", "a"}}), "host-identity a");
  EXPECT_EQ(See({{kMtu, "a"}}, {{kMtu, "b"}}), "again");
  EXPECT_EQ(See({{kMtu, "a"}, {kMtu, "b"}}), "");
}

TEST(RoundOfTest, TakesFailuresAndSilentHostsButNothingWaived) {
  const auto report = FromText<Report>(R"(
      rules { rule: 'host-identity' state: UNKNOWN
              findings { state: UNKNOWN subjects { host: 'a' } } }
      rules { rule: 'link' state: FAIL
              findings { state: FAIL subjects { host: 'b' } } }
      rules { rule: 'mtu' state: WARN
              findings { state: WARN subjects { host: 'b' } } }
      rules { rule: 'optics' state: UNKNOWN
              findings { state: UNKNOWN subjects { host: 'c' } } }
      rules { rule: 'topology' state: FAIL findings { state: FAIL } }
      rules { rule: 'drift' state: FAIL
              findings { state: FAIL subjects { host: 'd' }
                         waiver { rule: 'drift' } } })");
  const CheckRound round = RoundOf(report, {}, {});
  EXPECT_EQ(
      round.failing,
      (Failures{{"host-identity", "a"}, {"link", "b"}, {"topology", ""}}));
  EXPECT_EQ(round.unjudged, (Failures{{"", "a"}, {"optics", "c"}}));
}

TEST(VerdictsOfTest, LeavesOutWhatTheNetworkSays) {
  const Verdicts verdicts = VerdictsOf(FromText<Report>(R"(
      verdict: FAIL
      rules { rule: 'link' state: FAIL } rules { rule: 'firewall' state: WARN }
      rules { rule: 'drift' state: SKIPPED }
      rules { rule: 'open-files' state: PASS })"));
  EXPECT_EQ(verdicts.all, FAIL);
  EXPECT_EQ(verdicts.without_network, WARN);
}

TEST(NetworkRulesTest, AreRules) {
  for (const absl::string_view rule : NetworkRules()) {
    EXPECT_NE(FindRule(rule), nullptr) << rule;
  }
}

TEST(VerdictsOfTest, CountsWhatIsWaivedAsAPass) {
  auto report = FromText<Report>(
      "verdict: WARN rules {rule: 'link' state: WARN "
      "findings {state: WARN waiver {rule: 'link'}}}");
  RuleResult* const link = report.mutable_rules(0);
  EXPECT_EQ(VerdictsOf(report).all, PASS);
  link->set_state(FAIL);
  report.set_verdict(FAIL);
  link->add_findings()->set_state(FAIL);
  EXPECT_EQ(VerdictsOf(report).all, FAIL);
  link->mutable_findings()->RemoveLast();
  link->set_state(WARN);
  report.set_verdict(UNKNOWN);
  EXPECT_EQ(VerdictsOf(report).all, UNKNOWN) << "a host gave no facts";
}

}  // namespace
}  // namespace clusterd
