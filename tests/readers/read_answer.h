// One run of hccn_tool as the daemon reads it, in a line of text:
//   -ip          10.0.0.1/255.255.255.0 [...], or none
//   -gateway     10.0.0.254, or none
//   -netdetect   0.0.0.0
//   -net_health  NET_HEALTH_INIT
//   -link        UP
//   -lldp        chassis=... port=... system=... address=... peer=SWITCH
//                [truncated], without what is empty; or none
//   -mtu         1500
//   -tls         on
//   any          missing TOOL_FAILED: what the daemon says about it
// The run goes through the daemon's whole chain, its retries included.
#ifndef TESTS_READERS_READ_ANSWER_H_
#define TESTS_READERS_READ_ANSWER_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

// Every query that the daemon asks a classic tool.
inline constexpr std::array<absl::string_view, 9> kQueries = {
    "-ip",   "-gateway", "-netdetect",  "-net_health", "-link",
    "-lldp", "-mtu",     "-cfg status", "-tls"};

// `run` is the tool's run for `query` about `device`. REQUIRES: `query` is one
// of kQueries.
std::string ReadAnswer(absl::string_view query, uint32_t device,
                       const CommandResult& run);

}  // namespace clusterd

#endif  // TESTS_READERS_READ_ANSWER_H_
