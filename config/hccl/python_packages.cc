#include "config/hccl/python_packages.h"

#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxVersionBytes = 128;
constexpr int kMaxMarkerDepth = 16;

// "1!2.1.0.rc1.post2.dev3+cpu", in any spelling that PEP 440 takes.
struct PythonVersion {
  uint64_t epoch = 0;
  std::vector<uint64_t> release;  // Without zeros at the end.
  size_t written = 0;             // Numbers of the release, with those zeros.
  // a, b, rc are 0, 1, 2; a development release of a final one comes before
  // them, as -1, and what is final after them, as 3.
  std::pair<int, uint64_t> pre = {3, 0};
  std::optional<uint64_t> post;
  std::pair<bool, uint64_t> dev = {true, 0};  // True: it is none.
  // Numbers come after words.
  std::optional<std::vector<std::tuple<bool, uint64_t, std::string>>> local;

  // Nothing if it is not a version.
  static std::optional<PythonVersion> Parse(absl::string_view text);

  bool IsPre() const { return pre.first < 3 || !dev.first; }
  bool HasBaseOf(const PythonVersion& other) const {
    return epoch == other.epoch && release == other.release;
  }
};

void ParseLocal(absl::string_view text, PythonVersion* version) {
  version->local.emplace();
  for (const absl::string_view part :
       absl::StrSplit(text, absl::ByAnyChar("._-"))) {
    uint64_t number = 0;
    const bool is_number = absl::SimpleAtoi(part, &number);
    version->local->emplace_back(is_number, number,
                                 is_number ? "" : std::string(part));
  }
}

std::optional<PythonVersion> PythonVersion::Parse(absl::string_view text) {
  static const LazyRE2 kForm = {
      R"((?i)\s*v?(?:(\d+)!)?(\d+(?:\.\d+)*))"
      R"((?:[-_.]?(alpha|beta|preview|pre|rc|a|b|c)[-_.]?(\d*))?)"
      R"((?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?)"
      R"((?:[-_.]?(dev)[-_.]?(\d*))?)"
      R"((?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*)"};
  PythonVersion version;
  absl::string_view epoch, release, phase, phase_number, implicit_post, post,
      post_number, dev, dev_number, local;
  if (text.size() > kMaxVersionBytes ||
      !HasForm(text, *kForm, &epoch, &release, &phase, &phase_number,
               &implicit_post, &post, &post_number, &dev, &dev_number,
               &local)) {
    return {};
  }
  bool fits = true;
  const auto number = [&fits](absl::string_view digits) {
    uint64_t value = 0;
    fits &= digits.empty() || absl::SimpleAtoi(digits, &value);
    return value;
  };
  version.epoch = number(epoch);
  for (const absl::string_view part : absl::StrSplit(release, '.')) {
    version.release.push_back(number(part));
  }
  version.written = version.release.size();
  while (!version.release.empty() && version.release.back() == 0) {
    version.release.pop_back();
  }
  if (!implicit_post.empty() || !post.empty()) {
    version.post = number(post.empty() ? implicit_post : post_number);
  }
  if (!dev.empty()) version.dev = {false, number(dev_number)};
  if (!phase.empty()) {
    const char first = absl::ascii_tolower(phase[0]);
    const int rank = first == 'a' ? 0 : first == 'b' ? 1 : 2;
    version.pre = {rank, number(phase_number)};
  } else if (!dev.empty() && !version.post) {
    version.pre = {-1, 0};
  }
  if (!local.empty()) ParseLocal(absl::AsciiStrToLower(local), &version);
  if (!fits) return {};
  return version;
}

int ComparePythonVersions(const PythonVersion& a, const PythonVersion& b) {
  const auto key = [](const PythonVersion& each) {
    return std::tie(each.epoch, each.release, each.pre, each.post, each.dev,
                    each.local);
  };
  return key(a) < key(b) ? -1 : key(b) < key(a) ? 1 : 0;
}

PythonVersion WithoutLocal(PythonVersion version) {
  version.local.reset();
  return version;
}

// Whether the version begins with the numbers of `prefix`, the first `count` of
// them: 2.1.0rc1 with 2.1, and 2 with 2.0.
bool HasPrefix(const PythonVersion& version, const PythonVersion& prefix,
               size_t count) {
  if (version.epoch != prefix.epoch) return false;
  for (size_t i = 0; i < count; ++i) {
    const auto at = [i](const PythonVersion& each) {
      return i < each.release.size() ? each.release[i] : 0;
    };
    if (at(version) != at(prefix)) return false;
  }
  return true;
}

bool MeetsOrder(const PythonVersion& version, absl::string_view relation,
                const PythonVersion& wanted) {
  const int order = ComparePythonVersions(version, wanted);
  const int public_order = ComparePythonVersions(WithoutLocal(version), wanted);
  if (relation == "<=") return public_order <= 0;
  if (relation == ">=") return public_order >= 0;
  const bool same_base = version.HasBaseOf(wanted);
  if (relation == "<") {
    return order < 0 && (wanted.IsPre() || !version.IsPre() || !same_base);
  }
  return order > 0 &&
         !(same_base && (version.local || (version.post && !wanted.post)));
}

// One, e.g. "~=2.1".
std::optional<bool> MeetsOne(absl::string_view text,
                             absl::string_view specifier) {
  static const LazyRE2 kForm = {R"((===|==|!=|<=|>=|~=|<|>)\s*(\S+?)(\.\*)?)"};
  absl::string_view relation;
  absl::string_view value;
  absl::string_view any;
  if (!HasForm(specifier, *kForm, &relation, &value, &any)) return {};
  if (relation == "===") {
    return any.empty() ? absl::EqualsIgnoreCase(text, value)
                       : absl::EqualsIgnoreCase(text, specifier.substr(3));
  }
  const auto version = PythonVersion::Parse(text);
  const auto wanted = PythonVersion::Parse(value);
  if (!version || !wanted) return {};
  const bool is_equal = relation == "==" || relation == "!=";
  // Numbers alone may have ".*", and only a comparison for equality a local.
  if (!any.empty() && (!is_equal || wanted->IsPre() || wanted->post)) return {};
  if (wanted->local && (!is_equal || !any.empty())) return {};
  if (is_equal) {
    const bool equal =
        !any.empty() ? HasPrefix(*version, *wanted, wanted->written)
                     : ComparePythonVersions(
                           wanted->local ? *version : WithoutLocal(*version),
                           *wanted) == 0;
    return equal == (relation == "==");
  }
  if (relation != "~=") return MeetsOrder(*version, relation, *wanted);
  if (wanted->written < 2) return {};
  return MeetsOrder(*version, ">=", *wanted) &&
         HasPrefix(*version, *wanted, wanted->written - 1);
}

re2::StringPiece Piece(absl::string_view text) {
  return {text.data(), text.size()};
}

// Evaluates one marker from left to right; what is not known stays so through
// "and" and "or" unless the other side decides.
class Marker {
 public:
  Marker(absl::string_view text, const PythonPlatform& platform)
      : rest_(Piece(text)), platform_(platform) {}

  std::optional<bool> Evaluate() {
    Take();
    const std::optional<bool> holds = Chain("or", true, 0);
    return is_wrong_ || !token_.empty() ? std::nullopt : holds;
  }

 private:
  void Take() {
    static const LazyRE2 kToken = {
        R"(\s*([()]|===|[=!<>~]=|[<>]|not\s+in\b|[a-z_.]+|'[^']*'|"[^"]*"))"};
    token_.clear();
    if (!RE2::Consume(&rest_, *kToken, &token_)) {
      is_wrong_ |= !absl::StripAsciiWhitespace(rest_.as_string()).empty();
    }
  }

  // "or" holds if one does, "and" if all do, and binds more closely.
  std::optional<bool> Chain(const char* word, bool decides, int depth) {
    const auto next = [&] {
      return decides ? Chain("and", false, depth) : One(depth);
    };
    std::optional<bool> all = next();
    while (token_ == word) {
      Take();
      const std::optional<bool> other = next();
      if (all != decides && (other == decides || !other)) all = other;
    }
    return all;
  }

  std::optional<bool> One(int depth) {
    if (token_ == "(" && depth < kMaxMarkerDepth) {
      Take();
      const std::optional<bool> inner = Chain("or", true, depth + 1);
      is_wrong_ |= token_ != ")";
      Take();
      return inner;
    }
    const std::optional<std::string> left = Value();
    const std::string relation = token_;
    Take();
    const std::optional<std::string> right = Value();
    if (!left || !right) return {};
    if (relation == "in") return absl::StrContains(*right, *left);
    if (absl::StartsWith(relation, "not")) {
      return !absl::StrContains(*right, *left);
    }
    const auto by_version = MeetsSpecifiers(*left, relation + *right);
    if (by_version) return by_version;
    if (relation == "==" || relation == "===") return *left == *right;
    if (relation == "!=") return *left != *right;
    return {};
  }

  // Takes a text in quotes, or a variable.
  std::optional<std::string> Value() {
    const std::string token = token_;
    Take();
    if (!token.empty() && (token[0] == '\'' || token[0] == '"')) {
      return token.substr(1, token.size() - 2);
    }
    static const LazyRE2 kVersion = {R"((\d+\.\d+)(\.\d+.*)?)"};
    std::string minor;
    std::string micro;
    HasForm(platform_.version, *kVersion, &minor, &micro);
    const std::pair<const char*, std::string> variables[] = {
        {"python_version", minor},
        {"python_full_version", micro.empty() ? "" : platform_.version},
        {"platform_machine", platform_.machine},
        {"os_name", "posix"},
        {"sys_platform", "linux"},
        {"platform_system", "Linux"},
        {"platform_python_implementation", "CPython"},
        {"implementation_name", "cpython"}};
    if (token == "extra") return "";
    for (const auto& [name, value] : variables) {
      if (token == name && !value.empty()) return value;
    }
    return {};
  }

  re2::StringPiece rest_;
  const PythonPlatform& platform_;
  std::string token_;
  bool is_wrong_ = false;
};

// Of one line without comment and continuation.
void AddLine(absl::string_view line, uint32_t number, Requirements* all) {
  static const LazyRE2 kOption = {R"((.*?)\s+(--[a-z-]+)[ =].*)"};
  static const LazyRE2 kPackage = {
      R"(([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(\[[^\]]*\])?\s*)"
      R"((?:@\s*([^;\s]+)|\(([^()]*)\)|([^@;()]*?))\s*(?:;\s*(.*))?)"};
  static const LazyRE2 kFile = {R"(.*\.(?:whl|zip|tgz|tar\.\w+))"};
  // Where pip looks and what it takes, not what has to be there.
  static const LazyRE2 kHarmless = {
      R"((?:-i|-f|--(?:index-url|extra-index-url|find-links|no-index|pre|)"
      R"(prefer-binary|only-binary|no-binary|trusted-host|require-hashes|)"
      R"(use-feature))(?:[ =].*)?)"};
  const std::string where = absl::StrCat("line ", number, ": ");
  if (HasForm(line, *kHarmless)) {
    all->ignored.push_back(absl::StrCat(where, PrintableText(line)));
    return;
  }
  absl::string_view bare;
  absl::string_view option;
  absl::string_view name, extras, url, bracketed, plain, marker;
  if (line[0] != '-' && HasForm(line, *kOption, &bare, &option)) {
    all->ignored.push_back(absl::StrCat(where, option));
  } else {
    bare = line;
  }
  const bool is_package = HasForm(bare, *kPackage, &name, &extras, &url,
                                  &bracketed, &plain, &marker);
  const absl::string_view specifiers = bracketed.empty() ? plain : bracketed;
  if (!is_package || HasForm(name, *kFile) ||
      !MeetsSpecifiers("0", specifiers) ||
      all->packages.size() == kMaxRequirements) {
    all->unread.push_back(absl::StrCat(where, PrintableText(line)));
    return;
  }
  for (const absl::string_view part : {extras, url}) {
    if (part.empty()) continue;
    all->ignored.push_back(absl::StrCat(where, PrintableText(part)));
  }
  all->packages.push_back({NormalPackageName(name), std::string(specifiers),
                           std::string(marker), number});
}

}  // namespace

std::optional<bool> MeetsSpecifiers(absl::string_view version,
                                    absl::string_view specifiers) {
  bool all = true;
  for (absl::string_view each : absl::StrSplit(specifiers, ',')) {
    each = absl::StripAsciiWhitespace(each);
    if (each.empty()) continue;
    const std::optional<bool> one = MeetsOne(version, each);
    if (!one) return {};
    all &= *one;
  }
  return all;
}

std::string NormalPackageName(absl::string_view name) {
  std::string normal = absl::AsciiStrToLower(name);
  RE2::GlobalReplace(&normal, "[-_.]+", "-");
  return normal;
}

Requirements ParseRequirements(absl::string_view text) {
  static const LazyRE2 kComment = {R"((?:^|\s)#.*)"};
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  Requirements all;
  std::string joined;
  uint32_t number = 0;
  uint32_t first = 0;
  for (absl::string_view part : absl::StrSplit(text, '\n')) {
    ++number;
    absl::ConsumeSuffix(&part, "\r");
    std::string line(part);
    RE2::Replace(&line, *kComment, "");
    if (joined.empty()) first = number;
    const bool goes_on = absl::EndsWith(line, "\\");
    if (goes_on) line.back() = ' ';
    absl::StrAppend(&joined, line);
    if (goes_on) continue;
    const absl::string_view whole = absl::StripAsciiWhitespace(joined);
    if (!whole.empty()) AddLine(whole, first, &all);
    joined.clear();
  }
  const absl::string_view last = absl::StripAsciiWhitespace(joined);
  if (!last.empty()) AddLine(last, first, &all);
  return all;
}

std::optional<bool> MeetsMarker(absl::string_view marker,
                                const PythonPlatform& platform) {
  return Marker(marker, platform).Evaluate();
}

}  // namespace clusterd
