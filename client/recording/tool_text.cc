#include "client/recording/tool_text.h"

#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

// Titles whose bodies say nothing about the site.
constexpr const char* kHarmlessTitles[] = {
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

bool IsHarmless(absl::string_view title) {
  for (const char* harmless : kHarmlessTitles) {
    if (title == harmless) return true;
  }
  return false;
}

// Calls `visit` with each line, its newline included.
void ForEachLine(absl::string_view text,
                 const std::function<void(absl::string_view)>& visit) {
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    const size_t bytes =
        newline == absl::string_view::npos ? text.size() : newline + 1;
    visit(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
}

bool IsTitle(absl::string_view line) {
  return !line.empty() &&
         !absl::ascii_isspace(static_cast<unsigned char>(line[0])) &&
         absl::EndsWith(absl::StripTrailingAsciiWhitespace(line), " TLV");
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
  const absl::string_view body = absl::StripAsciiWhitespace(line);
  for (const char* kept : {"MAC:", "Ifname:", "IPv4:", "IPv6:"}) {
    if (absl::StartsWith(body, kept)) return std::string(line);
  }
  const size_t colon = body.find(": ");
  if (colon == absl::string_view::npos) {
    return WithBody(line, body.empty() ? "" : names->Alias(kind, body));
  }
  const absl::string_view label = body.substr(0, colon + 2);
  return WithBody(
      line, absl::StrCat(label, names->Alias(kind, body.substr(colon + 2))));
}

std::string HideLldpBody(absl::string_view title, absl::string_view line,
                         NameMap* names) {
  const absl::string_view body = absl::StripAsciiWhitespace(line);
  if (body.empty() || IsHarmless(title)) return std::string(line);
  if (title == "System Name TLV") {
    return WithBody(line,
                    names->Alias("switch", body.substr(0, body.find('.'))));
  }
  if (title == "Chassis ID TLV") return HideId(line, "chassis", names);
  if (title == "Port ID TLV") return HideId(line, "port", names);
  return WithBody(line, kRemoved);
}

std::string HideCertificate(absl::string_view line) {
  for (const char* key : {"issuer[", "subject["}) {
    const size_t at = line.find(key);
    if (at == absl::string_view::npos) continue;
    const size_t begin = at + absl::string_view(key).size();
    const size_t end = line.rfind(']');
    const absl::string_view tail =
        end == absl::string_view::npos || end < begin ? "" : line.substr(end);
    return absl::StrCat(line.substr(0, begin), kRemoved, tail);
  }
  return std::string(line);
}

}  // namespace

void CollectSwitchNames(absl::string_view output, NameMap* names) {
  absl::string_view title;
  ForEachLine(output, [&](absl::string_view line) {
    if (IsTitle(line)) {
      title = absl::StripTrailingAsciiWhitespace(line);
    } else if (title == "System Name TLV") {
      names->Add("switch", line);
    }
  });
}

std::string HideToolText(absl::string_view output, NameMap* names) {
  std::string out;
  absl::string_view title;
  ForEachLine(output, [&](absl::string_view line) {
    if (IsTitle(line)) {
      title = absl::StripTrailingAsciiWhitespace(line);
      absl::StrAppend(&out, line);
    } else if (title.empty()) {
      absl::StrAppend(&out, HideCertificate(line));
    } else {
      absl::StrAppend(&out, HideLldpBody(title, line, names));
    }
  });
  return out;
}

std::string HideConfComments(absl::string_view conf) {
  std::string out;
  ForEachLine(conf, [&](absl::string_view line) {
    if (!absl::StartsWith(line, "#")) {
      absl::StrAppend(&out, line);
    } else {
      absl::StrAppend(&out, "# ", kRemoved,
                      absl::EndsWith(line, "\n") ? "\n" : "");
    }
  });
  return out;
}

}  // namespace clusterd
