#include "daemon/controller/hosts/fact_limits.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "config/values/setting.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/values/version.h"
#include "google/protobuf/descriptor.h"

namespace clusterd {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

absl::Status TooLong(const FieldDescriptor* field, size_t size, size_t limit) {
  return InvalidWords(
      "msg-hub-over-limit",
      absl::StrCat(std::string(field->full_name()), ": ", size,
                   field->is_repeated() ? " entries" : " bytes"),
      limit);
}

constexpr int kMaxTaskKinds = 64;  // In a hello.

bool IsUnsafe(unsigned char c) {
  return absl::ascii_iscntrl(c) && c != '\n' && c != '\t';
}

std::string Escaped(absl::string_view text) {
  std::string clean;
  for (const unsigned char c : text) {
    if (IsUnsafe(c)) {
      absl::StrAppend(&clean, "\\x", absl::Hex(c, absl::kZeroPad2));
    } else {
      clean.push_back(static_cast<char>(c));
    }
  }
  return clean;
}

// The effect of a fact that is too long.
enum class LongFact { kSpoilsTheMessage, kGoesMissing };

absl::Status Clean(LongFact long_fact, Message* message);

absl::Status CleanField(const FieldDescriptor* field, int index,
                        LongFact long_fact, Message* message) {
  const Reflection* const reflection = message->GetReflection();
  const bool repeated = field->is_repeated();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return Clean(long_fact,
                 repeated
                     ? reflection->MutableRepeatedMessage(message, field, index)
                     : reflection->MutableMessage(message, field));
  }
  // Bytes are raw output of tools or logs: the message's size bounds them, and
  // they are never shown as text.
  if (field->type() == FieldDescriptor::TYPE_BYTES ||
      field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
    return absl::OkStatus();
  }
  std::string scratch;
  const std::string& text =
      repeated ? reflection->GetRepeatedStringReference(*message, field, index,
                                                        &scratch)
               : reflection->GetStringReference(*message, field, &scratch);
  if (text.size() > kMaxTextBytes) {
    return TooLong(field, text.size(), kMaxTextBytes);
  }
  if (std::none_of(text.begin(), text.end(), IsUnsafe)) return absl::OkStatus();
  if (repeated) {
    reflection->SetRepeatedString(message, field, index, Escaped(text));
  } else {
    reflection->SetString(message, field, Escaped(text));
  }
  return absl::OkStatus();
}

absl::Status CleanFields(LongFact long_fact, Message* message) {
  const Reflection* const reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count =
        field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
    if (count > kMaxRepeated) {
      return TooLong(field, static_cast<size_t>(count), kMaxRepeated);
    }
    for (int i = 0; i < count; ++i) {
      RETURN_IF_ERROR(CleanField(field, i, long_fact, message));
    }
  }
  return absl::OkStatus();
}

// The parser bounds the depth: it takes at most 100 nested messages.
absl::Status Clean(LongFact long_fact, Message* message) {
  const absl::Status status = CleanFields(long_fact, message);
  if (status.ok() || long_fact == LongFact::kSpoilsTheMessage) return status;
  // A fact is a message whose oneof `state` is a value or a Missing.
  const google::protobuf::Descriptor* const type = message->GetDescriptor();
  const FieldDescriptor* const missing = type->FindFieldByName("missing");
  if (missing == nullptr || type->FindOneofByName("state") == nullptr) {
    return status;
  }
  Missing why;
  why.set_reason(Missing::UNREADABLE);
  SetDetail(Worded("hub-more-than-taken", MessageWords(status)), &why);
  message->GetReflection()->MutableMessage(message, missing)->CopyFrom(why);
  return absl::OkStatus();
}

// Cuts between characters of UTF-8, so that the text stays valid.
void CutText(std::string* text) {
  text->resize(CutUtf8(*text, kMaxDriftTextBytes).size());
}

// Keeps at most `most` entries, cut to a readable length; returns how many
// others there were.
int TrimList(int most, google::protobuf::RepeatedPtrField<AppliedDrift>* list) {
  const int surplus = std::max(0, list->size() - std::max(0, most));
  list->DeleteSubrange(list->size() - surplus, surplus);
  for (AppliedDrift& drift : *list) {
    for (std::string* text : {drift.mutable_apply_id(), drift.mutable_kind(),
                              drift.mutable_change(), drift.mutable_why(),
                              drift.mutable_applied_by()}) {
      CutText(text);
    }
    if (drift.devices_size() > kMaxDevices) {
      drift.mutable_devices()->Truncate(kMaxDevices);
    }
    if (drift.ByteSizeLong() <= kMaxDriftTextBytes) continue;
    if (drift.target().ByteSizeLong() > kMaxDriftTextBytes) {
      drift.clear_target();
    }
    if (drift.fact().ByteSizeLong() > kMaxDriftTextBytes) drift.clear_fact();
    for (SettingValue* value :
         {drift.mutable_to(), drift.mutable_now(), drift.mutable_was()}) {
      if (value->ByteSizeLong() <= kMaxDriftTextBytes) continue;
      *value = TextsValue(
          {std::string(CutUtf8(SettingText(*value), kMaxDriftTextBytes))});
    }
  }
  return surplus;
}

}  // namespace

void TrimDrift(DriftFact* drift) {
  if (drift->has_missing()) {
    CutText(drift->mutable_missing()->mutable_detail());
    // The text suffices for long ones, which a hostile host may send.
    if (drift->missing().detail_words().ByteSizeLong() > kMaxDriftTextBytes) {
      drift->mutable_missing()->clear_detail_words();
    }
  }
  if (!drift->has_value()) return;
  DriftFact::Drifts* value = drift->mutable_value();
  CutText(value->mutable_unfinished());
  if (value->unfinished_words().ByteSizeLong() > kMaxDriftTextBytes) {
    value->clear_unfinished_words();
  }
  int gone = TrimList(kMaxKeptDrifts, value->mutable_drifts());
  gone +=
      TrimList(kMaxKeptDrifts - value->drifts_size(), value->mutable_unknown());
  value->set_left_out(value->left_out() + static_cast<uint32_t>(gone));
}

absl::Status CheckCount(absl::string_view message, int count,
                        absl::string_view what, int most) {
  if (count <= most) return absl::OkStatus();
  return InvalidWords("msg-hub-over-limit",
                      absl::StrCat(message, ": ", count, " ", what), most);
}

absl::Status CleanMessage(Message* message) {
  return Clean(LongFact::kSpoilsTheMessage, message);
}

absl::Status CleanFacts(const std::string& host, HostFacts* facts) {
  RETURN_IF_ERROR(
      CheckCount("facts", facts->devices_size(), "devices", kMaxDevices));
  RETURN_IF_ERROR(CheckCount("facts", facts->device_ids().value().ids_size(),
                             "device ids", kMaxDevices));
  std::set<uint32_t> ids;
  for (const DeviceFacts& device : facts->devices()) {
    if (!ids.insert(device.id()).second) {
      return InvalidWords(
          "msg-hub-protocol",
          absl::StrCat("facts: device ", device.id(), " is listed twice"));
    }
  }
  facts->set_host(host);
  facts->clear_conflict();
  facts->clear_conflict_words();
  facts->clear_certificate_notice();
  facts->clear_clock();
  facts->clear_controller_roots();
  if (const int logins = facts->ssh().value().logins_size();
      logins > kMaxSshLogins) {
    Missing* const missing = facts->mutable_ssh()->mutable_missing();
    missing->set_reason(Missing::UNREADABLE);
    SetDetail(Worded("hub-more-than-taken",
                     Worded("hub-logins-over", logins, kMaxSshLogins)),
              missing);
  }
  return Clean(LongFact::kGoesMissing, facts);
}

// Its texts are shown on one line in lists of hosts and in the log, so not even
// a newline is allowed.
absl::Status CheckHello(const Hello& hello) {
  if (hello.protocol_version() != kProtocolVersion) {
    return PreconditionWords("msg-hub-protocol-version",
                             hello.protocol_version(), kProtocolVersion);
  }
  std::vector<absl::string_view> texts = {hello.clusterd_version(),
                                          hello.boot_id(), hello.machine_id(),
                                          hello.simulation()};
  RETURN_IF_ERROR(
      CheckCount("hello", hello.tasks_size(), "kinds of task", kMaxTaskKinds));
  texts.insert(texts.end(), hello.tasks().begin(), hello.tasks().end());
  for (const absl::string_view text : texts) {
    if (text.size() > kMaxHelloTextBytes ||
        std::any_of(text.begin(), text.end(), absl::ascii_iscntrl)) {
      return InvalidWords("msg-hub-hello-text", text.size(),
                          kMaxHelloTextBytes);
    }
  }
  return absl::OkStatus();
}

TaskError ToTaskError(const absl::Status& why) {
  TaskError error;
  error.set_code(why.raw_code());
  error.set_message(std::string(why.message()));
  *error.mutable_message_words() = MessageWords(why);
  return error;
}

HostFacts MissingFacts(const std::string& host, Missing::Reason reason,
                       const FindingValue& detail) {
  HostFacts facts;
  facts.set_host(host);
  facts.mutable_missing()->set_reason(reason);
  SetDetail(detail, facts.mutable_missing());
  return facts;
}

}  // namespace clusterd
