#include "config/values/formula.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr size_t kMaxBytes = 256;
constexpr int kMaxDepth = 32;

template <typename... Parts>
absl::Status Wrong(absl::string_view text, const Parts&... parts) {
  return absl::InvalidArgumentError(
      absl::StrCat("formula \"", absl::Utf8SafeCEscape(text.substr(0, 80)),
                   "\" ", parts...));
}

// What may stand for a number.
struct Input {
  absl::string_view word;
  int64_t FormulaInputs::*value;
};
constexpr Input kInputs[] = {{"n", &FormulaInputs::n},
                             {"d", &FormulaInputs::d},
                             {"i", &FormulaInputs::i},
                             {"g", &FormulaInputs::g},
                             {"servers", &FormulaInputs::servers}};

// Recursive descent over the text: sums of products of signed terms.
class Evaluation {
 public:
  // Without `inputs` the text is only read, and every number is 0.
  Evaluation(absl::string_view text, const FormulaInputs* inputs)
      : text_(text), inputs_(inputs), rest_(text) {}

  absl::StatusOr<int64_t> Run() {
    ASSIGN_OR_RETURN(const int64_t value, Sum());
    if (Peek() != '\0') return Unexpected();
    return value;
  }

 private:
  char Peek() {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    return rest_.empty() ? '\0' : rest_[0];
  }

  absl::Status Unexpected() {
    if (Peek() == '\0') {
      return Wrong(text_, "ends early, expected a number or one of n, d, i, g");
    }
    return Wrong(text_, "has \"", absl::Utf8SafeCEscape(rest_.substr(0, 16)),
                 "\", expected numbers, n, d, i, g, servers, "
                 "+ - * / % and parentheses");
  }

  absl::StatusOr<int64_t> Apply(char op, int64_t a, int64_t b) const {
    int64_t result = 0;
    if (inputs_ == nullptr) return result;
    bool overflows = false;
    if (op == '+') {
      overflows = __builtin_add_overflow(a, b, &result);
    } else if (op == '-') {
      overflows = __builtin_sub_overflow(a, b, &result);
    } else if (op == '*') {
      overflows = __builtin_mul_overflow(a, b, &result);
    } else if (b == 0) {
      return Wrong(text_, "divides by zero");
    } else {
      overflows = a == INT64_MIN && b == -1;
      if (!overflows) result = op == '/' ? a / b : a % b;
    }
    if (overflows) return Wrong(text_, "leaves 64 bits");
    return result;
  }

  // What `part` reads, any number of times with one of `operators` between.
  absl::StatusOr<int64_t> Chain(absl::string_view operators,
                                absl::StatusOr<int64_t> (Evaluation::*part)()) {
    ASSIGN_OR_RETURN(int64_t value, (this->*part)());
    while (absl::StrContains(operators, Peek())) {
      const char op = Peek();
      rest_.remove_prefix(1);
      ASSIGN_OR_RETURN(const int64_t right, (this->*part)());
      ASSIGN_OR_RETURN(value, Apply(op, value, right));
    }
    return value;
  }

  absl::StatusOr<int64_t> Sum() { return Chain("+-", &Evaluation::Product); }
  absl::StatusOr<int64_t> Product() { return Chain("*/%", &Evaluation::Term); }

  absl::StatusOr<int64_t> Term() {
    const char c = Peek();
    if (absl::ascii_isdigit(c)) return Number();
    if (absl::ascii_isalpha(c)) return Letter();
    if (c != '-' && c != '(') return Unexpected();
    if (++depth_ > kMaxDepth) {
      return Wrong(text_, "is nested too deep, expected at most ", kMaxDepth,
                   " levels");
    }
    rest_.remove_prefix(1);
    ASSIGN_OR_RETURN(const int64_t value, c == '-' ? Term() : Sum());
    --depth_;
    if (c == '-') return Apply('-', 0, value);
    if (Peek() != ')') {
      return Wrong(text_, "has an open parenthesis, expected \")\"");
    }
    rest_.remove_prefix(1);
    return value;
  }

  absl::StatusOr<int64_t> Number() {
    int64_t number = 0;
    if (!absl::SimpleAtoi(TakeWhile(absl::ascii_isdigit), &number)) {
      return Wrong(text_, "has a number that is too large");
    }
    return number;
  }

  absl::StatusOr<int64_t> Letter() {
    const absl::string_view before = rest_;
    const absl::string_view word = TakeWhile(absl::ascii_isalnum);
    for (const Input& input : kInputs) {
      if (word != input.word) continue;
      return inputs_ == nullptr ? 0 : inputs_->*input.value;
    }
    rest_ = before;
    return Unexpected();
  }

  absl::string_view TakeWhile(bool (*is_part)(unsigned char)) {
    size_t end = 0;
    while (end < rest_.size() && is_part(rest_[end])) ++end;
    const absl::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return taken;
  }

  const absl::string_view text_;
  const FormulaInputs* const inputs_;
  absl::string_view rest_;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<Formula> Formula::Parse(absl::string_view text) {
  if (text.size() > kMaxBytes) {
    return Wrong(text, "is too long, expected at most ", kMaxBytes, " bytes");
  }
  RETURN_IF_ERROR(Evaluation(text, nullptr).Run().status());
  Formula formula;
  formula.text_ = std::string(text);
  return formula;
}

absl::StatusOr<int64_t> Formula::Evaluate(const FormulaInputs& inputs) const {
  return Evaluation(text_, &inputs).Run();
}

}  // namespace clusterd
