// Finds addresses in any text and replaces them:
//   PING 29.1.137.205                  IPv4, also next to letters, / and :
//   [::ffff:198.18.0.1]:43195          IPv6 with or without IPv4 in it
//   6c:b1:58:00:00:01, 6CB1-5800-0001  MAC, the ways people write it
// Four numbers with dots are an address even where they are a version; hiding
// too much is the safe side. Numbers with more dots are left, unless only the
// fifth is too large for an address (10.0.0.1.4791).
#ifndef CLIENT_RECORDING_ADDRESS_TEXT_H_
#define CLIENT_RECORDING_ADDRESS_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "client/recording/address_map.h"

namespace clusterd {

// `text` with every address replaced. An address that the end of the text cuts
// off loses its unfinished part, as hccn_tool cuts long LLDP answers. Linear in
// the length.
std::string ReplaceAddresses(absl::string_view text, const AddressMap& map);

}  // namespace clusterd

#endif  // CLIENT_RECORDING_ADDRESS_TEXT_H_
