// Reads a requirements.txt as pip does, but without the network:
//   torch==2.1.0+cpu ; python_version < "3.12"   # a comment
//   numpy[extra]>=1.24,<2 --hash=sha256:…
// Lines that only pip could judge, such as -r, URLs and hashes, are named.
#ifndef CONFIG_HCCL_PYTHON_PACKAGES_H_
#define CONFIG_HCCL_PYTHON_PACKAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/finding.pb.h"

namespace clusterd {

struct Requirement {
  std::string name;        // As NormalPackageName has it.
  std::string specifiers;  // ">=1.24,<2"; empty: any version.
  std::string marker;      // Behind the semicolon; empty: none.
  uint32_t line = 0;
};

struct Requirements {
  std::vector<Requirement> packages;
  // "line 3: -r base.txt": its requirements are not known.
  std::vector<FindingValue> unread;
  // "line 4: --hash": ignored, but the package is judged.
  std::vector<FindingValue> ignored;
};

inline constexpr size_t kMaxRequirements = 1000;

// True if the version meets all of ">=1.2, !=1.3.*, <2" as PEP 440 compares
// (https://packaging.python.org/en/latest/specifications/version-specifiers);
// every version meets "". Nothing if version or specifiers are not understood.
std::optional<bool> MeetsSpecifiers(absl::string_view version,
                                    absl::string_view specifiers);

// PEP 503: in lower case, runs of -, _ and . as one dash.
std::string NormalPackageName(absl::string_view name);

// Packages after kMaxRequirements are unread.
Requirements ParseRequirements(absl::string_view text);

// True if the marker holds (PEP 508) without extras, for that version of
// Python, "3.10" or "3.10.12", and that machine, "aarch64"; empty: not known.
// Nothing if the marker needs an unknown value, such as the kernel's version,
// has parentheses, or is not understood.
std::optional<bool> MeetsMarker(absl::string_view marker,
                                const std::string& python,
                                const std::string& machine);

}  // namespace clusterd

#endif  // CONFIG_HCCL_PYTHON_PACKAGES_H_
