#include "daemon/agent/apply/fake_facts.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace clusterd {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

TextFact Text(const std::string& value) {
  TextFact fact;
  fact.set_value(value);
  return fact;
}

BoolFact Bool(bool value) {
  BoolFact fact;
  fact.set_value(value);
  return fact;
}

PersistentValueFact AtBoot(const FakeFileSystem& files,
                           const std::vector<std::string>& paths,
                           const std::string& key) {
  PersistentValueFact fact;
  fact.mutable_value();
  for (const std::string& path : paths) {
    uint32_t number = 0;
    for (const std::string& line : Lines(*files.Content(path))) {
      ++number;
      const std::vector<std::string> parts = absl::StrSplit(line, " = ");
      if (parts.size() != 2 || parts[0] != key) continue;
      auto* assignment = fact.mutable_value()->add_assignments();
      assignment->set_file(path);
      assignment->set_line(number);
      assignment->set_value(parts[1]);
    }
  }
  return fact;
}

// "60000:60015/tcp from 10.0.0.0/24"
AllowedPort ParseRule(const std::string& rule) {
  AllowedPort port;
  const std::vector<std::string> words =
      absl::StrSplit(rule, absl::ByAnyChar(" /:"));
  uint32_t first = 0;
  uint32_t last = 0;
  (void)absl::SimpleAtoi(words[0], &first);
  (void)absl::SimpleAtoi(words[1], &last);
  port.set_first_port(first);
  port.set_last_port(last);
  port.set_protocol(words[2]);
  port.set_source(rule.substr(rule.rfind(' ') + 1));
  return port;
}

}  // namespace clusterd
