#include "config/report/message_json.h"

#include <memory>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/type.pb.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/type_resolver.h"
#include "google/protobuf/util/type_resolver_util.h"
#include "proto/finding.pb.h"
#include "re2/re2.h"

namespace clusterd {
namespace {

namespace util = google::protobuf::util;

constexpr absl::string_view kTypes = "type.googleapis.com/";

template <typename Type>
std::string Url() {
  return absl::StrCat(kTypes, Type::descriptor()->full_name());
}

// Line ends inside an object that is indented by four: in a report, a finding.
const LazyRE2 kInFinding = {R"(\n(?:     +|    ([\]}])))"};
const LazyRE2 kInMessage = {R"(\n(?: +|([\]}])))"};

// The types of our messages. The one at `url` lacks the fields `without`, and a
// finding what is for screens. The fields of a value count as those of a oneof,
// so that only those that are set are printed.
struct Types final : util::TypeResolver {
  util::Status ResolveMessageType(const std::string& of,
                                  google::protobuf::Type* type) override {
    const auto is_without = [&](const google::protobuf::Field& field) {
      return (of == url && absl::c_linear_search(without, field.name())) ||
             (of == finding_url &&
              absl::c_linear_search(kFindingOnScreens, field.name()));
    };
    const util::Status status = all->ResolveMessageType(of, type);
    DropIf(type->mutable_fields(), is_without);
    if (of == value_url) {
      for (auto& field : *type->mutable_fields()) field.set_oneof_index(1);
    }
    return status;
  }
  util::Status ResolveEnumType(const std::string& of,
                               google::protobuf::Enum* type) override {
    return all->ResolveEnumType(of, type);
  }

  util::TypeResolver* all = nullptr;
  std::string url;
  const std::string value_url = Url<FindingValue>();
  const std::string finding_url = Url<Finding>();
  absl::Span<const absl::string_view> without;
};

// Removes those line ends. Texts have none: they are \n there.
std::string Joined(std::string json, const LazyRE2& line_ends) {
  RE2::GlobalReplace(&json, *line_ends, "\\1");
  return json;
}

}  // namespace

std::string MessageJson(const google::protobuf::Message& message,
                        bool with_defaults,
                        absl::Span<const absl::string_view> without) {
  util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = with_defaults;
  std::unique_ptr<google::protobuf::Message> english(message.New());
  english->CopyFrom(message);
  const InLanguage in_english(Language::kEnglish);
  RenderWords(english.get(), /*drop=*/true);
  // Maps are in the order of their keys: the same message, the same bytes.
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    english->SerializeToCodedStream(&out);
  }
  static auto* const all = util::NewTypeResolverForDescriptorPool(
      std::string(absl::StripSuffix(kTypes, "/")),
      google::protobuf::DescriptorPool::generated_pool());
  Types types;
  types.all = all;
  types.url = absl::StrCat(kTypes, message.GetDescriptor()->full_name());
  types.without = without;
  std::string json;
  const auto status =
      util::BinaryToJsonString(&types, types.url, bytes, &json, options);
  // Our messages have no Any; only a mistake of ours can fail here.
  if (!status.ok()) return "{\"error\": \"no JSON form\"}\n";
  // An empty list is printed all the same, then in front.
  return absl::StrReplaceAll(
      Joined(SafeJson(json), kInFinding),
      {{"{\"values\": [],", "{"}, {"{\"values\": []}", "{}"}});
}

std::string OnOneLine(const std::string& json) {
  return Joined(json, kInMessage);
}

}  // namespace clusterd
