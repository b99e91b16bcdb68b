// Every recorded -ping and -hccs_ping of the vendor's tool, read from its
// standard output alone, against the value that stands beside its name here.
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "tests/readers/hccn_ping.h"
#include "tests/readers/recorded_runs.h"
#include "tests/sim/capture_record.h"

namespace clusterd {
namespace {

using ::testing::IsEmpty;

// Received/transmitted, which ping, and the markers; "missing" for an answer
// without a loss.
const std::map<std::string, std::string>& Expectations() {
  static const auto* const expected = new std::map<std::string, std::string>{
      {"ping-ok-no-final-newline", "3/3 ping"},
      {"ping-nonroot", "3/3 ping"},
      {"ping-all-lost", "0/3 ping [recv time out seq]"},
      {"ping-empty", "missing"},
      {"ping-device-error", "missing"},
      {"ping-busy", "missing"},
      {"ping-no-address", "missing"},
      {"ping-unknown-option", "missing"},
      {"ping-A2-default-build", "missing"},
      {"hccs-ping-superpod", "3/3 hccs"},
      {"hccs-ping-superpod-fail", "0/3 hccs [This pkt check recv msg fail!]"},
      {"hccs-ping-A2", "missing"},
      {"hccs-ping-superpod-busy", "missing"},
      {"hccs-ping-superpod-bad", "missing"},
  };
  return *expected;
}

bool IsPing(const sim::CaptureRecord& record) {
  return record.argv.size() > 3 &&
         (record.argv[3] == "-ping" || record.argv[3] == "-hccs_ping");
}

std::string Read(const std::string& output) {
  const absl::StatusOr<HccnPing> ping = ParseHccnPing(output);
  if (!ping.ok()) return "missing";
  std::string text = absl::StrCat(ping->received, "/", ping->transmitted,
                                  ping->hccs ? " hccs" : " ping");
  if (!ping->markers.empty()) {
    absl::StrAppend(&text, " [", absl::StrJoin(ping->markers, ", "), "]");
  }
  return text;
}

TEST(PingTest, EveryPingIsReadAsExpected) {
  std::set<std::string> unused;
  for (const auto& [name, value] : Expectations()) unused.insert(name);
  for (const sim::CaptureRecord& record : ReadRecords()) {
    if (!IsPing(record)) continue;
    SCOPED_TRACE(record.name);
    const auto found = Expectations().find(record.name);
    if (found == Expectations().end()) {
      ADD_FAILURE() << "no expectation";
      continue;
    }
    unused.erase(record.name);
    EXPECT_EQ(Read(record.standard_output), found->second);
  }
  EXPECT_THAT(unused, IsEmpty()) << "expected, and no such ping recorded";
}

TEST(PingTest, NoOtherCommandsAnswerIsTakenForAPing) {
  for (const sim::CaptureRecord& record : ReadRecords()) {
    if (IsPing(record)) continue;
    EXPECT_EQ(Read(record.standard_output), "missing") << record.name;
  }
}

}  // namespace
}  // namespace clusterd
