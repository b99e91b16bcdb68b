// Turns the noted runs of an observation into records that may be sent to us:
// one JSON object a line, in the format of tests/testdata/hccn_tool, without
// the site's addresses and names. `replay` runs such a file against a tool.
//
// Replaced, the same by the same in the whole file: IPv4, IPv6 and MAC
// addresses, names of this host and of switches, their domains. Removed: the
// owners of certificates, comments in hccn.conf, texts that people write into
// switches. Kept: which devices share a subnet, host numbers, the ranges that
// hccn_tool refuses, everything that the tool itself says.
#ifndef DAEMON_HOST_RECORDING_RECORDING_H_
#define DAEMON_HOST_RECORDING_RECORDING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/recording/address_map.h"
#include "daemon/host/recording/hccn_tool_recorder.h"
#include "daemon/host/recording/run_record.pb.h"
#include "proto/facts.pb.h"

namespace clusterd {

// One record a run, ordered by device and then as they ran. `facts` is what the
// observation made of these runs: it gives product, versions, the host's names
// and each record's `precondition`.
std::vector<RunRecord> MakeRecords(const std::vector<RecordedRun>& runs,
                                   const HostFacts& facts,
                                   const AddressMap& addresses);

// JSON lines with every field of the format in each line.
// Internal: a record holds a string that is not UTF-8; those of MakeRecords
// never do.
absl::StatusOr<std::string> FormatRecords(
    const std::vector<RunRecord>& records);

// Reads what FormatRecords wrote, and the vendor tool's captures. Empty lines
// are skipped. InvalidArgument, with the line's number, for anything else.
absl::StatusOr<std::vector<RunRecord>> ParseRecords(absl::string_view text);

// Writes a new file that only this user may read. FailedPrecondition if `path`
// exists, also as a symbolic link; PermissionDenied, NotFound or Unavailable if
// it cannot be created or written, and nothing is left behind.
absl::Status WriteNewFile(const std::string& path, absl::string_view text);

}  // namespace clusterd

#endif  // DAEMON_HOST_RECORDING_RECORDING_H_
