// Facts out of the texts that a fake machine keeps, as an observation would
// give them; for tests.
#ifndef DAEMON_AGENT_APPLY_FAKE_FACTS_H_
#define DAEMON_AGENT_APPLY_FAKE_FACTS_H_

#include <string>
#include <vector>

#include "daemon/host/change/fake_file_system.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Without newlines; a final newline makes no empty line.
std::vector<std::string> Lines(const std::string& text);

TextFact Text(const std::string& value);
BoolFact Bool(bool value);

// "key = value" lines of these sysctl.d files, in this order.
PersistentValueFact AtBoot(const FakeFileSystem& files,
                           const std::vector<std::string>& paths,
                           const std::string& key);

// A rule as the fake firewalls keep it: "60000:60015/tcp from 10.0.0.0/24".
AllowedPort ParseRule(const std::string& rule);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_FAKE_FACTS_H_
