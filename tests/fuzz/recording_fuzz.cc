// Anonymising never crashes, for any output, file or arguments of a program.
// Known addresses and names never come through, whatever surrounds them.

#include "client/recording/recording.h"
#include "config/words/quoted_text.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

constexpr char kAddress[] = "29.211.97.205";
constexpr char kName[] = "secret-host";

// One run whose every text is `text`.
HostRecording RecordingOf(const std::string& text, const std::string& input) {
  HostRecording recording;
  recording.mutable_facts()->set_host(kName);
  HostRecording::Run* run = recording.add_runs();
  for (const std::string& word :
       {std::string("/opt/hccn_tool"), std::string("-i"), std::string("0"),
        input, std::string("-g")}) {
    run->add_argv(word);
  }
  run->set_standard_output(text);
  run->set_standard_error(text);
  run->set_hccn_conf_before(text);
  run->set_hccn_conf_after(text);
  return recording;
}

FUZZ_TEXT(recording, 1, "tests/testdata/recording/*") {
  ParseHostRecording(text).status().IgnoreError();
  const std::string around =
      text + "\nipaddr:" + kAddress + "\n" + kName + "\n" + text;
  const absl::StatusOr<std::string> records =
      FormatRecords(MakeRecords(RecordingOf(around, text), AddressMap("fuzz")));
  Require(records.ok());
  Require(ValidUtf8(*records) == *records);
  const bool written_by_the_input =
      absl::StrContains(text, kAddress) ||
      absl::StrContains(absl::AsciiStrToLower(text), kName);
  if (written_by_the_input) return;
  Require(!absl::StrContains(*records, kAddress));
  Require(!absl::StrContains(*records, kName));
}

}  // namespace
}  // namespace clusterd
