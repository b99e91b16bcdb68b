#include "config/spec/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

TextPosition PositionOf(const YAML::Mark& mark) {
  // yaml-cpp counts from 0 and has -1 for "nowhere".
  if (mark.line < 0 || mark.column < 0) return {};
  return {mark.line + 1, mark.column + 1};
}

// Length of the UTF-8 character that `text` begins with; 0 if it is broken,
// overlong, a surrogate or past U+10FFFF. REQUIRES: !text.empty().
size_t CharacterBytes(absl::string_view text) {
  const auto byte = [text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto continues = [&byte](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  if (byte(0) < 0x80) return 1;
  if (byte(0) >= 0xc2 && byte(0) < 0xe0) return continues(1) ? 2 : 0;
  if (byte(0) >= 0xe0 && byte(0) < 0xf0) {
    const bool overlong = byte(0) == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = byte(0) == 0xed && byte(1) >= 0xa0;
    const bool whole = continues(1) && continues(2);
    return whole && !overlong && !surrogate ? 3 : 0;
  }
  if (byte(0) >= 0xf0 && byte(0) < 0xf5) {
    const bool overlong = byte(0) == 0xf0 && byte(1) < 0x90;
    const bool too_large = byte(0) == 0xf4 && byte(1) >= 0x90;
    const bool whole = continues(1) && continues(2) && continues(3);
    return whole && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

bool IsControl(unsigned char c) {
  return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
}

// What must not reach the parser. Records the first broken character and every
// line that is indented with a tab.
void CheckCharacters(absl::string_view text, Mistakes* mistakes) {
  TextPosition at;
  bool indenting = true;
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const size_t bytes = CharacterBytes(text.substr(i));
    if (bytes == 0) {
      mistakes->Add(at, "is not UTF-8");
      return;
    }
    if (IsControl(c)) {
      mistakes->Add(at, absl::StrCat("has a control character, byte ", c));
      return;
    }
    if (indenting && c == '\t') {
      mistakes->Add(at, "a tab in the indentation, expected spaces");
      indenting = false;
    }
    if (c == '\n') {
      ++at.line;
      at.column = 1;
      indenting = true;
    } else {
      at.column += static_cast<int>(bytes);
      if (c != ' ') indenting = false;
    }
    i += bytes;
  }
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
    YamlNode node;
    Begin(mark, "", anchor, &node);
    Finish(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    mistakes_->Add(PositionOf(mark), "aliases (*name) are not supported");
    YamlNode node;
    Begin(mark, "", YAML::NullAnchor, &node);
    Finish(std::move(node));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag,
                YAML::anchor_t anchor, const std::string& value) override {
    YamlNode node;
    node.kind = YamlNode::Kind::kText;
    node.text = value;
    node.quoted = tag == "!";
    Begin(mark, tag, anchor, &node);
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

  void Stop(TextPosition position, absl::string_view message) {
    mistakes_->Add(position, message);
    over_limit_ = true;
  }

  void Begin(const YAML::Mark& mark, const std::string& tag,
             YAML::anchor_t anchor, YamlNode* node) {
    if (over_limit_) return;
    node->position = PositionOf(mark);
    if (++nodes_ > max_nodes_) {
      Stop(node->position,
           absl::StrCat("too many values, expected at most ", max_nodes_));
      return;
    }
    if (anchor != YAML::NullAnchor) {
      mistakes_->Add(node->position, "anchors (&name) are not supported");
    }
    // yaml-cpp's own marks: "?" plain, "!" quoted.
    if (!tag.empty() && tag != "?" && tag != "!") {
      mistakes_->Add(node->position, absl::StrCat("tag ", QuoteValue(tag),
                                                  " is not supported"));
    }
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    if (over_limit_) return;
    Unfinished unfinished;
    unfinished.node.kind = kind;
    Begin(mark, tag, anchor, &unfinished.node);
    if (stack_.size() >= kMaxYamlDepth) {
      Stop(unfinished.node.position,
           absl::StrCat("too deep, expected at most ", kMaxYamlDepth,
                        " lists and mappings within each other"));
      return;
    }
    stack_.push_back(std::move(unfinished));
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
        Stop(node.position, "a second document, expected one per file");
        return;
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
        mistakes_->Add(node.position,
                       absl::StrCat("a key is ", KindName(node.kind),
                                    ", expected a word"));
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
      mistakes_->Add(entry.position, absl::StrCat("key ", QuoteValue(entry.key),
                                                  " stands twice, first at ",
                                                  ToString(first->second)));
      return;
    }
    entry.value = std::move(value);
    parent->node.entries.push_back(std::move(entry));
  }

  const size_t max_nodes_;
  Mistakes* const mistakes_;
  size_t nodes_ = 0;
  bool over_limit_ = false;
  std::vector<Unfinished> stack_;
  std::optional<YamlNode> root_;
};

}  // namespace

absl::string_view KindName(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::kNothing:
      return "nothing";
    case YamlNode::Kind::kText:
      return "text";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a mapping";
  }
  return "nothing";
}

std::optional<YamlNode> ParseYaml(absl::string_view text,
                                  const YamlLimits& limits,
                                  Mistakes* mistakes) {
  if (text.size() > limits.max_bytes) {
    mistakes->Add({},
                  absl::StrCat("has ", text.size(), " bytes, expected at most ",
                               limits.max_bytes));
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
    if (!builder.over_limit()) {
      mistakes->Add(PositionOf(exception.mark),
                    absl::StrCat("is not YAML here: ", exception.msg));
    }
    return std::nullopt;
  }
  if (builder.over_limit()) return std::nullopt;
  if (!builder.root().has_value()) {
    mistakes->Add({}, "is empty");
    return std::nullopt;
  }
  return std::move(builder.root());
}

}  // namespace clusterd
