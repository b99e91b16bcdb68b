// Integer formulas over where a server and a device stand, as address patterns
// use them:
//   101 + 10*n        1 + 8*n + d%4        (n+1) % servers
#ifndef CONFIG_VALUES_FORMULA_H_
#define CONFIG_VALUES_FORMULA_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// What the letters of a formula stand for.
struct FormulaInputs {
  int64_t n = 0;        // Index of the server in the spec, from 0.
  int64_t d = 0;        // Id of the device.
  int64_t i = 0;        // Index of the server in its group, from 0.
  int64_t g = 0;        // Index of the group of servers, from 0.
  int64_t servers = 1;  // How many servers the spec has.
};

class Formula {
 public:
  // The formula 0.
  Formula() = default;

  // Decimal numbers, the letters of FormulaInputs, + - * / % and parentheses,
  // with the usual precedence; / and % as in C++. InvalidArgument, quoting the
  // part that is wrong, at most 256 bytes and 32 levels of parentheses or
  // signs.
  static absl::StatusOr<Formula> Parse(absl::string_view text);

  // InvalidArgument for a division by zero and for what leaves 64 bits.
  absl::StatusOr<int64_t> Evaluate(const FormulaInputs& inputs) const;

 private:
  std::string text_ = "0";
};

}  // namespace clusterd

#endif  // CONFIG_VALUES_FORMULA_H_
