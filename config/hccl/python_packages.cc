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

  auto Key() const { return std::tie(epoch, release, pre, post, dev, local); }
  bool IsPre() const { return pre.first < 3 || !dev.first; }
};

std::optional<PythonVersion> ParseVersion(absl::string_view text) {
  static const LazyRE2 kForm = {
      R"(\s*v?(?:(\d+)!)?(\d+(?:\.\d+)*))"
      R"((?:[-_.]?(alpha|beta|preview|pre|rc|a|b|c)[-_.]?(\d*))?)"
      R"((?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?(?:[-_.]?(dev)[-_.]?(\d*))?)"
      R"((?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*)"};
  std::string epoch, release, phase, phase_number, implicit_post, post,
      post_number, dev, dev_number, local;
  if (text.size() > kMaxVersionBytes ||
      !HasForm(absl::AsciiStrToLower(text), *kForm, &epoch, &release, &phase,
               &phase_number, &implicit_post, &post, &post_number, &dev,
               &dev_number, &local)) {
    return {};
  }
  bool fits = true;
  const auto number = [&fits](absl::string_view digits) {
    uint64_t value = 0;
    fits &= digits.empty() || absl::SimpleAtoi(digits, &value);
    return value;
  };
  PythonVersion version;
  version.epoch = number(epoch);
  for (const absl::string_view part : absl::StrSplit(release, '.')) {
    version.release.push_back(number(part));
  }
  version.written = version.release.size();
  while (!version.release.empty() && version.release.back() == 0) {
    version.release.pop_back();
  }
  if (!post.empty()) version.post = number(post_number);
  if (!implicit_post.empty()) version.post = number(implicit_post);
  if (!dev.empty()) {
    version.dev = {false, number(dev_number)};
    if (!version.post) version.pre = {-1, 0};
  }
  if (!phase.empty()) {
    const int rank = phase[0] == 'a' ? 0 : phase[0] == 'b' ? 1 : 2;
    version.pre = {rank, number(phase_number)};
  }
  if (!local.empty()) version.local.emplace();
  for (const absl::string_view part :
       absl::StrSplit(local, absl::ByAnyChar("._-"), absl::SkipEmpty())) {
    uint64_t value = 0;
    const bool is_number = absl::SimpleAtoi(part, &value);
    version.local->emplace_back(is_number, value,
                                is_number ? "" : std::string(part));
  }
  if (!fits) return {};
  return version;
}

// Whether both begin with the same `count` numbers: 2.1.0rc1 with 2.1, and 2
// with 2.0.
bool HasPrefix(PythonVersion version, PythonVersion prefix, size_t count) {
  version.release.resize(count);
  prefix.release.resize(count);
  return version.epoch == prefix.epoch && version.release == prefix.release;
}

bool MeetsOrder(const PythonVersion& version, absl::string_view relation,
                const PythonVersion& wanted) {
  PythonVersion bare = version;
  bare.local.reset();
  if (relation == "<=") return bare.Key() <= wanted.Key();
  if (relation == ">=") return bare.Key() >= wanted.Key();
  const bool same_base =
      version.epoch == wanted.epoch && version.release == wanted.release;
  if (relation == "<") {
    return version.Key() < wanted.Key() &&
           (wanted.IsPre() || !version.IsPre() || !same_base);
  }
  return version.Key() > wanted.Key() &&
         !(same_base && (version.local || (version.post && !wanted.post)));
}

// One, e.g. "~=2.1".
std::optional<bool> MeetsOne(absl::string_view text,
                             absl::string_view specifier) {
  static const LazyRE2 kExact = {R"(===\s*(\S+))"};
  static const LazyRE2 kForm = {R"((==|!=|<=|>=|~=|<|>)\s*(\S+?)(\.\*)?)"};
  std::string relation, value, any;
  if (HasForm(specifier, *kExact, &value)) {
    return absl::EqualsIgnoreCase(text, value);
  }
  if (!HasForm(specifier, *kForm, &relation, &value, &any)) return {};
  auto version = ParseVersion(text);
  const auto wanted = ParseVersion(value);
  if (!version || !wanted) return {};
  const bool is_equal = relation == "==" || relation == "!=";
  const bool is_bare = !wanted->IsPre() && !wanted->post && !wanted->local;
  // Numbers alone may have ".*", and only a comparison for equality a local.
  if (!any.empty() && !(is_equal && is_bare)) return {};
  if (wanted->local && !is_equal) return {};
  if (is_equal) {
    if (!wanted->local) version->local.reset();
    const bool equal = any.empty()
                           ? version->Key() == wanted->Key()
                           : HasPrefix(*version, *wanted, wanted->written);
    return equal == (relation == "==");
  }
  if (relation != "~=") return MeetsOrder(*version, relation, *wanted);
  if (wanted->written < 2) return {};
  return MeetsOrder(*version, ">=", *wanted) &&
         HasPrefix(*version, *wanted, wanted->written - 1);
}

// A text in quotes, or a variable that is known.
std::optional<std::string> MarkerValue(const std::string& word,
                                       const PythonPlatform& platform) {
  if (word[0] == '\'' || word[0] == '"') return word.substr(1, word.size() - 2);
  static const LazyRE2 kVersion = {R"((\d+\.\d+)(\.\d+.*)?)"};
  std::string minor, micro;
  HasForm(platform.version, *kVersion, &minor, &micro);
  const std::pair<const char*, std::string> variables[] = {
      {"python_version", minor},
      {"python_full_version", micro.empty() ? "" : platform.version},
      {"platform_machine", platform.machine},
      {"os_name", "posix"},
      {"sys_platform", "linux"},
      {"platform_system", "Linux"},
      {"platform_python_implementation", "CPython"},
      {"implementation_name", "cpython"}};
  if (word == "extra") return "";
  for (const auto& [name, value] : variables) {
    if (word == name && !value.empty()) return value;
  }
  return {};
}

// One comparison of a marker.
std::optional<bool> MeetsComparison(absl::string_view text,
                                    const PythonPlatform& platform) {
  static const LazyRE2 kForm = {
      R"(\s*([a-z_]+|'[^']*'|"[^"]*")\s*(===|[=!<>~]=|[<>]|\s(?:not\s+)?in\s)\s*)"
      R"(([a-z_]+|'[^']*'|"[^"]*")\s*)"};
  std::string first, relation, second;
  if (!HasForm(text, *kForm, &first, &relation, &second)) return {};
  const auto left = MarkerValue(first, platform);
  const auto right = MarkerValue(second, platform);
  if (!left || !right) return {};
  if (absl::StrContains(relation, "in")) {
    return absl::StrContains(*right, *left) !=
           absl::StrContains(relation, "not");
  }
  const auto by_version = MeetsSpecifiers(*left, relation + *right);
  if (by_version || relation == "<" || relation == ">") return by_version;
  if (relation == "!=") return *left != *right;
  if (relation[1] == '=' && relation[0] == '=') return *left == *right;
  return {};
}

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
  const auto note = [&](absl::string_view what) {
    return absl::StrCat("line ", number, ": ", PrintableText(what));
  };
  if (HasForm(line, *kHarmless)) return all->ignored.push_back(note(line));
  absl::string_view bare, option, name, extras, url, bracketed, plain, marker;
  if (line[0] == '-' || !HasForm(line, *kOption, &bare, &option)) {
    bare = line;
    option = "";
  }
  const bool is_package = HasForm(bare, *kPackage, &name, &extras, &url,
                                  &bracketed, &plain, &marker);
  const absl::string_view specifiers = bracketed.empty() ? plain : bracketed;
  if (!is_package || HasForm(name, *kFile) ||
      !MeetsSpecifiers("0", specifiers) ||
      all->packages.size() == kMaxRequirements) {
    return all->unread.push_back(note(line));
  }
  for (const absl::string_view part : {option, extras, url}) {
    if (!part.empty()) all->ignored.push_back(note(part));
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
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  Requirements all;
  std::string joined;
  uint32_t number = 0;
  uint32_t first = 0;
  // The last line may be continued by none.
  for (absl::string_view part :
       absl::StrSplit(absl::StrCat(text, "\n"), '\n')) {
    ++number;
    absl::ConsumeSuffix(&part, "\r");
    std::string line(part);
    RE2::Replace(&line, R"((?:^|\s)#.*)", "");
    if (joined.empty()) first = number;
    const bool goes_on = absl::EndsWith(line, "\\");
    if (goes_on) line.back() = ' ';
    absl::StrAppend(&joined, line);
    if (goes_on) continue;
    const absl::string_view whole = absl::StripAsciiWhitespace(joined);
    if (!whole.empty()) AddLine(whole, first, &all);
    joined.clear();
  }
  return all;
}

std::optional<bool> MeetsMarker(absl::string_view marker,
                                const PythonPlatform& platform) {
  if (absl::StrContains(marker, "(")) return {};
  std::optional<bool> any = false;
  for (const absl::string_view part : absl::StrSplit(marker, " or ")) {
    std::optional<bool> all = true;
    for (const absl::string_view each : absl::StrSplit(part, " and ")) {
      const auto one = MeetsComparison(each, platform);
      if (all != false && one != true) all = one;
    }
    if (any != true && all != false) any = all;
  }
  return any;
}

}  // namespace clusterd
