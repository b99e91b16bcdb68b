// Anonymising never crashes, for any output, file or arguments of a program.
// Known addresses and names never come through, whatever surrounds them.

#include "client/recording/recording.h"
#include "config/words/quoted_text.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_input.h"

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

}  // namespace
}  // namespace clusterd

void clusterd::FuzzText(const std::string& input) {
  ParseHostRecording(input).status().IgnoreError();
  const std::string text =
      input + "\nipaddr:" + kAddress + "\n" + kName + "\n" + input;
  const absl::StatusOr<std::string> records =
      FormatRecords(MakeRecords(RecordingOf(text, input), AddressMap("fuzz")));
  Require(records.ok());
  Require(ValidUtf8(*records) == *records);
  const bool written_by_the_input =
      absl::StrContains(input, kAddress) ||
      absl::StrContains(absl::AsciiStrToLower(input), kName);
  if (written_by_the_input) return;
  Require(!absl::StrContains(*records, kAddress));
  Require(!absl::StrContains(*records, kName));
}
