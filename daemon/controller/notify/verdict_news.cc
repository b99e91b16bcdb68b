#include "daemon/controller/notify/verdict_news.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "config/report/message_json.h"
#include "config/report/report_diff.h"
#include "config/report/verdict.h"
#include "config/words/number_text.h"
#include "config/words/state_word.h"
#include "google/protobuf/struct.pb.h"

namespace clusterd {
namespace {

std::string OneLineJson(const google::protobuf::Message& message) {
  std::string line = OnOneLine(MessageJson(message));
  absl::StripTrailingAsciiWhitespace(&line);
  return line;
}

// Also of what a name may not hold.
std::string JsonText(const std::string& text) {
  google::protobuf::Value value;
  value.set_string_value(text);
  return OneLineJson(value);
}

}  // namespace

std::string NewsText(const VerdictNews& news) {
  return absl::StrCat("schedule ", news.report.schedule(), ": ",
                      StateWord(KnownState(news.report.verdict())), ", was ",
                      StateWord(KnownState(news.before)), " (check ",
                      news.report.run_id(), ")");
}

std::string NewsJson(VerdictNews news) {
  auto* const hosts = news.report.mutable_hosts();
  hosts->erase(std::remove_if(
                   hosts->begin(), hosts->end(),
                   [](const HostStatus& host) { return host.state() == PASS; }),
               hosts->end());
  return absl::StrCat(
      "{\"schema_version\":1,\"cluster\":", JsonText(news.report.cluster()),
      ",\"schedule\":", JsonText(news.report.schedule()),
      ",\"run_id\":", JsonText(news.report.run_id()),
      ",\"verdict_before\":", JsonText(StateWord(KnownState(news.before))),
      ",\"verdict\":", JsonText(StateWord(KnownState(news.report.verdict()))),
      ",\"summary\":",
      JsonText(JoinParts("; ", {CountsText(news.report.rule_counts()),
                                DiffSummary(news.diff)})),
      ",\"diff\":", OneLineJson(news.diff),
      ",\"report\":", OneLineJson(news.report), "}\n");
}

}  // namespace clusterd
