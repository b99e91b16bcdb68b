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

// False if the result does not fit.
bool Apply(char op, int64_t a, int64_t b, int64_t* result) {
  switch (op) {
    case '+':
      return !__builtin_add_overflow(a, b, result);
    case '-':
      return !__builtin_sub_overflow(a, b, result);
    case '*':
      return !__builtin_mul_overflow(a, b, result);
    default:
      if (a == INT64_MIN && b == -1) return false;
      *result = op == '/' ? a / b : a % b;
      return true;
  }
}

}  // namespace

// Recursive descent: sums of products of signed terms.
class FormulaParser {
 public:
  explicit FormulaParser(absl::string_view text) : text_(text), rest_(text) {}

  absl::StatusOr<Formula> Parse() {
    formula_.text_ = std::string(text_);
    formula_.steps_.clear();
    RETURN_IF_ERROR(Sum());
    if (Peek() != '\0') return Unexpected();
    return std::move(formula_);
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

  void Emit(char op) { formula_.steps_.push_back({op}); }

  // What `part` reads, any number of times with one of `operators` between.
  absl::Status Chain(absl::string_view operators,
                     absl::Status (FormulaParser::*part)()) {
    RETURN_IF_ERROR((this->*part)());
    while (absl::StrContains(operators, Peek())) {
      const char op = Peek();
      rest_.remove_prefix(1);
      RETURN_IF_ERROR((this->*part)());
      Emit(op);
    }
    return absl::OkStatus();
  }

  absl::Status Sum() { return Chain("+-", &FormulaParser::Product); }
  absl::Status Product() { return Chain("*/%", &FormulaParser::Term); }

  absl::Status Term() {
    const char c = Peek();
    if (c == '-' || c == '(') {
      if (++depth_ > kMaxDepth) {
        return Wrong(text_, "is nested too deep, expected at most ", kMaxDepth,
                     " levels");
      }
      rest_.remove_prefix(1);
      RETURN_IF_ERROR(c == '-' ? Term() : Sum());
      --depth_;
      if (c == '-') {
        Emit('~');
      } else if (Peek() != ')') {
        return Wrong(text_, "has an open parenthesis, expected \")\"");
      } else {
        rest_.remove_prefix(1);
      }
      return absl::OkStatus();
    }
    if (absl::ascii_isdigit(c)) return Number();
    if (absl::ascii_isalpha(c)) return Letter();
    return Unexpected();
  }

  absl::Status Number() {
    size_t end = 0;
    while (end < rest_.size() && absl::ascii_isdigit(rest_[end])) ++end;
    int64_t number = 0;
    if (!absl::SimpleAtoi(rest_.substr(0, end), &number)) {
      return Wrong(text_, "has a number that is too large");
    }
    formula_.steps_.push_back({'0', number});
    rest_.remove_prefix(end);
    return absl::OkStatus();
  }

  absl::Status Letter() {
    size_t end = 0;
    while (end < rest_.size() && absl::ascii_isalnum(rest_[end])) ++end;
    for (const Input& input : kInputs) {
      if (rest_.substr(0, end) != input.word) continue;
      formula_.steps_.push_back({'x', 0, input.value});
      rest_.remove_prefix(end);
      return absl::OkStatus();
    }
    return Unexpected();
  }

  absl::string_view text_;
  absl::string_view rest_;
  int depth_ = 0;
  Formula formula_;
};

absl::StatusOr<Formula> Formula::Parse(absl::string_view text) {
  if (text.size() > kMaxBytes) {
    return Wrong(text, "is too long, expected at most ", kMaxBytes, " bytes");
  }
  return FormulaParser(text).Parse();
}

absl::StatusOr<int64_t> Formula::Evaluate(const FormulaInputs& inputs) const {
  std::vector<int64_t> stack;
  for (const Step& step : steps_) {
    if (step.op == '0') {
      stack.push_back(step.number);
      continue;
    }
    if (step.op == 'x') {
      stack.push_back(inputs.*step.input);
      continue;
    }
    // Negation is 0 - x.
    const int64_t b = stack.back();
    if (step.op != '~') stack.pop_back();
    const int64_t a = step.op == '~' ? 0 : stack.back();
    if ((step.op == '/' || step.op == '%') && b == 0) {
      return Wrong(text_, "divides by zero");
    }
    if (!Apply(step.op == '~' ? '-' : step.op, a, b, &stack.back())) {
      return Wrong(text_, "leaves 64 bits");
    }
  }
  return stack.back();
}

}  // namespace clusterd
