#include "client/recording/name_map.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/values/ipv4.h"

namespace clusterd {
namespace {

bool IsAlnum(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c));
}

}  // namespace

std::string NameMap::Alias(const std::string& kind, absl::string_view name) {
  std::string& alias = aliases_[{kind, absl::AsciiStrToLower(name)}];
  if (alias.empty()) alias = absl::StrCat(kind, "-", ++counts_[kind]);
  return alias;
}

void NameMap::AddWord(const std::string& name, const std::string& alias) {
  const bool only_digits = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  if (name.size() < 2 || only_digits) return;
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
  size_t at = 0;
  while (at < text.size()) {
    const std::pair<const std::string, std::string>* longest = nullptr;
    if (at == 0 || !IsAlnum(text[at - 1])) {
      for (const auto& word : words_) {
        const absl::string_view rest = text.substr(at);
        const size_t end = word.first.size();
        if (absl::StartsWithIgnoreCase(rest, word.first) &&
            (end == rest.size() || !IsAlnum(rest[end])) &&
            (longest == nullptr || end > longest->first.size())) {
          longest = &word;
        }
      }
    }
    if (longest == nullptr) {
      out += text[at];
      ++at;
    } else {
      absl::StrAppend(&out, longest->second);
      at += longest->first.size();
    }
  }
  return out;
}

}  // namespace clusterd
