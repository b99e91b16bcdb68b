#include "config/words/message.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"

namespace clusterd {

std::string EnglishText(const FindingValue& value) {
  const InLanguage english(Language::kEnglish);
  return ValueText(value);
}

absl::Status WithWords(absl::Status status, const FindingValue& words) {
  absl::Status worded(status.code(), EnglishText(words));
  worded.SetPayload(kMessageWords, absl::Cord(words.SerializeAsString()));
  return worded;
}

FindingValue Lines(const std::vector<FindingValue>& lines) {
  FindingValue all;
  all.set_words(kLinesWords);
  all.mutable_values()->Assign(lines.begin(), lines.end());
  return all;
}

FindingValue Behind(absl::string_view what, const FindingValue& words) {
  const bool is_in_front = words.words() == "in-front" &&
                           words.values_size() == 2 &&
                           words.values(0).text() == what;
  return is_in_front ? words.values(1) : words;
}

FindingValue MessageWords(const absl::Status& error) {
  FindingValue words;
  const auto payload = error.GetPayload(kMessageWords);
  if (payload.has_value() && words.ParseFromString(std::string(*payload))) {
    return words;
  }
  return ToFindingValue(error.message());
}

std::vector<FindingValue> MessageLines(const absl::Status& error) {
  const FindingValue words = MessageWords(error);
  if (words.words() == kLinesWords && !words.values().empty()) {
    return {words.values().begin(), words.values().end()};
  }
  if (!words.words().empty()) return {words};
  std::vector<FindingValue> lines;
  for (const absl::string_view line : absl::StrSplit(words.text(), '\n')) {
    lines.push_back(ToFindingValue(line));
  }
  return lines;
}

void RenderWords(google::protobuf::Message* message, bool drop) {
  const google::protobuf::Reflection* const reflection =
      message->GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const auto* const field : fields) {
    if (field->cpp_type() != field->CPPTYPE_MESSAGE) continue;
    if (field->message_type() != FindingValue::descriptor()) {
      for (int i = 0;
           field->is_repeated() && i < reflection->FieldSize(*message, field);
           ++i) {
        RenderWords(reflection->MutableRepeatedMessage(message, field, i),
                    drop);
      }
      if (!field->is_repeated()) {
        RenderWords(reflection->MutableMessage(message, field), drop);
      }
      continue;
    }
    absl::string_view name = field->name();
    const auto* const text =
        absl::ConsumeSuffix(&name, "_words")
            ? message->GetDescriptor()->FindFieldByName(std::string(name))
            : nullptr;
    if (text == nullptr) continue;
    const auto& words = static_cast<const FindingValue&>(
        reflection->GetMessage(*message, field));
    if (!text->is_repeated()) {
      reflection->SetString(message, text, ValueText(words));
    } else {
      for (int i = 0; i < words.values_size(); ++i) {
        if (i == reflection->FieldSize(*message, text)) {
          reflection->AddString(message, text, "");
        }
        reflection->SetRepeatedString(message, text, i,
                                      ValueText(words.values(i)));
      }
    }
    if (drop) reflection->ClearField(message, field);
  }
}

}  // namespace clusterd
