// Results of probes, rows of HCCL's logs as results, and how much loss a number
// of packets can show.
#ifndef CONFIG_PROBE_PROBE_RESULT_H_
#define CONFIG_PROBE_PROBE_RESULT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "config/probe/fabric.h"
#include "config/values/ipv4.h"

namespace clusterd {

enum class ProbeOutcome : uint8_t {
  // `lost` of `sent` packets had no answer: none, some or all. A ping's exit
  // status says neither, so the caller reads the text (hccn_tool recordings:
  // one lost probe exits 1, all lost may exit 0).
  kAnswered,
  // Dials, by errno; measured on Linux.
  kRefused,      // ECONNREFUSED: while the far end listens, a firewall.
  kFiltered,     // No answer before the deadline, which must exceed 3.1 s.
  kUnreachable,  // EHOSTUNREACH: rejected, or no answer to ARP after 3.1 s.
  kNoRoute,      // ENETUNREACH.
  // Says nothing about the network: the tool was busy, absent or killed.
  kNotRun,
};

// One probe from a port to another. A ping needs the request and the answer,
// so a cable that has lost one direction fails both ways and reads as a fault
// of its port. Only dials, bandwidth tests and log tables can tell directions.
struct ProbeResult {
  int from = 0;  // Index of the port that began.
  int to = 0;
  // The port whose host reported it: of a log table, the one that wrote the
  // table. kNoIndex: `from`.
  int reporter = kNoIndex;
  ProbePlane plane = ProbePlane::kRoce;
  ProbeOutcome outcome = ProbeOutcome::kAnswered;
  uint16_t sent = 3;  // Packets; -ping always sends three (hccn_tool help).
  uint16_t lost = 0;
};

inline bool IsEvidence(const ProbeResult& result) {
  return result.outcome != ProbeOutcome::kNotRun && result.sent > 0;
}
inline bool HasFailed(const ProbeResult& result) {
  return result.outcome != ProbeOutcome::kAnswered ||
         result.lost >= result.sent;
}
inline bool IsLossy(const ProbeResult& result) {
  return result.lost > 0 && !HasFailed(result);
}

inline bool IsTrouble(const ProbeResult& result) {
  return IsEvidence(result) && (HasFailed(result) || IsLossy(result));
}

// The share of packets, 0 to 1, that may be lost while `packets` answered ones
// leave it unseen with that confidence: 0.221 for 12 at 0.95. 1 for none.
// REQUIRES: 0 < confidence < 1.
double UnseenLoss(uint64_t packets, double confidence = 0.95);

// A row of HCCL's LINK_ERROR_INFO table, which every rank prints that waited
// in vain for a connection:
//   | dest_ip(user_rank) | dest_port | src_ip(user_rank) | … | MyRole | Status
//   | | 10.20.0.29(27) | 16666 | 10.20.0.2(0) | 0 | server | time out |
// (HCCL user guide of CANN 8.5, hcclug_000050; vllm-ascend issue 9447).
struct LinkErrorRow {
  Ipv4Address here;   // src_ip: the device that wrote the table.
  Ipv4Address there;  // dest_ip.
  // MyRole is "server": the other end should have connected.
  bool is_server = false;
};

struct LinkErrorResults {
  std::vector<ProbeResult> results;
  // Rows with an address that no port has, or that several have.
  size_t unknown_rows = 0;
};

// The rows as failed results: device addresses in kRoce, vNICs in kHccs. Equal
// rows count once for each reporter.
LinkErrorResults ResultsFromLinkErrors(const ProbeFabric& fabric,
                                       absl::Span<const LinkErrorRow> rows);

}  // namespace clusterd

#endif  // CONFIG_PROBE_PROBE_RESULT_H_
