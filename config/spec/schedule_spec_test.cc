#include "config/spec/schedule_spec.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "config/spec/spec_loader.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty;

constexpr absl::string_view kRuleNames[] = {"link", "maintenance", "net-health",
                                            "optics"};

// A small good file, whose line 9 is the first of `more`.
std::string With(absl::string_view more) {
  return absl::StrCat(
      "version: 1\n"
      "name: demo\n"
      "product: atlas-a2\n"
      "servers:\n"
      "  - hosts: n[0-3]\n"
      "    address: 10.9.0.[1-4]\n"
      "devices:\n"
      "  rails: [{device: 0-7, subnet: 10.20.0.0/24, host: 1 + 8*n + d}]\n",
      more);
}

ClusterSpec LoadGood(absl::string_view text) {
  const auto spec = LoadSpec("f", text, nullptr, kRuleNames);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return spec.value_or(ClusterSpec());
}

// Expects these mistakes of a file that ends with `more`.
void ExpectWrong(absl::string_view more, const std::vector<Telling>& errors) {
  const absl::Status wrong =
      LoadSpec("f", With(more), nullptr, kRuleNames).status();
  for (const Telling& error : errors) EXPECT_THAT(wrong, error);
}

TEST(LoadScheduleTest, ReadsChecksWithHostsInTheOrderOfTheFile) {
  const ClusterSpec spec = LoadGood(
      With("schedule:\n"
           "  - {name: links, every: 1m30s, hosts: [n3, \"n[0-1]\"],\n"
           "     only: [link, optics], skip: optics, downgrade: [link]}\n"
           "  - {name: all, every: 6h}\n"));
  ASSERT_EQ(spec.schedule_size(), 2);
  const ScheduledCheck& links = spec.schedule(0);
  EXPECT_EQ(links.every_s(), 90u);
  EXPECT_THAT(links.hosts(), ElementsAre("n0", "n1", "n3"));
  EXPECT_THAT(links.selection().only(), ElementsAre("link", "optics"));
  EXPECT_THAT(links.selection().skip(), ElementsAre("optics"));
  EXPECT_THAT(links.selection().downgrade(), ElementsAre("link"));
  EXPECT_EQ(spec.schedule(1).every_s(), 6 * 3600u);
  EXPECT_THAT(spec.schedule(1).hosts(), IsEmpty());
}

// Each key of the file has its mistakes told in one run.
TEST(LoadScheduleTest, TellsEveryMistakeOfEveryKeyAtItsPlace) {
  ExpectWrong(
      "schedule:\n"
      "  - name: Links\n"
      "    every: 10s\n"
      "    hosts: n[0-9]\n"
      "    only: [link, net-healt, zzz]\n"
      "    skipp: link\n"
      "  - {name: a, every: 1m0.5s}\n"
      "  - {name: a}\n"
      "  - {name: b, every: 1h, only: [link], skip: [link], hosts: []}\n",
      {Tells("f:10:11: ", "schedule[0].name", "\"Links\"",
             "spec-schedule-name"),
       Tells("f:11:12: ", "schedule[0].every", "\"10s\"", "spec-a-duration",
             "1m", "168h"),
       Tells("f:12:12: ", "msg-spec-unknown-host", "schedule[0].hosts",
             "\"n4\""),
       Tells("msg-spec-no-such-rule", "\"net-healt\"", "did-you-mean",
             "net-health"),
       Tells("f:13:29: ", "msg-spec-no-such-rule", "schedule[0].only",
             "\"zzz\"", "spec-see-explain"),
       Tells("f:14:5: ", "msg-spec-unknown-key", "\"skipp\"", "schedule[0]"),
       Tells("f:15:22: ", "schedule[1].every", "\"1m0.5s\"",
             "spec-whole-seconds"),
       Tells("msg-spec-name-taken", "schedule[2].name", "\"a\""),
       Tells("schedule[2].every"),
       Tells("msg-spec-every-rule-skipped", "schedule[3]"),
       Tells("schedule[3].hosts", "spec-empty")});
  ExpectWrong(
      "schedule: {name: a, every: 1h}\n",
      {Tells("f:9:11: ", "schedule", "spec-a-mapping", "spec-list-of-checks")});
  ExpectWrong(
      "notify:\n"
      "  - {command: [page, --now], deadline: 10m}\n"
      "  - {command: [/bin/page], url: \"https://a/b\"}\n"
      "  - {deadline: 2s}\n"
      "  - {command: []}\n"
      "  - {command: [/bin/page, \"a\\tb\"]}\n",
      {Tells("f:10:16: ", "notify[0].command", "\"page\"",
             "spec-absolute-program"),
       Tells("f:10:40: ", "notify[0].deadline", "\"10m\"", "spec-a-duration",
             "1s", "5m"),
       Tells("msg-spec-unknown-key", "\"url\"", "notify[1]",
             "command, deadline"),
       Tells("f:12:5: ", "msg-spec-missing", "notify[2].command"),
       Tells("notify[3].command", "spec-empty"), Tells("spec-printable")});
  ExpectWrong(
      "waivers:\n"
      "  - rule: lnik\n"
      "    hosts: n[0-9]\n"
      "    devices: 5000\n"
      "    reason: \"a\\nb\"\n"
      "    until: 2h\n"
      "    untl: 3\n"
      "  - {rule: [link, optics], reason: r, owner: o, until: 2026-02-30}\n"
      "  - {rule: link, devices: \"3,8,88\", reason: r, owner: o,\n"
      "     until: 2026-12-01}\n"
      "  - {rule: maintenance, devices: 3, reason: r, owner: o,\n"
      "     until: 2026-12-01}\n",
      {Tells("f:10:11: ", "msg-spec-no-such-rule", "\"lnik\"", "did-you-mean",
             "link"),
       Tells("f:11:12: ", "msg-spec-unknown-host", "\"n4\""),
       Tells("f:12:14: "), Tells("f:13:13: ", "spec-one-line", 200),
       Tells("waivers[0].owner"),
       Tells("f:14:12: ", "msg-spec-moment", "\"2h\""), Tells("\"untl\""),
       Tells("spec-one-rule"), Tells("msg-spec-moment", "\"2026-02-30\""),
       Tells("f:17:27: ", "waivers[2].devices", "msg-spec-waived-devices",
             "devices 8,88", "0-7"),
       Tells("f:19:34: ", "waivers[3].devices",
             "msg-spec-maintenance-devices")});
  EXPECT_FALSE(ParseWaivedDevices("3", "listen-backlog", {}).ok());
}

TEST(LoadScheduleTest, WithoutTheRulesAnyNameThatMayBeOneIsTaken) {
  const std::string text =
      With("schedule: [{name: a, every: 1m, only: [future-rule]}]\n");
  EXPECT_TRUE(LoadSpec("f", text).ok());
  EXPECT_FALSE(LoadSpec("f", With("schedule: [{name: a, every: 1m, only: "
                                  "[\"no rule\"]}]\n"))
                   .ok());
}

TEST(ScheduleTextTest, EveryKeyComesBackTheSame) {
  const ClusterSpec spec = LoadGood(With(
      "schedule:\n"
      "  - {name: \"null\", every: 1m30s, hosts: \"n[0,2-3]\",\n"
      "     only: [link, optics], skip: [optics], downgrade: [link]}\n"
      "  - {name: 1.5, every: 36h}\n"
      "notify:\n"
      "  - command: [/usr/bin/page, \"a \\\"b\\\" \\\\ # ]\", \"- x: y\"]\n"
      "  - {command: [/bin/page], deadline: 1500ms}\n"));
  ClusterSpec again = LoadGood(SpecToYaml(spec));
  again.set_digest(spec.digest());
  EXPECT_EQ(again.DebugString(), spec.DebugString());
  EXPECT_THAT(SpecToYaml(spec), HasSubstr("    hosts: \"n[0,2-3]\"\n"
                                          "    only: [link, optics]\n"));
}

constexpr char kWaivers[] =
    "waivers:\n"
    "  - {rule: link, hosts: [n2, \"n[0-1]\"], devices: 3, reason: \"a "
    "\\\"b\\\"\",\n"
    "     owner: ann, until: 2026-12-01T10:00Z}\n"
    "  - {rule: optics, reason: dust, owner: 李, until: 2026-12-01}\n";

TEST(LoadWaiversTest, ReadsHostsDevicesAndEnds) {
  const ClusterSpec spec = LoadGood(With(kWaivers));
  ASSERT_EQ(spec.waivers_size(), 2);
  const Waiver& link = spec.waivers(0);
  EXPECT_EQ(link.rule(), "link");
  EXPECT_THAT(link.hosts(), ElementsAre("n0", "n1", "n2"));
  EXPECT_THAT(link.devices(), ElementsAre(3));
  EXPECT_EQ(link.reason(), "a \"b\"");
  EXPECT_EQ(link.until_ms(), 1796119200000);
  EXPECT_THAT(spec.waivers(1).hosts(), IsEmpty());
  EXPECT_EQ(spec.waivers(1).until_ms(), 1796083200000);
}

TEST(LoadWaiversTest, IsReadAgainAsItIsShownWithoutTheControllersOwn) {
  ClusterSpec spec = LoadGood(With(kWaivers));
  const std::string shown = SpecToYaml(spec);
  ClusterSpec again = LoadGood(shown);
  again.set_digest(spec.digest());
  EXPECT_EQ(again.SerializeAsString(), spec.SerializeAsString());
  spec.add_waivers()->set_id("3fa2c4d5");
  EXPECT_EQ(SpecToYaml(spec), shown);
}

TEST(ParseUtcTimeTest, TakesUtcAndNothingElse) {
  for (const char* text : {"2026-12-01T10:00", "2026-12-01T10:00:00Z",
                           "2026-12-01T10:00Z", "2026-12-01 10:00 UTC"}) {
    const auto time = ParseUtcTime(text);
    ASSERT_TRUE(time.ok()) << text;
    EXPECT_EQ(absl::ToUnixSeconds(*time), 1796119200) << text;
  }
  for (const char* text :
       {"", "tomorrow", "2026-12-01T10:00+08:00", "2026-13-01", "2026-02-29",
        "2026-12-01T24:00", "2026-12-01T10:60", "2026-12-01T10", "7d",
        "2026-12-01\n"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseUtcTime(text).status())) << text;
  }
}

}  // namespace
}  // namespace clusterd
