// Parses hccn_tool's answers to the queries of settings and health:
//   -ip -g           ipaddr:10.20.0.17
//                    netmask:255.255.255.0
//   -gateway -g      default gateway:10.20.0.1, Iface:eth0
//   -netdetect -g    netdetect address: 10.20.0.1
//   -net_health -g   net health status: Success
//   -link -g         link status: UP
//   -mtu -g          mtu:1500
//   -cfg status      config status:SUCCESS
//   -tls -g          dev_id:0, tls switch[0](0:disable, 1:enable), …
//   -lldp -g         Chassis ID TLV
//                            MAC: 00:11:22:33:44:55
//                    Port ID TLV
//                            Ifname: 400GE1/1/20:2
//                    System Description TLV
//                            Versatile Routing Platform Software
//                    VRP (R) software, Version 8.211
//                    End of LLDPDU TLV
// Fills the facts of either generation: the queries of the two tools differ,
// most answers do not. Texts are from the hccn_tool source (hicann/driver
// ef377e95) and published captures. A parser runs nothing and returns
// InvalidArgument, quoting the line, for any unknown text.
#ifndef DAEMON_HOST_HCCN_HCCN_ANSWERS_H_
#define DAEMON_HOST_HCCN_HCCN_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/values/ipv4.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Returns "fd00::17/64" from the answer to `-ip -inet6 -g`:
//   ipv6_address:fd00::17
//   prefix_length:64
// Empty for a link-local address, which no other subnet reaches and a device
// may assign itself. InvalidArgument for any other text.
absl::StatusOr<std::string> ParseHccnIpv6(absl::string_view output);

// Returns at least one address with its mask, each once, in the tool's order.
// Boards with several ports print one pair a port, and the published tool the
// same pair for each; some captures have an empty line between the two.
// InvalidArgument also for a mask with a hole; never guesses a mask. "No
// address" is a failure of the tool, see ClassifyHccnRun.
absl::StatusOr<std::vector<Ipv4Interface>> ParseHccnIp(
    absl::string_view output);

// Accepts the line without an interface, as the Ascend 950 tool prints it. "No
// gateway" is a failure of the tool, see ClassifyHccnRun.
absl::StatusOr<Ipv4Address> ParseHccnGateway(absl::string_view output);

// "netdetect addr:" and "netdetect address:" both occur; 0.0.0.0: none is set.
absl::StatusOr<Ipv4Address> ParseHccnNetdetect(absl::string_view output);

// Also accepts the "Socket failed" of captures; the source has "Socket fail".
absl::StatusOr<NetHealth> ParseHccnNetHealth(absl::string_view output);

absl::StatusOr<LinkFact::Link> ParseHccnLink(absl::string_view output);

absl::StatusOr<RecoveryFact::Recovery> ParseHccnRecovery(
    absl::string_view output);

// Bytes, 1 to 65535.
absl::StatusOr<uint32_t> ParseHccnMtu(absl::string_view output);

// Returns whether the switch of `device` is on. Certificates and their warnings
// may follow the line and are ignored.
absl::StatusOr<bool> ParseHccnTls(absl::string_view output, uint32_t device);

// Returns the certificates below that line with the tool's verdict:
//   dev_id:0, [pub cert] info:
//            issuer[/C=CN/O=Huawei/CN=Huawei IT Product CA]
//            end_time[Mon Feb 19 03:19:21 2040 GMT]
//            tls expiration status[0](0:normal, 1:near expiration, 2:has …
// The last line of an expired one goes to `errors`, the standard error, and the
// exit status stays 0. A certificate without an end is omitted.
std::vector<TlsCertificate> ParseHccnCertificates(absl::string_view output,
                                                  absl::string_view errors,
                                                  uint32_t device);

// The tool cuts its answer to -lldp here (hccn_tool source, hicann/driver
// ef377e95).
inline constexpr size_t kHccnLldpMaxBytes = 1999;

// Titles begin a line, values follow tabs or spaces; a system description also
// has lines without indent, and empty ones. The neighbour writes most of this
// text, so none of it is trusted. Only newlines mean that no neighbour was
// heard. The peer is NPU if the first line of the system description contains
// "AscendNPU", SWITCH if it contains "Routing". Values are printable and at
// most 255 bytes, as in LLDP. InvalidArgument if the text does not begin with a
// title or has no port id.
absl::StatusOr<LldpNeighbour> ParseHccnLldp(absl::string_view output);

// UNREADABLE: a parser refused the answer's output with `status`.
Missing UnreadableHccnAnswer(const HccnAnswer& answer,
                             const absl::Status& status);

// Sets the value that `parse` returns. Otherwise `fact` is missing with the
// answer's reason, or UNREADABLE with the command in front.
template <typename Parse, typename Fact>
void FillHccnFact(const HccnAnswer& answer, const Parse& parse, Fact* fact) {
  if (answer.missing.has_value()) {
    SetMissing(*answer.missing, fact);
  } else if (auto parsed = parse(answer.output); parsed.ok()) {
    SetFact(std::move(parsed), fact);
  } else {
    SetMissing(UnreadableHccnAnswer(answer, parsed.status()), fact);
  }
}

// "None is set" is a valid answer: no settings, and an empty gateway.
void FillAddress(const HccnAnswer& answer, DeviceAddressFact* fact);
void FillIpv6Address(const HccnAnswer& answer, TextFact* fact);
void FillGateway(const HccnAnswer& answer, TextFact* fact);
void FillDetectAddress(const HccnAnswer& answer, TextFact* fact);

// `source` is where the value comes from.
TlsFact::Switch MakeTlsSwitch(bool enabled, absl::string_view source);

// Repeats the query up to three times, a second apart within the budget, while
// the answer is "Detect ip set": the result is pending.
void AskNetHealth(HccnSession* session, NetHealthFact* fact);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_HCCN_ANSWERS_H_
