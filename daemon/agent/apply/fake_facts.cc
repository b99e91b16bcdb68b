#include "daemon/agent/apply/fake_facts.h"

#include <cstdint>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/plan_digest.h"

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

HccnConf ParseConf(const std::string& text) {
  HccnConf conf;
  conf.set_sha256(Sha256Hex(text));
  uint32_t number = 0;
  std::set<std::string> keys;
  const auto add_problem = [&](HccnConf::Problem::Kind kind,
                               const std::string& line) {
    conf.add_problems()->set_kind(kind);
    conf.mutable_problems()->rbegin()->set_line(number);
    conf.mutable_problems()->rbegin()->set_text(line);
  };
  for (const std::string& line : Lines(text)) {
    ++number;
    if (absl::EndsWith(line, "\r")) {
      add_problem(HccnConf::Problem::CARRIAGE_RETURN, line);
    }
    const size_t equals = line.find('=');
    if (line.empty() || line[0] == '#' || equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    if (!keys.insert(key).second) {
      add_problem(HccnConf::Problem::DUPLICATE_KEY, line);
    }
    HccnConf::Entry* entry = conf.add_entries();
    const size_t underscore = key.rfind('_');
    uint32_t device = 0;
    if (underscore != std::string::npos &&
        absl::SimpleAtoi(key.substr(underscore + 1), &device)) {
      entry->set_device(device);
    }
    entry->set_key(key.substr(0, underscore));
    entry->set_value(line.substr(equals + 1));
    entry->set_line(number);
  }
  if (!text.empty() && !absl::EndsWith(text, "\n")) {
    add_problem(HccnConf::Problem::NO_FINAL_NEWLINE, "");
  }
  return conf;
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
