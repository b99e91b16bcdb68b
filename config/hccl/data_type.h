// Data types of collectives, by the names that HCCL's own tools take.
#ifndef CONFIG_HCCL_DATA_TYPE_H_
#define CONFIG_HCCL_DATA_TYPE_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace clusterd {

// HCCL's name of a data type: "bfp16" for itself, "bf16" and "bfloat16"; letter
// case is free. Empty: HCCL has no such type.
absl::string_view HcclDataType(absl::string_view name);

// HCCL's names, in its order.
std::vector<absl::string_view> HcclDataTypes();

}  // namespace clusterd

#endif  // CONFIG_HCCL_DATA_TYPE_H_
