#include "config/report/message_json.h"

#include <memory>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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

namespace clusterd {
namespace {

namespace util = google::protobuf::util;

// The types of our messages. The one at `url` lacks the fields `without`.
struct Types final : util::TypeResolver {
  util::Status ResolveMessageType(const std::string& of,
                                  google::protobuf::Type* type) override {
    const auto is_without = [&](const google::protobuf::Field& field) {
      return of == url && absl::c_linear_search(without, field.name());
    };
    const util::Status status = all->ResolveMessageType(of, type);
    DropIf(type->mutable_fields(), is_without);
    return status;
  }
  util::Status ResolveEnumType(const std::string& of,
                               google::protobuf::Enum* type) override {
    return all->ResolveEnumType(of, type);
  }

  util::TypeResolver* all = nullptr;
  std::string url;
  absl::Span<const absl::string_view> without;
};

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
      "type.googleapis.com",
      google::protobuf::DescriptorPool::generated_pool());
  Types types;
  types.all = all;
  types.url = absl::StrCat("type.googleapis.com/",
                           message.GetDescriptor()->full_name());
  types.without = without;
  std::string json;
  const auto status =
      util::BinaryToJsonString(&types, types.url, bytes, &json, options);
  // Our messages have no Any; only a mistake of ours can fail here.
  if (!status.ok()) return "{\"error\": \"no JSON form\"}\n";
  return absl::StrCat(SafeJson(absl::StripTrailingAsciiWhitespace(json)), "\n");
}

std::string OnOneLine(const std::string& json) {
  std::string line;
  // Texts in it have no line ends, which are written as \\n.
  for (const absl::string_view part : absl::StrSplit(json, '\n')) {
    absl::StrAppend(&line, absl::StripLeadingAsciiWhitespace(part));
  }
  return absl::StrCat(line, "\n");
}

}  // namespace clusterd
