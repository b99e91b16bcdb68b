#include "tests/fuzz/messages/message_input.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace clusterd {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

// Facts are a tree of some ten levels.
constexpr int kMaxDepth = 16;
constexpr int kMaxElements = 64;
constexpr size_t kMaxTextBytes = 1 << 16;

// An attacker's texts, and names that lead further in.
constexpr absl::string_view kTexts[] = {
    "",
    "x",
    "a1",
    "node-07",
    "server0",
    "none",
    "address",
    "gateway",
    "net.core.somaxconn",
    "net.ipv4.ip_local_reserved_ports",
    "10.0.0.1/255.255.255.0",
    "60000-60015",
    "/etc/hccn.conf",
    "/etc/shadow",
    "../../../../etc/shadow",
    "/proc/1/ns/net",
    "-i",
    "--help",
    "a\nb",
    "\x1b[2J",
    "%s%n",
    "$(id)",
    "\xc3\xa9\xe2\x80\xae",
    "99999999999999999999",
};

constexpr uint64_t kNumbers[] = {
    0,
    1,
    2,
    8,
    63,
    64,
    1000,
    65535,
    65536,
    std::numeric_limits<int32_t>::max(),
    std::numeric_limits<uint32_t>::max(),
    std::numeric_limits<int64_t>::max(),
    std::numeric_limits<uint64_t>::max(),
};

template <typename T, size_t N>
const T& OneOf(const T (&choices)[N], std::mt19937& random) {
  return choices[random() % N];
}

std::string NewText(std::string text, std::mt19937& random) {
  const size_t at = text.empty() ? 0 : random() % text.size();
  switch (random() % 5) {
    case 0:
      return std::string(random() % 6000, 'a');
    case 1:
      return text.erase(at, 1 + random() % 4);
    case 2:
      return text.insert(at, 1, static_cast<char>(' ' + random() % 95));
    default:
      return std::string(OneOf(kTexts, random));
  }
}

// Sets one value: of a field, or with `at` >= 0 of an element of a repeated
// one.
class Setter {
 public:
  Setter(Message* message, const FieldDescriptor* field, int at)
      : message_(message),
        reflection_(message->GetReflection()),
        field_(field),
        at_(at) {}

  void Set(std::mt19937& random) {
    const uint64_t number =
        random() % 3 == 0 ? random() % 10 : OneOf(kNumbers, random);
    switch (field_->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING: {
        const std::string text = NewText(Text(), random);
        return at_ < 0 ? reflection_->SetString(message_, field_, text)
                       : reflection_->SetRepeatedString(message_, field_, at_,
                                                        text);
      }
      case FieldDescriptor::CPPTYPE_ENUM:
        return at_ < 0 ? reflection_->SetEnumValue(message_, field_,
                                                   static_cast<int>(number))
                       : reflection_->SetRepeatedEnumValue(
                             message_, field_, at_, static_cast<int>(number));
      case FieldDescriptor::CPPTYPE_INT32:
        return Put(&Reflection::SetInt32, &Reflection::SetRepeatedInt32,
                   number);
      case FieldDescriptor::CPPTYPE_INT64:
        return Put(&Reflection::SetInt64, &Reflection::SetRepeatedInt64,
                   number);
      case FieldDescriptor::CPPTYPE_UINT32:
        return Put(&Reflection::SetUInt32, &Reflection::SetRepeatedUInt32,
                   number);
      case FieldDescriptor::CPPTYPE_UINT64:
        return Put(&Reflection::SetUInt64, &Reflection::SetRepeatedUInt64,
                   number);
      case FieldDescriptor::CPPTYPE_BOOL:
        return Put(&Reflection::SetBool, &Reflection::SetRepeatedBool,
                   number % 2);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return Put(&Reflection::SetDouble, &Reflection::SetRepeatedDouble,
                   number);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return Put(&Reflection::SetFloat, &Reflection::SetRepeatedFloat,
                   number);
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return;
    }
  }

 private:
  std::string Text() const {
    return at_ < 0 ? reflection_->GetString(*message_, field_)
                   : reflection_->GetRepeatedString(*message_, field_, at_);
  }

  template <typename T>
  void Put(void (Reflection::*set)(Message*, const FieldDescriptor*, T) const,
           void (Reflection::*set_at)(Message*, const FieldDescriptor*, int, T)
               const,
           uint64_t number) {
    if (at_ < 0) {
      (reflection_->*set)(message_, field_, static_cast<T>(number));
    } else {
      (reflection_->*set_at)(message_, field_, at_, static_cast<T>(number));
    }
  }

  Message* const message_;
  const Reflection* const reflection_;
  const FieldDescriptor* const field_;
  const int at_;
};

// Adds an element with some value: often a copy of another.
void AddElement(Message* message, const FieldDescriptor* field,
                std::mt19937& random) {
  const Reflection* const reflection = message->GetReflection();
  const int size = reflection->FieldSize(*message, field);
  if (size >= kMaxElements) return;
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    Message* const added = reflection->AddMessage(message, field);
    if (size == 0) return;
    added->CopyFrom(reflection->GetRepeatedMessage(
        *message, field, static_cast<int>(random() % size)));
    return;
  }
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      reflection->AddString(message, field, "");
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      reflection->AddEnumValue(message, field, 0);
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      reflection->AddUInt32(message, field, 0);
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      reflection->AddUInt64(message, field, 0);
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      reflection->AddInt32(message, field, 0);
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      reflection->AddInt64(message, field, 0);
      break;
    default:
      return;
  }
  Setter(message, field, size).Set(random);
}

void MutateRepeated(Message* message, const FieldDescriptor* field,
                    std::mt19937& random) {
  const Reflection* const reflection = message->GetReflection();
  const int size = reflection->FieldSize(*message, field);
  if (size == 0 || random() % 3 == 0) return AddElement(message, field, random);
  const int at = static_cast<int>(random() % size);
  switch (random() % 3) {
    case 0:
      reflection->SwapElements(message, field, at, size - 1);
      return reflection->RemoveLast(message, field);
    case 1:
      return reflection->SwapElements(message, field, at,
                                      static_cast<int>(random() % size));
    default:
      return Setter(message, field, at).Set(random);
  }
}

// Messages inside, as deep as they go.
void Collect(Message* message, int depth, std::vector<Message*>* all) {
  all->push_back(message);
  if (depth == kMaxDepth) return;
  const Reflection* const reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      Collect(reflection->MutableMessage(message, field), depth + 1, all);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      Collect(reflection->MutableRepeatedMessage(message, field, i), depth + 1,
              all);
    }
  }
}

void MutateOnce(Message* message, std::mt19937& random) {
  std::vector<Message*> all;
  Collect(message, 0, &all);
  Message* const chosen = all[random() % all.size()];
  const auto* const type = chosen->GetDescriptor();
  if (type->field_count() == 0) return;
  const Reflection* const reflection = chosen->GetReflection();
  const FieldDescriptor* const field =
      type->field(static_cast<int>(random() % type->field_count()));
  if (random() % 8 == 0) return reflection->ClearField(chosen, field);
  if (field->is_repeated()) return MutateRepeated(chosen, field, random);
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    reflection->MutableMessage(chosen, field);
  } else {
    Setter(chosen, field, -1).Set(random);
  }
}

bool ParseText(absl::string_view text, Message* message) {
  // Do not log invalid inputs.
  class Silent final : public google::protobuf::io::ErrorCollector {
   public:
    void AddError(int, int, const std::string&) override {}
  } silent;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&silent);
  parser.SetRecursionLimit(2 * kMaxDepth);
  return parser.ParseFromString(std::string(text), message);
}

}  // namespace

bool ReadInput(absl::string_view text, Message* message) {
  if (text.size() > kMaxTextBytes || !ParseText(text, message)) return false;
  // A text that is not valid UTF-8 ends the call at the parser.
  return message->ParseFromString(message->SerializeAsString());
}

void MutateMessage(Message* message, std::mt19937& random) {
  for (unsigned left = 1 + random() % 8; left > 0; --left) {
    MutateOnce(message, random);
  }
}

size_t MutateInput(uint8_t* data, size_t size, size_t max_size, unsigned seed,
                   Message* message) {
  const absl::string_view before(reinterpret_cast<const char*>(data), size);
  if (!ParseText(before, message)) message->Clear();
  std::mt19937 random(seed);
  MutateMessage(message, random);
  std::string text;
  TextFormat::PrintToString(*message, &text);
  if (text.size() > max_size) return size;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

}  // namespace clusterd
