#include "client/recording/tool_text.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/ipv4.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

// Titles whose bodies say nothing about the site.
constexpr absl::string_view kHarmlessTitles[] = {
    "Time to Live TLV",
    "System Description TLV",
    "System Capabilities TLV",
    "Management Address TLV",
    "Port VLAN ID TLV",
    "Port and Protocol VLAN ID TLV",
    "MAC/PHY Configuration Status TLV",
    "Link Aggregation TLV",
    "Maximum Frame Size TLV",
    "End of LLDPDU TLV",
};
constexpr absl::string_view kRemoved = "removed";

// `text` with each of its lines replaced by what `replace` makes of it; both
// without their newline.
template <typename Replace>
std::string WithLines(absl::string_view text, const Replace& replace) {
  return absl::StrJoin(absl::StrSplit(text, '\n'), "\n",
                       [&](std::string* out, absl::string_view line) {
                         absl::StrAppend(out, replace(line));
                       });
}

// Whether the line is one; `title` is then the line without what is behind it.
bool IsTitle(absl::string_view line, absl::string_view* title) {
  static const LazyRE2 kForm = {R"(([^[:space:]].* TLV)[[:space:]]*)",
                                RE2::Latin1};
  return HasForm(line, *kForm, title);
}

// `line` with the text between its white space replaced.
std::string WithBody(absl::string_view line, absl::string_view body) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(line);
  if (trimmed.empty()) return std::string(line);
  const size_t begin = trimmed.data() - line.data();
  return absl::StrCat(line.substr(0, begin), body,
                      line.substr(begin + trimmed.size()));
}

// The body of Chassis ID and Port ID: "MAC: …", "Ifname: …", "Local: …".
std::string HideId(absl::string_view line, const std::string& kind,
                   NameMap* names) {
  static const LazyRE2 kKept = {R"((?:MAC|Ifname|IPv4|IPv6):.*)", RE2::Latin1};
  static const LazyRE2 kForm = {R"((.*?: )?(.*))", RE2::Latin1};
  const absl::string_view body = absl::StripAsciiWhitespace(line);
  absl::string_view label;
  absl::string_view id;
  if (HasForm(body, *kKept) || !HasForm(body, *kForm, &label, &id)) {
    return std::string(line);
  }
  return WithBody(line, absl::StrCat(label, names->Alias(kind, id)));
}

std::string HideLldpBody(absl::string_view title, absl::string_view line,
                         NameMap* names) {
  const absl::string_view body = absl::StripAsciiWhitespace(line);
  if (body.empty() || absl::c_linear_search(kHarmlessTitles, title)) {
    return std::string(line);
  }
  if (title == "System Name TLV") {
    return WithBody(line,
                    names->Alias("switch", body.substr(0, body.find('.'))));
  }
  if (title == "Chassis ID TLV") return HideId(line, "chassis", names);
  if (title == "Port ID TLV") return HideId(line, "port", names);
  return WithBody(line, kRemoved);
}

std::string HideCertificate(absl::string_view line) {
  static const LazyRE2 kForm = {R"((.*?(?:issuer|subject)\[).*?(\][^\]]*)?)",
                                RE2::Latin1};
  absl::string_view head;
  absl::string_view tail;
  if (!HasForm(line, *kForm, &head, &tail)) return std::string(line);
  return absl::StrCat(head, kRemoved, tail);
}

}  // namespace

std::string NameMap::Alias(const std::string& kind, absl::string_view name) {
  std::string& alias = aliases_[{kind, absl::AsciiStrToLower(name)}];
  if (alias.empty()) alias = absl::StrCat(kind, "-", ++counts_[kind]);
  return alias;
}

void NameMap::AddWord(const std::string& name, const std::string& alias) {
  if (name.size() < 2 || absl::c_all_of(name, absl::ascii_isdigit)) return;
  words_.emplace(absl::AsciiStrToLower(name), alias);
}

void NameMap::Add(const std::string& kind, absl::string_view name) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(name);
  // An address is no name; ReplaceAddresses hides it.
  if (trimmed.empty() || Ipv4Address::Parse(trimmed).ok()) return;
  const size_t dot = trimmed.find('.');
  const absl::string_view first = trimmed.substr(0, dot);
  // A host is the same with and without its domain.
  const std::string alias = Alias(kind, first.empty() ? trimmed : first);
  AddWord(std::string(trimmed), alias);
  AddWord(std::string(first), alias);
  if (dot == absl::string_view::npos || first.empty()) return;
  const absl::string_view domain = trimmed.substr(dot + 1);
  if (!domain.empty()) AddWord(std::string(domain), Alias("domain", domain));
}

std::string NameMap::Replace(absl::string_view text) const {
  std::string out;
  bool is_inside_word = false;
  while (!text.empty()) {
    const auto found = absl::c_find_if(words_, [&](const auto& word) {
      const size_t end = word.first.size();
      return !is_inside_word && absl::StartsWithIgnoreCase(text, word.first) &&
             (end == text.size() || !absl::ascii_isalnum(text[end]));
    });
    const bool is_name = found != words_.end();
    const size_t taken = is_name ? found->first.size() : 1;
    absl::StrAppend(&out, is_name ? found->second : text.substr(0, taken));
    is_inside_word = absl::ascii_isalnum(text[taken - 1]);
    text.remove_prefix(taken);
  }
  return out;
}

void CollectSwitchNames(absl::string_view output, NameMap* names) {
  absl::string_view title;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    if (!IsTitle(line, &title) && title == "System Name TLV") {
      names->Add("switch", line);
    }
  }
}

std::string HideToolText(absl::string_view output, NameMap* names) {
  absl::string_view title;
  return WithLines(output, [&](absl::string_view line) {
    if (IsTitle(line, &title)) return std::string(line);
    return title.empty() ? HideCertificate(line)
                         : HideLldpBody(title, line, names);
  });
}

std::string HideConfComments(absl::string_view conf) {
  return WithLines(conf, [](absl::string_view line) {
    return absl::StartsWith(line, "#") ? absl::StrCat("# ", kRemoved)
                                       : std::string(line);
  });
}

}  // namespace clusterd
