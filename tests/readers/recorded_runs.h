// The recorded runs of the vendor's tool (tests/testdata/hccn_tool), and tables
// of what has to be read in them. A line of such a table is
//   record <tab> value
//   record <tab> missing REASON: words that the detail contains
// and was written from the recorded text and the state of the device it came
// from. Failures to read a file are the test's failures.
#ifndef TESTS_READERS_RECORDED_RUNS_H_
#define TESTS_READERS_RECORDED_RUNS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/host/command/command_runner.h"
#include "tests/sim/capture_record.h"

namespace clusterd {

// `file`: of tests/testdata/hccn_tool.
std::vector<sim::CaptureRecord> ReadRecords(
    const std::string& file = "captures.jsonl");

// `path` from the root of the workspace.
std::map<std::string, std::string> ReadExpectations(const std::string& path);

// The query: the words from the command up to -g, e.g. "-ip", "-ip -inet6";
// "-cfg status" has no -g. Empty: not a query.
std::string QueryOf(const sim::CaptureRecord& record);

// The id after -i, 0 if it is not a device's.
uint32_t DeviceOf(const sim::CaptureRecord& record);

// The run as a CommandRunner would have returned it.
CommandResult RunOf(const sim::CaptureRecord& record);

// `read` is `expected`, which may begin with "missing".
void ExpectReadAs(const std::string& expected, const std::string& read);

}  // namespace clusterd

#endif  // TESTS_READERS_RECORDED_RUNS_H_
