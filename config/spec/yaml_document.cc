#include "config/spec/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <cstdint>
#include <sstream>

#include "absl/container/flat_hash_map.h"

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
  // The smallest character that needs so many bytes.
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const size_t bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return 0;
  uint32_t character = first & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return 0;
    character = character << 6 | (next & 0x3fu);
  }
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  return character < kSmallest[bytes] || character > 0x10ffff || surrogate
             ? 0
             : bytes;
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
      mistakes->Add(at, "has a control character, byte ", int{c});
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
    Finish(Begin(YamlNode::Kind::kNothing, mark, "", anchor));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    mistakes_->Add(PositionOf(mark), "aliases (*name) are not supported");
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

  template <typename... Parts>
  void Stop(TextPosition position, const Parts&... parts) {
    mistakes_->Add(position, parts...);
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
      Stop(node.position, "too many values, expected at most ", max_nodes_);
      return node;
    }
    if (anchor != YAML::NullAnchor) {
      mistakes_->Add(node.position, "anchors (&name) are not supported");
    }
    // yaml-cpp's own marks: "?" plain, "!" quoted.
    if (!tag.empty() && tag != "?" && tag != "!") {
      mistakes_->Add(node.position, "tag ", QuoteValue(tag),
                     " is not supported");
    }
    return node;
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    if (over_limit_) return;
    YamlNode node = Begin(kind, mark, tag, anchor);
    if (stack_.size() >= kMaxYamlDepth) {
      Stop(node.position, "too deep, expected at most ", kMaxYamlDepth,
           " lists and mappings within each other");
      return;
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
        mistakes_->Add(node.position, "a key is ", KindName(node.kind),
                       ", expected a word");
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
      mistakes_->Add(entry.position, "key ", QuoteValue(entry.key),
                     " stands twice, first at ", ToString(first->second));
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
  constexpr absl::string_view kNames[] = {"nothing", "text", "a list",
                                          "a mapping"};
  return kNames[static_cast<size_t>(kind)];
}

std::optional<YamlNode> ParseYaml(absl::string_view text,
                                  const YamlLimits& limits,
                                  Mistakes* mistakes) {
  if (text.size() > limits.max_bytes) {
    mistakes->Add({}, "has ", text.size(), " bytes, expected at most ",
                  limits.max_bytes);
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
                    "is not YAML here: ", exception.msg);
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
