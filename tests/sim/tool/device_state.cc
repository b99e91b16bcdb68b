#include "tests/sim/tool/device_state.h"

#include <stdlib.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace clusterd::sim {
namespace {

std::string Escape(const std::string& value) {
  std::string text;
  for (char c : value) {
    switch (c) {
      case '\n':
        text += "\\n";
        break;
      case '\t':
        text += "\\t";
        break;
      case ';':
        text += "\\;";
        break;
      case '\\':
        text += "\\\\";
        break;
      default:
        text += c;
    }
  }
  return text;
}

class Reader {
 public:
  explicit Reader(absl::string_view text) : text_(text) {}

  bool AtEnd() const { return at_ >= text_.size(); }

  // One piece up to an unescaped `;` or a line end. False if it has no `=`.
  bool Next(std::string* key, std::string* value) {
    bool in_value = false;
    key->clear();
    value->clear();
    for (; !AtEnd(); ++at_) {
      const char c = text_[at_];
      if (c == ';' || c == '\n') {
        ++at_;
        break;
      }
      if (!in_value && c == '=') {
        in_value = true;
      } else {
        (in_value ? value : key)->push_back(in_value ? Unescaped() : c);
      }
    }
    *key = std::string(absl::StripAsciiWhitespace(*key));
    return in_value && !key->empty();
  }

 private:
  char Unescaped() {
    if (text_[at_] != '\\' || at_ + 1 >= text_.size()) return text_[at_];
    switch (text_[at_ + 1]) {
      case 'n':
        ++at_;
        return '\n';
      case 't':
        ++at_;
        return '\t';
      case ';':
      case '\\':
        return text_[++at_];
      default:
        return '\\';
    }
  }

  absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace

DeviceState DeviceState::Parse(absl::string_view text) {
  DeviceState state;
  Reader reader(text);
  std::string key, value;
  while (!reader.AtEnd()) {
    if (reader.Next(&key, &value)) state.values_[key] = value;
  }
  return state;
}

std::string DeviceState::Text() const {
  std::string text;
  for (const auto& [key, value] : values_) {
    absl::StrAppend(&text, key, "=", Escape(value), "\n");
  }
  return text;
}

std::optional<std::string> DeviceState::Find(const std::string& key) const {
  auto it = values_.find(key);
  if (it == values_.end()) return std::nullopt;
  return it->second;
}

std::optional<long> DeviceState::Number(const std::string& key) const {
  const auto value = Find(key);
  if (!value || value->empty()) return std::nullopt;
  char* end = nullptr;
  // Base 0 would read "010" as eight.
  const bool hex = value->find("0x") != std::string::npos;
  const long number = strtol(value->c_str(), &end, hex ? 16 : 10);
  if (*end != '\0') return std::nullopt;
  return number;
}

void DeviceState::Set(const std::string& key, const std::string& value) {
  values_[key] = value;
}

void DeviceState::Erase(const std::string& key) { values_.erase(key); }

std::string DeviceKey(absl::string_view name, int device) {
  return absl::StrCat(name, ".", device);
}

DeviceState StateFile::Read() const {
  return DeviceState::Parse(file_->Read().value_or(""));
}

bool StateFile::Update(const std::function<void(DeviceState&)>& change) const {
  return file_->Edit([&change](std::string* text) {
    DeviceState state = DeviceState::Parse(*text);
    change(state);
    *text = state.Text();
  }) == LockedFile::Edited::kYes;
}

}  // namespace clusterd::sim
