// Finds in a log what HCCL and its kin call an error:
//   [ERROR] HCCL(4711,python3):2026-03-01-10:11:12.131.415 [hccl_socket.cc:88]
//   [4712]...Communication_Error_Get_Socket(EI0006): Getting socket times out.
// by code, and by the texts of errors that the log itself writes without one.
// Rows of LINK_ERROR_INFO and lists of ranks become details of the hit:
//   |  10.20.0.29(27)  |  16666  |  10.20.0.2(0)  |  0  | server | time out | …
//   List of unconnected ranks: "[1,7,]"
// A text that leads to no code has the name of the rule that is about it.
// Text in, value out; the text is a stranger's and may be anything.
#ifndef DAEMON_HOST_LOGS_LOG_SCAN_H_
#define DAEMON_HOST_LOGS_LOG_SCAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/logs.pb.h"

namespace clusterd {

inline constexpr size_t kMaxHitTextBytes = 400;
inline constexpr size_t kMaxCodesPerFile = 32;

// `text` as valid UTF-8 of at most `max_bytes`.
std::string BoundedUtf8(absl::string_view text, size_t max_bytes);

// One hit for each code, in the order in which they first stand there, with
// that line and its text, and the number of lines that have it; no file. Lines
// begin at `first_line`; 0: they are not known, and each is 0. Codes beyond
// kMaxCodesPerFile are left out, and *left_out is set.
std::vector<LogHit> ScanLog(absl::string_view text, uint64_t first_line,
                            bool* left_out);

}  // namespace clusterd

#endif  // DAEMON_HOST_LOGS_LOG_SCAN_H_
