// Every recorded run that reads is of a query with a reader or with a reason to
// have none, and is read as expected.tsv has it, as read_answer.h writes it.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "gmock/gmock.h"
#include "tests/readers/read_answer.h"
#include "tests/readers/recorded_runs.h"
#include "tests/sim/capture_record.h"

namespace clusterd {
namespace {

using ::testing::AnyOf, ::testing::IsEmpty, ::testing::StartsWith;

template <typename List>
bool Has(const List& list, absl::string_view query) {
  return std::find(list.begin(), list.end(), query) != list.end();
}

bool IsUnread(absl::string_view query) {
  return std::any_of(
      kUnreadQueries.begin(), kUnreadQueries.end(),
      [&](const UnreadQuery& unread) { return unread.query == query; });
}

// Nothing here sends pings from a device; only the simulated tool answers them.
constexpr std::array<absl::string_view, 2> kPings = {"-ping", "-hccs_ping"};

// -s sets, -a adds, -d deletes, -c clears, and recovery sets the values of
// hccn.conf.
bool Changes(const sim::CaptureRecord& record) {
  constexpr size_t kFirstOption = 4;
  const std::vector<std::string>& argv = record.argv;
  if (Has(argv, "recovery")) return true;
  if (argv.size() <= kFirstOption) return false;
  const std::vector<std::string> options(argv.begin() + kFirstOption,
                                         argv.end());
  return Has(options, "-s") || Has(options, "-a") || Has(options, "-d") ||
         Has(options, "-c");
}

// Records that neither change a value nor make a readable query, and why. The
// tool refuses each of these lines.
const std::map<std::string, std::string>& NoQueries() {
  static const auto* const reasons = new std::map<std::string, std::string>{
      {"bond-ip-get-9000", "the tool has no command -bond"},
      {"bond-ip-get-A2", "the tool has no command -bond"},
      {"backup-ip", "the tool has no command -backup_ip"},
      {"net-health-inet6", "-net_health takes no -inet6"},
      {"args-i-0", "no command"},
      {"args-i-0-ip", "no -g"},
      {"args-950-order", "the order of the Ascend 950 tool"},
      {"args-cmd-first", "the command before the device"},
      {"args-unknown-no-dash", "a command without its dash"},
      {"args-v", "no command -v"},
      {"args-a-cfg", "-cfg without what to do"},
      {"args-cfg-no-arg", "-cfg without what to do"},
      {"args-bond-only", "the tool has no command -bond"},
      {"args-many-60", "too many arguments"},
      {"args-many-45", "too many arguments"},
  };
  return *reasons;
}

TEST(CensusTest, EveryRecordThatReadsHasAReaderOrAReason) {
  std::set<std::string> unused;
  for (const auto& [name, reason] : NoQueries()) unused.insert(name);
  for (const sim::CaptureRecord& record : ReadRecords()) {
    const std::string query = QueryOf(record);
    if (Changes(record) || Has(kQueries, query) || IsUnread(query) ||
        Has(kPings, query)) {
      continue;
    }
    SCOPED_TRACE(record.name);
    EXPECT_EQ(unused.erase(record.name), 1u)
        << "no reader for \"" << query << "\"";
    EXPECT_EQ(ClassifyHccnRun(RunOf(record)).failure,
              HccnFailure::kWrongCommandLine);
  }
  EXPECT_THAT(unused, IsEmpty()) << "a reason, and no such record";
}

TEST(CensusTest, NoQueryIsBothReadAndUnread) {
  for (const UnreadQuery& unread : kUnreadQueries) {
    EXPECT_FALSE(Has(kQueries, unread.query)) << unread.query;
    EXPECT_FALSE(unread.reason.empty()) << unread.query;
  }
}

TEST(CapturesTest, EveryQueryIsReadAsExpected) {
  const std::map<std::string, std::string> expected =
      ReadExpectations("tests/readers/expected.tsv");
  std::set<std::string> unused;
  for (const auto& [name, value] : expected) unused.insert(name);
  for (const sim::CaptureRecord& record : ReadRecords()) {
    const std::string query = QueryOf(record);
    if (Changes(record) || (!Has(kQueries, query) && !IsUnread(query))) {
      continue;
    }
    SCOPED_TRACE(record.name);
    const auto found = expected.find(record.name);
    if (found == expected.end()) {
      ADD_FAILURE() << "not in expected.tsv";
      continue;
    }
    unused.erase(record.name);
    ExpectReadAs(found->second,
                 ReadAnswer(query, DeviceOf(record), RunOf(record)));
  }
  EXPECT_THAT(unused, IsEmpty()) << "expected, and no such query recorded";
}

// The answers of a command that sets are not read as those of its query either,
// but for the queries of every observation, which reads back what it set.
bool MayBeReadAs(const sim::CaptureRecord& record, absl::string_view query) {
  if (!IsObserved(query)) return QueryOf(record) == query;
  return Has(record.argv, query.substr(0, query.find(' ')));
}

TEST(CapturesTest, NoOtherCommandsAnswerIsTakenForAValue) {
  for (const sim::CaptureRecord& record : ReadRecords()) {
    for (const absl::string_view query : kQueries) {
      if (MayBeReadAs(record, query)) continue;
      SCOPED_TRACE(absl::StrCat(record.name, " read as ", query));
      const std::string read =
          ReadAnswer(query, DeviceOf(record), RunOf(record));
      // A set prints nothing and succeeds, and so does a device without a heard
      // neighbour.
      if (query == "-lldp" && record.exit == 0 &&
          record.standard_output.empty()) {
        EXPECT_THAT(read, AnyOf("none", StartsWith("missing ")));
      } else {
        EXPECT_THAT(read, StartsWith("missing "));
      }
    }
  }
}

}  // namespace
}  // namespace clusterd
