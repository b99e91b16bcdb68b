#include "config/spec/formula.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

constexpr size_t kMaxBytes = 256;
constexpr int kMaxDepth = 32;

absl::Status Wrong(absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "formula \"", absl::Utf8SafeCEscape(text.substr(0, 80)), "\" ", what));
}

int64_t Value(char letter, const Place& place) {
  switch (letter) {
    case 'n':
      return place.n;
    case 'd':
      return place.d;
    case 'i':
      return place.i;
    case 'g':
      return place.g;
    default:
      return place.servers;
  }
}

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
    absl::Status status = Sum();
    if (!status.ok()) return status;
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
    return Wrong(
        text_,
        absl::StrCat("has \"", absl::Utf8SafeCEscape(rest_.substr(0, 16)),
                     "\", expected numbers, n, d, i, g, servers, "
                     "+ - * / % and parentheses"));
  }

  void Emit(char op) { formula_.steps_.push_back({op, 0}); }

  absl::Status Sum() {
    absl::Status status = Product();
    while (status.ok() && (Peek() == '+' || Peek() == '-')) {
      const char op = Peek();
      rest_.remove_prefix(1);
      status = Product();
      Emit(op);
    }
    return status;
  }

  absl::Status Product() {
    absl::Status status = Term();
    while (status.ok() && (Peek() == '*' || Peek() == '/' || Peek() == '%')) {
      const char op = Peek();
      rest_.remove_prefix(1);
      status = Term();
      Emit(op);
    }
    return status;
  }

  absl::Status Term() {
    const char c = Peek();
    if (c == '-' || c == '(') {
      if (++depth_ > kMaxDepth) {
        return Wrong(text_,
                     absl::StrCat("is nested too deep, expected at most ",
                                  kMaxDepth, " levels"));
      }
      rest_.remove_prefix(1);
      absl::Status status = c == '-' ? Term() : Sum();
      --depth_;
      if (!status.ok()) return status;
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
    const absl::string_view word = rest_.substr(0, end);
    if (word == "servers") {
      Emit('s');
    } else if (word == "n" || word == "d" || word == "i" || word == "g") {
      Emit(word[0]);
    } else {
      return Unexpected();
    }
    rest_.remove_prefix(end);
    return absl::OkStatus();
  }

  absl::string_view text_;
  absl::string_view rest_;
  int depth_ = 0;
  Formula formula_;
};

absl::StatusOr<Formula> Formula::Parse(absl::string_view text) {
  if (text.size() > kMaxBytes) {
    return Wrong(text, absl::StrCat("is too long, expected at most ", kMaxBytes,
                                    " bytes"));
  }
  return FormulaParser(text).Parse();
}

absl::StatusOr<int64_t> Formula::Evaluate(const Place& place) const {
  std::vector<int64_t> stack;
  for (const Step& step : steps_) {
    if (step.op == '0') {
      stack.push_back(step.number);
      continue;
    }
    if (absl::ascii_isalpha(step.op)) {
      stack.push_back(Value(step.op, place));
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
