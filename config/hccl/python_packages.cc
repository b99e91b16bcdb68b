#include "config/hccl/python_packages.h"

#include <algorithm>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

// The most digits of a number in a version.
constexpr size_t kDigits = 18;
constexpr size_t kMaxVersionBytes = 128;

// "1!2.1.0.rc1.post2.dev3+cpu", in any spelling that PEP 440 takes, as texts
// that sort as versions do.
struct PythonVersion {
  auto Key() const { return std::tie(release, suffixes, local); }

  std::string release;   // Behind the epoch, without zeros at the end.
  std::string suffixes;  // Pre-release, post-release and development.
  std::string local;
  size_t written = 0;  // Numbers of the release, with those zeros.
  bool is_pre = false;
  bool is_post = false;
};

std::string Number(absl::string_view digits) {
  return absl::StrCat(std::string(kDigits - digits.size(), '0'), digits);
}

std::optional<PythonVersion> ParseVersion(absl::string_view text) {
  static const LazyRE2 kForm = {
      R"(\s*v?(?:(\d{1,18})!)?(\d{1,18}(?:\.\d{1,18})*))"
      R"((?:[-_.]?(alpha|beta|preview|pre|rc|a|b|c)[-_.]?(\d{0,18}))?)"
      R"((?:-(\d{1,18})|[-_.]?(post|rev|r)[-_.]?(\d{0,18}))?)"
      R"((?:[-_.]?(dev)[-_.]?(\d{0,18}))?)"
      R"((?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*)"};
  static const LazyRE2 kNumber = {R"(\d{1,18})"};
  static const LazyRE2 kZeros = {R"((?:\.0+)+$)"};
  std::string epoch, release, pre, pre_number, only_number, post, post_number,
      dev, dev_number, local;
  if (text.size() > kMaxVersionBytes ||
      !HasForm(absl::AsciiStrToLower(text), *kForm, &epoch, &release, &pre,
               &pre_number, &only_number, &post, &post_number, &dev,
               &dev_number, &local)) {
    return {};
  }
  PythonVersion version;
  version.written = 1 + static_cast<size_t>(absl::c_count(release, '.'));
  version.release = Number(epoch);
  RE2::Replace(&release, *kZeros, "");
  for (const absl::string_view part : absl::StrSplit(release, '.')) {
    version.release += Number(part);
  }
  version.is_pre = !pre.empty() || !dev.empty();
  version.is_post = !post.empty() || !only_number.empty();
  // "a", "b" and "c", of which the last has other names. A development release
  // of a final one comes before them.
  const bool is_early = !dev.empty() && !version.is_post;
  const char phase =
      pre.empty() ? (is_early ? '0' : 'd') : std::min(pre[0], 'c');
  version.suffixes =
      absl::StrCat(std::string(1, phase), Number(pre_number),
                   version.is_post ? 1 : 0, Number(only_number + post_number),
                   dev.empty() ? 1 : 0, Number(dev_number));
  for (const absl::string_view part :
       absl::StrSplit(local, absl::ByAnyChar("._-"), absl::SkipEmpty())) {
    // Numbers come after words.
    const bool is_number = HasForm(part, *kNumber);
    absl::StrAppend(&version.local, is_number ? 1 : 0,
                    is_number ? Number(part) : part, ".");
  }
  return version;
}

// True if both begin with the same `count` numbers: 2.1.0rc1 and 2.1.
bool HasPrefix(std::string release, std::string prefix, size_t count) {
  release.resize((1 + count) * kDigits, '0');
  prefix.resize((1 + count) * kDigits, '0');
  return release == prefix;
}

// One specifier, e.g. "~=2.1".
std::optional<bool> MeetsOne(absl::string_view text,
                             absl::string_view specifier) {
  static const LazyRE2 kAny = {R"(([=!]=)\s*([v\d!.]+)\.\*)"};
  static const LazyRE2 kForm = {R"((===|[=!<>~]=|[<>])\s*(\S+))"};
  std::string relation, value;
  const bool is_any = HasForm(specifier, *kAny, &relation, &value);
  if (!is_any && !HasForm(specifier, *kForm, &relation, &value)) return {};
  if (relation == "===") return absl::EqualsIgnoreCase(text, value);
  auto version = ParseVersion(text);
  const auto wanted = ParseVersion(value);
  if (!version || !wanted) return {};
  if (wanted->local.empty()) version->local.clear();
  const auto key = version->Key();
  const bool is_equal =
      is_any ? HasPrefix(version->release, wanted->release, wanted->written)
             : key == wanted->Key();
  if (relation == "==") return is_equal;
  if (relation == "!=") return !is_equal;
  if (!wanted->local.empty()) return {};
  // A pre-release does not come before, nor a post-release after, its release.
  const bool is_same = version->release == wanted->release;
  const bool is_early = is_same && version->is_pre && !wanted->is_pre;
  const bool is_late = is_same && version->is_post && !wanted->is_post;
  if (relation == "<=") return key <= wanted->Key();
  if (relation == "<") return key < wanted->Key() && !is_early;
  if (relation == ">") return key > wanted->Key() && !is_late;
  if (relation == ">=") return key >= wanted->Key();
  if (wanted->written < 2) return {};
  return key >= wanted->Key() &&
         HasPrefix(version->release, wanted->release, wanted->written - 1);
}

// One comparison of a marker, in which known variables are texts.
std::optional<bool> MeetsComparison(absl::string_view text) {
  static const LazyRE2 kForm = {
      R"(\s*['"]([^'"]*)['"]\s*(===|[=!<>~]=|[<>]|\s(?:not\s+)?in\s)\s*)"
      R"(['"]([^'"]*)['"]\s*)"};
  std::string left, relation, right;
  if (!HasForm(text, *kForm, &left, &relation, &right)) return {};
  if (absl::StrContains(relation, "in")) {
    return absl::StrContains(right, left) != absl::StrContains(relation, "not");
  }
  const auto by_version = MeetsSpecifiers(left, relation + right);
  if (by_version) return by_version;
  if (relation == "!=") return left != right;
  if (relation == "==") return left == right;
  return {};
}

// A line without comment and continuation.
void AddLine(absl::string_view line, uint32_t number, Requirements* all) {
  static const LazyRE2 kPackage = {
      R"(([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(\[[^\]]*\])?\s*)"
      R"((?:@\s*([^;\s]+)|\(([^()]*)\)|([=<>!~][^@;()]*?)?)\s*(?:;\s*(.*?))?)"
      R"((?:\s(--[a-z-]+)[ =].*)?)"};
  static const LazyRE2 kFile = {R"(.*\.(?:whl|zip|tgz|tar\.\w+))"};
  static const LazyRE2 kInclude = {
      R"(-(?:[rce\s]|-(?:requirement|constraint|editable)).*|-)"};
  const auto note = [&](absl::string_view what) {
    return Worded("line-text", number, PrintableText(what));
  };
  // Other options say where pip looks and what it takes.
  if (line[0] == '-' && !HasForm(line, *kInclude)) {
    return all->ignored.push_back(note(line));
  }
  absl::string_view name, extras, url, bracketed, plain, marker, option;
  const bool is_package = HasForm(line, *kPackage, &name, &extras, &url,
                                  &bracketed, &plain, &marker, &option);
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
  // The last line may be continued by none.
  std::string lines = absl::StrCat(text, "\n");
  RE2::GlobalReplace(&lines, R"((?m)(?:^|[ \t])#.*|\r$)", "");
  std::string joined;
  uint32_t number = 0, first = 1;
  for (absl::string_view line : absl::StrSplit(lines, '\n')) {
    ++number;
    const bool continues = absl::ConsumeSuffix(&line, "\\");
    absl::StrAppend(&joined, line, continues ? " " : "");
    if (continues) continue;
    absl::StripAsciiWhitespace(&joined);
    if (!joined.empty()) AddLine(joined, first, &all);
    joined.clear();
    first = number + 1;
  }
  return all;
}

std::optional<bool> MeetsMarker(absl::string_view marker,
                                const std::string& python,
                                const std::string& machine) {
  static const LazyRE2 kVersion = {R"((\d+\.\d+)(\.\d+.*)?)"};
  if (absl::StrContains(marker, "(")) return {};
  std::string minor, micro;
  HasForm(python, *kVersion, &minor, &micro);
  const auto quoted = [](const std::string& value) {
    return value.empty() ? "unknown" : absl::StrCat("'", value, "'");
  };
  const std::string values = absl::StrReplaceAll(
      marker, {{"python_version", quoted(minor)},
               {"python_full_version", quoted(micro.empty() ? "" : python)},
               {"platform_machine", quoted(machine)},
               {"os_name", "'posix'"},
               {"sys_platform", "'linux'"},
               {"platform_system", "'Linux'"},
               {"platform_python_implementation", "'CPython'"},
               {"implementation_name", "'cpython'"},
               {"extra", "''"}});
  std::optional<bool> any = false;
  for (const absl::string_view part : absl::StrSplit(values, " or ")) {
    std::optional<bool> all = true;
    for (const absl::string_view each : absl::StrSplit(part, " and ")) {
      const auto one = MeetsComparison(each);
      if (all != false && one != true) all = one;
    }
    if (any != true && all != false) any = all;
  }
  return any;
}

}  // namespace clusterd
