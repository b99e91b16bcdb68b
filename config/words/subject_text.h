// Who a finding is about, folded and bounded:
//   server[0-1] device 3; server2 devices 0-3,5; and 17 more
#ifndef CONFIG_WORDS_SUBJECT_TEXT_H_
#define CONFIG_WORDS_SUBJECT_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/finding.pb.h"

namespace clusterd {

// "0-3,7"; "none" when empty. REQUIRES: ascending.
std::string FoldIds(absl::Span<const uint32_t> ids);

// "device 3", "devices 0-3,5"; empty for none.
std::string DevicesText(std::vector<uint32_t> ids);

// Folded hosts; where the folded names would take more than `columns`, as many
// as fit and "and 17 more hosts". Names are not made safe for a terminal.
std::string HostsText(absl::Span<const std::string> hosts, int columns);

// The hosts with their devices, hosts of the same devices folded together, at
// most `groups` of them, each bounded as in HostsText. No subject, or one
// without host and device, is "cluster". Not made safe for a terminal.
std::string SubjectsText(
    const google::protobuf::RepeatedPtrField<Subject>& subjects, int groups,
    int columns);

}  // namespace clusterd

#endif  // CONFIG_WORDS_SUBJECT_TEXT_H_
