// proto/report.schema.json: the JSON schema of what MessageJson prints of a
// Report, made from the message's own description, so that the two agree.
// Readers rely on its fields: none may be removed.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/report/message_json.h"
#include "config/values/version.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "proto/finding.pb.h"
#include "tests/support/client/golden.h"

namespace clusterd {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Struct;
using google::protobuf::Value;
using ::testing::ElementsAre, ::testing::IsEmpty;
using Fields = google::protobuf::Map<std::string, Value>;
using Texts = std::vector<std::string>;

constexpr char kSchemaPath[] = "proto/report.schema.json";

Struct ParseJson(const std::string& json) {
  Struct parsed;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &parsed).ok())
      << json;
  return parsed;
}

// ---- Making it ----

std::string EnumSchema(const google::protobuf::EnumDescriptor& type) {
  Texts names;
  for (int i = 0; i < type.value_count(); ++i) {
    names.push_back(absl::StrCat("\"", type.value(i)->name(), "\""));
  }
  return absl::StrCat(R"({"type": "string", "enum": [)",
                      absl::StrJoin(names, ", "), "]}");
}

std::string ElementSchema(const FieldDescriptor& field) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_STRING:
      return R"({"type": "string"})";
    case FieldDescriptor::TYPE_BOOL:
      return R"({"type": "boolean"})";
    case FieldDescriptor::TYPE_UINT32:
      return R"({"type": "integer", "minimum": 0, "maximum": 4294967295})";
    // A number of JSON would lose digits.
    case FieldDescriptor::TYPE_INT64:
      return R"({"type": "string", "pattern": "^-?[0-9]+$"})";
    case FieldDescriptor::TYPE_UINT64:
      return R"({"type": "string", "pattern": "^[0-9]+$"})";
    case FieldDescriptor::TYPE_ENUM:
      return EnumSchema(*field.enum_type());
    case FieldDescriptor::TYPE_MESSAGE:
      return absl::StrCat(R"({"$ref": "#/$defs/)", field.message_type()->name(),
                          "\"}");
    default:
      ADD_FAILURE() << field.full_name() << ": " << field.type_name()
                    << " has no schema yet; add it here";
      return "{}";
  }
}

// Adds the schemas of the message and of those in it, by name. A report has
// only those fields of a value that are set.
void AddSchemas(const Descriptor& type, Fields& defs) {
  if (defs.count(type.name()) > 0) return;
  defs[type.name()];
  Texts properties, required;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    EXPECT_FALSE(field.is_map() || field.real_containing_oneof() != nullptr)
        << field.full_name() << " has no schema yet; add it here";
    const bool is_message = field.message_type() != nullptr;
    if (&type == Finding::descriptor() &&
        absl::c_linear_search(kFindingOnScreens, field.name())) {
      continue;
    }
    const std::string name = absl::StrCat("\"", field.name(), "\"");
    const std::string element = ElementSchema(field);
    properties.push_back(absl::StrCat(
        name, ": ",
        field.is_repeated()
            ? absl::StrCat(R"({"type": "array", "items": )", element, "}")
            : element));
    if (field.is_repeated() || !field.has_presence()) required.push_back(name);
    if (is_message) AddSchemas(*field.message_type(), defs);
  }
  if (&type == FindingValue::descriptor()) required.clear();
  *defs[type.name()].mutable_struct_value() = ParseJson(absl::StrCat(
      R"({"type": "object", "properties": {)", absl::StrJoin(properties, ", "),
      R"(}, "required": [)", absl::StrJoin(required, ", "), "]}"));
}

Struct ReportSchema() {
  Struct schema = ParseJson(R"({
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "title": "A report, as clusterctl check -o json prints it",
      "$ref": "#/$defs/Report", "$defs": {}})");
  Fields& defs = *(*schema.mutable_fields())["$defs"]
                      .mutable_struct_value()
                      ->mutable_fields();
  AddSchemas(*Report::descriptor(), defs);
  (*(*(*defs["Report"].mutable_struct_value()->mutable_fields())["properties"]
          .mutable_struct_value()
          ->mutable_fields())["schema_version"]
        .mutable_struct_value()
        ->mutable_fields())["const"]
      .set_number_value(kReportSchemaVersion);
  return schema;
}

// ---- Reading it ----

// The value at `key`; an empty one if it is missing.
const Value& At(const Struct& object, const std::string& key) {
  const auto found = object.fields().find(key);
  return found == object.fields().end() ? Value::default_instance()
                                        : found->second;
}
const Struct& Inside(const Struct& object, const std::string& key) {
  return At(object, key).struct_value();
}

std::set<std::string> NamesIn(const Value& list) {
  std::set<std::string> names;
  for (const Value& name : list.list_value().values()) {
    names.insert(name.string_value());
  }
  return names;
}

double VersionOf(const Struct& schema) {
  const Struct& properties =
      Inside(Inside(Inside(schema, "$defs"), "Report"), "properties");
  return At(Inside(properties, "schema_version"), "const").number_value();
}

bool HasAll(const Value& list, const Value& names) {
  const std::set<std::string> all = NamesIn(list);
  const std::set<std::string> wanted = NamesIn(names);
  return std::includes(all.begin(), all.end(), wanted.begin(), wanted.end());
}

// True if a reader of the one type can read the other. New enum values are
// allowed: an unknown state counts as unknown.
bool IsReadAs(Value was, Value is) {
  if (!HasAll(At(is.struct_value(), "enum"), At(was.struct_value(), "enum"))) {
    return false;
  }
  was.mutable_struct_value()->mutable_fields()->erase("enum");
  is.mutable_struct_value()->mutable_fields()->erase("enum");
  return google::protobuf::util::MessageDifferencer::Equals(was, is);
}

// Names that readers of the schema `was` miss in `is`.
Texts Lost(const Struct& was, const Struct& is) {
  Texts lost;
  for (const auto& [type, schema] : Inside(was, "$defs").fields()) {
    const Struct& now = Inside(Inside(is, "$defs"), type);
    const Struct& fields = Inside(now, "properties");
    for (const auto& [name, field] :
         Inside(schema.struct_value(), "properties").fields()) {
      const std::string full = absl::StrCat(type, ".", name);
      if (fields.fields().count(name) == 0) {
        lost.push_back(absl::StrCat(full, " is gone"));
      } else if (!IsReadAs(field, At(fields, name))) {
        lost.push_back(absl::StrCat(full, " has another type"));
      }
    }
    if (!HasAll(At(now, "required"), At(schema.struct_value(), "required"))) {
      lost.push_back(absl::StrCat(type, " lacks fields"));
    }
  }
  std::sort(lost.begin(), lost.end());
  return lost;
}

// ---- Holding a document against it ----

std::string Misfit(const Struct& schema, const Struct& type,
                   const Value& value);

std::string MisfitOfObject(const Struct& schema, const Struct& type,
                           const Struct& object) {
  for (const auto& [name, value] : object.fields()) {
    const Struct& properties = Inside(type, "properties");
    if (properties.fields().count(name) == 0) return absl::StrCat("has ", name);
    const std::string why = Misfit(schema, Inside(properties, name), value);
    if (!why.empty()) return absl::StrCat(name, " ", why);
  }
  for (const std::string& name : NamesIn(At(type, "required"))) {
    if (object.fields().count(name) == 0) return absl::StrCat("lacks ", name);
  }
  return "";
}

// Empty, or the first place where the value does not match the type.
std::string Misfit(const Struct& schema, const Struct& type,
                   const Value& value) {
  const std::string reference = At(type, "$ref").string_value();
  if (!reference.empty()) {
    return MisfitOfObject(schema,
                          Inside(Inside(schema, "$defs"),
                                 reference.substr(sizeof("#/$defs/") - 1)),
                          value.struct_value());
  }
  const std::string name = At(type, "type").string_value();
  if (name == "array") {
    for (const Value& element : value.list_value().values()) {
      const std::string why = Misfit(schema, Inside(type, "items"), element);
      if (!why.empty()) return why;
    }
  }
  const std::set<std::string> words = NamesIn(At(type, "enum"));
  const bool fits = (name == "array" && value.has_list_value()) ||
                    (name == "boolean" && value.has_bool_value()) ||
                    (name == "integer" && value.has_number_value()) ||
                    (name == "string" && value.has_string_value() &&
                     (words.empty() || words.count(value.string_value()) > 0));
  return fits ? "" : absl::StrCat("is no ", name);
}

Struct CheckedIn() {
  std::ifstream file(kSchemaPath);
  std::ostringstream text;
  text << file.rdbuf();
  return ParseJson(text.str());
}

// ---- Tests ----

// Run from the top of the tree with CLUSTERD_UPDATE_GOLDEN=1 it writes the
// file, unless a field is lost. Readers rely on every field of one version: to
// take one away, raise kReportSchemaVersion.
TEST(ReportSchemaTest, IsTheFileThatIsCheckedInAndKeepsEveryField) {
  const Struct was = CheckedIn();
  const std::string made = MessageJson(ReportSchema());
  const Texts lost = VersionOf(was) == kReportSchemaVersion
                         ? Lost(was, ReportSchema())
                         : Texts();
  EXPECT_THAT(lost, IsEmpty());
  if (std::getenv("CLUSTERD_UPDATE_GOLDEN") != nullptr && lost.empty()) {
    std::ofstream(kSchemaPath) << made;
    ADD_FAILURE() << "wrote " << kSchemaPath << "; look at the difference";
    return;
  }
  EXPECT_EQ(MessageJson(was), made)
      << "CLUSTERD_UPDATE_GOLDEN=1 writes " << kSchemaPath;
}

TEST(ReportSchemaTest, NamesFieldsThatGoAndLetsOthersCome) {
  const Struct was = ParseJson(R"({"$defs": {
      "Gone": {"properties": {"a": {"type": "string"}}, "required": ["a"]},
      "Kept": {"properties": {"b": {"type": "string"}, "c": {"type": "string"},
                              "e": {"type": "string", "enum": ["X", "Y"]}},
               "required": ["b"]}}})");
  EXPECT_THAT(Lost(was, was), IsEmpty());
  EXPECT_THAT(Lost(was, ParseJson(R"({"$defs": {
      "Kept": {"properties": {"b": {"type": "integer"}, "d": {"type": "string"},
                              "e": {"type": "string", "enum": ["X"]}},
               "required": ["d"]}}})")),
              ElementsAre("Gone lacks fields", "Gone.a is gone",
                          "Kept lacks fields", "Kept.b has another type",
                          "Kept.c is gone", "Kept.e has another type"));
  EXPECT_THAT(Lost(ParseJson(R"({"$defs": {"Kept": {"properties":
      {"e": {"type": "string", "enum": ["X"]}}}}})"),
                   was),
              IsEmpty());
}

TEST(ReportSchemaTest, FitsTheReportsThatArePrinted) {
  const Struct schema = CheckedIn();
  for (const char* name : {"pass", "fail", "hostile", "job", "no_verdict"}) {
    Value printed;
    *printed.mutable_struct_value() =
        ParseJson(ReadGolden(absl::StrCat("reports/", name, ".json")));
    EXPECT_EQ(Misfit(schema, schema, printed), "") << name;
    Fields& fields = *printed.mutable_struct_value()->mutable_fields();
    fields["verdict"].set_string_value("GREEN");
    EXPECT_EQ(Misfit(schema, schema, printed), "verdict is no string");
    fields["verdict"].set_string_value("PASS");
    fields.erase("partial");
    EXPECT_EQ(Misfit(schema, schema, printed), "lacks partial");
  }
}

}  // namespace
}  // namespace clusterd
