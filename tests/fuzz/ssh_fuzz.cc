// Readers of OpenSSH's output and messages: they never crash, and their values
// are in the text, printable and bounded.

#include "config/words/quoted_text.h"
#include "daemon/host/ssh/ssh_observer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

void CheckConfig(const std::string& text) {
  const SshdConfig config = ParseSshdConfig(text);
  for (const uint32_t port : config.ports) {
    RequireIn(text, std::to_string(port));
  }
  for (const auto* list : {&config.listen_addresses, &config.host_keys}) {
    Require(list->size() <= 64);
    for (const std::string& each : *list) {
      RequirePrintable(each, kMaxPrintableBytes);
    }
  }
}

void CheckLogin(const std::string& text) {
  const LoginFailure failure = ParseLoginFailure(text);
  RequirePrintable(failure.error, kMaxPrintableBytes);
  RequirePrintable(failure.stale_entry, 512);
  if (!failure.stale_entry.empty()) RequireIn(text, "Offending ");
  const HostKeyPolicy policy = ParseHostKeyPolicy(text);
  Require(policy.takes_unknown || !policy.takes_changed);
  if (IsGreeting(text)) RequireIn(text, "SSH-");
  if (NotExported({"PATH"}, text).empty()) RequireIn(text, "PATH=");
}

// No line of it can run a program, and reading it again changes nothing.
void CheckSafeLines(const std::string& text) {
  const SshConfig config = KeepSafeLines(text);
  for (const char* word : {"exec", "Command", "Include", "Provider"}) {
    for (size_t at = 0; (at = config.text.find(word, at)) != std::string::npos;
         ++at) {
      // Not at the beginning of a line, so that it is only a value.
      Require(at != 0 && config.text[at - 1] != '\n');
    }
  }
  Require(KeepSafeLines(config.text).text == config.text);
  Require(KeepSafeLines(config.text).left_out.empty());
}

FUZZ_TEXT(ssh, 1, "tests/testdata/host/ssh/*") {
  CheckConfig(text);
  CheckLogin(text);
  CheckSafeLines(text);
}

}  // namespace
}  // namespace clusterd
