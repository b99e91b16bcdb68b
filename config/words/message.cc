#include "config/words/message.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"

namespace clusterd {

std::string EnglishText(const FindingValue& value) {
  const InLanguage english(Language::kEnglish);
  return ValueText(value);
}

absl::Status WithWords(absl::Status status, const FindingValue& words) {
  status = absl::Status(status.code(), EnglishText(words));
  status.SetPayload(kMessageWords, absl::Cord(words.SerializeAsString()));
  return status;
}

FindingValue Lines(const std::vector<FindingValue>& lines) {
  FindingValue all;
  all.set_words(kLinesWords);
  all.mutable_values()->Assign(lines.begin(), lines.end());
  return all;
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
  if (error.ok()) return {};
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

void SetDetail(const FindingValue& detail, Missing* missing) {
  missing->set_detail(EnglishText(detail));
  missing->clear_detail_words();
  if (!detail.words().empty()) *missing->mutable_detail_words() = detail;
}

absl::Status About(const FindingValue& subject, const absl::Status& status) {
  if (status.ok()) return status;
  std::vector<FindingValue> lines = MessageLines(status);
  lines[0] = Worded("about", subject, lines[0]);
  return WithWords(status, lines.size() == 1 ? lines[0] : Lines(lines));
}

namespace {

// The field for the text of `words`; nullptr: none.
const google::protobuf::FieldDescriptor* TextOf(
    const google::protobuf::FieldDescriptor& words) {
  absl::string_view name = words.name();
  if (name == "said") {
    name = "notes";
  } else if (name == "no_facts") {
    name = "no_facts_reason";
  } else if (name == "skip_words") {
    name = "skip_reason";
  } else if (!absl::ConsumeSuffix(&name, "_words")) {
    return nullptr;
  }
  return words.containing_type()->FindFieldByName(std::string(name));
}

// True if messages of the type, or in it, may have words and their text. A
// report has many findings and subjects, which do not.
bool MayHaveText(const google::protobuf::Descriptor& type) {
  thread_local absl::flat_hash_map<const google::protobuf::Descriptor*, bool>
      known;
  // True until it is known, for a type that is in itself.
  const auto [at, is_new] = known.try_emplace(&type, true);
  if (!is_new) return at->second;
  bool may = false;
  for (int i = 0; i < type.field_count() && !may; ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (field.cpp_type() != field.CPPTYPE_MESSAGE) continue;
    may = field.message_type() == FindingValue::descriptor()
              ? TextOf(field) != nullptr
              : MayHaveText(*field.message_type());
  }
  known[&type] = may;
  return may;
}

}  // namespace

void RenderWords(google::protobuf::Message* message, bool drop) {
  if (!MayHaveText(*message->GetDescriptor())) return;
  const google::protobuf::Reflection* const reflection =
      message->GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const auto* const field : fields) {
    if (field->cpp_type() != field->CPPTYPE_MESSAGE) continue;
    const bool is_words = field->message_type() == FindingValue::descriptor();
    const auto* const text = is_words ? TextOf(*field) : nullptr;
    if (is_words && text == nullptr) continue;
    const int count =
        field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
    FindingValues notes;
    for (int i = 0; i < count; ++i) {
      auto* const each =
          field->is_repeated()
              ? reflection->MutableRepeatedMessage(message, field, i)
              : reflection->MutableMessage(message, field);
      if (text == nullptr) {
        RenderWords(each, drop);
        continue;
      }
      const auto& words = static_cast<const FindingValue&>(*each);
      if (!text->is_repeated()) {
        reflection->SetString(message, text, ValueText(words));
      } else if (field->is_repeated()) {
        *notes.Add() = words;
      } else {
        notes = words.values();
      }
    }
    for (int i = 0; i < notes.size(); ++i) {
      if (i == reflection->FieldSize(*message, text)) {
        reflection->AddString(message, text, "");
      }
      reflection->SetRepeatedString(message, text, i, ValueText(notes[i]));
    }
    if (drop && text != nullptr &&
        absl::StrCat(text->name(), "_words") == field->name()) {
      reflection->ClearField(message, field);
    }
  }
}

}  // namespace clusterd
