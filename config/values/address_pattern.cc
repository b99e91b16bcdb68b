#include "config/values/address_pattern.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/values/value_error.h"

namespace clusterd {
namespace {

constexpr int64_t kAddresses = int64_t{1} << 32;
constexpr size_t kMaxFormulaBytes = 256;
constexpr int kMaxFormulaDepth = 32;

// The letters that may stand for a number.
struct Input {
  absl::string_view word;
  int64_t FormulaInputs::*value;
};
constexpr Input kInputs[] = {{"n", &FormulaInputs::n},
                             {"d", &FormulaInputs::d},
                             {"i", &FormulaInputs::i},
                             {"g", &FormulaInputs::g},
                             {"servers", &FormulaInputs::servers},
                             {"name", &FormulaInputs::name}};

// Recursive descent over the text: sums of products of signed terms.
class Evaluation {
 public:
  // Without `inputs` only parses the text, with 0 for every number.
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
      return WrongValue("value-formula-ends", text_);
    }
    return WrongValue("value-formula-has", text_, rest_.substr(0, 16));
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
      return WrongValue("value-formula-zero", text_);
    } else {
      overflows = a == INT64_MIN && b == -1;
      if (!overflows) result = op == '/' ? a / b : a % b;
    }
    if (!overflows) return result;
    return WrongValue("value-formula-large", text_);
  }

  // Reads `part` any number of times with one of `operators` between.
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
    if (++depth_ > kMaxFormulaDepth) {
      return WrongValue("value-formula-deep", text_, kMaxFormulaDepth);
    }
    rest_.remove_prefix(1);
    ASSIGN_OR_RETURN(const int64_t value, c == '-' ? Term() : Sum());
    --depth_;
    if (c == '-') return Apply('-', 0, value);
    if (Peek() != ')') {
      return WrongValue("value-formula-open", text_);
    }
    rest_.remove_prefix(1);
    return value;
  }

  absl::StatusOr<int64_t> Number() {
    int64_t number = 0;
    if (!absl::SimpleAtoi(TakeWhile(absl::ascii_isdigit), &number)) {
      return WrongValue("value-formula-number", text_);
    }
    return number;
  }

  absl::StatusOr<int64_t> Letter() {
    const absl::string_view before = rest_;
    const absl::string_view word = TakeWhile(absl::ascii_isalnum);
    for (const Input& input : kInputs) {
      if (word != input.word) continue;
      if (inputs_ == nullptr) return 0;
      const int64_t value = inputs_->*input.value;
      if (value != FormulaInputs::kNoNumber) return value;
      return WrongValue("value-formula-name", text_);
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

// The values of one octet: "168", "[100-103]".
absl::StatusOr<std::vector<uint32_t>> ParseOctet(absl::string_view octet) {
  absl::string_view list = octet;
  const bool bracket = absl::ConsumePrefix(&list, "[");
  if (bracket && !absl::ConsumeSuffix(&list, "]")) {
    return WrongValue("value-octet-open", octet);
  }
  ASSIGN_OR_RETURN(const std::vector<NumberRange> ranges,
                   ParseNumberList(list));
  std::vector<uint32_t> values;
  for (const NumberRange& range : ranges) {
    if (range.last > 255) {
      return WrongValue("value-octet-over", octet);
    }
    if (range.width > 0) {
      return WrongValue("value-octet-zeros", octet);
    }
    for (uint64_t value = range.first; value <= range.last;
         value += range.step) {
      values.push_back(static_cast<uint32_t>(value));
    }
  }
  if (bracket || values.size() == 1) return values;
  return WrongValue("value-octet-list", octet);
}

// A list of numbers has no dots inside, so every dot counts.
absl::StatusOr<std::vector<Ipv4Address>> ExpandQuad(absl::string_view quad) {
  const std::vector<absl::string_view> octets = absl::StrSplit(quad, '.');
  std::vector<uint32_t> expanded = {0};
  for (absl::string_view octet : octets) {
    ASSIGN_OR_RETURN(const std::vector<uint32_t> values, ParseOctet(octet));
    if (expanded.size() * values.size() > kMaxPatternAddresses) {
      return WrongValue("value-address-many", quad, kMaxPatternAddresses);
    }
    std::vector<uint32_t> longer;
    longer.reserve(expanded.size() * values.size());
    for (uint32_t prefix : expanded) {
      for (uint32_t value : values) longer.push_back(prefix << 8 | value);
    }
    expanded = std::move(longer);
  }
  if (octets.size() != 4) {
    return WrongValue("value-address-octets", quad);
  }
  return std::vector<Ipv4Address>(expanded.begin(), expanded.end());
}

// "10.1.0.1 + n" to "10.1.0.1" and "n", "10.1.0.1" to itself and "0".
std::pair<absl::string_view, absl::string_view> SplitOffset(
    absl::string_view text) {
  const size_t plus = text.find('+');
  if (plus == absl::string_view::npos) {
    return {absl::StripAsciiWhitespace(text), "0"};
  }
  return {absl::StripAsciiWhitespace(text.substr(0, plus)),
          text.substr(plus + 1)};
}

}  // namespace

int64_t NumberInName(absl::string_view host) {
  static const LazyRE2 kForm = {R"((?:[^.]*[^.\d])?(\d{1,18})(?:\..*)?)"};
  int64_t number = FormulaInputs::kNoNumber;
  return HasForm(host, *kForm, &number) ? number : FormulaInputs::kNoNumber;
}

absl::StatusOr<Formula> Formula::Parse(absl::string_view text) {
  if (text.size() > kMaxFormulaBytes) {
    return WrongValue("value-formula-long", text, kMaxFormulaBytes);
  }
  RETURN_IF_ERROR(Evaluation(text, nullptr).Run().status());
  Formula formula;
  formula.text_ = std::string(text);
  return formula;
}

absl::StatusOr<int64_t> Formula::Evaluate(const FormulaInputs& inputs) const {
  return Evaluation(text_, &inputs).Run();
}

bool Formula::CountsByIndex() const {
  static const LazyRE2 kIndex = {R"(\b[ni]\b)"};
  return RE2::PartialMatch(text_, *kIndex);
}

absl::StatusOr<AddressPattern> AddressPattern::Parse(absl::string_view text) {
  const auto [quad, offset] = SplitOffset(text);
  // A plain address gets the plain message.
  if (quad.find_first_of("[]") == absl::string_view::npos) {
    RETURN_IF_ERROR(Ipv4Address::Parse(quad).status());
  }
  return ParseList(text, quad, 32, offset);
}

absl::StatusOr<AddressPattern> AddressPattern::ParseSubnets(
    absl::string_view text) {
  const auto [quad_and_length, offset] = SplitOffset(text);
  // The last slash: the step of a bracket has one too.
  static const LazyRE2 kForm = {R"((.*)/(\d{1,2}))", RE2::Latin1};
  absl::string_view quad;
  int prefix_length = 0;
  if (!HasForm(quad_and_length, *kForm, &quad, &prefix_length) ||
      prefix_length < 1 || prefix_length > 30) {
    return WrongValue("value-subnet-prefix", text, "1-30");
  }
  ASSIGN_OR_RETURN(AddressPattern pattern,
                   ParseList(text, quad, prefix_length, offset));
  for (Ipv4Address base : pattern.bases_) {
    const Ipv4Subnet subnet(base, prefix_length);
    if (subnet.network() == base) continue;
    return WrongValue("value-subnet-host-bits", text, subnet.ToString());
  }
  return pattern;
}

absl::StatusOr<AddressPattern> AddressPattern::ParseList(
    absl::string_view text, absl::string_view quad, int prefix_length,
    absl::string_view offset) {
  AddressPattern pattern;
  pattern.text_ = std::string(text);
  pattern.prefix_length_ = prefix_length;
  pattern.has_formula_ = absl::StrContains(text, '+');
  absl::StatusOr<std::vector<Ipv4Address>> bases = ExpandQuad(quad);
  if (!bases.ok()) {
    const absl::Status malformed =
        WrongValue(prefix_length == 32 ? "value-address-malformed"
                                       : "value-subnet-malformed",
                   text, bases.status());
    if (!absl::StrContains(quad, ':')) return malformed;
    return WrongValue("value-not-ipv6", malformed);
  }
  pattern.bases_ = *std::move(bases);
  ASSIGN_OR_RETURN(pattern.offset_, Formula::Parse(offset));
  return pattern;
}

absl::StatusOr<Ipv4Address> AddressPattern::At(
    size_t k, const FormulaInputs& inputs) const {
  ASSIGN_OR_RETURN(const int64_t offset, offset_.Evaluate(inputs));
  const Ipv4Address base = bases_[bases_.size() == 1 ? 0 : k];
  // The number of subnets in all of IPv4. With an offset up to that, the
  // product stays within 2^32.
  const int64_t count = int64_t{1} << prefix_length_;
  const bool is_near = -count <= offset && offset <= count;
  const int64_t bits =
      base.bits() + (is_near ? offset * (kAddresses / count) : kAddresses);
  if (bits < 0 || bits >= kAddresses) {
    return WrongValue(
        prefix_length_ == 32 ? "value-address-outside" : "value-subnet-outside",
        text_);
  }
  return Ipv4Address(static_cast<uint32_t>(bits));
}

absl::StatusOr<Ipv4Address> HostAddress(const Ipv4Subnet& subnet,
                                        int64_t host_part) {
  const int64_t broadcast = (int64_t{1} << (32 - subnet.prefix_length())) - 1;
  if (host_part > 0 && host_part < broadcast) {
    return Ipv4Address(subnet.network().bits() +
                       static_cast<uint32_t>(host_part));
  }
  return WrongValue(host_part == 0           ? "value-host-network"
                    : host_part == broadcast ? "value-host-broadcast"
                                             : "value-host-outside",
                    host_part, subnet.ToString(), broadcast - 1);
}

absl::Status CheckUsableAddress(Ipv4Address address, int prefix_length) {
  const Ipv4Subnet subnet(address, prefix_length);
  const bool has_edges = prefix_length <= 30;
  const std::pair<bool, const char*> problems[] = {
      {address.bits() >> 24 == 0, "value-this-network"},
      {address.IsLoopback(), "value-loopback"},
      {address.IsMulticast(), "value-multicast"},
      {address.IsClassE(), "value-class-e"},
      {has_edges && address == subnet.network(), "value-network-address"},
      {has_edges && address == subnet.broadcast(), "value-broadcast-address"},
  };
  for (const auto& [holds, row] : problems) {
    if (holds) return WrongValue(row, address.ToString());
  }
  return absl::OkStatus();
}

}  // namespace clusterd
