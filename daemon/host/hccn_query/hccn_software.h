// Reads what hccn_tool says about the network software of one device:
//   -process -g     device hccp process: not exist
//   -version -g     Network Driver Version:    1.0.4.0, and a line for firmware
//   -cfg status     config status:SUCCESS
// Texts from the hccn_tool source (hicann/driver ef377e95). Text in, value out:
// runs nothing. Every function returns InvalidArgument, quoting the line, for
// anything it does not know: no guesses.
#ifndef DAEMON_HOST_HCCN_QUERY_HCCN_SOFTWARE_H_
#define DAEMON_HOST_HCCN_QUERY_HCCN_SOFTWARE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// Whether the device's communication process runs, which it does while a job
// uses the device.
absl::StatusOr<bool> ParseHccnProcess(absl::string_view output);

// As the tool prints them; neither is empty.
struct HccnVersions {
  std::string driver;
  std::string firmware;
};
absl::StatusOr<HccnVersions> ParseHccnVersions(absl::string_view output);

// How far applying /etc/hccn.conf to the device has come: not begun, begun,
// failed or done. kFault is what the tool says for any other state.
enum class HccnConfigStatus { kNone, kStart, kFail, kSuccess, kFault };
absl::StatusOr<HccnConfigStatus> ParseHccnConfigStatus(
    absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_HCCN_SOFTWARE_H_
