#include "config/spec/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

TextPosition PositionOf(const YAML::Mark& mark) {
  // yaml-cpp counts from 0 and has -1 for "nowhere".
  if (mark.line < 0 || mark.column < 0) return {};
  return {mark.line + 1, mark.column + 1};
}

// Keeps invalid text from the parser. Records the first broken character and
// every line that is indented with a tab.
void CheckCharacters(absl::string_view text, Mistakes* mistakes) {
  // Surrogates are invalid too; the form names them so that RE2 refuses them.
  static const LazyRE2 kGood = {
      R"((?:[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x{d800}-\x{dfff}])*)"};
  TextPosition at;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const size_t indent = line.find_first_not_of(' ');
    if (indent != absl::string_view::npos && line[indent] == '\t') {
      at.column = static_cast<int>(indent) + 1;
      mistakes->Add(at, "msg-spec-tab");
    }
    re2::StringPiece rest(line.data(), line.size());
    RE2::Consume(&rest, *kGood);
    if (!rest.empty()) {
      at.column = static_cast<int>(line.size() - rest.size()) + 1;
      const auto byte = static_cast<unsigned char>(rest[0]);
      if (absl::ascii_iscntrl(byte)) {
        mistakes->Add(at, "msg-spec-control-character", int{byte});
      } else {
        mistakes->Add(at, "msg-spec-not-utf8");
      }
      return;
    }
    ++at.line;
  }
}

// The limit for one mapping; further keys are named and not read.
constexpr size_t kMaxRepeats = 100;

// The line with its hostlists in quotes, if yaml-cpp fails at a bracket of one
// there, or at the text after it: at the start of a value, and anywhere in {}
// and [], a bracket begins a list. Empty: another problem.
std::string WithQuotedHostlists(absl::string_view text, TextPosition at) {
  static const LazyRE2 kHostlist = {
      R"((^|[{\[,:\s]))"
      R"(((?:[\w./@-]+\[[\w,-]*\]|\[[\w,-]*\][\w.-])[\w./-]*)"
      R"((?:\[[\w,-]*\][\w./-]*)*(?:,[\w./-]+(?:\[[\w,-]*\][\w./-]*)*)*)"
      R"((?: \+ [\w*%/() +-]*[\w)])?)([,}\]\s]|$))"};
  constexpr size_t kMaxLine = 400;
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  const size_t line = static_cast<size_t>(at.line) - 1;
  const size_t column = static_cast<size_t>(at.column) - 1;
  if (line >= lines.size() || column >= lines[line].size() ||
      (lines[line][column] != '[' &&
       (column == 0 || lines[line][column - 1] != ']'))) {
    return "";
  }
  std::string quoted(absl::StripAsciiWhitespace(lines[line]));
  const bool any = RE2::GlobalReplace(&quoted, *kHostlist, R"(\1"\2"\3)") > 0;
  return any ? quoted.substr(0, kMaxLine) : "";
}

// "nothing", "text", "a list" or "a mapping".
FindingValue KindWords(YamlNode::Kind kind) {
  constexpr absl::string_view kRows[] = {"spec-nothing", "spec-text",
                                         "spec-a-list", "spec-a-mapping"};
  return Worded(kRows[static_cast<size_t>(kind)]);
}

// Builds the tree from yaml-cpp's events. After a limit is passed it ignores
// all further events, so that memory stays bounded too.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(size_t max_nodes, Mistakes* mistakes)
      : max_nodes_(max_nodes), mistakes_(mistakes) {}

  std::optional<YamlNode>& root() { return root_; }
  bool over_limit() const { return over_limit_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Finish(Begin(YamlNode::Kind::kNothing, mark, "", anchor));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    mistakes_->Add(PositionOf(mark), "msg-spec-alias");
    OnNull(mark, YAML::NullAnchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag,
                YAML::anchor_t anchor, const std::string& value) override {
    YamlNode node = Begin(YamlNode::Kind::kText, mark, tag, anchor);
    node.text = value;
    node.quoted = tag == "!";
    Finish(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kList, mark, tag, anchor);
  }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag,
                  YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kMap, mark, tag, anchor);
  }

  void OnSequenceEnd() override { Close(); }
  void OnMapEnd() override { Close(); }

 private:
  // A list or mapping that is not closed yet.
  struct Unfinished {
    YamlNode node;
    // The key whose value comes next.
    std::optional<YamlEntry> entry;
    absl::flat_hash_map<std::string, TextPosition> keys;
  };

  template <typename... Values>
  void Stop(TextPosition position, const Values&... words) {
    mistakes_->Add(position, words...);
    over_limit_ = true;
  }

  // The node that an event begins, still without its value.
  YamlNode Begin(YamlNode::Kind kind, const YAML::Mark& mark,
                 const std::string& tag, YAML::anchor_t anchor) {
    YamlNode node;
    node.kind = kind;
    node.position = PositionOf(mark);
    if (over_limit_) return node;
    if (++nodes_ > max_nodes_) {
      Stop(node.position, "msg-spec-too-many-values", max_nodes_);
      return node;
    }
    if (anchor != YAML::NullAnchor) {
      mistakes_->Add(node.position, "msg-spec-anchor");
    }
    // yaml-cpp's own marks: "?" plain, "!" quoted.
    if (!tag.empty() && tag != "?" && tag != "!") {
      mistakes_->Add(node.position, "msg-spec-tag", QuoteValue(tag));
    }
    return node;
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    if (over_limit_) return;
    YamlNode node = Begin(kind, mark, tag, anchor);
    if (stack_.size() >= kMaxYamlDepth) {
      return Stop(node.position, "msg-spec-too-deep", kMaxYamlDepth);
    }
    stack_.push_back({std::move(node), std::nullopt, {}});
  }

  void Close() {
    if (over_limit_) return;
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    Finish(std::move(node));
  }

  void Finish(YamlNode node) {
    if (over_limit_) return;
    if (stack_.empty()) {
      if (root_.has_value()) {
        return Stop(node.position, "msg-spec-second-document");
      }
      root_ = std::move(node);
      return;
    }
    Unfinished& parent = stack_.back();
    if (parent.node.kind == YamlNode::Kind::kList) {
      parent.node.items.push_back(std::move(node));
    } else if (parent.entry.has_value()) {
      FinishEntry(std::move(node), &parent);
    } else {
      if (node.kind != YamlNode::Kind::kText) {
        mistakes_->Add(node.position, "msg-spec-key-kind",
                       KindWords(node.kind));
      }
      parent.entry = YamlEntry{std::move(node.text), node.position, {}};
    }
  }

  void FinishEntry(YamlNode value, Unfinished* parent) {
    YamlEntry entry = *std::move(parent->entry);
    parent->entry.reset();
    const auto [first, is_new] =
        parent->keys.try_emplace(entry.key, entry.position);
    if (!is_new) {
      mistakes_->Add(entry.position, "msg-spec-key-twice",
                     QuoteValue(entry.key), ToString(first->second));
    }
    entry.value = std::move(value);
    YamlNode& map = parent->node;
    std::vector<YamlEntry>& entries = is_new ? map.entries : map.repeats;
    if (is_new || entries.size() < kMaxRepeats) {
      entries.push_back(std::move(entry));
    }
  }

  const size_t max_nodes_;
  Mistakes* const mistakes_;
  size_t nodes_ = 0;
  bool over_limit_ = false;
  std::vector<Unfinished> stack_;
  std::optional<YamlNode> root_;
};

// Takes the next value of every key that has one; false if none has. Repeats
// inside a value come first: they go with the value.
bool TakeRepeats(YamlNode* node) {
  bool any = false;
  for (YamlNode& item : node->items) any |= TakeRepeats(&item);
  std::vector<YamlEntry>& left = node->repeats;
  for (YamlEntry& entry : node->entries) {
    const bool within = TakeRepeats(&entry.value);
    any |= within;
    if (within || left.empty()) continue;
    const auto next = absl::c_find_if(left, [&entry](const YamlEntry& repeat) {
      return repeat.key == entry.key;
    });
    if (next == left.end()) continue;
    entry.value = std::move(next->value);
    left.erase(next);
    any = true;
  }
  return any;
}

// " such as 10s or 500ms": two that the range holds; empty: none fits.
FindingValue ExampleWords(absl::Duration min, absl::Duration max) {
  std::vector<std::string> examples;
  for (const absl::Duration example :
       {absl::Seconds(10), absl::Milliseconds(500), absl::Minutes(5),
        absl::Milliseconds(20), absl::Hours(2)}) {
    if (example < min || example > max || examples.size() == 2) continue;
    examples.push_back(absl::FormatDuration(example));
  }
  if (examples.empty()) return {};
  if (examples.size() == 1) return Worded("spec-such-as", examples[0]);
  return Worded("spec-such-as-two", examples[0], examples[1]);
}

// The keys of the mapping at `path`, such as "servers[3]", in a table of all
// keys of a file, such as "servers[].hosts".
std::vector<absl::string_view> KeysAt(
    absl::string_view path, absl::Span<const absl::string_view> table) {
  static const LazyRE2 kIndex = {R"(\[\d+\])"};
  std::string prefix = path.empty() ? "" : absl::StrCat(path, ".");
  RE2::GlobalReplace(&prefix, *kIndex, "[]");
  std::vector<absl::string_view> keys;
  for (absl::string_view key : table) {
    if (!absl::ConsumePrefix(&key, prefix)) continue;
    key = key.substr(0, key.find_first_of(".["));
    if (!absl::c_linear_search(keys, key)) keys.push_back(key);
  }
  return keys;
}

// Does not list all keys of another kind of file.
constexpr int kMaxUnknownKeys = 100;

}  // namespace

std::optional<YamlNode> ParseYaml(absl::string_view text,
                                  const YamlLimits& limits,
                                  Mistakes* mistakes) {
  if (text.size() > limits.max_bytes) {
    mistakes->Add({}, "msg-spec-file-too-large", text.size(), limits.max_bytes);
    return std::nullopt;
  }
  const size_t before = mistakes->count();
  CheckCharacters(text, mistakes);
  if (mistakes->count() > before) return std::nullopt;
  TreeBuilder builder(limits.max_nodes, mistakes);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (!builder.over_limit() && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& exception) {
    const TextPosition at = PositionOf(exception.mark);
    const std::string quoted = WithQuotedHostlists(text, at);
    if (!builder.over_limit()) {
      mistakes->Add(at,
                    quoted.empty() ? "msg-spec-not-yaml" : "msg-spec-bracket",
                    quoted.empty() ? exception.msg : quoted);
    }
    return std::nullopt;
  }
  if (builder.over_limit()) return std::nullopt;
  if (!builder.root().has_value()) {
    mistakes->Add({}, "msg-spec-file-empty");
    return std::nullopt;
  }
  return std::move(builder.root());
}

absl::Status ReadYaml(
    absl::string_view file_name, absl::string_view text,
    const YamlLimits& limits,
    absl::FunctionRef<void(const YamlNode&, Mistakes*)> read) {
  Mistakes mistakes(file_name);
  std::optional<YamlNode> root = ParseYaml(text, limits, &mistakes);
  if (root.has_value()) read(*root, &mistakes);
  for (int k = 1; k < kMaxReadings && root.has_value() && TakeRepeats(&*root);
       ++k) {
    Mistakes again = mistakes.OfSameFile();
    read(*root, &again);
    mistakes.AddUnknownOf(again);
  }
  return mistakes.ToStatus();
}

FindingValue YamlValue::Found() const {
  if (Is(YamlNode::Kind::kList) && node_->items.empty()) {
    return Worded("spec-empty");
  }
  if (!Is(YamlNode::Kind::kText)) return KindWords(node_->kind);
  const std::string text = QuoteValue(node_->text);
  return node_->quoted ? Worded("spec-quoted-text", text)
                       : ToFindingValue(text);
}

std::optional<std::string> YamlValue::Text() const {
  if (Is(YamlNode::Kind::kText) && !node_->text.empty()) return node_->text;
  return WrongKind(Is(YamlNode::Kind::kList) ? "spec-text-no-list"
                                             : "spec-text");
}

std::optional<uint32_t> YamlValue::Number(uint32_t min, uint32_t max) const {
  static const LazyRE2 kForm = {R"((0|[1-9]\d*))"};
  uint32_t number = 0;
  if (IsPlain() && HasForm(node_->text, *kForm, &number) && number >= min &&
      number <= max) {
    return number;
  }
  return WrongKind("spec-a-number", min, max);
}

std::optional<bool> YamlValue::Bool() const {
  if (IsPlain() && node_->text == "true") return true;
  if (IsPlain() && node_->text == "false") return false;
  return WrongKind("spec-true-or-false");
}

std::optional<absl::Duration> YamlValue::Duration(absl::Duration min,
                                                  absl::Duration max) const {
  absl::Duration duration;
  if (Is(YamlNode::Kind::kText) &&
      absl::ParseDuration(node_->text, &duration) && duration >= min &&
      duration <= max &&
      duration == absl::Trunc(duration, absl::Milliseconds(1))) {
    return duration;
  }
  return WrongKind("spec-a-duration", absl::FormatDuration(min),
                   absl::FormatDuration(max), ExampleWords(min, max));
}

std::optional<std::string> YamlValue::Word(
    absl::Span<const absl::string_view> words) const {
  const absl::string_view word =
      Is(YamlNode::Kind::kText) ? absl::string_view(node_->text) : "";
  if (absl::c_linear_search(words, word)) return std::string(word);
  return WrongKind("spec-a-word", absl::StrJoin(words, ", "),
                   DidYouMeanWords(word, words));
}

std::vector<YamlValue> YamlValue::Items() const {
  if (!Is(YamlNode::Kind::kList)) return {*this};
  std::vector<YamlValue> items;
  for (const YamlNode& item : node_->items) {
    items.push_back(Inner(item, subject_));
  }
  return items;
}

YamlMap::YamlMap(const YamlNode* node, absl::string_view path,
                 absl::Span<const absl::string_view> table, Mistakes* mistakes)
    : path_(path), mistakes_(mistakes) {
  if (node == nullptr) return;
  position_ = node->position;
  if (node->kind == YamlNode::Kind::kNothing) return;
  const std::vector<absl::string_view> known_keys = KeysAt(path, table);
  const std::string keys = absl::StrJoin(known_keys, ", ");
  if (node->kind != YamlNode::Kind::kMap) {
    YamlValue(node,
              path_.empty() ? Worded("spec-the-file") : ToFindingValue(path_),
              mistakes_)
        .WrongKind("spec-mapping-with", keys);
    return;
  }
  node_ = node;
  int unknown = 0;
  for (const YamlEntry& entry : node_->entries) {
    if (absl::c_linear_search(known_keys, entry.key)) continue;
    if (++unknown > kMaxUnknownKeys) break;
    mistakes_->Add(
        entry.position, "msg-spec-unknown-key", QuoteValue(entry.key),
        path_.empty() ? FindingValue() : Worded("spec-in-mapping", path_), keys,
        DidYouMeanWords(entry.key, known_keys));
  }
}

YamlValue YamlMap::operator[](absl::string_view key) const {
  const YamlNode* found = nullptr;
  if (node_ != nullptr) {
    for (const YamlEntry& entry : node_->entries) {
      if (entry.key == key) found = &entry.value;
    }
  }
  return YamlValue(
      found, path_.empty() ? std::string(key) : absl::StrCat(path_, ".", key),
      mistakes_, position_);
}

YamlValue YamlMap::Require(absl::string_view key) const {
  YamlValue value = (*this)[key];
  if (value.node() == nullptr) value.Wrong("msg-spec-missing");
  return value;
}

}  // namespace clusterd
