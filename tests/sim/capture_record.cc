#include "tests/sim/capture_record.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cmath>

#include "absl/strings/str_cat.h"

namespace clusterd::sim {
namespace {

// Beyond any exit status and any signal.
constexpr double kMaxStatus = 0xffff;

using google::protobuf::Struct;
using google::protobuf::Value;

// Takes fields out of one object and notes the first that is wrong.
class Fields {
 public:
  explicit Fields(const Struct& object) : object_(object) {}

  std::string Text(const std::string& name) {
    const Value* value = Find(name, Value::kStringValue);
    return value == nullptr ? "" : value->string_value();
  }

  std::optional<std::string> TextOrNull(const std::string& name) {
    if (IsNull(name)) return std::nullopt;
    return Text(name);
  }

  std::optional<int> NumberOrNull(const std::string& name) {
    if (IsNull(name)) return std::nullopt;
    const Value* value = Find(name, Value::kNumberValue);
    if (value == nullptr) return std::nullopt;
    const double number = value->number_value();
    if (number < -kMaxStatus || number > kMaxStatus ||
        number != std::trunc(number)) {
      Wrong(name);
      return std::nullopt;
    }
    return static_cast<int>(number);
  }

  std::vector<std::string> Texts(const std::string& name) {
    std::vector<std::string> texts;
    const Value* value = Find(name, Value::kListValue);
    if (value == nullptr) return texts;
    for (const Value& item : value->list_value().values()) {
      if (item.kind_case() != Value::kStringValue) Wrong(name);
      texts.push_back(item.string_value());
    }
    return texts;
  }

  // The new values of "key": [old, new].
  std::map<std::string, std::string> Changes(const std::string& name) {
    std::map<std::string, std::string> changes;
    auto it = object_.fields().find(name);
    if (it == object_.fields().end()) return changes;
    for (const auto& [key, pair] : it->second.struct_value().fields()) {
      const auto& values = pair.list_value().values();
      if (values.size() != 2) {
        Wrong(name);
      } else {
        changes[key] = values[1].string_value();
      }
    }
    return changes;
  }

  absl::Status status() const { return status_; }

 private:
  bool IsNull(const std::string& name) {
    auto it = object_.fields().find(name);
    return it != object_.fields().end() &&
           it->second.kind_case() == Value::kNullValue;
  }

  const Value* Find(const std::string& name, Value::KindCase kind) {
    auto it = object_.fields().find(name);
    if (it != object_.fields().end() && it->second.kind_case() == kind) {
      return &it->second;
    }
    Wrong(name);
    return nullptr;
  }

  void Wrong(const std::string& name) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(
        absl::StrCat("field \"", name, "\" is missing or of the wrong type"));
  }

  const Struct& object_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<CaptureRecord> ParseCaptureRecord(absl::string_view json) {
  Struct object;
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(json.data(), json.size()), &object);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no JSON object: ", std::string(parsed.message())));
  }
  Fields fields(object);
  CaptureRecord record;
  record.name = fields.Text("name");
  record.group = fields.Text("group");
  record.product = fields.Text("product");
  record.argv = fields.Texts("argv");
  record.standard_input = fields.TextOrNull("stdin").value_or("");
  record.precondition = fields.TextOrNull("precondition").value_or("");
  record.standard_output = fields.Text("stdout");
  record.standard_error = fields.Text("stderr");
  record.exit = fields.NumberOrNull("exit");
  record.conf_before = fields.TextOrNull("hccn_conf_before");
  record.conf_after = fields.TextOrNull("hccn_conf_after");
  record.device_changes = fields.Changes("device_changes");
  if (!fields.status().ok()) return fields.status();
  if (record.argv.empty()) {
    return absl::InvalidArgumentError("field \"argv\" is empty");
  }
  return record;
}

}  // namespace clusterd::sim
