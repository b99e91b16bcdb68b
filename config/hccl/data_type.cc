#include "config/hccl/data_type.h"

#include "absl/strings/match.h"

namespace clusterd {
namespace {

// Types: HcclDataType of hccl_types.h (HCCL API reference), by the names that
// hccl_test takes behind -d; beside them PyTorch's and the migration guide's.
constexpr absl::string_view kTypes[][3] = {
    {"int8", "", ""},
    {"int16", "", ""},
    {"int32", "", ""},
    {"fp16", "float16", "half"},
    {"fp32", "float32", "float"},
    {"int64", "", ""},
    {"uint64", "", ""},
    {"uint8", "", ""},
    {"uint16", "", ""},
    {"uint32", "", ""},
    {"fp64", "float64", "double"},
    {"bfp16", "bf16", "bfloat16"},
    {"int128", "", ""},
    {"hif8", "", ""},
    {"fp8e4m3", "", ""},
    {"fp8e5m2", "", ""},
    {"fp8e8m0", "", ""},
};

}  // namespace

absl::string_view HcclDataType(absl::string_view name) {
  if (name.empty()) return "";
  for (const auto& names : kTypes) {
    for (const absl::string_view known : names) {
      if (absl::EqualsIgnoreCase(known, name)) return names[0];
    }
  }
  return "";
}

std::vector<absl::string_view> HcclDataTypes() {
  std::vector<absl::string_view> types;
  for (const auto& names : kTypes) types.push_back(names[0]);
  return types;
}

}  // namespace clusterd
