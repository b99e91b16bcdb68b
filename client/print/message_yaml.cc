#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/parser.h>

#include <sstream>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/print/report_formats.h"
#include "config/report/message_json.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

// Whether a text without quotes is that text to every reader of YAML, 1.1 too.
bool IsPlainYaml(const std::string& text) {
  static const LazyRE2 kWords = {
      R"([A-Za-z][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*)"};
  constexpr absl::string_view kValues[] = {"y",   "yes",  "n",     "no",  "on",
                                           "off", "true", "false", "null"};
  return HasForm(text, *kWords) &&
         !absl::c_linear_search(kValues, absl::AsciiStrToLower(text));
}

// Writes what a document of JSON has in YAML's own layout.
class YamlLayout final : public YAML::EventHandler {
 public:
  explicit YamlLayout(YAML::Emitter& out) : out_(out) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {
    out_ << YAML::BeginDoc;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {
    out_ << YAML::Null;
  }
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {
  }  // JSON has none.
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& tag,
                YAML::anchor_t /*anchor*/, const std::string& value) override {
    const bool is_text = tag == "!";  // It means that there were quotes.
    BeginList(!is_text);
    if (is_text && !IsPlainYaml(value)) out_ << YAML::DoubleQuoted;
    out_ << value;
  }
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    BeginList(false);
    list_begins_ = true;
  }
  void OnSequenceEnd() override {
    BeginList(true);
    out_ << YAML::EndSeq;
  }
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/,
                  YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    BeginList(false);
    out_ << YAML::BeginMap;
  }
  void OnMapEnd() override { out_ << YAML::EndMap; }

 private:
  // On one line, if it does and its first element is a number, or none.
  void BeginList(bool on_one_line) {
    if (!list_begins_) return;
    list_begins_ = false;
    out_ << (on_one_line ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
  }

  YAML::Emitter& out_;
  bool list_begins_ = false;
};

// YAML knows no surrogates: a character beyond U+FFFF is one escape there.
std::string WithoutSurrogates(const std::string& json) {
  // MessageJson has both halves or none, so no other text has this form.
  static const LazyRE2 kPair = {
      R"((?s)(.*?)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2}))"};
  re2::StringPiece rest(json);
  std::string text;
  std::string before;
  uint32_t high = 0;
  uint32_t low = 0;
  while (
      RE2::Consume(&rest, *kPair, &before, RE2::Hex(&high), RE2::Hex(&low))) {
    absl::StrAppend(&text, before);
    absl::StrAppendFormat(&text, "\\U%08x",
                          0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
  }
  return absl::StrCat(text, absl::string_view(rest.data(), rest.size()));
}

}  // namespace

std::string MessageYaml(const google::protobuf::Message& message) {
  // By way of JSON: what it has is the definition. JSON is YAML but for that.
  std::istringstream json(WithoutSurrogates(MessageJson(message)));
  YAML::Emitter out;
  YamlLayout layout(out);
  YAML::Parser(json).HandleNextDocument(layout);
  std::string yaml;
  // What a terminal would obey stands in double quotes, where the escapes of
  // SafeText are YAML's.
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(out.c_str(), out.size()), '\n')) {
    absl::StrAppend(&yaml, SafeText(line, /*utf8=*/true), "\n");
  }
  return yaml;
}

}  // namespace clusterd
